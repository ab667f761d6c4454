// Package thorough says how much work a test does that could do any amount, because it draws,
// samples or repeats, or because it is slow. There are three measures: the plain suite, which
// people run before each commit; the usual measure, which make long and CI run; and everything,
// which make thorough runs.
package thorough

import (
	"hash/crc32"
	"os"
	"testing"
)

// Variable is the environment variable with the measure: Usual, Everything, or nothing for the
// plain suite.
const Variable = "ADKREPLAY_THOROUGH"

const (
	// Usual runs slow tests too, and draws as much as is worth it on each change.
	Usual = "long"
	// Everything makes tests do all that they can.
	Everything = "all"
)

// All reports whether everything is to be done.
func All() bool { return os.Getenv(Variable) == Everything }

// isPlain reports whether only the plain suite is to be run.
func isPlain() bool { return !All() && os.Getenv(Variable) != Usual }

// Of returns how much to do. It returns few in the plain suite, and with -short, which is used with
// the race detector, since repetitions examine the same code there.
func Of[T any](all, usual, few T) T {
	switch {
	case All():
		return all
	case testing.Short() || isPlain():
		return few
	}
	return usual
}

// Takes reports whether to include one of many cases. If few are to be done, it includes about one
// in oneIn, always the same ones, chosen by name.
func Takes(name string, oneIn uint32) bool {
	return Of(true, true, crc32.ChecksumIEEE([]byte(name))%oneIn == 0)
}

// Long skips a test in the plain suite because it takes a second or more.
func Long(t testing.TB) {
	t.Helper()
	if isPlain() {
		t.Skip("it is long: make long runs it, and CI")
	}
}

// OneGoroutine skips a test with -short, which is used with the race detector. Such a test runs on
// a single goroutine, where the detector finds nothing, and is slow with it; make test runs it.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if testing.Short() && !All() {
		t.Skip("it is on one goroutine, and long: it is left out with -short")
	}
}
