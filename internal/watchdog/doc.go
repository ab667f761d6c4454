// Package watchdog finds out why a run of user code makes no progress: which of its goroutines are
// blocked, where, and since when. It recognises the goroutines of a run by a label that they
// inherit from the goroutine that began the run.
//
//  1. NewLabel returns the label of a run; the code that begins the run sets it.
//  2. Of takes a snapshot of the run's goroutines, with their states and stacks.
//  3. A Dog takes snapshots again and again, and says how long nothing has changed.
//  4. Describe describes goroutines in lines of user code.
package watchdog
