// Package gen generates random turns, legal and illegal ones, for pgregory.net/rapid.
//
//  1. Turns is a generator of whole turns; Knobs limits what it generates.
//  2. Around makes a property of a user's own middlewares, executor, tools or storage: in every
//     random turn that contains them, all invariants hold, and the user's check passes.
//  3. Exploring explores an agent on whatever a generator draws: a history, a prompt, a model's
//     answer.
//  4. TurnUnder makes a turn from a run under a schedule, so that what an exploration found can be
//     shrunk.
package gen
