// Package large makes traces of any size, each of a kind that a turn can grow in: for
// benchmarks that double the work, and for the table of what commands cost.
package large
