// Package transcript describes a run as text for people to read.
//
//  1. Write writes a whole trace, WriteRange a range of it, and WriteExcerpt the crossings with
//     given numbers and their surroundings. A Transcript (New) writes during the run.
//  2. At returns the State at one crossing: which calls are open, what user code sees, and which
//     gates and streams are open.
//  3. WritePhases writes what happened in each phase of the turn: its input, the iterations of its
//     dispatches, and its output.
//  4. Expand returns the lines of a trace for programs, completed with what a trace omits because
//     it follows from earlier lines, such as records in full.
//
// All text is escaped, so that no text of a trace can control the terminal that prints it.
package transcript
