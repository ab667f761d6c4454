// Package large makes traces of any size, in each of the ways in which a turn can grow: for
// benchmarks that double the work, and for the table of what commands cost.
package large
