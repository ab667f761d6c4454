// Package stats counts what recorded turns did and cost: turns, asks, iterations, tokens,
// time, calls of tools, failures.
//
//  1. Gather goes through the traces, one line after the other, and gives their Figures.
//     It runs nothing, and holds of a trace what is counted of it.
//  2. Rows are the figures as a list, each under the name by which people and conditions speak
//     of it: tokens.out, tools.weather.failed, time.turn.p90.
//  3. Compare sets the figures of two folders side by side: what was, what is, and by how
//     much that is more.
//  4. A Condition, made by ParseCondition of a text such as "tokens.out > +10%", says whether a
//     figure has come too far.
//
// Tokens are those that the answers of models say (package modelapi knows the forms that are
// common). Where an answer says none, and where an executor asks in a way that no trace
// shows, they are counted, and the figures say of how many that is so.
package stats
