// Package session strings turns together: it keeps typed values between them, and makes
// each input count once, whatever crashes and however often it comes.
//
// # The words
//
// A delivery ([Delivery]) is one input for a session, under an id that its sender chose. An
// attempt is one turn that is run for it. What a session holds between its turns are values
// under keys ([Key]); the seed ([Seed]) is what a turn is told about its delivery. A host
// ([Host]) runs deliveries, a [Store] keeps them. A channel ([Channel]) turns a payload into
// records, a provider ([Provider]) makes a value for a turn that lives no longer than it
// ([RuntimeKey]). The commit is the one transaction that makes a delivery count: the values,
// the records and the delivery itself are changed together, or not at all.
//
// # The way through
//
//  1. Keys are package-level values: [NewKey] with the type of what they hold. Tools,
//     middlewares and the channel ask for them with the handle that they are given, and set
//     them there.
//  2. Choose a store: that of a storage (memory.Memory.Sessions, files.Dir.Sessions,
//     database.DB.Sessions) writes a turn's records in its commit. [TestStore] checks one of
//     your own.
//  3. [NewHost] takes the agent and all that its sessions need ([Config]). Any number of hosts
//     share the sessions of a store: each claims a session for a while, and renews its lease
//     while a turn runs.
//  4. [Host.Deliver] brings a delivery to its end. What comes a second time gets the outcome
//     that it had. Deliveries of one session run one after the other, in the order in which
//     they were accepted; sessions do not wait for one another.
//     [Host.Accept] keeps a delivery and waits for nothing, for who has to answer at once.
//  5. Call [Host.Resume] from time to time: it settles what was accepted, what hosts have left
//     that are gone, retries that are due, and outcomes that nobody was told.
//  6. What a tool does to the world is done at least once: hand Seed.Delivery with the checksum
//     of the call to whoever can tell a repeated request. What the turn stores is done once.
//
// # When does it count?
//
// A delivery counts if its turn came to the turn output: the dispatch was acked, and not
// aborted by then. Otherwise nothing is kept of what the attempt set and stored, and it is
// tried again, later and later, until [Config].Attempts have failed. A value that is set in
// a dispatch is seen there at once, in the turn when the dispatch was acked, and in the
// next turn when the delivery was committed.
//
// # What a trace shows
//
// Each attempt is an ordinary trace: seed and values stand in the raw turn's stash below
// "session", hook and providers are middlewares, and each value that is set is a change of
// the stash. What must not be in a trace of it is the leaf "session.auth": the usual secrets of
// package redact have that path. [Config].Journal hears what happens around the
// turns, without any value.
//
// # What to read next
//
// The example shows a session of two turns, and example/chat is a whole program: a chat that
// kill -9 does not hurt. CONTRACT.md has the rules, family SES, and the table of what a crash
// leaves behind.
package session
