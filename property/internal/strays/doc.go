// Package strays finds the goroutines that runs of user code leave behind, and says where they
// were started. Every goroutine inherits the label of the one that starts it, so those of a
// program's other parts, and of other explorations, are not seen.
//
// Those of the standard library that belong to a pool of connections, or that only the
// explorer's own breaking off has left, are nobody's fault.
package strays
