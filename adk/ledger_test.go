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

// What was observed of the library that this engine follows, where no test of a
// single rule has it: whole turns, and corners of the rules.

// fourIterations is a config whose executor announces, runs and reports a tool
// call in each of three iterations, and ends in the fourth, or in the third with
// nack.
func fourIterations(nack error) adk.Config {
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		i := dc.Iteration()
		h.Log(adk.LevelInfo, "step", fmt.Sprint("iteration ", i), nil)
		if i == 2 && nack != nil {
			return dc.Nack(nack)
		}
		if i == 3 {
			must(h.ReportThought("t", "hm", true))
			must(h.ReportMessage("m", "done", true))
			return dc.Ack()
		}
		id, args := fmt.Sprint("c", i), map[string]any{"n": i}
		must(h.ReportToolCall(id, adk.ToolCallReport{Tool: "x", Args: args}))
		x, _ := dc.Tools().Get("x")
		result, err := dc.Execute(ctx, x, args)
		if err != nil {
			return err
		}
		must(h.ReportToolCall(id, adk.ToolCallReport{Results: result, Complete: true}))
		return nil
	})
	config.Tools = []*adk.Tool{tool("x", done)}
	return config
}

// DSP-2, DSP-5, TOL-3, HLP-3, HLP-6: a turn of three tool calls and an answer,
// event by event: what is announced comes before what was done.
func TestTurnOfFourIterations(t *testing.T) {
	want := []string{"turnStart", "dispatchStart"}
	for i := range 3 {
		call := fmt.Sprint("toolCall c", i, " x")
		want = append(want, fmt.Sprint("iterationStart ", i), fmt.Sprint("log info step iteration ", i),
			call, "toolExecutionStart x", "toolExecutionEnd x", call+" complete", fmt.Sprint("iterationEnd ", i))
	}
	want = append(want, "iterationStart 3", "log info step iteration 3", "thought t hm complete", "message m done complete",
		"dispatchEnd ack 4", "turnEnd")
	assert.Equal(t, want, events(runTurn(t, fourIterations(nil), hello)))
}

// DSP-6, DSP-7, EVT-7: the same turn, nacked in its third iteration.
func TestTurnNackedInItsThirdIteration(t *testing.T) {
	heard := &outcome{}
	told := events(runTurn(t, fourIterations(errBoom), heard.watch(hello)))
	assert.Equal(t, []string{"iterationStart 2", "log info step iteration 2", "error E_LLM_EXECUTION_NACKED", "dispatchEnd nack 3 boom", "turnEnd"}, told[len(told)-5:])
	assert.Len(t, with(told, "toolExecution"), 4)
	assert.Same(t, errBoom, heard.ends[0].Error)
}

// EVT-5, HLP-6: a log event says in which iteration it was written.
func TestLogsOfEachIteration(t *testing.T) {
	var iterations []int
	raw := hello
	raw.Observability.Log = func(e adk.LogEvent) { iterations = append(iterations, e.Iteration) }
	runTurn(t, fourIterations(nil), raw)
	assert.Equal(t, []int{0, 1, 2, 3}, iterations)
}

// TOL-4, PRM-7: one call has one checksum, in the report, the execution and the
// record, whatever the order of its keys.
func TestOneChecksumForOneCall(t *testing.T) {
	seen := map[string]string{}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		seen["report"] = must(h.ReportToolCall("c", adk.ToolCallReport{Tool: "x", Args: `{"n":1,"a":2}`})).Checksum
		x := tool("x", done, func(init *adk.ToolInit) { init.InputSchema = []byte(`{"type":"object"}`) })
		must(dc.Execute(ctx, x, `{"a":2,"n":1}`))
		must(dc.Execute(ctx, x, map[string]any{"n": 1.0, "a": 2}))
		return dc.Ack()
	})
	raw := hello
	raw.Observability.ToolExecutionStart = func(e adk.ToolExecutionStart) { seen["execution"+fmt.Sprint(len(seen))] = e.CallID }
	runTurn(t, config, raw)
	assert.Len(t, seen, 3)
	for where, id := range seen {
		assert.Equal(t, checksum("x", `{"n":1,"a":2}`), id, where)
	}
	assert.NotEqual(t, checksum("x", `{"n":2,"a":2}`), seen["report"])
	assert.NotEqual(t, checksum("y", `{"n":1,"a":2}`), seen["report"])
}

// ERR-2, RUN-5: the fatal flag steers nothing: a stage that fails with a
// programming error is told like any other.
func TestFatalErrorOfAStage(t *testing.T) {
	inEach(t, func(t *testing.T, p pipeline) {
		config, heard := p.config(), &outcome{}
		p.put(&config, "m", func(context.Context, adk.Handle, adk.Next) error { return adk.E_INVALID_STASH_PATH })
		runTurn(t, config, heard.watch(hello))
		require.Len(t, heard.errors, 1)
		assert.Equal(t, p.code, heard.errors[0].Error.Code)
		assert.ErrorIs(t, heard.errors[0].Error, adk.E_INVALID_STASH_PATH)
		assert.False(t, heard.errors[0].Error.Fatal())
	})
}

// RUN-8, RUN-9: every pipeline runs in every turn of a runner, and in every
// iteration where it is a dispatch's.
func TestPipelinesRunEveryTime(t *testing.T) {
	config, ran := newConfig(), &notes{}
	config.Executor = ackAt(1)
	for _, p := range pipelines {
		for _, name := range []string{"a", "b"} {
			p.put(&config, name, func(ctx context.Context, _ adk.Handle, next adk.Next) error {
				ran.add(p.label + "/" + name)
				next(ctx)
				return nil
			})
		}
	}
	runner := newRunner(t, config)
	once := []string{"turn-input/a", "turn-input/b", "dispatch-input/a", "dispatch-input/b", "dispatch-output/a", "dispatch-output/b",
		"dispatch-input/a", "dispatch-input/b", "turn-output/a", "turn-output/b"}
	var want []string
	for range 3 {
		require.NoError(t, runner.Run(context.Background(), hello))
		want = append(want, once...)
		require.Equal(t, want, ran.all())
	}
}

// DSP-9, RUN-12: a dispatch has sets of its own, of the very same records.
func TestDispatchSharesTheRecords(t *testing.T) {
	kept := message("m")
	config := executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		got, _ := dc.Messages().Get("m")
		assert.Same(t, kept, got)
		return dc.Ack()
	})
	config.TurnInput = []adk.TurnMiddleware{{Name: "fill", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		must(tc.Messages().Add(kept))
		next(ctx)
		return nil
	}}}
	runTurn(t, config, hello)
}

// DSP-11, DEL-3, SIG-3: an ack does not save a dispatch whose later stage fails,
// and nothing is flushed; the on-ack handlers have run.
func TestAckThenFailure(t *testing.T) {
	for name, config := range map[string]func(ack, fail func(*adk.DispatchContext) error) adk.Config{
		"a later middleware": func(ack, fail func(*adk.DispatchContext) error) adk.Config {
			config := newConfig()
			config.DispatchInput = []adk.DispatchMiddleware{
				{Name: "acks", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
					defer next(ctx)
					return ack(dc)
				}},
				{Name: "fails", Run: func(_ context.Context, dc *adk.DispatchContext, _ adk.Next) error { return fail(dc) }},
			}
			return config
		},
		"the executor": func(ack, fail func(*adk.DispatchContext) error) adk.Config {
			return executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return errors.Join(ack(dc), fail(dc))
			})
		},
		"a panic": func(ack, _ func(*adk.DispatchContext) error) adk.Config {
			return executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				must(0, ack(dc))
				panic(errBoom)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			handled, heard, kept := false, &outcome{}, -1
			c := config(func(dc *adk.DispatchContext) error {
				must(dc.OnAck("h", func(*adk.DispatchContext) { handled = true }))
				return errors.Join(dc.Messages().Store(context.Background(), message("m")), dc.Ack())
			}, func(*adk.DispatchContext) error { return errBoom })
			c.TurnInput = []adk.TurnMiddleware{{Name: "look", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
				next(ctx)
				kept = tc.Messages().Len()
				return nil
			}}}
			runTurn(t, c, heard.watch(hello))
			assert.True(t, handled)
			assert.Equal(t, adk.StatusNack, heard.ends[0].Status)
			require.Len(t, heard.errors, 1)
			assert.ErrorIs(t, heard.errors[0].Error, errBoom)
			assert.Zero(t, kept)
		})
	}
}

// TOL-8, TOL-9: ephemeral tools that nobody has bound survive the ack, and go
// with the dispatch.
func TestUnboundToolsSurviveTheAck(t *testing.T) {
	config := executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		require.NoError(t, dc.Tools().Register(tool("e", done, func(init *adk.ToolInit) { init.Ephemeral = true })))
		err := dc.Ack()
		assert.True(t, dc.Tools().Has("e"))
		return err
	})
	config.TurnOutput = []adk.TurnMiddleware{{Name: "look", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		assert.False(t, tc.Tools().Has("e"))
		next(ctx)
		return nil
	}}}
	runTurn(t, config, hello)
}

// STA-1, STA-2: zero values are values; an empty map is there and is no leaf.
func TestStashOfZeroValues(t *testing.T) {
	inTurn(t, hello, func(_ context.Context, tc *adk.TurnContext) {
		s := tc.Stash()
		for path, value := range map[string]any{"n": 0, "s": "", "b": false, "l": []any{}} {
			require.NoError(t, s.Set(path, value))
			assert.True(t, s.Has(path), path)
			assert.Equal(t, value, s.Get(path, "fallback"), path)
		}
		require.NoError(t, s.Set("m", map[string]any{}))
		assert.True(t, s.Has("m"))
		assert.Equal(t, []string{"b", "l", "n", "s"}, s.Keys())
	})
}

// STA-3, STA-6: a live record in the stash is shared, there and in the dispatch.
func TestRecordInTheStash(t *testing.T) {
	kept := message("m")
	config := executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		assert.Same(t, kept, dc.Stash().Get("guard.last", nil))
		return dc.Ack()
	})
	config.TurnInput = []adk.TurnMiddleware{{Name: "keep", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		require.NoError(t, tc.Stash().Set("guard.last", kept))
		assert.Same(t, kept, tc.Stash().All()["guard"].(map[string]any)["last"])
		next(ctx)
		return nil
	}}}
	assert.Contains(t, runTurn(t, config, hello), "! dispatchEnd ack 1")
}

// STA-3: a slice that is set or got by itself is a copy too.
func TestStashCopiesSlices(t *testing.T) {
	inTurn(t, hello, func(_ context.Context, tc *adk.TurnContext) {
		given := []any{1, map[string]any{"k": 1}}
		require.NoError(t, tc.Stash().Set("list", given))
		given[0] = 2
		given[1].(map[string]any)["k"] = 2
		got := tc.Stash().Get("list", nil).([]any)
		assert.Equal(t, []any{1, map[string]any{"k": 1}}, got)
		got[0] = 3
		assert.Equal(t, 1, tc.Stash().Get("list", nil).([]any)[0])
	})
}

// PIP-2, PIP-4: what stands behind next runs, whatever happened downstream; no
// defer is needed for it.
func TestPostStepsAreNotUnwound(t *testing.T) {
	for name, fail := range map[string]body{
		"error": func(context.Context, adk.Handle, adk.Next) error { return errBoom },
		"panic": func(context.Context, adk.Handle, adk.Next) error { panic(errBoom) },
		"short": func(context.Context, adk.Handle, adk.Next) error { return nil },
		"abort": func(context.Context, adk.Handle, adk.Next) error { return adk.Aborted(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			inEach(t, func(t *testing.T, p pipeline) {
				config, behind := p.config(), false
				p.put(&config, "above", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
					next(ctx)
					behind = true
					return nil
				})
				p.put(&config, "below", fail)
				lines := runTurn(t, config, hello)
				assert.True(t, behind)
				assert.LessOrEqual(t, len(with(lines, "! error")), 1)
			})
		})
	}
}

// ERR-1, DSP-6, PIP-5: a panic with something that is no error keeps it: in the
// text of the event, and behind errors.As.
func TestPanicWithoutAnError(t *testing.T) {
	check := func(t *testing.T, config adk.Config, code adk.Code) {
		t.Helper()
		heard := &outcome{}
		runTurn(t, config, heard.watch(hello))
		require.Len(t, heard.errors, 1)
		failure := heard.errors[0].Error
		assert.Equal(t, code, failure.Code)
		assert.ErrorContains(t, failure, "panic: 42 apples")
		var panicked *adk.PanicError
		require.ErrorAs(t, failure, &panicked)
		assert.Equal(t, apples(42), panicked.Value)
		assert.NotEmpty(t, panicked.Stack())
	}
	inEach(t, func(t *testing.T, p pipeline) {
		config := p.config()
		p.put(&config, "m", func(context.Context, adk.Handle, adk.Next) error { panic(apples(42)) })
		check(t, config, p.code)
	})
	check(t, executing(func(context.Context, *adk.DispatchContext, *adk.Helpers) error { panic(apples(42)) }), adk.E_LLM_EXECUTION_EXECUTOR_ERROR)
}

type apples int

func (a apples) String() string { return fmt.Sprint(int(a), " apples") }
