// Package state works out, from crossings alone, what an engine holds at each of them:
// its calls, operations, dispatches and gates, and what user code can see.
//
// A Fold takes the crossings of a run in, one after the other. Before each, Check says
// whether an engine that keeps the contract tells it there, and Seen is the View that
// the crossing's call has.
package state
