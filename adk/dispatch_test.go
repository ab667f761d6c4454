package adk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// DSP-2, DSP-3, DSP-5: where a dispatch leaves its loop after a signal, a failure or an abort. Each
// case ends it at one place of the second iteration.
func TestWhereTheLoopIsLeft(t *testing.T) {
	before := []string{
		"dispatchStart", "iterationStart 0", "dispatch-input/m#0", "executor/model#0", "dispatch-output/m#0", "iterationEnd 0",
		"iterationStart 1", "dispatch-input/m#1",
	}
	atOutput := []string{"executor/model#1", "dispatch-output/m#1", "iterationEnd 1"}
	ends := map[string]func(dc *adk.DispatchContext) error{
		adk.StatusAck:     func(dc *adk.DispatchContext) error { return dc.Ack() },
		adk.StatusNack:    func(dc *adk.DispatchContext) error { return dc.Nack(errBoom) },
		adk.StatusAborted: func(dc *adk.DispatchContext) error { return dc.Abort(nil) },
	}
	for status, end := range ends {
		for place, after := range map[string][]string{
			adk.LabelDispatchInput:  nil,
			adk.LabelExecutor:       atOutput[:1],
			adk.LabelDispatchOutput: atOutput,
		} {
			t.Run(status+" in "+place, func(t *testing.T) {
				at := func(here string, dc *adk.DispatchContext) error {
					if here != place || dc.Iteration() < 1 {
						return nil
					}
					return end(dc)
				}
				middleware := func(label string) []adk.DispatchMiddleware {
					return []adk.DispatchMiddleware{{Name: "m", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
						next(ctx)
						return at(label, dc)
					}}}
				}
				config := executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					return at(adk.LabelExecutor, dc)
				})
				config.DispatchInput, config.DispatchOutput = middleware(adk.LabelDispatchInput), middleware(adk.LabelDispatchOutput)
				got := []string{}
				for _, line := range runTurn(t, config, hello) {
					mark, rest := line[:2], line[2:]
					if mark == "> " && rest != "run" && rest != "dispatch" || mark == "! " && rest != "turnStart" && rest != "turnEnd" {
						got = append(got, rest)
					}
				}
				want := append(append([]string{}, before...), after...)
				if status == adk.StatusNack {
					want = append(want, "error E_LLM_EXECUTION_NACKED", "dispatchEnd nack 2 boom")
				} else {
					want = append(want, "dispatchEnd "+status+" 2")
				}
				assert.Equal(t, want, got)
			})
		}
	}
}

// DSP-4: the engine sets no bound on the number of iterations, even if all of them are the same.
func TestNoBoundOfItsOwn(t *testing.T) {
	config, heard := newConfig(), &outcome{}
	config.Executor = ackAt(2000)
	require.NoError(t, newRunner(t, config).Run(context.Background(), heard.watch(hello)))
	assert.Equal(t, 2001, heard.ends[0].Iterations)
	assert.Equal(t, adk.StatusAck, heard.ends[0].Status)
}

// DSP-5: Iteration returns the same number everywhere in an iteration.
func TestIterationIsConstant(t *testing.T) {
	seen := &notes{}
	note := func(place string, dc *adk.DispatchContext) { seen.add(fmt.Sprint(place, dc.Iteration())) }
	config := newConfig()
	config.DispatchInput = []adk.DispatchMiddleware{{Name: "in", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		note("in", dc)
		next(ctx)
		return nil
	}}}
	config.DispatchOutput = []adk.DispatchMiddleware{{Name: "out", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		next(ctx)
		note("out", dc)
		return nil
	}}}
	config.Executor = executor(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		note("executor", dc)
		if dc.Iteration() == 1 {
			return dc.Ack()
		}
		return nil
	})
	runTurn(t, config, hello)
	assert.Equal(t, []string{"in0", "executor0", "out0", "in1", "executor1"}, seen.all())
}

// DSP-6, DSP-7, EVT-8: which errors the error event and dispatchEnd carry.
func TestWhatAFailedDispatchCarries(t *testing.T) {
	ours := &adk.Error{Code: adk.E_INVALID_TOOL_ARGS, Message: "of the package's type"}
	for name, c := range map[string]struct {
		run       func(dc *adk.DispatchContext) error
		code      adk.Code
		end       error // dispatchEnd.Error is exactly this error; nil: the event's
		unwrapped bool
	}{
		"nack":          {func(dc *adk.DispatchContext) error { return dc.Nack(errBoom) }, adk.E_LLM_EXECUTION_NACKED, errBoom, false},
		"nack of ours":  {func(dc *adk.DispatchContext) error { return dc.Nack(ours) }, adk.E_INVALID_TOOL_ARGS, ours, true},
		"nack of nil":   {func(dc *adk.DispatchContext) error { return dc.Nack(nil) }, adk.E_LLM_EXECUTION_NACKED, nil, true},
		"error":         {func(*adk.DispatchContext) error { return errBoom }, adk.E_LLM_EXECUTION_EXECUTOR_ERROR, nil, true},
		"error of ours": {func(*adk.DispatchContext) error { return ours }, adk.E_LLM_EXECUTION_EXECUTOR_ERROR, nil, true},
		"panic":         {func(*adk.DispatchContext) error { panic(errBoom) }, adk.E_LLM_EXECUTION_EXECUTOR_ERROR, nil, true},
		// DSP-6: the error of a second signal, if the executor returns it, is the executor's failure.
		"second signal": {func(dc *adk.DispatchContext) error { _ = dc.Ack(); return dc.Ack() }, adk.E_LLM_EXECUTION_EXECUTOR_ERROR, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			heard := &outcome{}
			runTurn(t, executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return c.run(dc) }), heard.watch(hello))
			require.Len(t, heard.errors, 1)
			e := heard.errors[0].Error
			assert.Equal(t, c.code, e.Code)
			if c.unwrapped {
				assert.Same(t, e, heard.ends[0].Error)
			} else {
				assert.Same(t, c.end, heard.ends[0].Error)
				assert.Same(t, c.end, e.Cause)
			}
			if name == "error" || name == "panic" {
				assert.ErrorContains(t, e, "boom", "its message names the cause")
			}
		})
	}
}

// DSP-9, DSP-13, STA-6: a dispatch begins with copies of what the turn holds. Neither sees the
// other's changes.
func TestDispatchHasItsOwnCopies(t *testing.T) {
	config := newConfig()
	config.Tools = []*adk.Tool{tool("base", done)}
	config.TurnInput = []adk.TurnMiddleware{{Name: "fill", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		must(tc.Messages().Add(message("m")))
		must(tc.Memories().Add(memory("y")))
		must(tc.Retrievables().Add(retrievable("r")))
		must(tc.Thoughts().Add(thought("t")))
		must(tc.ToolCalls().Add(toolCall("c", "x")))
		require.NoError(t, tc.Tools().Register(tool("turn's", done)))
		next(ctx)
		return tc.Stash().Set("deep.list", []any{1, map[string]any{"k": "v"}})
	}}}
	config.Executor = executor(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		assert.Equal(t, "be kind", dc.SystemPrompt().String())
		got := [][]string{keysOf(dc.Instructions().All()), keysOf(dc.Messages().All()), keysOf(dc.Memories().All()),
			keysOf(dc.Retrievables().All()), keysOf(dc.Thoughts().All()), keysOf(dc.ToolCalls().All()), keysOf(dc.Tools().All())}
		if dc.Iteration() == 0 {
			assert.Equal(t, [][]string{{"i"}, {"m"}, {"y"}, {"r"}, {"t"}, {"c"}, {"base", "turn's"}}, got)
			must(dc.Messages().Remove("m"))
			must(dc.Tools().Unregister("base"))
			require.NoError(t, dc.Tools().Register(tool("own", done)))
			return dc.Stash().Set("deep.own", true)
		}
		assert.Equal(t, []string{"turn's", "own"}, got[6], "it lives across iterations")
		assert.Equal(t, []string{"deep.list", "deep.own"}, dc.Stash().Keys(), "STA-6")
		return dc.Ack()
	})
	config.TurnOutput = []adk.TurnMiddleware{{Name: "look", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		assert.Equal(t, []string{"m"}, keysOf(tc.Messages().All()))
		assert.Equal(t, []string{"base", "turn's"}, keysOf(tc.Tools().All()), "DSP-13")
		assert.Equal(t, []string{"deep.list"}, tc.Stash().Keys(), "STA-6")
		next(ctx)
		return nil
	}}}
	raw := hello
	raw.Instructions = []string{"i"}
	raw.Stash = map[string]any{"deep": map[string]any{"list": []any{1}}}
	runTurn(t, config, raw)
}

// DSP-10: code can wait for a gate in every stage of a turn, and of its dispatch.
func TestGateInEveryStage(t *testing.T) {
	inEach(t, func(t *testing.T, p pipeline) {
		config := p.config()
		p.put(&config, "waits", func(ctx context.Context, h adk.Handle, next adk.Next) error {
			value, err := h.WaitFor(ctx, adk.Gate{ID: "g", Reason: "r"})
			assert.Equal(t, "yes", value)
			next(ctx)
			return err
		})
		raw := hello
		raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { must(e.Gate.Resolve("listener", "yes")) }
		lines := runTurn(t, config, raw)
		assert.Contains(t, lines, "! turnGateClosed g resolved listener")
		assert.Empty(t, with(lines, "! error"))
	})
}

// DSP-11: when an output pipeline acks and then fails, the failure wins. The ack handlers have
// run by then.
func TestFailureAfterAckWins(t *testing.T) {
	heard, ran := &outcome{}, false
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		return dc.Messages().Store(ctx, message("lost"))
	})
	config.DispatchOutput = []adk.DispatchMiddleware{{Name: "m", Run: func(_ context.Context, dc *adk.DispatchContext, _ adk.Next) error {
		must(dc.OnAck("runs", func(context.Context, *adk.DispatchContext) { ran = true }))
		return errors.Join(dc.Ack(), errBoom)
	}}}
	rec := &recorder{}
	config.Probe = rec
	require.NoError(t, newRunner(t, config).Run(context.Background(), heard.watch(hello)))
	assert.True(t, ran)
	assert.Equal(t, adk.StatusNack, heard.ends[0].Status)
	assert.ErrorIs(t, heard.ends[0].Error, adk.E_DISPATCH_PIPELINE_ERROR)
	states := statesOf(rec.crossings())
	assert.Equal(t, states[0], states[len(states)-1], "deltas discarded")
}
