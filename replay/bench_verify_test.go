package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// streamLengths are the numbers of deltas of a benchmarked message. If the cost is linear, a delta
// costs the same in each.
var streamLengths = []int{1000, 10_000, 100_000}

// streamTurn runs a turn whose model streams one message of n deltas. The
// probe may be nil.
func streamTurn(b *testing.B, n int, probe adk.Probe) {
	runner, err := adk.NewRunner(adk.Config{
		Storage: fakes.NoOpStorage(), Probe: probe,
		Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for i := range n {
				if _, err := h.ReportMessage("m1", "some words ", i == n-1); err != nil {
					return err
				}
			}
			return dc.Ack()
		}},
	})
	require.NoError(b, err)
	require.NoError(b, runner.Run(b.Context(), adk.RawTurn{SystemPrompt: "be brief"}))
}

// perDelta reports the time and the allocations that one delta costs.
func perDelta(b *testing.B, n int, run func()) {
	_, bytes := allocs.Sum(func() {
		for b.Loop() {
			run()
		}
	})
	deltas := float64(n) * float64(b.N)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/deltas, "ns/delta")
	b.ReportMetric(float64(bytes)/deltas, "B/delta")
}

func BenchmarkStreamEngine(b *testing.B) {
	for _, n := range streamLengths {
		b.Run(fmt.Sprint(n), func(b *testing.B) { perDelta(b, n, func() { streamTurn(b, n, nil) }) })
	}
}

func BenchmarkStreamRecorded(b *testing.B) {
	for _, n := range streamLengths {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var trace bytes.Buffer
			perDelta(b, n, func() {
				trace.Reset()
				streamTurn(b, n, replay.Record(&trace))
			})
			b.ReportMetric(float64(trace.Len())/float64(n), "trace-B/delta")
		})
	}
}

func BenchmarkStreamVerify(b *testing.B) {
	for _, n := range streamLengths {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var trace bytes.Buffer
			streamTurn(b, n, replay.Record(&trace))
			perDelta(b, n, func() { verifySame(b, trace.Bytes()) })
		})
	}
}

// verifySame verifies a trace, and returns how many crossings it has.
func verifySame(b *testing.B, trace []byte) int { return verifyFrom(b, bytes.NewReader(trace)) }

func verifyFrom(b *testing.B, trace io.Reader) int {
	report, err := replay.Verify(b.Context(), trace, replay.Live{})
	require.NoError(b, err)
	require.Nil(b, report.Divergence)
	return report.Crossings
}

func BenchmarkVerifyFixtures(b *testing.B) {
	all := tracetest.AllFixtures(b)
	perSecond(b, func() (crossings int) {
		for _, f := range all {
			crossings += verifySame(b, f.Bytes)
		}
		return crossings
	})
}
