package replay_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/replay"
)

// liveAgain verifies a large turn with its own executor.
func liveAgain(t testing.TB, shape large.Shape, crossings int) {
	report, err := replay.Verify(t.Context(), bytes.NewReader(shape.Trace(crossings)), replay.Live{
		Config: shape.Turn(crossings), Seams: []string{"executor/model"}})
	require.NoError(t, err)
	require.Nil(t, report.Divergence, "%v", report.Divergence)
}

// stillAllocated is what something allocates in a bubble, whose time stands while anybody runs:
// nobody looks at a run that gets no core, which takes more than what it does.
func stillAllocated(t *testing.T, do func(t *testing.T)) (bytes uint64) {
	synctest.Test(t, func(t *testing.T) { bytes = allocs.Bytes(func() { do(t) }) })
	return bytes
}

// Four times as many strands at once cost four times as much: each is woken for its own steps.
func TestStrandsAreReplayedInLinearTime(t *testing.T) {
	allocs.Countable(t)
	shape, ok := large.Named("wide")
	require.True(t, ok)
	cost := func(crossings int) float64 {
		recorded := shape.Trace(crossings)
		return float64(allocs.Bytes(func() {
			result, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{})
			require.NoError(t, err)
			require.Nil(t, result.Divergence)
		}))
	}
	assert.Less(t, cost(16_000)/cost(4_000), 5.0)
}

// A replay with live seams costs twice as much for twice the crossings, and what it
// holds of a crossing is bounded.
func TestLiveReplaysAreLinear(t *testing.T) {
	allocs.Countable(t)
	for _, name := range []string{"stream", "streams", "nesting", "history", "asks"} {
		shape, ok := large.Named(name)
		require.True(t, ok)
		cost := func(crossings int) float64 {
			return float64(stillAllocated(t, func(t *testing.T) { liveAgain(t, shape, crossings) }))
		}
		assert.Less(t, cost(8_000)/cost(4_000), 2.5, name)
	}
}
