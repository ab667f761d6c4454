package replay_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// A live executor gets the recorded tools from its context. One that executes a
// tool of its own would run that one's handler: the replay is red.
func TestLiveExecutorWithAToolOfItsOwn(t *testing.T) {
	tool := fakes.NewTool("count", "Counts.", "42").Tool()
	own := tool.WithHandler(func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
		return adk.Text("42"), nil
	})
	executor := func(take func(*adk.DispatchContext) *adk.Tool) func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
		return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if _, err := dc.Execute(ctx, take(dc), map[string]any{}); err != nil {
				return err
			}
			return dc.Ack()
		}
	}
	fromContext := executor(func(dc *adk.DispatchContext) *adk.Tool { found, _ := dc.Tools().Get("count"); return found })
	var trace bytes.Buffer
	runner := must(adk.NewRunner(fakes.Deterministic(adk.Config{
		Executor: adk.Executor{Name: "model", Run: fromContext}, Storage: fakes.NoOpStorage(), Tools: []*adk.Tool{tool},
	}, replay.Record(&trace))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Count."}))

	report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.LiveExecutor(fromContext))
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)
	assert.Equal(t, []string{adk.LabelExecutor}, report.Live)
	assert.Empty(t, report.Unreached)
	assert.Len(t, report.NotCompared, 1)

	report, err = replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()),
		replay.LiveExecutor(executor(func(*adk.DispatchContext) *adk.Tool { return own })))
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, "tool", report.Divergence.Fields[0].Field)
	assert.Contains(t, report.Divergence.String(), "a tool of the live code's own")
}
