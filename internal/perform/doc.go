// Package perform makes the operations that user code asks of the engine: one that is
// given as a crossing, through the handle that the engine handed to that code. What a
// recorded call did is made again with it, and what a turn that is data says.
//
// The table of operations has one row a kind: which handle offers it, and how it is
// called. What a crossing cannot hold, the handlers of tools, the code of strands, the
// strands to wait for, is asked of a [User].
package perform
