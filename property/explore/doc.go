// Package explore breaks a turn at every point, and says what then no longer holds.
//
//	func TestAgent(t *testing.T) {
//		explore.Test(t, turn.Subject{Name: "agent", Build: build, Check: check}, explore.Options{})
//	}
//
// Build makes what one run needs, all of it anew: the adk.Config and the adk.RawTurn. Check is
// what the author of the agent holds of every run, as that one answer is stored and no more.
//
//  1. Give [Test], or [Explore], a turn.Subject. Build makes the same each time; Subject.Open
//     does so too, with what is one run's alone. [Traces] takes the recorded turns of a folder
//     for subjects.
//  2. It runs the subject as it is, in orders of its strands, and with a fault at each
//     crossing: of the storage, of tools, of what is asked of the world (adk.Ask, and clients
//     on adkhttp.NewTransport), at fault points of user code (adk.FaultPoint). What fails goes
//     on failing too. Other conversations and prompts are tried, and pairs of all that with
//     [Options].Bound.
//  3. Every run is held against the invariants of package property, against the check,
//     and against what is wrong whatever the agent is for: a deadlock, a goroutine that is
//     left behind, a failure that nobody was told of, a tool that writes run twice, a
//     conversation that providers refuse. What may well be meant is a hint.
//  4. The [Exploration] lists what broke: one [Breach] for one bug, with the simplest schedule
//     that shows it, the lines that show it, and a line of Go that fails until it is mended
//     ([Reproduce]). All of it is as short as it gets.
//
// A check reads what went to the outside in Run.Crossings. Over HTTP the transport of a subject
// is called until a fault breaks an answer; from there on the host that gave it is not, and what
// is asked of it is answered from the undisturbed run, but for what is read there and was not
// asked in that. Behind the broken answer a function that is given to adk.Ask answers itself. So a
// server that Subject.Open makes has not seen all: a check may look into what Open made for what
// goes otherwise, as to a database.
//
// Goroutines that user code has begun itself, and which ask or dispatch, come in the order of
// the system: other orders are not tried, and NotCovered says so. Strands (Fork) are. A panic of
// such a goroutine ends the program, and the heading of its trace names the schedule.
//
// User code may block by other means than the engine's: a strand that waits for a lock
// or a channel loses its turn to another one. An exploration ends with its budget,
// whatever user code does. To see whose goroutine is blocked it adds tracebacklabels=1 to
// GODEBUG in the environment of the process.
//
// One strand runs at a time, and what that orders the race detector does not see. So
// under go test -race a turn of several strands is run with free ones as well, some
// twenty times: [Options].Free.
//
// Package zoo holds agents with bugs and their twins, and what it took to find them.
// Read on in package shrink, which makes what was found short.
package explore
