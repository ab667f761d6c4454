// Package watchdog says why a run of user code makes no progress: which of its
// goroutines are blocked, where, and since when. A run is known by the label that its
// goroutines inherit from the one that began it.
//
//  1. Labels gives the label of a run; whoever begins the run sets it.
//  2. Of takes a look: the run's goroutines, with their state and stack.
//  3. A Dog looks again and again, and says how long nothing has changed.
//  4. Describe says it in lines of user code.
package watchdog
