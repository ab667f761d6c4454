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

// Operations on ended handles are contained and recorded, and are repeated when the trace is
// replayed. (DET-5, PIP-10)
func TestMisusePlaysAgain(t *testing.T) {
	question := tracetest.Must(adk.NewMessage(adk.MessageInit{ID: "q1", Role: adk.RoleUser, Content: "Hello?", CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch}))
	tool := fakes.NewTool("count", "Counts.", "42").Tool()
	var turn *adk.TurnContext
	var next adk.Next
	var strand *adk.DispatchContext
	misuse := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		forked, err := dc.Fork(ctx, "approver", func(_ context.Context, dc *adk.DispatchContext) error { strand = dc; return nil })
		if err != nil {
			return err
		}
		if err := forked.Wait(); err != nil {
			return err
		}
		next(ctx)
		misuseTurn(ctx, turn, question)
		misuseDispatch(ctx, strand, tool)
		return dc.Ack()
	}
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(adk.Config{
		Executor: adk.Executor{Name: "model", Run: misuse},
		Storage:  fakes.NoOpStorage(),
		TurnInput: []adk.TurnMiddleware{{Name: "approver", Run: func(ctx context.Context, tc *adk.TurnContext, n adk.Next) error {
			turn, next = tc, n
			n(ctx)
			return nil
		}}},
	}, replay.Record(&trace))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
	require.Equal(t, 30, bytes.Count(trace.Bytes(), []byte(`"kind":"contained"`)), "%s", trace.String())

	report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.Live{})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)
}

// misuseTurn uses an ended turn context in every possible way.
func misuseTurn(ctx context.Context, tc *adk.TurnContext, m *adk.Message) {
	_ = tc.Stash().Set("late", 1)
	_, _ = tc.Messages().Add(m)
	_, _ = tc.Messages().Remove("q1")
	_, _ = tc.Messages().Fetch(ctx)
	_, _ = tc.Instructions().Fetch(ctx)
	_ = tc.Messages().Store(ctx, m)
	_ = tc.Messages().Mutate(ctx, m)
	_ = tc.Messages().Delete(ctx, "q1")
	_, _ = tc.Tools().Unregister("count")
	_, _ = tc.Tools().PruneEphemeral()
	_ = tc.Abort(nil)
	_ = tc.Sleep(ctx, 1)
	_ = tc.EmitMessage(adk.MessageEvent{ID: "m1"})
	_ = tc.EmitThought(adk.ThoughtEvent{ID: "t1"})
	_ = tc.EmitToolCall(adk.ToolCallEvent{ID: "c1"})
	_, _ = tc.WaitFor(ctx, adk.Gate{ID: "g1", Reason: "why"})
	_, _ = tc.Fork(ctx, "late", func(context.Context, *adk.TurnContext) error { return nil })
	_, _ = adk.Dispatch(ctx, adk.DispatchInput{Name: "late", Executor: fakes.Script{{fakes.Ack()}}.Executor("late"), Source: tc})
	_, _ = tc.OpenMedia(ctx, photo("late", nil))
	tc.Now()
	tc.NewID()
}

// misuseDispatch uses an ended dispatch context.
func misuseDispatch(ctx context.Context, dc *adk.DispatchContext, tool *adk.Tool) {
	_ = dc.Ack()
	_ = dc.Nack(nil)
	_, _ = dc.OnAck("late", func(context.Context, *adk.DispatchContext) {})
	_ = dc.Tools().Register(tool)
	_, _ = dc.Execute(ctx, tool, map[string]any{})
	_, _ = dc.Helpers().ReportMessage("m1", "late", true)
	_, _ = dc.Helpers().ReportThought("t1", "late", true)
	_, _ = dc.Helpers().ReportToolCall("c1", adk.ToolCallReport{Tool: "count"})
}
