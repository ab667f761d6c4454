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
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
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
	before := Heap()
	made := do()
	after := Heap()
	runtime.KeepAlive(made)
	return after - before
}

// Heap is how many bytes of heap are in use. What was in a pool when a collection began is
// still there behind it: only the next takes it.
func Heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// Peak is how many bytes of heap are held at once while something is done, beyond what was
// held before: the most that any collection found, and there is one whenever the heap has
// grown by a tenth. It may be less than what was held, and hardly more.
func Peak(do func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	before := Heap()
	var most atomic.Int64
	most.Store(before)
	w := &watcher{most: &most}
	w.arm()
	do()
	w.done.Store(true)
	return most.Load() - before
}

// watcher looks at the heap after every collection.
type watcher struct {
	most *atomic.Int64
	done atomic.Bool
}

// arm has the next collection find something that nobody holds.
func (w *watcher) arm() {
	runtime.AddCleanup(new([32]byte), (*watcher).look, w)
}

func (w *watcher) look() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	for now := int64(live[0].Value.Uint64()); ; {
		if was := w.most.Load(); now <= was || w.most.CompareAndSwap(was, now) {
			break
		}
	}
	if !w.done.Load() {
		w.arm()
	}
}
