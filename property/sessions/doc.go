// Package sessions breaks the sessions of an agent: at every call of their hosts, within
// their turns, and by what happens to the processes that run them.
//
// # The words
//
// A [Subject] is the code of an author who runs sessions (package adk/session): it makes the
// config of a host, once for each process, and says what is delivered. A [Schedule] is a list
// of actions: two hosts, a and b, deliver, resume, restart; time passes. Within an action a
// process may end, or stand still while others go on, a call may fail before it is made or
// after, and whatever a turn is made of may fail. The calls are those that a host makes of its
// store and of what its config brings: prompt, channel, providers, the telling of an outcome.
// Each is a point at which hosts change places, and so is each crossing of a turn.
//
// # The way through
//
//  1. Give [Test], or [Explore], a Subject. Its Open makes the store and the storage of one run
//     and whatever else outlives a process; all the rest belongs to the config of a release
//     ([Instance].Releases). A program that is being rolled out has two releases or more.
//  2. It runs the deliveries as they are, and then again with one thing wrong, everywhere: a
//     crash at each row of the contract's table of crashes, a second host at every point with
//     the lease over or not, a delivery that comes again, with another payload, to another
//     tenant or channel, an older release, a clock that is set back. After that it draws
//     schedules in which many things go wrong: [Options].Seed draws others.
//  3. In the end of every run the faults stop, and another host settles what is left. The run
//     is held against [Invariants], against a twin of the store that believes only what calls
//     have answered, against its journal and traces, which have to verify (package
//     replay/sessions), and against the checks of the subject, which see the final state
//     ([Run]).
//  4. The [Exploration] lists what broke: one [Breach] for one mistake, with the shortest
//     schedule that shows it, its story and its journal, and a line of Go that fails until it
//     is mended ([Reproduce]). Breach.GoTest is a test with that line.
//
// # What is the same
//
// A subject and a schedule determine a run: ids count by process, time is that of a fake
// clock, and one call of one host runs at a time. A subject that is not the same twice is a
// violation by itself. Stores that end leases by a clock of their own, as databases do, are
// for TestStore of package adk/session; here the store is one in memory, or one that goes by
// the times that it is given.
//
// A run that stands still is cancelled and then left behind, so that an exploration comes to
// its end, whatever user code does.
//
// # What to read next
//
// Package property/explore breaks one turn at every crossing, the answers of the world and the
// order of strands among it. Give it the turn of a session with session.Host.Agent and
// session.Host.Begin, and the listeners that settle its gates.
package sessions
