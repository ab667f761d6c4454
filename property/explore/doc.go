// Package explore runs one turn of an agent many times, injects a different fault each time, and
// reports what each fault breaks.
//
//	func TestAgent(t *testing.T) {
//		explore.Test(t, turn.Subject{Name: "agent", Build: build, Check: check}, explore.Options{})
//	}
//
// Build makes everything that one run needs, anew for each run: the adk.Config and the adk.RawTurn.
// Check is what the author of the agent requires of every run, for example that exactly one answer
// is stored.
//
//  1. Give [Test], or [Explore], a turn.Subject. Build must make the same each time.
//     Subject.Open may be used instead of Build where a run needs state of its own, which is
//     closed after the run. [Traces] makes a subject of each recorded turn in a folder.
//  2. The explorer runs the subject unchanged, in different orders of its strands, and with a
//     fault at each crossing: in the storage, in tools, in what the world is asked (adk.Ask, and
//     clients on adkhttp.NewTransport), and at fault points of user code (adk.FaultPoint). A
//     fault may happen once or persist. The explorer also tries other conversations and system
//     prompts and, with [Options].Bound 2, pairs of all these.
//  3. Every run is checked against the invariants of package property, against Check, and
//     against what is wrong for any agent: a deadlock, a goroutine that is left behind, a failure
//     that was reported to nobody, a writing tool that runs twice, a conversation that providers
//     refuse. What is legal and may be intended is reported as a hint.
//  4. The [Exploration] lists what broke: one [Breach] for each bug, with the simplest schedule
//     that shows it, the lines of code involved, and a line of Go that fails until the bug is
//     fixed ([Reproduce]). Schedules are shortened as far as possible.
//
// A check reads what the run asked of the outside in Run.Crossings. The explorer calls the
// transport of a subject until a fault breaks an HTTP answer. From then on it no longer calls the
// host that gave this answer: it answers requests to that host from the undisturbed run, except for
// reads that the undisturbed run did not make. A function that is given to adk.Ask is still called
// after a broken answer. So a server that Subject.Open starts has not seen every request of the
// run; but a check may inspect what Open made for other purposes, such as a database.
//
// Goroutines that user code starts itself, and which ask or dispatch, run in the order that the
// system chooses. The explorer does not try other orders of them, and NotCovered says so. It does
// try other orders of strands (Fork). A panic in such a goroutine ends the program, and the heading
// of its stack trace names the schedule.
//
// User code may block by other means than the engine's: a strand that waits for a lock or a channel
// loses its turn to another strand. An exploration ends with its budget, whatever user code does.
// To see which run a blocked goroutine belongs to, the package adds tracebacklabels=1 to GODEBUG in
// the environment of the process.
//
// Only one strand runs at a time. This orders all memory accesses, so the race detector sees no
// races between strands. Under go test -race the undisturbed turn, if it has several strands, is
// therefore also run some twenty times with free strands: see [Options].Free.
//
// Package zoo holds agents with bugs and their corrected twins, and what it took to find the bugs.
// Package shrink shortens what was found.
package explore
