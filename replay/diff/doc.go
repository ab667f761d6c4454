// Package diff aligns two traces and says how they differ.
//
//  1. Traces compares two similar traces: of one scenario before and after a change, for example,
//     or a recording and its what-if. It aligns calls with calls and operations with operations, by
//     what they are and where they are in the tree of calls, not by their numbers.
//  2. The Diff lists the changes in the order of the runs, with the fields that differ, and counts
//     the crossings that are equal, changed, or in one trace only. Ids that differ are listed once
//     and are no change.
//  3. Its String is both transcripts in one, with equal parts left out.
package diff
