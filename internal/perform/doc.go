// Package perform performs operations of user code that are given as crossings, through the handle
// that the engine gave to that code. It repeats what a recorded call did, and executes a turn that
// is described as data.
//
// The table of operations has one row for each kind: which handle offers the operation, and how to
// call it. A crossing cannot hold the handlers of tools, the code of strands or the strands to wait
// for; these come from a [User].
package perform
