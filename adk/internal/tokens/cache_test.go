package tokens

import (
	"sync"
	"testing"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/stretchr/testify/assert"
)

// PRM-1: the cache returns the counts of Estimate, once for each encoding, also to concurrent
// goroutines.
func TestCacheCountsAlike(t *testing.T) {
	const text = "the quick brown fox \U0001F98A"
	names := []string{Claude, "", "unknown", GPT2, R50kBase, P50kBase, P50kEdit, CL100kBase, O200kBase}
	var (
		c    Cache
		wait sync.WaitGroup
	)
	for range 16 {
		for _, name := range names {
			wait.Go(func() { assert.Equal(t, Estimate(text, name), c.Estimate(text, name), name) })
		}
	}
	wait.Wait()
	kept := 0
	for count := c.counts.Load(); count != nil; count = count.next {
		kept++
	}
	assert.Equal(t, 6, kept, "one entry for each way of counting")
	allocs.AtMost(t, 0, 10, func() { c.Estimate(text, GPT2) }, "counting again")
}
