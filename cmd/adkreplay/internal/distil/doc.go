// Package distil chooses of many traces the fewest that show everything that any of them
// shows.
//
//  1. Choose goes through the traces, one line after the other, and notes what each shows
//     (behaviour.go): which operations are made where, in which order and how often, which
//     tools and storages fail and how, how asks are answered, how dispatches end. Data is
//     no part of it: two turns that differ in their texts alone show the same.
//  2. Of traces that show the same one is held, the shortest. So memory grows with what
//     there is to be seen, and not with the traces.
//  3. The Selection takes the trace that adds most, again and again, and then leaves out what
//     the others show together. It says what each adds, what was left out for want of room,
//     and what no trace shows: middleware never entered, tools never called, failures never
//     met.
package distil
