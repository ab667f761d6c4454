// Package transcript says a run in words for people to read.
//
//  1. Write writes a whole trace, WriteRange a stretch of it, and WriteExcerpt the
//     crossings of some numbers with what they stand in. A Transcript (New) does so while
//     the run goes on.
//  2. At is the State at one crossing: who is running, what user code sees, which gates
//     and streams are open.
//  3. WritePhases writes what happened in each phase of the turn: its input, the
//     iterations of its dispatches, its output.
//  4. Expand gives the lines of a trace for programs, with what a trace leaves out since
//     it follows: what an event carries, what a stream says so far.
//
// Nothing in a text of a trace can act upon the terminal that prints it.
package transcript
