package machine_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/machine"
)

// RUN-7: the default ids are unique, however many goroutines make them, and each goroutine gets
// them in ascending order.
func TestIDsAreUniqueAndOrdered(t *testing.T) {
	const makers, each = 16, 100_000
	source := machine.UUIDs{}
	made := make([][]string, makers)
	var all sync.WaitGroup
	for i := range makers {
		made[i] = make([]string, each)
		all.Go(func() {
			for k := range made[i] {
				made[i][k] = source.NewID()
			}
		})
	}
	all.Wait()
	seen := make(map[string]struct{}, makers*each)
	for _, ids := range made {
		assert.True(t, slices.IsSorted(ids), "in the order in which they were made")
		for _, id := range ids {
			seen[id] = struct{}{}
		}
	}
	assert.Equal(t, makers*each, len(seen), "no two alike")
}
