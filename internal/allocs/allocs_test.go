package allocs_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/allocs"
)

var kept []byte

// failing is a test that keeps its failures.
type failing struct {
	testing.TB
	said []string
}

func (f *failing) Helper() {}
func (f *failing) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

// Code that allocates more often than it may fails the test, with its name and the number of allocations.
func TestAtMost(t *testing.T) {
	allocs.Countable(t)
	f := &failing{TB: t}
	twice := func() { kept, kept = make([]byte, 100), make([]byte, 200) }
	allocs.AtMost(f, 2, 10, twice, "two slices")
	assert.Empty(t, f.said)
	allocs.AtMost(f, 1, 10, twice, "two slices")
	assert.Equal(t, []string{"two slices: want at most 1 allocations, found 2"}, f.said)
}

// The result is the lowest of several counts, so a pool that is emptied during one count does not add to it.
func TestCountsAreTheLeast(t *testing.T) {
	allocs.Countable(t)
	calls := 0
	assert.Zero(t, allocs.PerRun(10, func() {
		if calls++; calls <= 10 { // only during the first count and its warm-up
			kept = make([]byte, 100)
		}
	}))
}

// Sum also counts what other goroutines allocate, and it counts bytes.
func TestSum(t *testing.T) {
	var wait sync.WaitGroup
	times, bytes := allocs.Sum(func() {
		wait.Go(func() { kept = make([]byte, 1<<20) })
		wait.Wait()
	})
	assert.NotZero(t, times)
	assert.GreaterOrEqual(t, bytes, uint64(1<<20))
}

// Held returns what is left when everything else has been collected.
func TestHeld(t *testing.T) {
	kept = nil
	held := allocs.Held(func() []byte {
		kept = make([]byte, 8<<20)
		kept = nil
		return make([]byte, 1<<20)
	})
	assert.InDelta(t, 1<<20, held, 1<<19)
}

// Peak returns the most that was held at any moment, even if nothing is held at the end.
func TestPeak(t *testing.T) {
	allocs.Countable(t)
	kept = nil
	peak := allocs.Peak(func() {
		kept = make([]byte, 8<<20)
		for range 100 { // triggers garbage collections
			other = make([]byte, 1<<20)
		}
		kept = nil
		for range 100 {
			other = make([]byte, 1<<20)
		}
		other = nil
	})
	assert.InDelta(t, 8<<20, peak, 4<<20)
}

var other []byte
