package replay_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/replay"
)

// BenchmarkHistory doubles the length of a history that grows throughout a turn. The turn is
// recorded, replayed, and replayed with its executor live. ns/crossing must stay constant.
func BenchmarkHistory(b *testing.B) {
	shape, known := large.Named("history")
	require.True(b, known)
	for _, crossings := range []int{25_000, 50_000, 100_000, 200_000} {
		recorded := shape.Trace(crossings)
		for _, c := range []struct {
			name string
			run  func()
		}{
			{"record", func() { require.NoError(b, shape.Write(io.Discard, crossings)) }},
			{"verify", func() {
				report, err := replay.Verify(b.Context(), bytes.NewReader(recorded), replay.Live{})
				require.NoError(b, err)
				require.Nil(b, report.Divergence)
			}},
			{"live", func() { liveAgain(b, shape, crossings) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, crossings), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.run()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*crossings), "ns/crossing")
			})
		}
	}
}
