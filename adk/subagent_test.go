package adk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// These tests are about dispatches within dispatches: sub-agents.

// run is the function of an executor.
type run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error

// within is a dispatch with the given name and source, whose executor calls do and then acks
// unless the dispatch was signalled.
func within(source adk.Source, name string, do run) adk.DispatchInput {
	return adk.DispatchInput{Name: name, Source: source, Executor: adk.Executor{Name: name,
		Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if err := do(ctx, dc, h); err != nil || dc.IsSignalled() || dc.Aborted() {
				return err
			}
			return dc.Ack()
		}}}
}

// stores returns a function that stores a message with the given id.
func stores(id string) run {
	return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		return dc.Messages().Store(ctx, message(id))
	}
}

// acking is a config whose executor calls do and then acks unless it was signalled.
func acking(do run) adk.Config {
	config := newConfig()
	config.Executor = within(nil, "model", do).Executor
	return config
}

// heldAtEnd runs a turn and returns the keys of the messages that it holds at its end.
func heldAtEnd(t *testing.T, config adk.Config) (keys, lines []string) {
	t.Helper()
	var last *adk.TurnContext
	config.TurnInput = append(config.TurnInput, adk.TurnMiddleware{Name: "holder", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		last = tc
		next(ctx)
		return nil
	}})
	raw := hello
	raw.Observability.TurnEnd = func(adk.TurnEnd) { keys = keysOf(last.Messages().All()) }
	lines = runTurn(t, config, raw)
	return keys, lines
}

// DSP-1: any code with a dispatch context can call a dispatch from it. What that dispatch stores is in
// the caller's set after its ack, and in the turn's set after the caller's ack.
func TestSubAgentFromEverywhere(t *testing.T) {
	call := func(ctx context.Context, t *testing.T, dc *adk.DispatchContext) {
		t.Helper()
		end, err := adk.Dispatch(ctx, within(dc, "sub", stores("found")))
		require.NoError(t, err)
		assert.Equal(t, adk.StatusAck, end.Status)
		assert.Equal(t, []string{"found"}, keysOf(dc.Messages().All()))
	}
	nothing := func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil }
	for seam, build := range map[string]func(t *testing.T) adk.Config{
		"executor/model#0": func(t *testing.T) adk.Config {
			return acking(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				call(ctx, t, dc)
				return nil
			})
		},
		"dispatch-input/m#0": func(t *testing.T) adk.Config {
			config := acking(nothing)
			config.DispatchInput = []adk.DispatchMiddleware{{Name: "m", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
				call(ctx, t, dc)
				next(ctx)
				return nil
			}}}
			return config
		},
		"tool/agent": func(t *testing.T) adk.Config {
			config := acking(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				agent, _ := dc.Tools().Get("agent")
				_, err := dc.Execute(ctx, agent, "{}")
				return err
			})
			config.Tools = []*adk.Tool{tool("agent", func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				call(ctx, t, dc)
				return adk.Text("done"), nil
			})}
			return config
		},
		"on-ack/commit": func(t *testing.T) adk.Config {
			return acking(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				_, err := dc.OnAck("commit", func(_ context.Context, dc *adk.DispatchContext) { call(ctx, t, dc) })
				return err
			})
		},
		"strand/beside": func(t *testing.T) adk.Config {
			return acking(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				strand, err := dc.Fork(ctx, "beside", func(ctx context.Context, dc *adk.DispatchContext) error {
					call(ctx, t, dc)
					return nil
				})
				require.NoError(t, err)
				return strand.Wait()
			})
		},
	} {
		t.Run(seam, func(t *testing.T) {
			rec := &recorder{}
			config := build(t)
			config.Probe = rec
			held, _ := heldAtEnd(t, config)
			assert.Equal(t, []string{"found"}, held)
			assert.Equal(t, []string{seam}, callersOf(rec, "dispatch/sub"))
		})
	}
}

// callersOf returns the seams that called a seam.
func callersOf(rec *recorder, seam string) (callers []string) {
	paths := map[int]string{}
	for _, x := range rec.crossings() {
		if x.Kind != adk.KindCall {
			continue
		}
		if paths[x.ID] = x.Seam.String(); paths[x.ID] == seam {
			callers = append(callers, paths[x.Call])
		}
	}
	return callers
}

// DSP-1: a source is the context of a turn or a dispatch that a seam call received, and nothing
// else.
// DET-5: a source whose seam call has returned is refused.
func TestSourcesThatAreNone(t *testing.T) {
	type own struct{ *adk.DispatchContext }
	type any struct{ adk.Source }
	var kept *adk.DispatchContext
	runTurn(t, acking(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { kept = dc; return nil }), hello)
	for name, c := range map[string]struct {
		source adk.Source
		code   adk.Code
	}{
		"nil turn context":     {(*adk.TurnContext)(nil), adk.E_INVALID_LLM_DISPATCH_INPUT},
		"nil dispatch context": {(*adk.DispatchContext)(nil), adk.E_INVALID_LLM_DISPATCH_INPUT},
		"zero context":         {&adk.DispatchContext{}, adk.E_INVALID_LLM_DISPATCH_INPUT},
		"embedded":             {own{kept}, adk.E_INVALID_LLM_DISPATCH_INPUT},
		"embedded nothing":     {any{}, adk.E_INVALID_LLM_DISPATCH_INPUT},
		"ended":                {kept, adk.E_CONTEXT_ENDED},
	} {
		t.Run(name, func(t *testing.T) {
			end, err := adk.Dispatch(t.Context(), within(c.source, "sub", stores("never")))
			require.ErrorIs(t, err, c.code)
			assert.Zero(t, end)
		})
	}
}

// DSP-9: a sub-agent begins with copies of what its caller sees, which may differ from what the turn
// holds. Its stash and its tools stay its own (STA-6, DSP-13).
func TestSubAgentSeesWhatItsCallerSees(t *testing.T) {
	config := acking(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		must(dc.Messages().Add(message("own")))
		require.NoError(t, dc.Stash().Set("city", "Oslo"))
		require.NoError(t, dc.Tools().Register(tool("own", done)))
		_, err := adk.Dispatch(ctx, within(dc, "sub", func(_ context.Context, sub *adk.DispatchContext, _ *adk.Helpers) error {
			assert.Equal(t, []string{"turn's", "own"}, keysOf(sub.Messages().All()))
			assert.Equal(t, []string{"base", "own"}, keysOf(sub.Tools().All()))
			assert.Equal(t, "Oslo", sub.Stash().Get("city", nil))
			assert.Equal(t, "be kind", sub.SystemPrompt().String())
			assert.NotEqual(t, dc.DispatchID(), sub.DispatchID())
			must(sub.Messages().Add(message("hers")))
			require.NoError(t, sub.Stash().Set("city", "Rome"))
			return sub.Tools().Register(tool("hers", done))
		}))
		require.NoError(t, err)
		assert.Equal(t, []string{"turn's", "own"}, keysOf(dc.Messages().All()), "adding alone is flushed to nobody")
		assert.Equal(t, []string{"base", "own"}, keysOf(dc.Tools().All()))
		assert.Equal(t, "Oslo", dc.Stash().Get("city", nil))
		return nil
	})
	config.Tools = []*adk.Tool{tool("base", done)}
	config.TurnInput = []adk.TurnMiddleware{{Name: "hydrate", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		must(tc.Messages().Add(message("turn's")))
		next(ctx)
		assert.Equal(t, []string{"turn's"}, keysOf(tc.Messages().All()))
		return nil
	}}}
	runTurn(t, config, hello)
}

// DEL-2, DEL-3: what a sub-agent flushes is queued with the changes of its caller. The turn gets all of
// it, or nothing if any dispatch above is nacked or the turn is aborted. Either way the storage
// was called once for each change.
func TestSubAgentFlushesWithItsCaller(t *testing.T) {
	nothing := func(*adk.DispatchContext) error { return nil }
	nack := func(dc *adk.DispatchContext) error { return dc.Nack(errBoom) }
	abort := func(dc *adk.DispatchContext) error { return dc.Abort(errBoom) }
	for name, c := range map[string]struct {
		outer, middle, inner func(*adk.DispatchContext) error
		want                 []string
	}{
		"all acked":    {nothing, nothing, nothing, []string{"before", "mine", "inner", "after"}},
		"inner nacked": {nothing, nothing, nack, []string{"before", "mine", "after"}},
		"middle":       {nothing, nack, nothing, []string{"before", "after"}},
		"outer nacked": {nack, nothing, nothing, []string{}},
		"aborted":      {abort, nothing, nothing, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			store := &book{}
			ending := func(do run, end func(*adk.DispatchContext) error) run {
				return func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
					return errors.Join(do(ctx, dc, h), end(dc))
				}
			}
			config := acking(ending(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				require.NoError(t, stores("before")(ctx, dc, h))
				_, _ = adk.Dispatch(ctx, within(dc, "middle", ending(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
					require.NoError(t, stores("mine")(ctx, dc, h))
					_, _ = adk.Dispatch(ctx, within(dc, "inner", ending(stores("inner"), c.inner)))
					return nil
				}, c.middle)))
				return stores("after")(ctx, dc, h)
			}, c.outer))
			config.Storage = store.storage()
			held, _ := heldAtEnd(t, config)
			assert.Equal(t, c.want, held)
			assert.Equal(t, []string{"messages.store before", "messages.store mine", "messages.store inner", "messages.store after"}, store.all())
		})
	}
}

// DEL-6: with write-behind the obligations of a sub-agent wait for the flush of the outermost dispatch,
// and are then called in the order of the changes. If that dispatch is nacked none is
// called.
func TestWriteBehindWaitsForTheOutermost(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*adk.DispatchContext) error
		want []string
	}{
		"acked":  {func(dc *adk.DispatchContext) error { return dc.Ack() }, []string{"messages.store a", "messages.store b", "messages.store c"}},
		"nacked": {func(dc *adk.DispatchContext) error { return dc.Nack(errBoom) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			store := &book{}
			config := acking(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				require.NoError(t, stores("a")(ctx, dc, h))
				end, err := adk.Dispatch(ctx, within(dc, "sub", stores("b")))
				require.NoError(t, err)
				assert.Equal(t, adk.StatusAck, end.Status)
				assert.Empty(t, store.all())
				require.NoError(t, stores("c")(ctx, dc, h))
				return c.end(dc)
			})
			config.Storage, config.WriteBehind = store.storage(), true
			runTurn(t, config, hello)
			assert.Equal(t, c.want, store.all())
		})
	}
}

// DEL-6: a change that a sub-agent on a plain goroutine flushes during the flush of its caller is
// persisted with the caller's.
func TestFlushDuringAFlush(t *testing.T) {
	release, flushed := make(chan struct{}), make(chan struct{})
	store := &book{answer: func(_ context.Context, _ adk.Scope, call string) error {
		if call == "messages.store a" {
			close(release)
			<-flushed
		}
		return nil
	}}
	config := acking(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		begun := make(chan struct{})
		go func() {
			defer close(flushed)
			_, _ = adk.Dispatch(ctx, within(dc, "sub", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				close(begun)
				<-release
				return stores("b")(ctx, dc, h)
			}))
		}()
		<-begun
		return stores("a")(ctx, dc, h)
	})
	config.Storage, config.WriteBehind = store.storage(), true
	require.NoError(t, newRunner(t, config).Run(t.Context(), hello))
	assert.Equal(t, []string{"messages.store a", "messages.store b"}, store.all())
}

// SIG-4: the tool calls that a sub-agent stored count in its caller after they are flushed to it,
// and not before.
func TestFlushedToolCallsCount(t *testing.T) {
	checksum := toolCall("c", "echo").Checksum()
	runTurn(t, acking(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		storingCall := func(signal func(dc *adk.DispatchContext) error) run {
			return func(ctx context.Context, sub *adk.DispatchContext, _ *adk.Helpers) error {
				require.NoError(t, sub.ToolCalls().Store(ctx, toolCall("c", "echo")))
				assert.Equal(t, 1, sub.ToolCallCount(checksum))
				assert.Zero(t, dc.ToolCallCount(checksum))
				return signal(sub)
			}
		}
		_, err := adk.Dispatch(ctx, within(dc, "sub", storingCall(func(dc *adk.DispatchContext) error { return dc.Nack(errBoom) })))
		require.ErrorIs(t, err, errBoom)
		assert.Zero(t, dc.ToolCallCount(checksum))
		_, err = adk.Dispatch(ctx, within(dc, "sub", storingCall((*adk.DispatchContext).Ack)))
		assert.Equal(t, 1, dc.ToolCallCount(checksum))
		return err
	}), hello)
}

// DSP-7: each failed dispatch emits one error event. A caller that returns the error fails
// itself.
// TOL-3: a tool that returns the error fails, and the executor goes on.
func TestSubAgentThatFails(t *testing.T) {
	failing := func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return errBoom }
	for name, c := range map[string]struct {
		escape bool
		want   []string
	}{
		"handled":  {false, []string{"error E_LLM_EXECUTION_EXECUTOR_ERROR sub", "dispatchEnd nack 1 E_LLM_EXECUTION_EXECUTOR_ERROR", "toolExecutionEnd agent failed", "dispatchEnd ack 1"}},
		"returned": {true, []string{"error E_LLM_EXECUTION_EXECUTOR_ERROR sub", "dispatchEnd nack 1 E_LLM_EXECUTION_EXECUTOR_ERROR", "toolExecutionEnd agent failed", "error E_LLM_EXECUTION_EXECUTOR_ERROR model", "dispatchEnd nack 1 E_LLM_EXECUTION_EXECUTOR_ERROR"}},
	} {
		t.Run(name, func(t *testing.T) {
			agent := tool("agent", func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				_, err := adk.Dispatch(ctx, within(dc, "sub", failing))
				return nil, err
			})
			lines := runTurn(t, acking(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				_, err := dc.Execute(ctx, agent, "{}")
				require.ErrorIs(t, err, adk.E_TOOL_DOWNSTREAM_ERROR)
				require.ErrorIs(t, err, errBoom)
				if !c.escape {
					err = nil
				}
				return err
			}), hello)
			var got []string
			for _, line := range events(lines) {
				if line != "turnStart" && line != "turnEnd" && line != "dispatchStart" && line != "iterationStart 0" && line != "toolExecutionStart agent" {
					got = append(got, line)
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// ABT-11, ABT-12: a sub-agent whose own context has ended before the call runs nothing. If the context
// ends later, the sub-agent fails. Neither aborts the turn.
func TestSubAgentWithItsOwnContext(t *testing.T) {
	errLate := errors.New("no time left")
	lines := runTurn(t, acking(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		own, end := context.WithCancelCause(ctx)
		end(errLate)
		ended, err := adk.Dispatch(own, within(dc, "late", stores("never")))
		require.NoError(t, err)
		assert.Equal(t, adk.StatusAborted, ended.Status)
		assert.Zero(t, ended.Iterations)
		assert.Same(t, errLate, ended.Error)

		own, end = context.WithCancelCause(ctx)
		ended, err = adk.Dispatch(own, within(dc, "slow", func(ctx context.Context, _ *adk.DispatchContext, _ *adk.Helpers) error {
			end(errLate)
			return ctx.Err()
		}))
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, adk.StatusNack, ended.Status)
		assert.Equal(t, 1, ended.Iterations)
		assert.False(t, dc.Aborted())
		return stores("kept")(ctx, dc, h)
	}), hello)
	assert.Equal(t, []string{"dispatchEnd aborted 0 no time left", "dispatchEnd nack 1 E_LLM_EXECUTION_EXECUTOR_ERROR", "dispatchEnd ack 1"},
		with(events(lines), "dispatchEnd"))
	assert.Empty(t, with(facts(lines), "cancel"))
}

// ABT-12, ABT-5: an abort in a sub-agent of a sub-agent aborts the turn, with its reason. Each dispatch
// above ends as aborted, without an error.
func TestAbortInASubAgent(t *testing.T) {
	lines := runTurn(t, acking(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		end, err := adk.Dispatch(ctx, within(dc, "middle", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_, err := adk.Dispatch(ctx, within(dc, "inner", func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return dc.Abort(errBoom)
			}))
			return err
		}))
		assert.NoError(t, err)
		assert.Equal(t, adk.StatusAborted, end.Status)
		assert.True(t, dc.Aborted())
		assert.Same(t, errBoom, context.Cause(ctx))
		return nil
	}), hello)
	assert.Equal(t, []string{"dispatchEnd aborted 1", "dispatchEnd aborted 1", "dispatchEnd aborted 1"}, with(events(lines), "dispatchEnd"))
	assert.Empty(t, with(events(lines), "error"))
}

// DSP-1, ABT-11: the code in a dispatch gets a context derived from the one that Dispatch was called
// with, with its values and its deadline.
func TestSubAgentKeepsItsCallersContext(t *testing.T) {
	type key struct{}
	deadline := time.Now().Add(time.Hour)
	seen := 0
	see := func(ctx context.Context) {
		seen++
		assert.Equal(t, "value", ctx.Value(key{}))
		until, limited := ctx.Deadline()
		assert.True(t, limited && until.Equal(deadline))
	}
	looking := func(source adk.Source) adk.DispatchInput {
		in := within(source, "sub", func(ctx context.Context, _ *adk.DispatchContext, _ *adk.Helpers) error { see(ctx); return nil })
		in.Input = []adk.DispatchMiddleware{{Name: "m", Run: func(ctx context.Context, _ *adk.DispatchContext, next adk.Next) error {
			see(ctx)
			next(ctx)
			return nil
		}}}
		return in
	}
	own := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithDeadline(context.WithValue(ctx, key{}, "value"), deadline)
	}
	config := acking(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		ctx, end := own(ctx)
		defer end()
		_, err := adk.Dispatch(ctx, looking(dc))
		return err
	})
	config.TurnInput = []adk.TurnMiddleware{{Name: "m", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		limited, end := own(ctx)
		defer end()
		_, err := adk.Dispatch(limited, looking(tc))
		next(ctx)
		return err
	}}}
	runTurn(t, config, hello)
	assert.Equal(t, 4, seen)

	in := looking(nil)
	in.Raw = &adk.RawDispatch{SystemPrompt: "be kind", Storage: (&book{}).storage()}
	ctx, end := own(t.Context())
	defer end()
	_, err := adk.Dispatch(ctx, in)
	require.NoError(t, err)
	assert.Equal(t, 6, seen)
}

// DSP-1, EVT-5: the events of a dispatch that user code called have its name, and those of the turn's own
// dispatch have none. DispatchStart also names the calling dispatch.
func TestEventsBearTheDispatchsName(t *testing.T) {
	var got []string
	say := func(kind string, o adk.Origin) {
		assert.Equal(t, "id1", o.TurnID)
		got = append(got, fmt.Sprintf("%s of %q %s %d", kind, o.DispatchName, o.DispatchID, o.Iteration))
	}
	speak := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) {
		must(h.ReportMessage("m", "hi", true))
		must(h.ReportThought("t", "hm", true))
		must(h.ReportToolCall("c", adk.ToolCallReport{Tool: "echo"}))
		h.Log(adk.LevelInfo, "k", "text", nil)
		must(dc.Execute(ctx, tool("echo", done), "{}"))
	}
	raw := hello
	raw.Functional = adk.Functional{Message: func(e adk.MessageEvent) { say("message", e.Origin) },
		Thought: func(e adk.ThoughtEvent) { say("thought", e.Origin) }, ToolCall: func(e adk.ToolCallEvent) { say("toolCall", e.Origin) }}
	raw.Observability = adk.Observability{
		DispatchStart: func(e adk.DispatchStart) {
			got = append(got, fmt.Sprintf("start of %q %s from %q", e.Name, e.DispatchID, e.ParentID))
		},
		DispatchEnd:        func(e adk.DispatchEnd) { got = append(got, fmt.Sprintf("end of %q %s", e.Name, e.DispatchID)) },
		IterationStart:     func(e adk.IterationStart) { say("iterationStart", e.Origin) },
		IterationEnd:       func(e adk.IterationEnd) { say("iterationEnd", e.Origin) },
		ToolExecutionStart: func(e adk.ToolExecutionStart) { say("toolExecutionStart", e.Origin) },
		ToolExecutionEnd:   func(e adk.ToolExecutionEnd) { say("toolExecutionEnd", e.Origin) },
		Log:                func(e adk.LogEvent) { say("log", e.Origin) },
		Error:              func(e adk.ErrorEvent) { say("error", e.Origin) },
	}
	runTurn(t, acking(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		planner := within(dc, "planner", nil)
		planner.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if dc.Iteration() == 0 {
				return nil
			}
			speak(ctx, dc, h)
			_, err := adk.Dispatch(ctx, within(dc, "critic", func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil }))
			return errors.Join(err, errBoom)
		}
		_, err := adk.Dispatch(ctx, planner)
		require.ErrorIs(t, err, errBoom)
		must(h.ReportMessage("m", "hello", true))
		return nil
	}), raw)
	assert.Equal(t, []string{
		`start of "" id2 from ""`, `iterationStart of "" id2 0`,
		`start of "planner" id3 from "id2"`, `iterationStart of "planner" id3 0`, `iterationEnd of "planner" id3 0`,
		`iterationStart of "planner" id3 1`, `message of "planner" id3 1`, `thought of "planner" id3 1`,
		`toolCall of "planner" id3 1`, `log of "planner" id3 1`,
		`toolExecutionStart of "planner" id3 1`, `toolExecutionEnd of "planner" id3 1`,
		`start of "critic" id4 from "id3"`, `iterationStart of "critic" id4 0`, `end of "critic" id4`,
		`error of "planner" id3 1`, `end of "planner" id3`,
		`message of "" id2 0`, `end of "" id2`,
	}, got)
}

// DSP-5, EVT-5: the error event of a dispatch that was nacked at the end of an iteration holds
// that iteration.
func TestErrorSaysItsIteration(t *testing.T) {
	for place, label := range map[string]string{"executor": adk.LabelExecutor, "output": adk.LabelDispatchOutput} {
		t.Run(place, func(t *testing.T) {
			nack := func(here string, dc *adk.DispatchContext) error {
				if here == label && dc.Iteration() == 2 {
					return dc.Nack(errBoom)
				}
				return nil
			}
			config := executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return nack(adk.LabelExecutor, dc)
			})
			config.DispatchOutput = []adk.DispatchMiddleware{{Name: "out", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
				next(ctx)
				return nack(adk.LabelDispatchOutput, dc)
			}}}
			raw, told := hello, []adk.Origin{}
			raw.Observability.Error = func(e adk.ErrorEvent) { told = append(told, e.Origin) }
			runTurn(t, config, raw)
			assert.Equal(t, []adk.Origin{{TurnID: "id1", DispatchID: "id2", Iteration: 2}}, told)
		})
	}
}

// DSP-1, DET-7: each of several sub-agents in concurrent strands flushes as a whole, in the order in which
// they ended.
func TestSubAgentsSideBySide(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	for range 20 {
		held, lines := heldAtEnd(t, acking(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var strands []*adk.Strand
			for _, name := range names {
				strands = append(strands, must(dc.Fork(ctx, name, func(ctx context.Context, dc *adk.DispatchContext) error {
					_, err := adk.Dispatch(ctx, within(dc, name, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
						return errors.Join(stores(name+"1")(ctx, dc, h), stores(name+"2")(ctx, dc, h))
					}))
					return err
				})))
			}
			for _, strand := range strands {
				require.NoError(t, strand.Wait())
			}
			return nil
		}))
		require.Len(t, held, 8)
		for i := 0; i < len(held); i += 2 {
			assert.Equal(t, held[i][:1]+"1", held[i])
			assert.Equal(t, held[i][:1]+"2", held[i+1])
		}
		assert.Len(t, with(events(lines), "dispatchEnd ack 1"), 5)
	}
}

// DSP-1, DSP-10: in a standalone dispatch a sub-agent uses what the dispatch was given, also its refusal
// of gates, and its changes are flushed to no turn (DEL-5).
func TestSubAgentOfADispatchAlone(t *testing.T) {
	store, heard := &book{}, 0
	in := within(nil, "alone", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, err := adk.Dispatch(ctx, within(dc, "sub", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may I?"})
			assert.ErrorIs(t, err, adk.E_LLM_EXECUTION_GATE_NOT_SUPPORTED)
			assert.Empty(t, dc.TurnID())
			return stores("found")(ctx, dc, h)
		}))
		assert.Equal(t, []string{"found"}, keysOf(dc.Messages().All()))
		return err
	})
	in.Raw = &adk.RawDispatch{SystemPrompt: "be kind", Storage: store.storage(),
		Observability: adk.Observability{DispatchEnd: func(adk.DispatchEnd) { heard++ }}}
	end, err := adk.Dispatch(t.Context(), in)
	require.NoError(t, err)
	assert.Equal(t, adk.StatusAck, end.Status)
	assert.Equal(t, []string{"messages.store found"}, store.all())
	assert.Equal(t, 2, heard)
}

// DSP-9, DET-6: a dispatch takes its copies in the step that records its call. Changes that a concurrent
// strand makes before that step are in the copies.
func TestDispatchCopiesInItsStep(t *testing.T) {
	var caller *adk.DispatchContext
	var at, strand int
	rec := &recorder{}
	rec.begin = func(s adk.Step) {
		if caller != nil && s.Kind == adk.KindCall && s.Call == at && s.Strand == strand {
			own := caller
			caller = nil
			must(own.Messages().Add(message("beside")))
		}
	}
	config := acking(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		at, strand = dc.Where()
		caller = dc
		_, err := adk.Dispatch(ctx, within(dc, "sub", func(_ context.Context, sub *adk.DispatchContext, _ *adk.Helpers) error {
			assert.Equal(t, []string{"beside"}, keysOf(sub.Messages().All()))
			return nil
		}))
		return err
	})
	require.NoError(t, newRunner(t, watchedBy(config, rec)).Run(t.Context(), hello))
	holdsInvariants(t, rec)
	assert.Nil(t, caller)
}
