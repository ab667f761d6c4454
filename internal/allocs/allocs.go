// Package allocs counts what code allocates, for tests that bound it.
//
// A count is the least of a few: the collector may empty a pool in the midst of one, and
// the other goroutines of a program allocate as well. Under the race detector nothing can
// be counted, for it allocates itself and has pools lose what they hold at random: bounds
// are not held there, which is said in the test's log.
package allocs

import (
	"math"
	"runtime"
	"testing"

	"github.com/adkreplay/adkreplay/internal/race"
)

const (
	counts = 3
	unheld = "the race detector allocates, and has pools lose what they hold: go test without -race bounds allocations"
)

// Countable skips the test where allocations cannot be counted. It is called on the
// test's goroutine.
func Countable(tb testing.TB) {
	tb.Helper()
	if race.Detector {
		tb.Skip(unheld)
	}
}

// AtMost fails the test, by its name, if do allocates more often than that, on an average
// of so many runs, rounded down. Where allocations cannot be counted it runs do once. It may
// be called on any goroutine.
func AtMost(tb testing.TB, most float64, runs int, do func(), name string) {
	tb.Helper()
	if race.Detector {
		tb.Log(unheld)
		do()
		return
	}
	if found := PerRun(runs, do); found > most {
		tb.Errorf("%s: want at most %v allocations, found %v", name, most, found)
	}
}

// PerRun is how often do allocates, as testing.AllocsPerRun has it: an average of so many
// runs, rounded down.
func PerRun(runs int, do func()) float64 {
	least := math.Inf(1)
	for range counts {
		least = min(least, testing.AllocsPerRun(runs, do))
	}
	return least
}

// Sum is how often anything was allocated, by any goroutine, and how many bytes of it,
// while something was done once.
func Sum(do func()) (times, bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}

// Bytes is how many of them were allocated, by any goroutine, while something was done once.
func Bytes(do func()) uint64 {
	_, bytes := Sum(do)
	return bytes
}

// Held is how many bytes of heap are held by what is made, once all else is collected.
func Held[T any](do func() T) int64 {
	before := heap()
	made := do()
	after := heap()
	runtime.KeepAlive(made)
	return after - before
}

// heap is what is in use. What was in a pool when a collection began is still there behind
// it: only the next takes it.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
