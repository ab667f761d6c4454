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

// The tests of this file hold behaviour that was observed in the library that this engine follows, where
// no test of a single rule holds it: whole turns, and corners of the rules.

// fourIterations is a config whose executor announces, runs and reports a tool call in each of
// three iterations and ends in the fourth. If nack is not nil it nacks in the third iteration
// instead.
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

// DSP-2, DSP-5, TOL-3, HLP-3, HLP-6: the events of a turn with three tool calls and an answer. Each
// call is announced before it is executed.
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

// DSP-6, DSP-7, EVT-7: the events of the same turn when it is nacked in its third iteration.
func TestTurnNackedInItsThirdIteration(t *testing.T) {
	heard := &outcome{}
	told := events(runTurn(t, fourIterations(errBoom), heard.watch(hello)))
	assert.Equal(t, []string{"iterationStart 2", "log info step iteration 2", "error E_LLM_EXECUTION_NACKED", "dispatchEnd nack 3 boom", "turnEnd"}, told[len(told)-5:])
	assert.Len(t, with(told, "toolExecution"), 4)
	assert.Same(t, errBoom, heard.ends[0].Error)
}

// EVT-5, HLP-6: a log event holds the iteration in which it was logged.
func TestLogsOfEachIteration(t *testing.T) {
	var iterations []int
	raw := hello
	raw.Observability.Log = func(e adk.LogEvent) {
		iterations = append(iterations, e.Iteration)
		assert.Nil(t, e.Payload)
	}
	runTurn(t, fourIterations(nil), raw)
	assert.Equal(t, []int{0, 1, 2, 3}, iterations)
}

// TOL-4, PRM-7: a call has the same checksum in the report, the execution and the record, whatever the
// order of its keys.
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

// ERR-2, RUN-5: the fatal flag has no effect on the run: a stage that fails with a programming error
// emits an error event like any other.
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

// RUN-8, RUN-9: every pipeline runs in every turn of a runner, and a dispatch's pipeline runs in
// every iteration.
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

// DSP-9, RUN-12: a dispatch has its own sets, which hold the same records.
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

// DSP-11, DEL-3, SIG-3: an ack does not save a dispatch whose later stage fails. Nothing is flushed,
// and the on-ack handlers have run.
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
				must(dc.OnAck("h", func(context.Context, *adk.DispatchContext) { handled = true }))
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

// TOL-8, TOL-9: ephemeral tools without a binding survive the ack, and are gone when the dispatch
// ends.
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

// STA-1, STA-2: zero values count as values. An empty map exists and is no leaf; a
// record is a leaf.
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
		require.NoError(t, s.Set("record", message("m"))) // a leaf, as is every value that is not a map
		assert.Equal(t, []string{"b", "l", "n", "record", "s"}, s.Keys())
	})
}

// STA-3, STA-6: a record in the stash is shared, not copied, also with the dispatch.
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

// STA-3: a slice that is set or read by its own path is copied too.
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

// PIP-2, PIP-4: the code behind next runs, whatever happened downstream, without
// a defer.
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

// ERR-1, DSP-6, PIP-5: a panic with a value that is not an error keeps the value: in the
// text of the event, and for errors.As.
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

// RUN-7, RUN-13, DSP-9: Fetch returns records to its caller, and puts them into no
// set.
func TestFetchingFillsNoSet(t *testing.T) {
	kept, store := message("m"), &book{}
	look := func(ctx context.Context, set adk.Records[*adk.Message]) {
		got, err := set.Fetch(ctx)
		require.NoError(t, err)
		require.Len(t, got, 1)
		assert.Same(t, kept, got[0])
		assert.Zero(t, set.Len())
	}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		look(ctx, dc.Messages())
		return dc.Ack()
	})
	config.Storage = store.storage()
	config.TurnInput = []adk.TurnMiddleware{{Name: "keep", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		require.NoError(t, tc.Messages().Store(ctx, kept))
		look(ctx, tc.Messages())
		next(ctx)
		assert.Zero(t, tc.Messages().Len())
		return nil
	}}}
	runTurn(t, config, hello)
	assert.Equal(t, []string{"messages.store m", "messages.fetch", "messages.fetch"}, store.all())
}

// DEL-2, DEL-4, DSP-9, RUN-12: changes of every kind of record reach the turn, each in its
// own set.
func TestEveryKindOfRecordReachesTheTurn(t *testing.T) {
	t.Run("messages", reaches(adk.Handle.Messages, func(id string) *adk.Message { return message(id) }))
	t.Run("memories", reaches(adk.Handle.Memories, memory))
	t.Run("retrievables", reaches(adk.Handle.Retrievables, retrievable))
	t.Run("thoughts", reaches(adk.Handle.Thoughts, thought))
	t.Run("tool calls", reaches(adk.Handle.ToolCalls, func(id string) *adk.ToolCall { return toolCall(id, "x") }))
	t.Run("instructions", reaches(adk.Handle.Instructions, adk.NewTokenizable))
}

func reaches[T interface {
	comparable
	adk.Record
}](of func(adk.Handle) adk.Records[T], record func(id string) T) func(*testing.T) {
	return func(t *testing.T) {
		config, held := newConfig(), []string{}
		config.TurnInput = []adk.TurnMiddleware{turnStep("seed", func(ctx context.Context, h adk.Handle, next adk.Next) error {
			for _, id := range []string{"a", "b", "c"} {
				must(of(h).Add(record(id)))
			}
			next(ctx)
			return nil
		})}
		config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			set := of(dc.Handle)
			assert.Equal(t, []string{"a", "b", "c"}, keysOf(set.All()))
			return errors.Join(set.Mutate(ctx, record("b")), set.Store(ctx, record("d")), set.Mutate(ctx, record("e")), set.Delete(ctx, "a"), dc.Ack())
		})
		config.TurnOutput = []adk.TurnMiddleware{turnStep("look", func(ctx context.Context, h adk.Handle, next adk.Next) error {
			held = keysOf(of(h).All())
			next(ctx)
			return nil
		})}
		runTurn(t, config, hello)
		assert.Equal(t, []string{"b", "c", "d", "e"}, held)
	}
}

// EVT-5, EVT-6, DSP-2: each end event says when it began.
func TestEndsSayWhenTheyBegan(t *testing.T) {
	config, raw := busy()
	config.Clock = &handClock{step: 1} // every reading is a nanosecond later
	var turn, dispatch, iteration, execution, gate time.Time
	ends := 0
	ended := func(span adk.Span, startedAt time.Time) {
		ends++
		assert.True(t, startedAt.After(noon))
		assert.Equal(t, startedAt, span.StartedAt)
		assert.True(t, span.EndedAt.After(startedAt))
		assert.Equal(t, span.EndedAt.Sub(startedAt), span.Duration())
	}
	raw.Observability = settling(adk.Observability{
		TurnStart:          func(e adk.TurnStart) { turn = e.StartedAt },
		TurnEnd:            func(e adk.TurnEnd) { ended(e.Span, turn) },
		DispatchStart:      func(e adk.DispatchStart) { dispatch = e.StartedAt },
		DispatchEnd:        func(e adk.DispatchEnd) { ended(e.Span, dispatch) },
		IterationStart:     func(e adk.IterationStart) { iteration = e.StartedAt },
		IterationEnd:       func(e adk.IterationEnd) { ended(e.Span, iteration) },
		ToolExecutionStart: func(e adk.ToolExecutionStart) { execution = e.StartedAt },
		ToolExecutionEnd: func(e adk.ToolExecutionEnd) {
			ended(e.Span, execution)
			assert.Equal(t, []bool{true, true, true}, []bool{turn.Before(dispatch), dispatch.Before(iteration), iteration.Before(execution)})
		},
		TurnGateOpen:   func(e adk.TurnGateOpen) { gate = e.OpenedAt },
		TurnGateClosed: func(e adk.TurnGateClosed) { assert.True(t, gate.After(iteration) && e.SettledAt.After(gate)) },
	})
	runTurn(t, config, raw)
	assert.Equal(t, 4, ends)
}

// EVT-1, EVT-2: every observability listener receives an event, in the order of registration, until
// it is removed.
func TestObserversInOrder(t *testing.T) {
	log := &notes{}
	runner := newRunner(t, executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		h.Log(adk.LevelWarn, "kind", "text", nil)
		return dc.Ack()
	}))
	observer := func(name string) adk.Observability {
		return adk.Observability{Log: func(e adk.LogEvent) { log.add(name + " " + string(e.Level)) }}
	}
	runner.Observe(observer("first"))
	off := runner.Observe(observer("second"))
	runner.ObserveOnce(observer("once"))
	raw := hello
	raw.Observability = observer("own")
	require.NoError(t, runner.Run(context.Background(), raw))
	off()
	require.NoError(t, runner.Run(context.Background(), raw))
	assert.Equal(t, []string{"first warn", "second warn", "once warn", "own warn", "first warn", "own warn"}, log.all())
}

// HLP-3, TOL-4: the events of a reported tool call. A field that is not known yet is empty, and
// a field that was reported is kept.
func TestToolCallEvents(t *testing.T) {
	config, clock, result := newConfig(), &handClock{}, adk.NewTokenizable("r")
	config.Clock = clock
	config.Executor = executor(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		for _, report := range []adk.ToolCallReport{{Args: `{"n":1}`}, {Tool: "x"}, {}, {Results: result, Complete: true}} {
			clock.advance(1)
			must(h.ReportToolCall("c", report))
		}
		return dc.Ack()
	})
	var heard []adk.ToolCallEvent
	raw := hello
	raw.Functional.ToolCall = func(e adk.ToolCallEvent) { heard = append(heard, e) }
	runTurn(t, config, raw)

	args := adk.ToolCallEvent{Origin: adk.Origin{TurnID: "id1", DispatchID: "id2"}, ID: "c", Args: map[string]any{"n": 1.0}, CreatedAt: noon.Add(1), UpdatedAt: noon.Add(1)}
	named := args
	named.Tool, named.Checksum, named.UpdatedAt = "x", checksum("x", `{"n":1}`), noon.Add(2)
	nothing, complete := named, named
	nothing.UpdatedAt = noon.Add(3)
	complete.Results, complete.Complete, complete.UpdatedAt, complete.CompletedAt = result, true, noon.Add(4), noon.Add(4)
	assert.Equal(t, []adk.ToolCallEvent{args, named, nothing, complete}, heard)
}

// DSP-6, DSP-8: when a standalone dispatch is nacked, its caller gets the nack's own error, and its
// listeners get one of the package's type.
func TestDispatchAloneNacked(t *testing.T) {
	ours := &adk.Error{Code: adk.E_INVALID_TOOL_ARGS, Message: "of the package's type"}
	for name, c := range map[string]struct {
		cause error
		code  adk.Code
	}{"foreign": {errBoom, adk.E_LLM_EXECUTION_NACKED}, "ours": {ours, adk.E_INVALID_TOOL_ARGS}, "nil": {nil, adk.E_LLM_EXECUTION_NACKED}} {
		t.Run(name, func(t *testing.T) {
			raw, heard := &adk.RawDispatch{SystemPrompt: "Plan.", Storage: (&book{}).storage()}, []*adk.Error{}
			raw.Observability.Error = func(e adk.ErrorEvent) { heard = append(heard, e.Error) }
			end, err := adk.Dispatch(t.Context(), adk.DispatchInput{Name: "planner", Raw: raw,
				Executor: executor(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Nack(c.cause) })})
			assert.Equal(t, adk.StatusNack, end.Status)
			assert.Same(t, err, end.Error)
			require.Len(t, heard, 1)
			assert.Equal(t, c.code, heard[0].Code)
			if c.cause == nil {
				assert.Same(t, heard[0], err)
			} else {
				assert.Same(t, c.cause, err)
				assert.ErrorIs(t, heard[0], c.cause)
			}
		})
	}
}

// DSP-1, RUN-13: a standalone dispatch begins with the records that it is given, in their order, and
// with an empty stash and no instructions where none are given. Its obligations get no
// turn id.
func TestDispatchAloneBeginsWithItsRecords(t *testing.T) {
	store := &book{}
	raw := &adk.RawDispatch{SystemPrompt: "Plan.", Storage: store.storage(), IDs: &countingIDs{},
		Messages: []*adk.Message{message("m2"), message("m1")}, Memories: []*adk.Memory{memory("y")}, Retrievables: []*adk.Retrievable{retrievable("r")},
		Thoughts: []*adk.Thought{thought("t")}, ToolCalls: []*adk.ToolCall{toolCall("c", "x")}, Tools: []*adk.Tool{tool("b", done), tool("a", done)}}
	var got [][]string
	end, err := adk.Dispatch(t.Context(), adk.DispatchInput{Name: "planner", Raw: raw, Executor: executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		got = [][]string{keysOf(dc.Messages().All()), keysOf(dc.Memories().All()), keysOf(dc.Retrievables().All()), keysOf(dc.Thoughts().All()),
			keysOf(dc.ToolCalls().All()), keysOf(dc.Tools().All()), keysOf(dc.Instructions().All())}
		assert.Empty(t, dc.Stash().All())
		first, _ := dc.Messages().Get("m2")
		assert.Same(t, raw.Messages[0], first)
		assert.Equal(t, 1, dc.ToolCallCount(raw.ToolCalls[0].Checksum()), "SIG-4")
		assert.Empty(t, dc.TurnID())
		return errors.Join(dc.Messages().Store(ctx, message("m3")), dc.Ack())
	})})
	require.NoError(t, err)
	assert.Equal(t, adk.StatusAck, end.Status)
	require.Len(t, store.scopes, 1)
	assert.Equal(t, []string{"", "id1"}, []string{store.scopes[0].TurnID, store.scopes[0].DispatchID})
	assert.Equal(t, [][]string{{"m2", "m1"}, {"y"}, {"r"}, {"t"}, {"c"}, {"b", "a"}, {}}, got)
}

// GAT-1, GAT-3: a schema converts nothing. The waiter gets exactly the error of the
// rejection.
func TestGateConvertsNothing(t *testing.T) {
	var value any
	var err error
	raw := hello
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
		_, refused := e.Gate.Resolve("ann", "1")
		assert.ErrorIs(t, refused, adk.E_INVALID_TURN_GATE_RESOLUTION)
		e.Gate.Reject("ann", errBoom)
	}
	runTurn(t, waiting(adk.Gate{ID: "g", Reason: "r", Schema: []byte(`{"type":"integer"}`)}, &value, &err), raw)
	assert.Nil(t, value)
	assert.Same(t, errBoom, err)
}

// TOL-3, TOL-5: the caller gets exactly the result that a handler returns.
func TestResultsComeUnchanged(t *testing.T) {
	one, two := picture("one", bytesOf("1")), picture("two", bytesOf("2"))
	for _, want := range []adk.ToolResult{adk.NewTokenizable("text"), adk.NewTokenizable(""), adk.Bytes("\xff\x00"), adk.Bytes{}, one, adk.MediaList{two, one}} {
		var got adk.ToolResult
		gives := tool("gives", func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) { return want, nil })
		lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			got = must(dc.Execute(ctx, gives, "{}"))
			return dc.Ack()
		}), hello)
		assert.Equal(t, want, got)
		assert.Contains(t, lines, "! toolExecutionEnd gives")
	}
}

// PRM-2, PRM-3, PRM-4, PRM-5, PRM-6, PRM-7, PRM-8: every field of a record can be read back, with times in UTC.
func TestFieldsReadBack(t *testing.T) {
	began := time.Date(2026, 1, 2, 14, 0, 0, 5, time.FixedZone("east", 2*3600))
	updated, completed := began.Add(time.Second), began.Add(time.Minute)
	ann, attached := must(adk.NewIdentity(7, "Ann")), picture("p", bytesOf("1"))
	dated := func(createdAt, updatedAt time.Time) {
		assert.Equal(t, []time.Time{began.UTC(), updated.UTC()}, []time.Time{createdAt, updatedAt})
	}

	m := must(adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleAssistant, Content: "hi", Attachments: []*adk.Media{attached}, Identity: ann, CreatedAt: began, UpdatedAt: updated}))
	dated(m.CreatedAt(), m.UpdatedAt())
	assert.Equal(t, []any{"m", adk.RoleAssistant, "hi", []*adk.Media{attached}, ann}, []any{m.ID(), m.Role(), m.Content().String(), m.Attachments(), m.Identity()})
	assert.Empty(t, message("bare").Attachments())

	y := must(adk.NewMemory(adk.MemoryInit{ID: "y", Content: "fact", Confidence: new(0.25), Importance: new(0.75), CreatedAt: began, UpdatedAt: updated}))
	dated(y.CreatedAt(), y.UpdatedAt())
	assert.Equal(t, []any{"y", "fact", 0.25, 0.75}, []any{y.ID(), y.Content().String(), y.Confidence(), y.Importance()})

	r := must(adk.NewRetrievable(adk.RetrievableInit{ID: "r", Content: "found", TrustTier: adk.TrustThirdPartyPrivate, Source: "wiki", Kind: "page", Score: new(0.5), CreatedAt: began, UpdatedAt: updated}))
	dated(r.CreatedAt(), r.UpdatedAt())
	score, _ := r.Score()
	assert.Equal(t, []any{"r", "found", adk.TrustThirdPartyPrivate, "wiki", "page", 0.5}, []any{r.ID(), r.Content().String(), r.TrustTier(), r.Source(), r.Kind(), score})
	bare := retrievable("bare")
	assert.Empty(t, bare.Source()+bare.Kind())

	h := must(adk.NewThought(adk.ThoughtInit{ID: "t", Content: "hm", Identity: ann, Payload: "sealed", ReplayCompatibility: "v1", CreatedAt: began, UpdatedAt: updated}))
	dated(h.CreatedAt(), h.UpdatedAt())
	assert.Equal(t, []any{"t", "hm", ann, "sealed", "v1"}, []any{h.ID(), h.Content().String(), h.Identity(), h.Payload(), h.ReplayCompatibility()})

	c := must(adk.NewToolCall(adk.ToolCallInit{ID: "c", Tool: "x", Args: `{"n":1}`, Results: attached, Inline: new(false), IsError: true, FromArtifactTool: true, CreatedAt: began, UpdatedAt: updated, CompletedAt: completed}))
	dated(c.CreatedAt(), c.UpdatedAt())
	assert.Equal(t, completed.UTC(), c.CompletedAt())
	assert.Equal(t, []any{"c", "x", map[string]any{"n": 1.0}, checksum("x", `{"n":1}`), false, true, true},
		[]any{c.ID(), c.Tool(), c.Args(), c.Checksum(), c.Inline(), c.IsError(), c.FromArtifactTool()})
	assert.Same(t, attached, c.Results())
	plain := toolCall("plain", "x")
	assert.Equal(t, []bool{true, false, false}, []bool{plain.Inline(), plain.IsError(), plain.FromArtifactTool()})

	d := must(adk.NewMedia(adk.MediaInit{ID: "d", Kind: adk.MediaDocument, MIMEType: "a/b", Filename: "f", Reader: adk.MediaBytes(nil), TrustTier: adk.TrustFirstParty,
		ModalityHazard: adk.HazardInert, Source: "disk", Stash: map[string]adk.MediaStashEntry{"text:caption": {Value: "v", TrustTier: adk.TrustFirstParty, DerivedFrom: "p"}}}))
	assert.Equal(t, []any{"d", adk.MediaDocument, "a/b", "f", adk.TrustFirstParty, adk.HazardInert, "disk"},
		[]any{d.ID(), d.Kind(), d.MIMEType(), d.Filename(), d.TrustTier(), d.ModalityHazard(), d.Source()})
	caption, found := d.Stashed("text:caption")
	assert.True(t, found)
	assert.Equal(t, adk.MediaStashEntry{Value: "v", TrustTier: adk.TrustFirstParty, DerivedFrom: "p"}, caption)
	assert.Equal(t, map[string]adk.MediaStashEntry{}, attached.Stash())
}

// PRM-4, PRM-5, PRM-6: a record without its required fields is refused, and the error names every
// missing field.
func TestRecordsOfNothing(t *testing.T) {
	for code, c := range map[adk.Code]struct {
		err  error
		want []string
	}{
		adk.E_INVALID_INITIAL_MEMORY_VALUE:      {second(adk.NewMemory(adk.MemoryInit{})), []string{"id", "content", "confidence", "importance", "createdAt", "updatedAt"}},
		adk.E_INVALID_INITIAL_RETRIEVABLE_VALUE: {second(adk.NewRetrievable(adk.RetrievableInit{})), []string{"id", "content", "trustTier", "createdAt", "updatedAt"}},
		adk.E_INVALID_INITIAL_THOUGHT_VALUE:     {second(adk.NewThought(adk.ThoughtInit{Payload: 1})), []string{"id", "replayCompatibility", "createdAt", "updatedAt"}},
	} {
		require.ErrorIs(t, c.err, code)
		for _, field := range c.want {
			assert.ErrorContains(t, c.err, field+": is missing")
		}
	}
}

func second[T any](_ T, err error) error { return err }

// PRM-1: tokens are estimated for models whose tokenizer is not among the exact ones.
func TestTokensOfOtherModels(t *testing.T) {
	const word = "antidisestablishmentarianism" // no exact encoding counts a quarter of its 28 units
	for _, encoding := range []string{"gemini", "llama2"} {
		assert.Equal(t, 7, adk.EstimateTokens(word, encoding))
		assert.Equal(t, 7, adk.NewTokenizable(word).EstimateTokens(encoding))
	}
}
