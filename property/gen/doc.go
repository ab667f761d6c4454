// Package gen draws random turns, legal and illegal, for pgregory.net/rapid.
//
//  1. Turns is a generator of whole turns; Knobs bound what it draws.
//  2. Around makes a property of a user's own middlewares, executor, tools or storage: in
//     every random turn that has them in it, all invariants hold, and the user's check.
//  3. Exploring explores an agent on whatever a generator draws: a history, a prompt, what
//     a model says.
//  4. TurnUnder is a turn as it goes under a schedule, so that what an exploration found
//     can be shrunk.
package gen
