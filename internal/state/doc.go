// Package state derives, from crossings alone, what an engine holds at each of them: its calls,
// operations, dispatches and gates, and what user code can see.
//
// A Fold applies the crossings of a run one after the other. Before each crossing, Check reports
// whether an engine that keeps the contract may record it there, and Seen returns the View that the
// crossing's call has.
package state
