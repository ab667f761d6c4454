// Package turn is a turn as data: what each seam call of it does, in which order its
// strands go on, and which listeners fall over. It can be run again and again, written
// as JSON, and compared.
//
//  1. A Turn names its seams and holds a Script for each call of one; a Body is the
//     operations of a call and how it ends.
//  2. Turn.Run and Turn.Trace run it, with fakes for clock, ids and storage; Subject is
//     a turn, or any agent, as something that can be run again and again.
//  3. A Schedule says how a run of a subject is to be broken: faults at crossings, and
//     the order of strands.
//  4. CheckTurn and CheckSubject run one twice, replay it, hold it against all
//     invariants, and give each Finding.
//
// Read on in package gen, which draws turns, and in package explore, which breaks them.
package turn
