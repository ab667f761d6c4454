// Package shrink makes a turn that shows a problem as small as possible, and writes it as Go.
//
//  1. TurnOf makes a turn from a trace.
//  2. Shrink removes what is not needed to show the problem: scripts, operations, strands, records,
//     and then it simplifies values.
//  3. WriteScenario writes a turn as a Go test, with its transcript as the comment.
package shrink
