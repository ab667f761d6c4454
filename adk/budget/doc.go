// Package budget counts how many tokens of a model's context window a prompt takes, refuses prompts
// that do not fit, and removes what a turn can do without.
//
// # The words
//
// An encoding is a way of counting tokens. A counter ([Counter]) counts exactly in an encoding for
// which the project has no ranks. Usage ([Usage]) has the tokens of each part of a prompt. Limits
// ([Limits]) are a window and the encoding in which it is counted; they are enforced only if both
// are set. An overflow ([Overflow]) is a prompt that counts more than the window; it is refused
// before any request is sent.
//
// # The way through
//
//  1. [Measure] counts the records of a view and the rendered results of its tool calls
//     (prompt.Assembly). Executors and middlewares that call it get the same figures.
//  2. An executor calls [Limits.Enforce] before its request: it measures, logs, and returns an
//     overflow as an error.
//  3. [OverflowOf] finds the figures in an error that reached an observer, also in a replay,
//     where the trace has only the error's text.
//  4. [Shed] is a turn-input middleware with one policy of what to remove first. Using it is
//     optional; you can write a middleware with a policy of your own.
//
// Package sentencepiece, in a module of its own, makes a Counter from a vocabulary file of the
// user, for example for the models of Gemini.
//
// The figures are guard rails, not receipts: they count texts, without the envelopes around
// records, the schemas of tools, native media and the form of the request. The bill is the
// provider's own usage. Nothing in this package retries.
package budget
