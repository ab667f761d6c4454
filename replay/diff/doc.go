// Package diff aligns two traces and says in what they differ.
//
//  1. Traces compares two traces of the like: of one scenario before and after a change,
//     or of a recording and its what-if. Calls are aligned with calls and operations with
//     operations, by what they are and where they stand, and not by their numbers.
//  2. The Diff lists the changes in the order of the runs, with the fields that differ,
//     and counts what is equal, changed and only in one; ids that differ are listed once
//     and are no change.
//  3. Its String is the two transcripts in one, with what is equal left out.
package diff
