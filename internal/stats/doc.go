// Package stats counts what recorded turns did and cost: turns, asks, iterations, tokens, time,
// tool calls, failures.
//
//  1. Gather reads the traces line by line and returns their Figures. It runs nothing, and holds of
//     a trace only what it counts.
//  2. The figures form a list of rows, each with the name that people and conditions use:
//     tokens.out, tools.weather.failed, time.turn.p90.
//  3. Compare compares the figures of two folders: the old value, the new one, and the change.
//  4. A Condition, which ParseCondition makes from a text such as "tokens.out > +10%", says whether
//     a figure has gone too far.
//
// Tokens are those that the answers of models report (package modelapi reads the common forms). If
// an answer reports none, or if an executor asks in a way that no trace shows, tokens are counted
// here, and the figures say for how many answers.
package stats
