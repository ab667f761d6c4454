// Package distil chooses, from many traces, the fewest that show everything that any of them shows.
//
//  1. Choose reads the traces line by line and notes the behaviours that each of them shows
//     (behaviour.go): which operations are made where, in which order and how often, which tools
//     and storages fail and how, how asks are answered, how dispatches end. Data is not part of a
//     behaviour: two turns that differ only in their texts show the same.
//  2. Of traces that show the same behaviours, only the shortest is kept. So memory grows with the
//     number of different behaviours, and not with the traces.
//  3. The Selection repeatedly takes the trace that adds most, and then leaves out traces that the
//     others cover together. It says what each trace adds, what was left out because of the limit,
//     and what no trace shows: middleware never entered, tools never called, failures that never
//     happened.
package distil
