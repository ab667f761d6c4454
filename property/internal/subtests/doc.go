// Package subtests fails a subtest for each finding of an exploration, under a name that -run
// selects. It also ends the exploration before the timeout of go test does.
package subtests
