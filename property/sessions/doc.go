// Package sessions breaks the sessions of an agent: at every call of their hosts, within their
// turns, and by what happens to the processes that run them.
//
// # The words
//
// A [Subject] is an author's code that runs sessions (package adk/session). It makes the config of
// a host, once for each process, and says what is delivered. A [Schedule] is a list of actions: two
// hosts, a and b, deliver, resume and restart; time passes. Within an action a process may end, or
// stand still while others go on, a call may fail before or after it is made, and a turn may break
// at its crossings. The calls are those that a host makes of its store and of what its config
// brings: prompt, channel, providers, and Notify. Each call is a point at which a process can end
// or stand still while the other host acts, and so is each crossing of a turn.
//
// # How it works
//
//  1. Give [Test], or [Explore], a Subject. Its Open makes the store and the storage of one
//     run and whatever else outlives a process. Everything else belongs to the config of a
//     release ([Instance].Releases). A program that is being rolled out has two releases or
//     more.
//  2. The explorer runs the deliveries as they are, and then with one thing wrong in every
//     place: a crash at each row of the contract's table of crashes; a second host at every
//     point, with and without the end of the first host's lease; a delivery that comes again,
//     with another payload, to another tenant or channel; an older release; a clock that is
//     set back. It also draws random schedules in which many things go wrong: another
//     [Options].Seed draws others.
//  3. At the end of every run the faults stop, and another host settles what is left. The run
//     is checked against [Invariants]; against a model of the store that is derived only from
//     what calls have answered; against its journal and traces, which must verify (package
//     replay/sessions); and by the checks of the subject, which see the final state ([Run]).
//  4. The [Exploration] lists what broke: one [Breach] for each mistake, with the shortest
//     schedule that shows it, its story, its journal, and a line of Go that fails until the
//     mistake is fixed ([Reproduce]). Breach.GoTest returns a test with that line.
//
// # Determinism
//
// A subject and a schedule determine a run: ids are counted by process, time is that of a fake
// clock, and one call of one host runs at a time. A subject that does not do the same twice is a
// violation. Stores that end leases by a clock of their own, as databases do, are tested by
// TestStore of package adk/session. Here the store must be in memory, or use the times that it is
// given.
//
// A run that stands still is cancelled and then left behind, so that an exploration ends whatever
// user code does.
//
// # What to read next
//
// Package property/explore breaks a single turn at every crossing, including the answers of the
// world and the order of strands. Give it the turn of a session with session.Host.Agent and
// session.Host.Begin, and the listeners that settle its gates.
package sessions
