//go:build unix

package explore_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/scenarios"
)

// processTime returns the time that this process has spent on all cores, including the garbage
// collector's. Other processes on the machine do not count.
func processTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkExplore measures how many schedules run per second, by number of workers. It sets the
// garbage collector as the command explore does; GOGC=100 measures what a test gets.
// Use workers=1 with -cpu 1 to measure a single core.
func BenchmarkExplore(b *testing.B) {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	for _, name := range []string{"hello", "tool-round-trip"} {
		s, ok := scenarios.Named(name)
		require.True(b, ok)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
				b.ReportAllocs()
				schedules, begun := 0, processTime(b)
				for b.Loop() {
					result, err := explore.Explore(b.Context(), scripted(s), explore.Options{Bound: 2, Workers: workers})
					require.NoError(b, err)
					require.Empty(b, result.Violations)
					schedules += result.Schedules
				}
				b.ReportMetric(float64(schedules)/b.Elapsed().Seconds(), "schedules/s")
				b.ReportMetric(float64(schedules)/(processTime(b)-begun).Seconds(), "schedules/cpu-s")
				b.ReportMetric(float64(schedules)/float64(b.N), "schedules")
			})
		}
	}
}
