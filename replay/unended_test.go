package replay_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// A recording may end while its run waits for a timer, or for the settlement of a gate: nothing in
// the recording ends the wait, and the report says so. In a bubble, the test itself would end if
// all goroutines stayed blocked.
func TestARecordingThatEndsInAWait(t *testing.T) {
	for name, c := range map[string]struct {
		kind adk.Kind
		seam string
	}{
		"gate-approved": {adk.KindTurnGateOpen, "tool/delete"},
		"ticking-clock": {adk.KindSleep, "executor/model#1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := tracetest.FixtureNamed(t, name)
			for n, prefix := range tracetest.Prefixes(f) {
				if n == 0 || f.Trace.Lines()[n-1].Kind != c.kind || f.Trace.Lines()[n-1].Phase == adk.Done {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					report, err := replay.Verify(t.Context(), bytes.NewReader(prefix), replay.Live{})
					require.NoError(t, err)
					require.NotNil(t, report.Divergence)
					assert.Equal(t, replay.Missing, report.Divergence.Class)
					assert.Equal(t, n+1, report.Divergence.Crossing, "behind the last")
					assert.Equal(t, c.seam, report.Divergence.Seam)
					assert.Contains(t, strings.Join(strings.Fields(report.String()), " "), "nobody goes on: strand 0 inside the engine, and the recording ends here")
				})
			}
		})
	}
}
