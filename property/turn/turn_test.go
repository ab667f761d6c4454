package turn_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/model"
	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// DET-2: NaN counts as equal to itself. A turn that contains it is the same in two runs, replays, and can be
// translated from its trace.
func TestOddData(t *testing.T) {
	require.Empty(t, turn.CheckTurn(turntest.OddData()))
	again := turntest.OddData()
	trace, _, err := again.Trace()
	require.NoError(t, err)
	assert.Empty(t, turn.CheckTurn(turntest.Translated(t, trace)))
}

// A dispatch called alone is run, recorded and refused like one in a turn (DSP-1, DSP-8, DSP-10, DSP-12).
func TestDispatchAloneRuns(t *testing.T) {
	assert.Empty(t, turn.CheckTurn(turntest.Standalone()))
	assert.Empty(t, model.Check(turntest.Standalone()))
	trace, refused, err := turntest.Standalone().Trace()
	require.NoError(t, err)
	assert.NoError(t, refused)
	told := turntest.TranscriptText(t, trace)
	for _, words := range []string{"dispatch/planner", `"count" 1`, "resolved by ann", "nack"} {
		assert.Contains(t, told, words)
	}
	assert.NotContains(t, told, "turnStart")

	unsettled := turntest.Standalone()
	unsettled.Standalone.Gates = false
	assert.Empty(t, turn.CheckTurn(unsettled))
	trace, _, err = unsettled.Trace()
	require.NoError(t, err)
	assert.NotContains(t, turntest.TranscriptText(t, trace), "wait-for")

	wrong := turntest.Standalone()
	wrong.Standalone.Records = append(wrong.Standalone.Records, wrong.Standalone.Records...)
	_, refused, _ = wrong.Trace()
	require.ErrorIs(t, refused, adk.E_INVALID_LLM_EXECUTION_CONTEXT)
	assert.Empty(t, turn.CheckTurn(wrong))

	_, err = explore.Explore(t.Context(), turntest.Standalone().Subject(), explore.Options{})
	assert.ErrorContains(t, err, "a dispatch called alone: only turns are explored")
}

// GAT-6: a gate closes with its turn, also if a listener ends the goroutine that waits for it.
func TestListenerEndsTheWaiter(t *testing.T) {
	assert.Empty(t, turn.CheckTurn(turntest.EndedByListener()))
	trace, _, err := turntest.EndedByListener().Trace()
	require.NoError(t, err)
	told := turntest.TranscriptText(t, trace)
	assert.Contains(t, told, "turnGateClosed gate1 aborted")
	assert.Contains(t, told, "      → goexit: it ended its goroutine\n  state at the end")
	assert.NotContains(t, told, "dispatch")
}

func TestTurnRuns(t *testing.T) {
	assert.Empty(t, turn.CheckTurn(turntest.Everything()))
	trace, refused, err := turntest.Everything().Trace()
	require.NoError(t, err)
	assert.NoError(t, refused)
	told := turntest.TranscriptText(t, trace)
	for _, words := range []string{"strand/s", "panic: oops", "second next", "late stash", "ouch", "dispatch/planner", "refuses what was offered by bob",
		"resolved by ann with true  +1m0s", "times out", "→ error: disk full", "cancelled from outside: left", "goexit",
		`"stash user.pets" ["cat"]`, `"has user.age.no" false`, `"keys" "f n user.age user.pets"`, "signalled=false acked=false nacked=false", `"count" 0`} {
		assert.Contains(t, told, words)
	}
}

// A handler that returns nil differs from one whose result is not given.
func TestAnEndWithoutAResult(t *testing.T) {
	for _, end := range []turn.End{{}, {Result: turn.ValueOf(nil)}, {Result: turn.ValueOf(adk.Text("4 °C")), Kept: true}} {
		written, err := json.Marshal(end)
		require.NoError(t, err)
		var read turn.End
		require.NoError(t, json.Unmarshal(written, &read))
		assert.Equal(t, end, read, "%s", written)
	}
	assert.Error(t, json.Unmarshal([]byte(`{"result":{"$message":1}}`), new(turn.End)))
}

// A turn is plain data: after writing and reading it, it runs as before.
func TestTurnJSON(t *testing.T) {
	want := turntest.Everything()
	data, err := json.Marshal(want)
	require.NoError(t, err)
	var got turn.Turn
	require.NoError(t, json.Unmarshal(data, &got))
	again, err := json.Marshal(got)
	require.NoError(t, err)
	assert.Equal(t, string(data), string(again))
	a, _, err := want.Trace()
	require.NoError(t, err)
	b, _, err := got.Trace()
	require.NoError(t, err)
	assert.Equal(t, string(a), string(b))
}
