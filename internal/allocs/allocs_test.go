package allocs_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/allocs"
)

var kept []byte

// failing keeps what a test was told.
type failing struct {
	testing.TB
	said []string
}

func (f *failing) Helper() {}
func (f *failing) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

// Whoever allocates more often than is allowed is named, with how often that is.
func TestAtMost(t *testing.T) {
	allocs.Countable(t)
	f := &failing{TB: t}
	twice := func() { kept, kept = make([]byte, 100), make([]byte, 200) }
	allocs.AtMost(f, 2, 10, twice, "two slices")
	assert.Empty(t, f.said)
	allocs.AtMost(f, 1, 10, twice, "two slices")
	assert.Equal(t, []string{"two slices: want at most 1 allocations, found 2"}, f.said)
}

// A pool that is emptied in the midst of a count is no allocation of what is counted.
func TestCountsAreTheLeast(t *testing.T) {
	allocs.Countable(t)
	calls := 0
	assert.Zero(t, allocs.PerRun(10, func() {
		if calls++; calls <= 10 { // the first count, and what warms it up
			kept = make([]byte, 100)
		}
	}))
}

// What other goroutines allocate is counted too, and bytes are.
func TestSum(t *testing.T) {
	var wait sync.WaitGroup
	times, bytes := allocs.Sum(func() {
		wait.Go(func() { kept = make([]byte, 1<<20) })
		wait.Wait()
	})
	assert.NotZero(t, times)
	assert.GreaterOrEqual(t, bytes, uint64(1<<20))
}

// What is held is what is left when all else is collected.
func TestHeld(t *testing.T) {
	kept = nil
	held := allocs.Held(func() []byte {
		kept = make([]byte, 8<<20)
		kept = nil
		return make([]byte, 1<<20)
	})
	assert.InDelta(t, 1<<20, held, 1<<19)
}

// A peak is what was held in the midst of it, and no more when all is done.
func TestPeak(t *testing.T) {
	allocs.Countable(t)
	kept = nil
	peak := allocs.Peak(func() {
		kept = make([]byte, 8<<20)
		for range 100 { // what has collections come
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
