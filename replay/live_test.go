package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/whatif"
	"github.com/adkreplay/adkreplay/scenarios"
)

// A live executor gets the recorded tools from its context. If it executes a tool of its own, that
// tool's handler would run: the replay is red.
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
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(adk.Config{
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

// A gate that the recorded turn left through its abort is also left if today's code does not
// abort: in the new run there is nobody to settle it.
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
	assert.Equal(t, replay.Missing, report.Divergence.Class, "what is gone is told, and what came in its place")
	assert.Contains(t, report.Divergence.Got, "ack")
	require.Len(t, ends, 3)
	for _, err := range ends {
		assert.ErrorIs(t, err, stub.ErrUnanswered)
	}
}

// A file that no engine can have written is red,
// even if live code does what was recorded.
func TestLiveCodeDoesNotVouchForTheRecording(t *testing.T) {
	data, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	recorded, err := trace.Read(bytes.NewReader(data))
	require.NoError(t, err)
	at := slices.IndexFunc(recorded.Lines(), func(line trace.Line) bool { return line.Kind == adk.KindTurnEnd })
	recorded.Lines()[at].At = recorded.Lines()[at].At.Add(time.Second)
	var edited bytes.Buffer
	_, err = recorded.WriteTo(&edited)
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

// A dispatch is live if the code that calls it is live, and so is its executor, whatever its name:
// a dispatch that a scripted middleware calls is not run by today's code.
func TestDispatchOfAScriptedMiddlewareIsScripted(t *testing.T) {
	executor := func(text string) adk.Executor {
		return adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			_, err := h.ReportMessage("m1", text, true)
			return errors.Join(err, dc.Ack())
		}}
	}
	config := adk.Config{Executor: executor("an answer"), Storage: fakes.NoOpStorage(), TurnInput: []adk.TurnMiddleware{
		{Name: "plan", Run: func(ctx context.Context, tc *adk.TurnContext, _ adk.Next) error {
			_, err := adk.Dispatch(ctx, adk.DispatchInput{Source: tc, Name: "planner", Executor: executor("a plan")})
			return errors.Join(err, tc.Abort(errors.New("the plan is all that was asked for")))
		}},
	}}
	raw := adk.RawTurn{SystemPrompt: "Plan."}
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace))))
	require.NoError(t, runner.Run(t.Context(), raw))

	live := replay.Live{Config: config, Turn: raw, Seams: []string{replay.Executor}}
	report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), live)
	require.NoError(t, err)
	require.Nil(t, report.Divergence)
	assert.Equal(t, []string{"executor/model"}, report.Unreached)

	delta := bytes.Count(trace.Bytes()[:bytes.Index(trace.Bytes(), []byte(`"delta"`))], []byte("\n"))
	answers := []whatif.Override{{Path: fmt.Sprint(delta, ".delta"), Value: "another plan"}}
	told, err := whatif.Run(t.Context(), bytes.NewReader(trace.Bytes()), live, answers)
	require.NoError(t, err, "what a scripted executor says can be set")
	assert.True(t, told.Set[0].Reached)

	live.Seams = []string{replay.Middleware} // a dispatch that a live middleware calls is live as well
	_, err = whatif.Run(t.Context(), bytes.NewReader(trace.Bytes()), live, answers)
	require.ErrorIs(t, err, whatif.ErrOverride)
	live.Config.Executor = executor("an other answer")
	live.Config.TurnInput = []adk.TurnMiddleware{{Name: "plan", Run: func(ctx context.Context, tc *adk.TurnContext, _ adk.Next) error {
		_, err := adk.Dispatch(ctx, adk.DispatchInput{Source: tc, Name: "planner", Executor: executor("another plan")})
		return errors.Join(err, tc.Abort(errors.New("the plan is all that was asked for")))
	}}}
	report, err = replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), live)
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Equal(t, "executor/model#0", report.Divergence.Seam)
	assert.Regexp(t, `^replay/live_test\.go:124 `, report.Divergence.Place, "the line of the operation, whoever brought the executor")
}
