package replay_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/replay"
)

// BenchmarkVerifyStrands doubles the strands that are under way at once: ns/crossing stay
// as they are.
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
