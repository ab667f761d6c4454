package whatif_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/whatif"
)

// iterated records a turn of n iterations; in each, the model is shown the prompt and says a
// little.
func iterated(t testing.TB, n int) []byte {
	var recorded bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{
		Storage: fakes.NoOpStorage(),
		Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if _, err := h.ReportMessage("m1", "some words", dc.Iteration() == n-1); err != nil || dc.Iteration() < n-1 {
				return err
			}
			return dc.Ack()
		}},
	}, replay.Record(&recorded)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "be brief"}))
	return recorded.Bytes()
}

// supposeAPrompt gives all executor calls of a turn another prompt.
func supposeAPrompt(t testing.TB, recorded []byte) *whatif.Report {
	report, err := whatif.Run(t.Context(), bytes.NewReader(recorded), replay.Live{}, []whatif.Override{{Path: "run.prompt", Value: "be long"}})
	require.NoError(t, err)
	return report
}

// The cost of a line in the report on a long turn is constant: for twice as many iterations, each
// of which ignored the override, twice as much is allocated.
func TestWhatIfIsLinear(t *testing.T) {
	thorough.Long(t)
	allocs.Countable(t)
	allocated := func(n int) (count float64) {
		recorded := iterated(t, n)
		assert.Len(t, supposeAPrompt(t, recorded).AsRecorded, n)
		synctest.Test(t, func(t *testing.T) { // its time stands still while a goroutine runs: a run that gets no core is not taken for one that hangs
			count = allocs.PerRun(1, func() { supposeAPrompt(t, recorded) })
		})
		return count
	}
	once, twice := allocated(200), allocated(400)
	assert.Less(t, twice/once, 2.2)
}

// BenchmarkWhatIf takes twice as long for twice as many crossings.
func BenchmarkWhatIf(b *testing.B) {
	for _, n := range []int{500, 1000, 2000} {
		recorded := iterated(b, n)
		b.Run(fmt.Sprint(bytes.Count(recorded, []byte("\n"))), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				supposeAPrompt(b, recorded)
			}
		})
	}
}
