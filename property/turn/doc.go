// Package turn represents a turn as data: what each seam call does, in which order the strands go
// on, and which listeners fail. Such a turn can be run again and again, written as JSON, and
// compared.
//
//  1. A Turn names its seams and holds a Script for each call of a seam. A Body is the list of
//     operations of a call, and how the call ends.
//  2. Turn.Run and Turn.Trace run it, with fakes for clock, ids and storage. A Subject is a turn, or
//     any agent, that can be run again and again.
//  3. A Schedule says how to break a run of a subject: by faults at crossings, and by the order of
//     strands.
//  4. CheckTurn and CheckSubject run a subject twice, replay the run, check it against all
//     invariants, and return each Finding.
//
// See also package gen, which generates turns, and package explore, which breaks them.
package turn
