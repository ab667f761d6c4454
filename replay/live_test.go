package replay_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/scenarios"
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

// A gate that the recorded turn left by its abort is left, too, where today's code
// does not abort: nobody is there any more who could settle it.
func TestLiveExecutorThatAbortsNoLonger(t *testing.T) {
	trace, err := fixtures.Traces.ReadFile("gates-aborted.jsonl")
	require.NoError(t, err)
	var ends []error
	report, err := replay.Verify(t.Context(), bytes.NewReader(trace), replay.LiveExecutor(
		func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for _, name := range []string{"legal", "finance", "security"} {
				if _, err := dc.Fork(ctx, name, func(ctx context.Context, dc *adk.DispatchContext) error {
					_, err := dc.WaitFor(ctx, adk.Gate{ID: name, Reason: "sign-off"})
					ends = append(ends, err) // what the strands do when they wake is in the recorded order
					return err
				}); err != nil {
					return err
				}
			}
			if err := dc.Sleep(ctx, time.Minute); err != nil {
				return err
			}
			return dc.Ack()
		}))
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.Extra, report.Divergence.Class)
	assert.Contains(t, report.Divergence.Got, "ack")
	require.Len(t, ends, 3)
	for _, err := range ends {
		assert.ErrorIs(t, err, replay.ErrUnanswered)
	}
}

// Live code that does what was recorded does not vouch for a file that no engine
// can have written.
func TestLiveCodeDoesNotVouchForTheRecording(t *testing.T) {
	data, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	trace, err := replay.ReadTrace(bytes.NewReader(data))
	require.NoError(t, err)
	at := slices.IndexFunc(trace.Lines, func(line replay.Line) bool { return line.Kind == adk.KindTurnEnd })
	trace.Lines[at].At = trace.Lines[at].At.Add(time.Second)
	var edited bytes.Buffer
	_, err = trace.WriteTo(&edited)
	require.NoError(t, err)

	s, _ := scenarios.Named("hello")
	config, raw := s.Build(scenarios.Outside{})
	report, err := replay.Verify(t.Context(), &edited, replay.Live{Config: config, Turn: raw, Seams: []string{replay.Everything}, Writes: true})
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.Timing, report.Divergence.Class)
	assert.Equal(t, at+2, report.Divergence.Crossing, "the return, which is at the time of the event before it")
	assert.True(t, report.Divergence.Scripted)
	assert.Contains(t, report.Divergence.String(), "not by live code")
}
