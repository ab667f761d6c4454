package replay_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// WLD-1, WLD-4, WLD-5: asks are recorded, and a replay makes them again without asking
// anybody: overlapping ones, those left in their midst, refused, late and open ones.
func TestAsksAreVerified(t *testing.T) {
	var trace bytes.Buffer
	turn := tracetest.SampleTurn{Name: "asks", Prepare: func(t *tracetest.SampleKit) {
		tracetest.AsksTurn(t)
		t.Config.Probe = adk.MultiProbe(t.Config.Probe, replay.Record(&trace))
	}}
	told := turn.Run(t)
	for _, of := range []string{"profiles", "beside", "search", "audit", "tokens", "one", "two", "refused"} {
		assert.Contains(t, trace.String(), `"of":"`+of+`"`)
	}
	assert.Contains(t, trace.String(), `"request":{"n":1.5,"user":"u1"},"effect":"reads"`)
	assert.Contains(t, trace.String(), `"kind":"piece"`)
	report, err := replay.Verify(t.Context(), &trace, replay.Live{})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "%s", report)
	assert.Equal(t, len(told), report.Crossings)
}

// WLD-6: live code is answered with what was recorded and nobody is asked; what the
// recording has no answer to is unanswered.
func TestLiveCodeAsksTheRecording(t *testing.T) {
	live, asking := false, "Oslo"
	world := func(_ context.Context, city string) (string, error) {
		assert.False(t, live, "%s was asked", city)
		return "cold in " + city, nil
	}
	run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		text, err := adk.Ask(ctx, "forecasts", asking, world)
		if err != nil {
			return err
		}
		_ = tracetest.Must(h.ReportMessage("m", text, true))
		for n, err := range adk.AskStream(ctx, "tokens", "say", tracetest.Counting) {
			assert.Equal(t, n == 0, err != nil)
			_ = dc.NewID()
		}
		return dc.Ack()
	}
	var trace bytes.Buffer
	tracetest.SampleTurn{Name: "asks", Prepare: func(t *tracetest.SampleKit) {
		t.Config.Executor.Run, t.Config.Probe = run, replay.Record(&trace)
	}}.RunUnobserved(t)
	live = true
	verify := func() *replay.Report {
		report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.LiveExecutor(run))
		require.NoError(t, err)
		return report
	}
	report := verify()
	assert.Nil(t, report.Divergence, "%s", report)
	asking = "Rome"
	report = verify()
	require.NotNil(t, report.Divergence)
	assert.Contains(t, report.String(), "Rome")
}
