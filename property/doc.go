// Package property checks turns against rules: invariants, which hold for every turn, and advice
// about what is legal in a turn but probably a mistake.
//
//  1. Check is one line of go test for a trace: it fails for each invariant that the trace breaks,
//     with the stretch of the transcript that shows it.
//  2. Examine reads a trace and returns all findings as data: Violations, and Hints, which are
//     legal. Invariants lists what is checked, with the rule of the contract from which each
//     invariant follows and what goes wrong for users without it.
//  3. Violations checks crossings that were observed, without a file. A Checker does the same for
//     one turn after another.
//
// Related packages are package turn, which represents a turn as data that can be run; package
// explore, which breaks a turn at every point; package shrink, which makes a failing turn short and
// writes it as a Go test; and package gen, which generates turns, also around a given middleware.
package property
