package adk_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
)

// HLP-1, EVT-5, EVT-6: every field of a message event, across iterations.
func TestReportMessage(t *testing.T) {
	config, clock := newConfig(), &handClock{}
	config.Clock = clock
	var events []adk.MessageEvent
	raw := hello
	raw.Functional.Message = func(e adk.MessageEvent) { events = append(events, e) }
	config.Executor = executor(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		clock.advance(1)
		if dc.Iteration() == 0 {
			must(h.ReportMessage("m", "Hel", false))
			return nil
		}
		said := must(h.ReportMessage("m", "lo", true))
		assert.Equal(t, events[1], said, "the caller is told what was emitted")
		return dc.Ack()
	})
	runTurn(t, config, raw)
	from := adk.Origin{TurnID: "id1", DispatchID: "id2"}
	want := []adk.MessageEvent{
		{Origin: from, ID: "m", CreatedAt: noon.Add(1), UpdatedAt: noon.Add(1), Delta: "Hel", Full: "Hel"},
		{Origin: from, ID: "m", CreatedAt: noon.Add(1), UpdatedAt: noon.Add(2), Delta: "lo", Full: "Hello", Complete: true, CompletedAt: noon.Add(2)},
	}
	want[1].Iteration = 1
	assert.Empty(t, cmp.Diff(want, events))
}

// HLP-1, HLP-2: messages, thoughts and tool calls have separate ids. Sealed streams and empty ids are refused.
func TestStreamsAreApart(t *testing.T) {
	lines := runTurn(t, executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		must(h.ReportMessage("x", "a", true))
		must(h.ReportThought("x", "b", false))
		must(h.ReportThought("x", "c", true))
		must(h.ReportToolCall("x", adk.ToolCallReport{Complete: true}))
		must(h.ReportMessage("y", "d", false))
		_, sealed := h.ReportMessage("x", "late", false)
		assert.ErrorIs(t, sealed, adk.E_LLM_EXECUTION_STREAM_SEALED)
		_, err := h.ReportThought("x", "late", false)
		assert.ErrorIs(t, err, adk.E_LLM_EXECUTION_STREAM_SEALED)
		_, err = h.ReportToolCall("x", adk.ToolCallReport{Tool: "late"})
		assert.ErrorIs(t, err, adk.E_LLM_EXECUTION_STREAM_SEALED)
		_, err = h.ReportMessage("", "nameless", false)
		assert.Error(t, err)
		_, err = h.ReportToolCall("", adk.ToolCallReport{})
		assert.Error(t, err)
		return sealed
	}), hello)
	assert.Equal(t, []string{"message x a complete", "thought x b", "thought x c complete", "toolCall x complete", "message y d"}, events(lines)[3:8])
	assert.Contains(t, lines, "! error E_LLM_EXECUTION_EXECUTOR_ERROR model", "HLP-2, DSP-6")
}

// HLP-1: a stream lives as long as its dispatch.
func TestStreamsEndWithTheirDispatch(t *testing.T) {
	var fulls []string
	config := executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		must(h.ReportMessage("m", "a", true))
		return dc.Ack()
	})
	raw := hello
	raw.Functional.Message = func(e adk.MessageEvent) { fulls = append(fulls, e.Full) }
	runner := newRunner(t, config)
	require.NoError(t, runner.Run(context.Background(), raw))
	require.NoError(t, runner.Run(context.Background(), raw))
	assert.Equal(t, []string{"a", "a"}, fulls)
}

// HLP-3, TOL-4: reported fields are merged, and the checksum follows from tool and arguments.
func TestReportToolCall(t *testing.T) {
	runTurn(t, executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		report := func(r adk.ToolCallReport) adk.ToolCallEvent { return must(h.ReportToolCall("c", r)) }
		e := report(adk.ToolCallReport{Tool: "x"})
		assert.Equal(t, []any{"x", "", e.Args == nil}, []any{e.Tool, e.Checksum, true})
		e = report(adk.ToolCallReport{Args: `{"b":2,"a":1}`})
		assert.Equal(t, checksum("x", `{"a":1,"b":2}`), e.Checksum)
		e = report(adk.ToolCallReport{Args: map[string]any{"a": 2}})
		assert.Equal(t, checksum("x", `{"a":2}`), e.Checksum)
		e = report(adk.ToolCallReport{Tool: "y", IsError: true})
		assert.Equal(t, checksum("y", `{"a":2}`), e.Checksum)
		e = report(adk.ToolCallReport{Results: adk.NewTokenizable("r"), Complete: true})
		assert.True(t, e.IsError && e.Complete && e.CompletedAt.Equal(noon) && e.Tool == "y")
		assert.Equal(t, adk.NewTokenizable("r"), e.Results)
		_, err := h.ReportToolCall("d", adk.ToolCallReport{Tool: "x", Args: "no json"})
		assert.ErrorIs(t, err, adk.E_INVALID_TOOL_ARGS)
		return dc.Ack()
	}), hello)
}

func checksum(tool, args string) string {
	return must(adk.NewToolCall(adk.ToolCallInit{ID: "x", Tool: tool, Args: args, Results: adk.NewTokenizable("r"), CreatedAt: noon, UpdatedAt: noon, CompletedAt: noon})).Checksum()
}

// HLP-4: a report changes no set and no storage.
func TestReportingKeepsNothing(t *testing.T) {
	store := &book{}
	config := executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		must(h.ReportMessage("m", "a", true))
		must(h.ReportThought("m", "a", true))
		must(h.ReportToolCall("m", adk.ToolCallReport{Tool: "x", Args: "{}", Complete: true}))
		assert.Zero(t, dc.Messages().Len()+dc.Thoughts().Len()+dc.ToolCalls().Len())
		return dc.Ack()
	})
	config.Storage = store.storage()
	runTurn(t, config, hello)
	assert.Empty(t, store.all())
}

// HLP-5: twice as many deltas take twice as much memory, and not four times as much.
func TestStreamsAreLinear(t *testing.T) {
	cost := func(deltas int) (bytes uint64) {
		delta := strings.Repeat("x", 64)
		config := executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			bytes = allocs.Bytes(func() {
				for range deltas {
					_, _ = h.ReportMessage("m", delta, false)
				}
			})
			return dc.Ack()
		})
		raw := hello
		raw.Functional.Message = func(adk.MessageEvent) {}
		require.NoError(t, newRunner(t, config).Run(context.Background(), raw))
		return bytes
	}
	cost(10)
	// Copying the text for each delta would take 64 MB for 1414 deltas.
	assert.Less(t, cost(4000), uint64(8<<20))
}

// HLP-6, EVT-1: a log event of each level, with its payload.
func TestLog(t *testing.T) {
	var heard []adk.LogEvent
	raw := hello
	raw.Observability.Log = func(e adk.LogEvent) { heard = append(heard, e) }
	levels := []adk.Level{adk.LevelTrace, adk.LevelDebug, adk.LevelInfo, adk.LevelWarn, adk.LevelError}
	config := executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		for _, level := range levels {
			h.Log(level, "kind", "text", map[string]any{"k": 1})
		}
		return dc.Ack()
	})
	runTurn(t, config, raw)
	var want []adk.LogEvent
	for _, level := range levels {
		want = append(want, adk.LogEvent{Origin: adk.Origin{TurnID: "id1", DispatchID: "id2"}, EmittedAt: noon, Level: level, Kind: "kind", Message: "text", Payload: map[string]any{"k": 1}})
	}
	assert.Empty(t, cmp.Diff(want, heard))
}

// HLP-6, EVT-5: a turn's context can log too; such a log event names no dispatch.
func TestLogOfATurn(t *testing.T) {
	var heard []adk.LogEvent
	raw := hello
	raw.Observability.Log = func(e adk.LogEvent) { heard = append(heard, e) }
	config := executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		dc.Log(adk.LevelInfo, "dispatch", "text", nil)
		return dc.Ack()
	})
	config.TurnInput = []adk.TurnMiddleware{turnStep("logs", func(ctx context.Context, h adk.Handle, next adk.Next) error {
		h.Log(adk.LevelWarn, "turn", "text", 1)
		next(ctx)
		return nil
	})}
	runTurn(t, config, raw)
	assert.Empty(t, cmp.Diff([]adk.LogEvent{
		{Origin: adk.Origin{TurnID: "id1"}, EmittedAt: noon, Level: adk.LevelWarn, Kind: "turn", Message: "text", Payload: 1},
		{Origin: adk.Origin{TurnID: "id1", DispatchID: "id2"}, EmittedAt: noon, Level: adk.LevelInfo, Kind: "dispatch", Message: "text"},
	}, heard))
}

// DET-5, HLP-6: helpers end with the executor's call.
func TestLateHelpers(t *testing.T) {
	var kept *adk.Helpers
	config := executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error { kept = h; return dc.Ack() })
	config.TurnOutput = []adk.TurnMiddleware{turnStep("late", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
		_, err := kept.ReportMessage("m", "x", false)
		assert.ErrorIs(t, err, adk.E_CONTEXT_ENDED)
		_, err = kept.ReportThought("m", "x", false)
		assert.ErrorIs(t, err, adk.E_CONTEXT_ENDED)
		_, err = kept.ReportToolCall("m", adk.ToolCallReport{})
		assert.ErrorIs(t, err, adk.E_CONTEXT_ENDED)
		kept.Log(adk.LevelInfo, "k", "m", nil)
		next(ctx)
		return nil
	})}
	lines := runTurn(t, config, hello)
	assert.Equal(t, []string{"contained late report-message", "contained late report-thought", "contained late report-tool-call", "contained late report-log"},
		with(facts(lines), "contained"))
	assert.Empty(t, with(lines, "! message"))
	assert.Empty(t, with(lines, "! log"))
}
