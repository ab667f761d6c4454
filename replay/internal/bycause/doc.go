// Package bycause makes a recorded run again with live seams. What the new run asks for is
// answered by its cause, and never by its position; each of its crossings stands for a recorded
// one, or for none. Nothing is compared here: the new run is kept beside, and the Outcome says
// how the two go together when it is over.
//
// Run.Make is all that others call. A player is the probe, the clock, the id source and every
// scripted seam of the new run, so the engine calls it from all strands. It answers two questions.
//
// # Which recorded thing a new one stands for
//
// Every call of the new run has its counterpart in the recording, or none (player.go). It is found
// when the call begins, below the counterpart of the call above it:
//
//   - a middleware, an executor and a strand by seam path and occurrence below their run, dispatch
//     or fork;
//   - a storage obligation and a tool by the operation that leads to it.
//
// Every operation that live code makes is looked for among those of its call's counterpart: the
// next with the same kind and arguments (causes.Pool), or the one that a scripted seam is about to
// perform. An id that live code makes anew stands for the recorded one of its place (rename.IDs).
// A request to the world may have changed, and gets the answer of the one most alike
// (asks.Recorded). Of storage that only writes, and of gates, the answer may be certain though
// something else was asked (certain.go). Whatever has no counterpart gets stub.ErrUnanswered.
//
// Where goroutines of live code's own begin calls at once it is not known which is which. Each
// stands for the next one until it asks the world something: that shows which one it is, and then
// calls exchange their counterparts (asked.go).
//
// # Who goes on when
//
// The engine announces each step of a strand before it is taken. What it will stand for is
// foreseen (foresee.go), and with it its place in the recorded order; who may not take it yet waits
// in the queue. Strands run freely nevertheless, as live code may wait for one another in ways that
// nobody sees, but for three things that are put in the recorded order: what comes from outside, as
// cancels, timers and settlements of gates (outside.go); what is shared between strands
// (calls.IsShared, calls.GateID); and the clock. Where every goroutine of the run waits, one of them in such a way,
// what comes next is made nevertheless.
//
// Of goroutines that live code has begun nobody sees which are on their way: what they wait for,
// answers, times, timers and ids, comes in the recorded order, each when all of them are at rest
// (package atrest). Where several of them then make an id it is not known which recorded one is
// whose: what is done with each shows it. Strands that wait for one another in a circle are given up (endless.go).
package bycause
