package replay_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/scenarios"
)

// BenchmarkRecordScenario measures the size of a scenario's trace, and of two scenarios the time
// that the turn takes with the recorder attached, without building its tools and runner. Most
// other scenarios wait for something outside.
func BenchmarkRecordScenario(b *testing.B) {
	for _, s := range scenarios.All() {
		b.Run(s.Name, func(b *testing.B) {
			var took time.Duration
			var trace bytes.Buffer
			timed := s.Name == "hello" || s.Name == "tool-round-trip"
			for b.Loop() {
				trace.Reset()
				recorder := replay.Record(&trace)
				if timed {
					took += timeTurn(b, s, recorder)
				} else {
					require.NoError(b, s.Run(b.Context(), recorder))
				}
			}
			b.ReportMetric(float64(trace.Len()), "trace-bytes")
			if timed {
				b.ReportMetric(float64(took)/float64(b.N), "ns/turn")
			}
		})
	}
}

// timeTurn runs the scenario's turn once, on
// the machine's clock and without a scheduler.
func timeTurn(b *testing.B, s scenarios.Scenario, probe adk.Probe) time.Duration {
	config, turn := s.Build(scenarios.Outside{Cancel: func(error) {}})
	config.Probe = probe
	runner, err := adk.NewRunner(config)
	require.NoError(b, err)
	begun := time.Now()
	err = runner.Run(context.Background(), turn)
	took := time.Since(begun)
	require.NoError(b, err)
	return took
}
