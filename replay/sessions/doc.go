// Package sessions writes down what hosts of sessions did, and plays it again: a journal
// around the traces of the turns.
//
// # The words
//
// A journal ([Journal]) is JSON Lines: a header, then a line a step as package session tells it
// (session.Step), then a footer with the number of steps and their SHA-256. It holds no value:
// the traces do. What is whole has its footer; what a crash has cut off is read as far as it
// goes.
//
// # The way through
//
//  1. [RecordHost] writes down all that a host does, in a folder: its journal and a trace a turn.
//     [Record] makes a journal alone, for session.Config.Journal; [InMemory] is for tests.
//  2. [Recordings] finds journals among traces: those of one folder are those of the hosts of one
//     store, with the traces there and below. [Recording.Verify] plays them, as the command
//     adkreplay verify does.
//  3. [Read] reads a journal back, and [Merge] brings those of several hosts together.
//     [Journal.Story] says it step by step, as adkreplay show does.
//  4. [Verify] plays the deliveries of each session in their order. It holds each attempt's raw
//     turn against the state so far, replays its trace, and compares what it has left with what
//     was committed. With [Options].Host the raw turn has to be what today's host begins with,
//     and [Options].Live says which seams of the turns are today's code.
//     [Today] has the host of today in the turn of a trace, [Recording.Rerecord] makes a
//     recording again with it; golden.ReplaySessions does both in go test.
//  5. A [Divergence] is of one class: [Hydrate], [Turn], [Commit] or [Order].
package sessions
