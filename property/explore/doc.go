// Package explore breaks a turn at every point, and says what then no longer holds.
//
//  1. Give Test, or Explore, a turn.Subject: a function that makes the config and the
//     raw turn of one run, the same each time, and a check of the author's own.
//     Subject.Open makes what is one run's alone: a check that looks into it, the turn
//     that follows it in a program that was started anew, what closes it.
//     What the subject asks of the world breaks as well, wherever it is told (adk.Ask, and
//     clients on adkhttp.NewTransport): refused, too late, cut off, empty, another's, and
//     as models answer that are out of tokens or want a tool that there is not; and
//     wherever user code has a fault point (adk.FaultPoint). Traces takes the turns of a
//     folder for subjects: code of today, on the world as it was recorded.
//  2. It runs the subject as it is, then in orders of its strands that are drawn by
//     chance where there are many, then with a fault at each crossing, in each order of
//     its strands, with other conversations than the storage has, with odd system prompts and, with
//     Options.Bound, in pairs of these. What fails goes on failing too: as often as the
//     agent tries, as often less as makes a difference, or for one of those whom it works
//     for, told by the members of what it asks.
//  3. Every run is held against the invariants of package property, against the check,
//     and against what is wrong whatever the agent is for: a deadlock, a hang, a loop
//     without a bound, a goroutine that is left behind, a failure that nobody was told
//     of, a sum of what did not fail, a no that makes no difference, text that was shown
//     and is not kept, an abort that is not heeded, a tool that writes run twice, a
//     conversation that providers refuse, code that panics of itself, and advice that
//     applies only where something goes wrong. What may well be meant is a hint, as that an
//     order of strands decides what is left: Exploration.Hints.
//  4. The Exploration lists what broke: one Breach for one bug, with the simplest
//     schedule that shows it, how many do, the lines that show it, and a line of Go
//     that fails until it is mended: Reproduce. Breach.GoTest is a test with that line, and
//     what shows it as its comment. Orders, conversations, scripts and what the world answers are
//     as short as they get.
//
// User code may block by other means than the engine's: a strand that waits for a lock
// or a channel loses its turn to another one. An exploration ends with its budget,
// whatever user code does. To see whose goroutine is blocked it adds tracebacklabels=1 to
// GODEBUG in the environment of the process.
//
// One strand runs at a time, and what that orders the race detector does not see. So
// under go test -race a turn of several strands is run with free ones as well, some
// twenty times: Options.Free.
//
// Package zoo holds agents with bugs and their twins, and what it took to find them.
// Read on in package shrink, which makes what was found short.
package explore
