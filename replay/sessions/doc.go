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
//  1. [Record] makes a journal for session.Config.Journal, and a replay.Recorder for Config.Agent
//     the traces: one a turn.
//  2. [Read] reads a journal back. [Merge] brings those of several hosts together.
//  3. [Verify] plays the deliveries of each session in their order. It holds each attempt's raw
//     turn against the state so far, replays its trace, and compares what it has left with what
//     was committed. With [Options].Host the raw turn has to be what today's host begins with,
//     and [Options].Live says which seams of the turns are today's code.
//  4. A [Divergence] is of one class: [Hydrate], [Turn], [Commit] or [Order].
package sessions
