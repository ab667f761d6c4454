// Package subtests fails a test once for each thing that an exploration has found, under a
// name that -run takes, and before the timeout of go test takes it.
package subtests
