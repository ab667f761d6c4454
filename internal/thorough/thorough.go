// Package thorough says how much a test does that could do as much as there is time for: one
// that draws, samples or repeats.
package thorough

import (
	"hash/crc32"
	"os"
	"testing"
)

// Variable has tests do all that they can: make thorough sets it to "all".
const Variable = "ADKREPLAY_THOROUGH"

// All reports whether everything is to be done.
func All() bool { return os.Getenv(Variable) == "all" }

// Of is how much is to be done: all of it where that was asked for, few with -short, as under
// the race detector, which looks at the same code each time, and the usual measure else.
func Of[T any](all, usual, few T) T {
	switch {
	case All():
		return all
	case testing.Short():
		return few
	}
	return usual
}

// Takes reports whether one of many of a kind is looked at: all are but with -short, where it
// is one in so many, the same each time, by its name.
func Takes(name string, oneIn uint32) bool {
	return All() || !testing.Short() || crc32.ChecksumIEEE([]byte(name))%oneIn == 0
}

// OneGoroutine skips a test with -short, as under the race detector, which has nothing to say of what
// is on one goroutine: it takes long there, and make test runs it.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if testing.Short() && !All() {
		t.Skip("it is on one goroutine, and long: it is left out with -short")
	}
}
