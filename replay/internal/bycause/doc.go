// Package bycause makes a recorded run again with live seams. What the new run asks for is answered
// by its cause (the seam, the strand, the kind of operation and its arguments), never by its
// position. Each crossing of the new run stands for a recorded crossing, or for none. This package
// compares nothing: the new run is recorded in turn, and the Outcome says which new crossing stands
// for which recorded one.
//
// Run.Make is the only entry point. A player is the probe, the clock, the id source and every
// scripted seam of the new run, so the engine calls it from all strands. The player answers two
// questions.
//
// # Which recorded thing a new one stands for
//
// Every call of the new run has a counterpart, the recorded call that it stands for, or none
// (player.go). The counterpart is found when the call begins, below the counterpart of its caller:
//
//   - a middleware, an executor and a strand by seam path and occurrence below their run, dispatch
//     or fork;
//   - a storage obligation and a tool by the operation that leads to it.
//
// For every operation that live code makes, the player looks among the operations of the call's
// counterpart: it takes the next one with the same kind and arguments (causes.Pool), or the one
// that a scripted seam is about to perform. An id that live code makes anew stands for the recorded
// id in its place (rename.IDs). A request to the world may have changed; it then gets the answer of
// the most similar recorded request (asks.Recorded). For a storage that only writes, and for a
// gate, the answer may be certain although the request differs (certain.go). Whatever has no
// counterpart gets stub.ErrUnanswered.
//
// Where goroutines that live code started begin several calls at the same time, it is not known
// which new call is which recorded call. Each stands for the next recorded one until it asks the
// world something. That request shows which one it is, and the calls then exchange their
// counterparts (asked.go).
//
// # Who goes on when
//
// The engine announces each step of a strand before it takes the step. The player foresees which
// recorded crossing the step will stand for (foresee.go), and so its place in the recorded order; a
// goroutine that may not take its step yet waits in the queue. Strands otherwise run freely,
// because live code may wait for other live code in ways that no crossing shows. Only three things
// are put in the recorded order: what comes from outside, such as cancels, timers and settlements
// of gates (outside.go); what strands share (calls.IsShared, calls.GateID); and the clock. Where
// every goroutine of the run waits and at least one of them waits in user code, the player makes
// what comes next all the same.
//
// No crossing shows which goroutines of live code are running. So what they wait for (answers,
// times, timers and ids) comes in the recorded order, one at a time, each when all of them are at
// rest (package atrest). Where several of them then make an id, it is not known which recorded id
// belongs to which goroutine; what each does with its id shows it. Strands that wait for one
// another in a circle are given up (endless.go).
package bycause
