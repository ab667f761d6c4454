package calls_test

import (
	"strconv"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/tracetest"
)

// BenchmarkManyOpen links runs in which one call has all its executions open at the same time, and no event
// says which execution it belongs to. Twice as many should take twice as long.
func BenchmarkManyOpen(b *testing.B) {
	tool := tracetest.ATool("w", "x", false, tracetest.Weatherless)
	for _, n := range []int{20_000, 40_000, 80_000} {
		lines := []*adk.Crossing{{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}, {Kind: adk.KindCall, Call: 1, ID: 2, Seam: adk.Seam{Label: adk.LabelExecutor, Name: "e"}}}
		for i := range n {
			lines = append(lines, &adk.Crossing{Kind: adk.KindExecute, Phase: adk.Begin, Call: 2, Op: i + 1, Record: tool, Args: `{"n":1}`})
		}
		for i := range n {
			lines = append(lines, &adk.Crossing{Kind: adk.KindToolExecutionStart, Call: 2, Key: "none"},
				&adk.Crossing{Kind: adk.KindCall, Call: 2, ID: 3 + i, Seam: adk.Seam{Label: adk.LabelTool, Name: "w"}, Args: map[string]any{"n": 1.0}})
		}
		for i := range n {
			lines = append(lines, &adk.Crossing{Kind: adk.KindExecute, Phase: adk.Done, Call: 2, Op: i + 1})
		}
		for i, x := range lines {
			x.Seq = i + 1
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				calls.NewOf(5, adk.RunInfo{}, lines)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(lines)), "ns/crossing")
		})
	}
}
