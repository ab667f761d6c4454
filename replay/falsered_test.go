package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// executing is an agent that consists of an executor and its tools.
func executing(run func(context.Context, *adk.DispatchContext, *adk.Helpers) error, tools ...*adk.Tool) adk.Config {
	return adk.Config{Executor: adk.Executor{Name: "e", Run: run}, Storage: fakes.NoOpStorage(), Tools: tools}
}

// turnOf records a turn of an agent.
func turnOf(t *testing.T, config adk.Config, raw adk.RawTurn) []byte {
	t.Helper()
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	raw.SystemPrompt = "Go."
	require.NoError(t, tracetest.Must(adk.NewRunner(fakes.Deterministic(config, recorder))).Run(context.Background(), raw))
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

// Unchanged code is green if its arguments cannot be expressed in JSON: the tool refuses them
// again.
func TestArgumentsThatJSONCannotHold(t *testing.T) {
	t.Parallel()
	tool := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "count", Description: "Counts.", InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectReads,
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

// A listener that ended its goroutine ends it
// again when the code around it is live. (PIP-11)
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
				_ = tracetest.Must(adk.NewRunner(fakes.Deterministic(config, recorder))).Run(context.Background(), raw)
			}()
			trace := <-ended
			for _, seams := range [][]string{nil, {replay.Executor}} {
				assert.Nil(t, divergenceOf(t, trace, replay.Live{Config: config, Seams: seams}), "%s", seams)
			}
		})
	}
}

// If all seams are live and no listener for gates is given, gates are settled as recorded.
// Choosing gates by name requires a listener. (GAT-1)
func TestGatesWithoutAListener(t *testing.T) {
	t.Parallel()
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		answer, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may I?"})
		return errors.Join(err, dc.Stash().Set("answer", answer), dc.Ack())
	})
	trace := turnOf(t, config, adk.RawTurn{Observability: adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("ann", true) }}})
	assert.Nil(t, divergenceOf(t, trace, replay.Live{Config: config, Seams: []string{replay.Everything}, Writes: true}))
	_, err := replay.Verify(t.Context(), bytes.NewReader(trace), replay.Live{Config: config, Seams: []string{replay.Gates, replay.Executor}})
	assert.ErrorContains(t, err, "Turn.Observability.TurnGateOpen is nil")
}

// A gate that the user's listener leaves open gets its recorded timeout, and the replay does not wait for it. (GAT-1)
func TestAListenerThatLeavesAGateOpen(t *testing.T) {
	t.Parallel()
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		answer, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may I?", Timeout: 2 * time.Hour})
		return errors.Join(err, dc.Stash().Set("answer", answer), dc.Ack())
	})
	trace := turnOf(t, config, adk.RawTurn{Observability: adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("ann", true) }}})
	open := adk.RawTurn{Observability: adk.Observability{TurnGateOpen: func(adk.TurnGateOpen) {}}}
	d := inTime(t, trace, replay.Live{Config: config, Turn: open, Seams: []string{replay.Gates, replay.Executor}})
	require.NotNil(t, d)
	assert.Contains(t, d.String(), "E_TURN_GATE_TIMEOUT")
}

// A gate keeps its settlement if the code that waits for it has moved into a strand: the move is
// the difference, and not how the gate was settled. (GAT-1, DET-7)
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
		strand := tracetest.Must(dc.Fork(ctx, "asks", func(ctx context.Context, dc *adk.DispatchContext) error {
			err := asks(ctx, dc)
			answer = dc.Stash().Get("answer", nil)
			return err
		}))
		return errors.Join(strand.Wait(), dc.Ack())
	})
	assert.NotNil(t, divergenceOf(t, trace, replay.Live{Config: moved, Seams: []string{replay.Executor}}), "it is not what was recorded")
	assert.Equal(t, true, answer)
}

// If a tool that live code registers is not chosen as live, it is served from the recording; if it
// is chosen, its handler runs. If it is chosen but may not write, the report says so, and its
// handler does not run either.
func TestAToolThatLiveCodeRegisters(t *testing.T) {
	t.Parallel()
	ran := 0
	agent := func(effect adk.Effect) adk.Config {
		config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			tool, _ := dc.Tools().Get("count")
			result, err := dc.Execute(ctx, tool, map[string]any{})
			return errors.Join(err, dc.Stash().Set("counted", fmt.Sprint(result)), dc.Ack())
		})
		config.DispatchInput = []adk.DispatchMiddleware{{Name: "tools", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
			err := dc.Tools().Register(tracetest.Must(adk.NewTool(adk.ToolInit{Name: "count", Description: "Counts.", InputSchema: []byte(`{"type":"object"}`), Effect: effect,
				Handler: func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
					ran++
					return adk.Text("42"), dc.Stash().Set("inside", true)
				}})))
			next(ctx)
			return err
		}}}
		return config
	}
	for name, c := range map[string]struct {
		effect adk.Effect
		seams  []string
		writes bool
		runs   int
		red    bool
	}{
		"with its executor":           {adk.EffectWrites, []string{replay.Middleware, replay.Executor}, false, 0, false},
		"with a recorded executor":    {adk.EffectWrites, []string{replay.Middleware}, false, 0, false},
		"reads, and is chosen":        {adk.EffectReads, []string{replay.Middleware, replay.Executor, replay.ToolCode}, false, 1, false},
		"chosen, recorded executor":   {adk.EffectReads, []string{replay.Middleware, replay.ToolCode}, false, 1, false},
		"writes, and may":             {adk.EffectWrites, []string{replay.Middleware, replay.Executor, replay.ToolCode}, true, 1, false},
		"writes, chosen, and may not": {adk.EffectWrites, []string{replay.Middleware, replay.Executor, replay.ToolCode}, false, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			config := agent(c.effect)
			trace := turnOf(t, config, adk.RawTurn{})
			ran = 0
			d := divergenceOf(t, trace, replay.Live{Config: config, Seams: c.seams, Writes: c.writes})
			assert.Equal(t, c.red, d != nil, "%v", d)
			assert.LessOrEqual(t, ran, c.runs)
			assert.Equal(t, c.runs > 0, ran > 0, "the handler ran %d times", ran)
		})
	}
}

// A second gate with the id of an open gate is refused again, and whoever settles that id settles
// the first gate. (GAT-5)
func TestASecondGateOfAnID(t *testing.T) {
	t.Parallel()
	gate := adk.Gate{ID: "g", Reason: "may I?"}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		strand := tracetest.Must(dc.Fork(ctx, "asks", func(ctx context.Context, dc *adk.DispatchContext) error {
			answer, err := dc.WaitFor(ctx, gate)
			return errors.Join(err, dc.Stash().Set("answer", answer))
		}))
		slept := dc.Sleep(ctx, time.Second)
		_, refused := dc.WaitFor(ctx, gate)
		return errors.Join(slept, dc.Stash().Set("refused", fmt.Sprint(refused)), dc.Sleep(ctx, time.Minute), strand.Wait(), dc.Ack())
	})
	config.Clock = fakes.NewClock()
	recorded := turnOf(t, config, adk.RawTurn{Observability: adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) {
		config.Clock.AfterFunc(time.Minute, func() { _, _ = e.Gate.Resolve("ann", true) })
	}}})
	waits := 0
	for _, x := range tracetest.Must(trace.Read(bytes.NewReader(recorded))).Lines() {
		if x.Kind == adk.KindWaitFor && x.Phase == adk.Done && errors.Is(x.Err, adk.E_INVALID_INITIAL_TURN_GATE_VALUE) {
			waits++
		}
	}
	assert.Equal(t, 1, waits, "the wait that was refused is told")
	for _, seams := range [][]string{nil, {replay.Executor}} {
		assert.Nil(t, divergenceOf(t, recorded, replay.Live{Config: config, Seams: seams}), "%s", seams)
	}
}
