package replay_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// A standalone dispatch is recorded and replayed like a turn. (DSP-1)
func TestDispatchAlonePlaysAgain(t *testing.T) {
	var trace bytes.Buffer
	scheduler := fakes.NewScheduler(nil)
	question := tracetest.Must(adk.NewMessage(adk.MessageInit{ID: "q1", Role: adk.RoleUser, Content: "Shorter!", CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch}))
	in := adk.DispatchInput{
		Name:     "summariser",
		Executor: fakes.Script{{fakes.Call("count", nil)}, {fakes.Say("Short."), fakes.Ack()}}.Executor("small-model"),
		Output: []adk.DispatchMiddleware{{Name: "note", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
			next(ctx)
			return dc.Stash().Set("noted", dc.Iteration())
		}}},
		Raw: &adk.RawDispatch{
			SystemPrompt: "Summarise.", Storage: fakes.NewStorage().Storage(), Stash: map[string]any{"words": 7},
			Messages: []*adk.Message{question}, Tools: []*adk.Tool{fakes.NewTool("count", "Counts.", "42").Tool()},
			Clock: scheduler.Clock(), IDs: fakes.NewIDs(), Probe: adk.MultiProbe(scheduler, replay.Record(&trace)),
		},
	}
	end, err := adk.Dispatch(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, adk.StatusAck, end.Status)

	report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.Live{})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)
	assert.Greater(t, report.Crossings, 20)

	edited := bytes.Replace(trace.Bytes(), []byte("Shorter!"), []byte("Longer!!"), 1)
	sealed := tracetest.Reseal(t, edited)
	report, err = replay.Verify(t.Context(), bytes.NewReader(sealed), replay.Live{})
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.ChangedState, report.Divergence.Class)
}
