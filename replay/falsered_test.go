package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// executing is an agent that is an executor and no more.
func executing(run func(context.Context, *adk.DispatchContext, *adk.Helpers) error, tools ...*adk.Tool) adk.Config {
	return adk.Config{Executor: adk.Executor{Name: "e", Run: run}, Storage: fakes.NoOpStorage(), Tools: tools}
}

// turnOf records a turn of an agent.
func turnOf(t *testing.T, config adk.Config, raw adk.RawTurn) []byte {
	t.Helper()
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	raw.SystemPrompt = "Go."
	require.NoError(t, must(adk.NewRunner(fakes.Deterministic(config, recorder))).Run(context.Background(), raw))
	require.NoError(t, recorder.Err())
	return trace.Bytes()
}

// divergenceOf is the divergence of a replay with live seams.
func divergenceOf(t *testing.T, trace []byte, live replay.Live) *replay.Divergence {
	t.Helper()
	live.Turn.SystemPrompt = "Go."
	report, err := replay.Verify(context.Background(), bytes.NewReader(trace), live)
	require.NoError(t, err)
	return report.Divergence
}

// Unchanged code is green where its arguments are none that JSON can hold: the tool
// refuses them again.
func TestArgumentsThatJSONCannotHold(t *testing.T) {
	t.Parallel()
	tool := must(adk.NewTool(adk.ToolInit{Name: "count", Description: "Counts.", InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectReads,
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("42"), nil
		}}))
	for name, args := range map[string]any{
		"not a number": map[string]any{"n": math.NaN()}, "infinite": map[string]any{"n": math.Inf(-1)},
		"a function": map[string]any{"n": func() {}}, "a channel": make(chan int), "a number": 7, "broken text": `{"n":`,
		"bytes": []byte("{}"), "not UTF-8": "{\"n\":\"\xff\"}", "a pointer": new(7),
	} {
		t.Run(name, func(t *testing.T) {
			config := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				_, _ = h.ReportToolCall("c", adk.ToolCallReport{Tool: "count", Args: args})
				tool, _ := dc.Tools().Get("count")
				_, err := dc.Execute(ctx, tool, args)
				return errors.Join(dc.Stash().Set("err", fmt.Sprint(err)), dc.Ack())
			}, tool)
			trace := turnOf(t, config, adk.RawTurn{})
			for _, seams := range [][]string{nil, {replay.Executor}, {replay.Everything}} {
				assert.Nil(t, divergenceOf(t, trace, replay.Live{Config: config, Seams: seams, Writes: true}), "%s", seams)
			}
		})
	}
}

// A listener that ended its goroutine ends it again where the code around it is
// live. (PIP-11)
func TestListenersEndLiveCode(t *testing.T) {
	t.Parallel()
	config := executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		h.Log(adk.LevelInfo, "note", "begins", nil)
		_, err := h.ReportMessage("m", "Hello.", true)
		return errors.Join(err, dc.Stash().Set("said", true), dc.Ack())
	})
	for name, raw := range map[string]adk.RawTurn{
		"message": {Functional: adk.Functional{Message: func(adk.MessageEvent) { runtime.Goexit() }}},
		"log":     {Observability: adk.Observability{Log: func(adk.LogEvent) { runtime.Goexit() }}},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan []byte, 1)
			go func() {
				var trace bytes.Buffer
				recorder := replay.Record(&trace)
				raw.SystemPrompt = "Go."
				defer func() { ended <- trace.Bytes() }()
				_ = must(adk.NewRunner(fakes.Deterministic(config, recorder))).Run(context.Background(), raw)
			}()
			trace := <-ended
			for _, seams := range [][]string{nil, {replay.Executor}} {
				assert.Nil(t, divergenceOf(t, trace, replay.Live{Config: config, Seams: seams}), "%s", seams)
			}
		})
	}
}

// Who chooses everything and gives no listener of gates gets them settled as they
// were. (GAT-1)
func TestGatesWithoutAListener(t *testing.T) {
	t.Parallel()
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		answer, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may I?"})
		return errors.Join(err, dc.Stash().Set("answer", answer), dc.Ack())
	})
	trace := turnOf(t, config, adk.RawTurn{Observability: adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("ann", true) }}})
	for _, seam := range []string{replay.Everything, replay.Gates} {
		assert.Nil(t, divergenceOf(t, trace, replay.Live{Config: config, Seams: []string{seam, replay.Executor}, Writes: true}), seam)
	}
}

// A gate keeps its settlement where the code that waits for it has moved into a
// strand: what differs is that, and not how it was settled. (GAT-1, DET-7)
func TestAGateThatMovedIntoAStrand(t *testing.T) {
	t.Parallel()
	asks := func(ctx context.Context, dc *adk.DispatchContext) error {
		answer, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may I?"})
		return errors.Join(err, dc.Stash().Set("answer", answer))
	}
	trace := turnOf(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		return errors.Join(asks(ctx, dc), dc.Ack())
	}), adk.RawTurn{Observability: adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("ann", true) }}})
	var answer any
	moved := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		strand := must(dc.Fork(ctx, "asks", func(ctx context.Context, dc *adk.DispatchContext) error {
			err := asks(ctx, dc)
			answer = dc.Stash().Get("answer", nil)
			return err
		}))
		return errors.Join(strand.Wait(), dc.Ack())
	})
	assert.NotNil(t, divergenceOf(t, trace, replay.Live{Config: moved, Seams: []string{replay.Executor}}), "it is not what was recorded")
	assert.Equal(t, true, answer)
}
