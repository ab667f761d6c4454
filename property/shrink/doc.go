// Package shrink makes a turn that shows something short, and writes it down.
//
//  1. TurnOf makes a turn of a trace.
//  2. Shrink takes away what does not matter to what a turn shows: scripts, operations,
//     strands, records, and then the sizes of values.
//  3. WriteScenario writes a turn as a Go test, with its transcript as the comment.
package shrink
