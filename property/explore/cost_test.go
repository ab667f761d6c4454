package explore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/scenarios"
)

// What one run needs is used again for the next: garbage is what schedules a second are lost
// to.
func TestASchedulesGarbage(t *testing.T) {
	allocs.Countable(t)
	s, ok := scenarios.Named("hello")
	require.True(t, ok)
	schedules := 0
	allocations := allocs.PerRun(2, func() {
		result, err := explore.Explore(t.Context(), scripted(s), explore.Options{Bound: 2, Workers: 1, Free: -1})
		require.NoError(t, err)
		schedules = result.Schedules
	})
	assert.Less(t, allocations/float64(schedules), 118.0)
}
