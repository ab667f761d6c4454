// Package property says what holds for every turn, and what in one is legal and
// likely a mistake.
//
//  1. Check is one line of go test for a trace: it fails for each invariant that the
//     trace breaks, with the stretch of the transcript that shows it.
//  2. Examine reads a trace and gives all of it as data: Violations, and Hints, which
//     are legal. Invariants lists what is held, with the rule of the contract that each
//     follows from and what breaks without it.
//  3. Violations holds crossings that were observed, without a file; a Checker does so
//     turn after turn.
//
// Around it stand package turn, a turn as data that can be run; package explore, which
// breaks a turn at every point; package shrink, which makes a failing turn short and
// writes it as a Go test; and package gen, which draws turns, also around a middleware.
package property
