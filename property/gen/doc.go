// Package gen draws random turns, legal and illegal, for pgregory.net/rapid.
//
//  1. Turns is a generator of whole turns; Knobs bound what it draws.
//  2. Around makes a property of a user's own middlewares: in every random turn that has
//     them in it, all invariants hold.
//  3. TurnUnder is a turn as it goes under a schedule, so that what an exploration found
//     can be shrunk.
package gen
