// Package session connects turns: it keeps typed values between them, and makes each input count
// exactly once, even if processes crash or the input comes several times.
//
// # The words
//
// A delivery ([Delivery]) is one input for a session, under an id that its sender chose. An attempt
// is one turn that is run for a delivery. What a session holds between its turns are values under
// keys ([Key]). The seed ([Seed]) describes the delivery to its turn. A host ([Host]) runs
// deliveries, and a [Store] keeps them. A channel ([Channel]) turns a payload into records. A
// provider ([Provider]) makes a value for one turn only ([RuntimeKey]). The commit is the one
// transaction that makes a delivery count: it changes the values, the records and the delivery
// itself together, or none of them.
//
// # The way through
//
//  1. Keys are package-level values: make them by [NewKey] with the type of their values. Tools,
//     middlewares and the channel get and set values through the handle that they are given.
//  2. Choose a store. The store of a storage (memory.Memory.Sessions, files.Dir.Sessions,
//     database.DB.Sessions) writes a turn's records in the same transaction as its commit.
//     [TestStore] checks a store that you write yourself.
//  3. [NewHost] takes the agent and all that its sessions need ([Config]). Any number of hosts
//     may share the sessions of a store: each claims a session for a while, and renews its lease
//     while a turn runs.
//  4. [Host.Deliver] runs a delivery until it is settled. A delivery that comes a second time
//     gets the outcome of the first. Deliveries of one session run one after the other, in the
//     order of their acceptance; sessions do not wait for one another. [Host.Accept] stores a
//     delivery without waiting, for callers that have to answer at once.
//  5. Call [Host.Resume] from time to time. It settles accepted deliveries, those that hosts
//     left when they ended, retries that are due, and outcomes that were not notified yet.
//  6. Effects of a tool on the world happen at least once: pass Seed.Delivery with the checksum
//     of the call to a service that can recognize a repeated request. What the turn stores
//     happens once.
//
// # When does it count?
//
// A delivery counts if its turn reached turn output: the dispatch was acked, and the turn was not
// aborted by then. Otherwise nothing that the attempt set or stored is kept, and the delivery is
// tried again after growing pauses, until [Config].Attempts attempts have failed. A value that is
// set in a dispatch is visible in that dispatch at once, in the turn once the dispatch was acked,
// and in the next turn once the delivery was committed.
//
// # What a trace shows
//
// Each attempt is an ordinary trace. Seed and values are in the raw turn's stash below "session";
// the channel's hook and the providers are middlewares; each value that is set is a change of the
// stash. The leaf "session.auth" must not be readable in a trace: the usual secrets of package
// redact include its path. [Config].Journal observes what happens around the turns, without any
// value.
//
// # What to read next
//
// The example shows a session of two turns. The program example/chat is a chat that survives kill
// -9. CONTRACT.md has the rules (family SES) and the table of what a crash leaves behind.
package session
