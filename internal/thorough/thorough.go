// Package thorough says how much a test does that could do as much as there is time for: one
// that draws, samples or repeats, or one that takes long. There are three measures. The plain
// suite is what one runs before each commit; make long, and CI, have the usual measure; make
// thorough has all.
package thorough

import (
	"hash/crc32"
	"os"
	"testing"
)

// Variable says the measure: Usual or Everything, or nothing for that of the plain suite.
const Variable = "ADKREPLAY_THOROUGH"

const (
	// Usual has what is long run too, and draws as much as is worth it on each change.
	Usual = "long"
	// Everything has tests do all that they can.
	Everything = "all"
)

// All reports whether everything is to be done.
func All() bool { return os.Getenv(Variable) == Everything }

// isPlain reports whether there is the time of the plain suite alone.
func isPlain() bool { return !All() && os.Getenv(Variable) != Usual }

// Of is how much is to be done: few in the plain suite, and with -short, as under the race
// detector, which looks at the same code each time.
func Of[T any](all, usual, few T) T {
	switch {
	case All():
		return all
	case testing.Short() || isPlain():
		return few
	}
	return usual
}

// Takes reports whether one of many of a kind is looked at: where few are to be, it is one in
// so many, the same each time, by its name.
func Takes(name string, oneIn uint32) bool {
	return Of(true, true, crc32.ChecksumIEEE([]byte(name))%oneIn == 0)
}

// Long skips a test in the plain suite: it takes a second and more.
func Long(t testing.TB) {
	t.Helper()
	if isPlain() {
		t.Skip("it is long: make long runs it, and CI")
	}
}

// OneGoroutine skips a test with -short, as under the race detector, which has nothing to say of what
// is on one goroutine: it takes long there, and make test runs it.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if testing.Short() && !All() {
		t.Skip("it is on one goroutine, and long: it is left out with -short")
	}
}
