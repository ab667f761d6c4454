package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/replay"
)

// BenchmarkVerifyStrands doubles the number of strands that run at once. ns/crossing must stay
// constant.
func BenchmarkVerifyStrands(b *testing.B) {
	shape, known := large.Named("wide")
	require.True(b, known)
	for _, crossings := range []int{10_000, 20_000, 40_000, 80_000} {
		recorded := shape.Trace(crossings)
		b.Run(fmt.Sprint(crossings), func(b *testing.B) {
			for b.Loop() {
				result, err := replay.Verify(b.Context(), bytes.NewReader(recorded), replay.Live{})
				require.NoError(b, err)
				require.Nil(b, result.Divergence)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*crossings), "ns/crossing")
		})
	}
}

// BenchmarkLiveStrands doubles the number of live strands that run at once. Each waits for its
// turn to report. ns/strand must stay about constant.
func BenchmarkLiveStrands(b *testing.B) {
	for _, strands := range []int{1000, 2000, 4000, 8000} {
		recorded, live := reporting(b, strands)
		b.Run(fmt.Sprint(strands), func(b *testing.B) {
			for b.Loop() {
				report, err := replay.Verify(b.Context(), bytes.NewReader(recorded), live)
				require.NoError(b, err)
				require.Nil(b, report.Divergence)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*strands), "ns/strand")
		})
	}
}

// reporting returns a recorded turn in which each strand reports a message, and the live code that
// does the same again.
func reporting(t testing.TB, strands int) ([]byte, replay.Live) {
	run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for i := range strands {
			_, err := dc.Fork(ctx, fmt.Sprint("strand ", i), func(_ context.Context, dc *adk.DispatchContext) error {
				_, err := dc.Helpers().ReportMessage(fmt.Sprint("message ", i), "hello", true)
				return err
			})
			if err != nil {
				return err
			}
		}
		return dc.Ack()
	}
	var recorded bytes.Buffer
	config := adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: run}}
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&recorded)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Be brief."}))
	return recorded.Bytes(), replay.LiveExecutor(run)
}
