// Package corpus verifies many traces at once and groups what diverges by its cause.
//
//  1. Sources lists the traces of a file system; a Source may be anything that opens.
//  2. Verify replays them, several at a time, with the seams that live chooses for each.
//     One change to an agent makes many traces diverge: the Report lists causes, each
//     with the traces that it hits, and the divergence of the first.
//  3. A Shard is a part of the traces for one machine of several; Merge puts the reports
//     together into the one that a single machine would have made.
//  4. Accept writes the new traces in the place of the old ones, with a reason
//     (NewAcceptance), where a change was meant.
//  5. Reports are written for people (String), for CI (JUnit, annotations) and as JSON.
//     Claims find the files that no check uses.
package corpus
