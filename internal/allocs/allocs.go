// Package allocs counts what code allocates, for tests that limit it.
//
// A count is the smallest of several, because the collector may empty a pool during one of them,
// and because other goroutines of the program allocate as well. Under the race detector nothing can
// be counted, since it allocates itself and makes pools drop values at random. Limits are not
// checked there, which the test's log says.
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

// Countable skips the test if allocations cannot be counted. It must be called on the test's
// goroutine.
func Countable(tb testing.TB) {
	tb.Helper()
	if race.Detector {
		tb.Skip(unheld)
	}
}

// AtMost fails the test, naming name, if do allocates more than most times per run, averaged over
// the given number of runs and rounded down. If allocations cannot be counted, it only runs do
// once. It may be called on any goroutine.
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

// PerRun returns how often do allocates, like testing.AllocsPerRun: an average over the runs,
// rounded down.
func PerRun(runs int, do func()) float64 {
	least := math.Inf(1)
	for range counts {
		least = min(least, testing.AllocsPerRun(runs, do))
	}
	return least
}

// Sum calls do once and returns how many allocations, of how many bytes, all goroutines made
// meanwhile.
func Sum(do func()) (times, bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}

// Bytes calls do once and returns how many bytes all goroutines allocated meanwhile.
func Bytes(do func()) uint64 {
	_, bytes := Sum(do)
	return bytes
}

// Held returns how many bytes of heap the result of do holds, after everything else was collected.
func Held[T any](do func() T) int64 {
	before := Heap()
	made := do()
	after := Heap()
	runtime.KeepAlive(made)
	return after - before
}

// Heap returns how many bytes of heap are in use. It collects twice, because values in a pool
// survive the first collection.
func Heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// Peak returns the largest number of bytes of heap that are held at once during do, in addition to
// those held before. It is the largest value that any collection finds, and there is a collection
// whenever the heap has grown by a tenth. The true peak may be slightly higher, but is hardly
// lower.
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

// watcher reads the size of the heap after every collection.
type watcher struct {
	most *atomic.Int64
	done atomic.Bool
}

// arm makes the next collection call look, by a cleanup of an unreachable object.
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
