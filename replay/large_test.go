package replay_test

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
)

// liveAgain verifies a large turn with its own executor.
func liveAgain(t testing.TB, shape large.Shape, crossings int) {
	verifyLive(t, shape.Trace(crossings), shape, crossings)
}

// verifyLive verifies what was recorded of a large turn with its own executor.
func verifyLive(t testing.TB, recorded []byte, shape large.Shape, crossings int) {
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{
		Config: shape.Turn(crossings), Seams: []string{"executor/model"}})
	require.NoError(t, err)
	require.Nil(t, report.Divergence, "%v", report.Divergence)
}

// stillAllocated returns what do allocates in a bubble, whose time stands still while a goroutine runs:
// otherwise a run that gets no core is taken for one that hangs, and looking at it allocates more than the run.
func stillAllocated(t *testing.T, do func(t *testing.T)) (bytes uint64) {
	synctest.Test(t, func(t *testing.T) { bytes = allocs.Bytes(func() { do(t) }) })
	return bytes
}

// Four times as many concurrent strands cost four times as much: each is woken only for its own steps.
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

// A replay with live seams costs twice as much for twice the crossings, and the memory that it
// holds for a crossing is bounded.
func TestLiveReplaysAreLinear(t *testing.T) {
	thorough.Long(t)
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

// When its agent is about to end, a live replay holds no more than a bounded number of bytes for each
// crossing. With the garbage not yet collected, a replay of a million crossings takes less than a gigabyte.
func TestLiveReplaysHoldLittle(t *testing.T) {
	thorough.Long(t)
	allocs.Countable(t)
	for name, most := range map[string]float64{"stream": 663, "streams": 830, "history": 890} {
		shape, ok := large.Named(name)
		require.True(t, ok)
		held := func(crossings int) (held float64) {
			recorded, before := shape.Trace(crossings), allocs.Heap()
			measured := shape
			measured.Turn = func(crossings int) adk.Config {
				config := shape.Turn(crossings)
				run := config.Executor.Run
				config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
					err := run(ctx, dc, h)
					if dc.IsAcked() {
						held = float64(allocs.Heap() - before)
					}
					return err
				}
				return config
			}
			verifyLive(t, recorded, measured, crossings)
			runtime.KeepAlive(recorded)
			return held
		}
		const small, big = 10_000, 30_000
		each := math.Inf(1)
		for try := 0; try < 3 && each >= most; try++ { // what else the process holds varies
			each = min(each, (held(big)-held(small))/(big-small))
		}
		assert.Less(t, each, most, name)
	}
}
