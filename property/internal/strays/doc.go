// Package strays finds the goroutines that runs of user code leave behind, and says where they were
// started. A goroutine inherits the label of the goroutine that starts it, so goroutines of other
// parts of the program, and of other explorations, are not seen.
//
// Goroutines of the standard library that belong to a pool of connections, or that exist only
// because the explorer broke code off, are not reported.
package strays
