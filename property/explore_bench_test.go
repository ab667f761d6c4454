package property_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/scenarios"
)

// How many schedules are run a second, by how many workers.
func BenchmarkExplore(b *testing.B) {
	for _, name := range []string{"hello", "tool-round-trip"} {
		s, ok := scenarios.Named(name)
		require.True(b, ok)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
				b.ReportAllocs()
				schedules := 0
				for b.Loop() {
					result, err := property.Explore(b.Context(), scenario(s), property.Options{Bound: 2, Workers: workers})
					require.NoError(b, err)
					require.Empty(b, result.Violations)
					schedules += result.Schedules
				}
				b.ReportMetric(float64(schedules)/b.Elapsed().Seconds(), "schedules/s")
				b.ReportMetric(float64(schedules)/float64(b.N), "schedules")
			})
		}
	}
}
