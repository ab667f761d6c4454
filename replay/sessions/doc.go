// Package sessions records what hosts of sessions did, and replays it: a journal that goes with the
// traces of the turns.
//
// # The words
//
// A journal ([Journal]) is JSON Lines: a header, then one line per step (session.Step of package
// session), then a footer with the number of steps and their SHA-256. It holds no values; these are
// in the traces. A complete journal has a footer. A journal that a crash cut short is read as far
// as it goes.
//
// # The way through
//
//  1. [RecordHost] records everything that a host does in a folder: its journal, and one trace per
//     turn. [Record] makes only a journal, for session.Config.Journal; [InMemory] is for tests.
//  2. [Recordings] finds journals among traces. The journals in one folder are those of the hosts
//     of one store, and the traces of their turns are in this folder or below it.
//     [Recording.Verify] replays them, as the command adkreplay verify does.
//  3. [Read] reads a journal, and [Merge] joins the journals of several hosts. [Journal.Story]
//     describes it step by step, as adkreplay show does.
//  4. [Verify] replays the deliveries of each session in their order. It compares each attempt's
//     raw turn with the state so far, replays its trace, and compares what the turn left with what
//     was committed. With [Options].Host, the raw turn also has to be what today's host begins
//     with, and [Options].Live says which seams of the turns are today's code. [Today] puts today's
//     host into the turn of a trace, and [Recording.Rerecord] records everything again with today's
//     host; golden.ReplaySessions does both in go test.
//  5. A [Divergence] has one of the classes [Hydrate], [Turn], [Commit] and [Order].
package sessions
