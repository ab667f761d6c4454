// Package budget counts what a prompt takes of a model's context window, refuses what
// does not fit, and sheds what can go.
//
// # The words
//
// An encoding is a way of counting tokens; a counter ([Counter]) brings an exact one that
// the project has no ranks for. Usage ([Usage]) is what each part of a prompt counts.
// Limits ([Limits]) are a window and the encoding it is counted in: both together are
// enforced, one alone is not. An overflow ([Overflow]) is a prompt that counts more than
// the window has; it is refused before any request goes out.
//
// # The way through
//
//  1. [Measure] counts the records of a view and the rendered results of its tool calls
//     (prompt.Assembly). An executor and a middleware that call it cannot disagree.
//  2. [Limits.Enforce] is what an executor calls before it asks: it measures, logs, and
//     gives the overflow as an error.
//  3. [OverflowOf] finds the figures in whatever error reached an observer, also in a
//     replay, where a trace kept its text alone.
//  4. [Shed] is a turn-input middleware with one policy of what goes first. Nobody has to
//     use it; what decides is the user's middleware.
//
// Package sentencepiece, in a module of its own, makes a Counter of a vocabulary file that the
// user has, as for the models of Gemini.
//
// Figures are guard rails and not receipts: they count texts, without the envelopes around
// records, the schemas of tools, native media and the form of the request. The provider's
// own usage is the bill. Nothing here retries.
package budget
