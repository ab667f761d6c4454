package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// BenchmarkAsksThatFail doubles the number of failing asks of one call; the asks are all different
// or all the same. ns/ask must stay constant.
func BenchmarkAsksThatFail(b *testing.B) {
	for name, request := range map[string]func(int) string{
		"each-new": func(n int) string { return fmt.Sprint("question ", n) },
		"the-same": func(int) string { return "question" },
	} {
		for _, asks := range []int{1_000, 2_000, 4_000, 8_000} {
			run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				for n := range asks {
					_, _ = adk.Ask(ctx, "model", request(n), func(context.Context, string) (string, error) {
						return "", errors.New("nobody is there")
					})
				}
				return dc.Ack()
			}
			var trace bytes.Buffer
			runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: run}}, replay.Record(&trace)))
			require.NoError(b, err)
			require.NoError(b, runner.Run(b.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
			b.Run(fmt.Sprintf("%s/%d", name, asks), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					report, err := replay.Verify(b.Context(), bytes.NewReader(trace.Bytes()), replay.LiveExecutor(run))
					require.NoError(b, err)
					require.Nil(b, report.Divergence)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*asks), "ns/ask")
			})
		}
	}
}
