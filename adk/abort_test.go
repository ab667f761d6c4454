package adk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// triggers returns the three ways to abort a turn (ABT-1). Each function aborts the turn
// and returns the error that the stage then returns.
func triggers(cancel context.CancelCauseFunc) map[string]func(h adk.Handle) error {
	return map[string]func(h adk.Handle) error{
		"abort":              func(h adk.Handle) error { return h.Abort(errBoom) },
		"cancel":             func(adk.Handle) error { cancel(errBoom); return nil },
		"abort error":        func(adk.Handle) error { return adk.Aborted(errBoom) }, // ABT-3
		"wrapped":            func(adk.Handle) error { return fmt.Errorf("gave up: %w", adk.Aborted(errBoom)) },
		"joined aborts":      func(adk.Handle) error { return errors.Join(adk.Aborted(errBoom), adk.Aborted(nil)) },
		"cancel and its err": func(adk.Handle) error { cancel(errBoom); return context.Canceled },
		// ABT-13: after an abort, any error that a stage returns belongs to the abort.
		"abort and failure": func(h adk.Handle) error { return errors.Join(h.Abort(errBoom), errors.New("half written")) },
	}
}

// ABT-1, ABT-3, ABT-4, ABT-5, ABT-6, ABT-7, ABT-13, EVT-8: every trigger aborts the turn in every
// place where user code runs.
func TestAbortEverywhere(t *testing.T) {
	places := map[string]struct {
		put  func(c *adk.Config, run body)
		want []string
	}{
		"turn input":     {func(c *adk.Config, run body) { pipelines[0].put(c, "m", run) }, []string{"turnStart", "turnEnd"}},
		"dispatch input": {func(c *adk.Config, run body) { pipelines[1].put(c, "m", run) }, []string{"turnStart", "dispatchStart", "iterationStart 0", "dispatchEnd aborted 1", "turnEnd"}},
		"executor": {func(c *adk.Config, run body) {
			c.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return run(ctx, dc.Handle, func(context.Context) {})
			})
		}, []string{"turnStart", "dispatchStart", "iterationStart 0", "dispatchEnd aborted 1", "turnEnd"}},
		"dispatch output": {func(c *adk.Config, run body) {
			c.Executor = ackAt(1)
			pipelines[2].put(c, "m", run)
		}, []string{"turnStart", "dispatchStart", "iterationStart 0", "iterationEnd 0", "dispatchEnd aborted 1", "turnEnd"}},
		"turn output": {func(c *adk.Config, run body) { pipelines[3].put(c, "m", run) }, []string{"turnStart", "dispatchStart", "iterationStart 0", "dispatchEnd ack 1", "turnEnd"}},
	}
	for place, at := range places {
		for name := range triggers(nil) {
			t.Run(place+"/"+name, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				config, heard := newConfig(), &outcome{}
				var cause error
				at.put(&config, func(ctx context.Context, h adk.Handle, next adk.Next) error {
					err := triggers(cancel)[name](h)
					if err == nil {
						assert.True(t, h.Aborted())
					}
					next(ctx)
					cause = context.Cause(ctx)
					return err
				})
				lines := runTurnIn(t, ctx, config, heard.watch(hello))
				got := events(lines)
				for i, line := range got { // the error that a stage returned is shown after the status
					if len(line) > 21 && line[:19] == "dispatchEnd aborted" {
						got[i] = line[:21]
					}
				}
				assert.Equal(t, at.want, got)
				assert.Len(t, with(lines, "= cancel"), 1)
				if cause != nil {
					assert.ErrorIs(t, cause, errBoom, "ABT-5")
				}
			})
		}
	}
}

// abortForms are all errors that ABT-2 treats as the package's own abort error.
var abortForms = map[string]error{
	"bare code":      adk.E_TURN_ABORTED,
	"wrapped code":   fmt.Errorf("gave up: %w", adk.E_TURN_ABORTED),
	"joined codes":   errors.Join(adk.E_TURN_ABORTED, adk.Aborted(nil)),
	"with a reason":  adk.Aborted(errBoom),
	"our type":       &adk.Error{Code: adk.E_TURN_ABORTED},
	"below our type": &adk.Error{Code: adk.E_TOOL_DOWNSTREAM_ERROR, Cause: adk.E_TURN_ABORTED},
}

// ABT-2, ABT-3, ABT-4: every form of the abort error aborts the turn when a stage returns it,
// whichever stage that is and wherever the error was made.
func TestAbortErrorsFromEveryStage(t *testing.T) {
	executes := func(run func(ctx context.Context, dc *adk.DispatchContext, abort error) error) func(c *adk.Config, abort error) {
		return func(c *adk.Config, abort error) {
			c.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return run(ctx, dc, abort) })
		}
	}
	places := map[string]func(c *adk.Config, abort error){
		"executor": executes(func(_ context.Context, _ *adk.DispatchContext, abort error) error { return abort }),
		"tool": executes(func(ctx context.Context, dc *adk.DispatchContext, abort error) error {
			_, err := dc.Execute(ctx, tool("t", func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) { return nil, abort }), "{}")
			return err
		}),
		"strand": executes(func(ctx context.Context, dc *adk.DispatchContext, abort error) error {
			return must(dc.Fork(ctx, "s", func(context.Context, *adk.DispatchContext) error { return abort })).Wait()
		}),
		"gate": executes(func(ctx context.Context, dc *adk.DispatchContext, abort error) error {
			_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "r", Payload: abort})
			return err
		}),
		"obligation": func(c *adk.Config, abort error) {
			c.Storage = (&book{answer: func(context.Context, adk.Scope, string) error { return abort }}).storage()
			c.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return dc.Messages().Store(ctx, message("m"))
			})
		},
	}
	for _, p := range pipelines {
		places[p.label] = func(c *adk.Config, abort error) {
			c.Executor = p.config().Executor
			p.put(c, "m", func(_ context.Context, _ adk.Handle, next adk.Next) error { return abort })
		}
	}
	for place, put := range places {
		for form, abort := range abortForms {
			t.Run(place+"/"+form, func(t *testing.T) {
				config, raw := newConfig(), hello
				raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { e.Gate.Reject("", e.Gate.Payload().(error)) }
				put(&config, abort)
				lines := runTurn(t, config, raw)
				assert.Empty(t, with(lines, "! error"))
				assert.Equal(t, []string{"= cancel stage"}, with(lines, "= cancel"))
			})
		}
	}
}

// ABT-2: an error that only mentions an abort, or is joined with another failure, is a failure.
func TestWhatIsNoAbortError(t *testing.T) {
	for name, err := range map[string]error{
		"joined with a failure": errors.Join(adk.E_TURN_ABORTED, errBoom),
		"another code":          adk.E_TURN_GATE_ABORTED,
		"its text":              errors.New(string(adk.E_TURN_ABORTED)),
		"a gate's cause":        &adk.Error{Code: adk.E_TURN_GATE_ABORTED, Cause: adk.E_TURN_ABORTED},
	} {
		t.Run(name, func(t *testing.T) {
			lines := runTurn(t, executing(func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return err }), hello)
			assert.Equal(t, []string{"! error E_LLM_EXECUTION_EXECUTOR_ERROR model"}, with(lines, "! error"))
			assert.Empty(t, with(lines, "= cancel"))
		})
	}
}

// DSP-6, EVT-8: an abort error that user code passes to Nack is a nack, and is emitted with the
// nack's own code. The error of the dispatch's end is that same abort error.
func TestNackWithAnAbortError(t *testing.T) {
	for form, abort := range abortForms {
		t.Run(form, func(t *testing.T) {
			heard := &outcome{}
			lines := runTurn(t, executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Nack(abort) }), heard.watch(hello))
			require.Len(t, heard.errors, 1)
			assert.Equal(t, adk.E_LLM_EXECUTION_NACKED, heard.errors[0].Error.Code)
			assert.ErrorIs(t, heard.errors[0].Error, adk.E_TURN_ABORTED)
			assert.Equal(t, adk.StatusNack, heard.ends[0].Status)
			assert.Equal(t, abort, heard.ends[0].Error)
			assert.Empty(t, with(lines, "= cancel"))
		})
	}
}

// ABT-5, ABT-12: the reason of an abort is the cause of every context of the run. The first
// reason stays; a later abort does not replace it.
func TestFirstReasonStays(t *testing.T) {
	config := newConfig()
	p := pipelines[0]
	p.put(&config, "outer", func(ctx context.Context, h adk.Handle, next adk.Next) error {
		next(ctx)
		require.NoError(t, h.Abort(errors.New("second")))
		assert.Same(t, errBoom, context.Cause(ctx))
		assert.ErrorIs(t, ctx.Err(), context.Canceled)
		return nil
	})
	p.put(&config, "inner", func(_ context.Context, h adk.Handle, _ adk.Next) error { return h.Abort(errBoom) })
	lines := runTurn(t, config, hello)
	assert.Equal(t, []string{"cancel abort"}, with(facts(lines), "cancel"))
}

// ABT-5: an abort without a reason has the cause E_TURN_ABORTED.
func TestAbortWithoutReason(t *testing.T) {
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		require.NoError(t, dc.Abort(nil))
		assert.ErrorIs(t, context.Cause(ctx), adk.E_TURN_ABORTED)
		return nil
	})
	runTurn(t, config, hello)
}

// ABT-12: a run whose context is cancelled before it starts runs no user code.
func TestAbortedBeforeRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	config := newConfig()
	for _, p := range pipelines {
		p.put(&config, "never", onward)
	}
	lines := runTurnIn(t, ctx, config, hello)
	assert.Equal(t, []string{"turnStart", "turnEnd"}, events(lines))
	assert.Equal(t, []string{"run"}, calls(lines))
	assert.Contains(t, facts(lines), "cancel outside")
}

// ABT-12: the same holds when a listener of the very first event cancels. When a listener of
// turnStart or dispatchStart cancels, no iteration starts.
func TestListenerCancels(t *testing.T) {
	for name, want := range map[string][]string{
		"turnStart":      {"turnStart", "turnEnd"},
		"dispatchStart":  {"turnStart", "dispatchStart", "dispatchEnd aborted 0", "turnEnd"},
		"iterationStart": {"turnStart", "dispatchStart", "iterationStart 0", "dispatchEnd aborted 1", "turnEnd"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			raw := hello
			_, raw.Observability = everyEvent(func(line string) {
				if len(line) >= len(name) && line[:len(name)] == name {
					cancel()
				}
			})
			lines := runTurnIn(t, ctx, newConfig(), raw)
			assert.Equal(t, want, events(lines))
			assert.Empty(t, with(lines, "> executor"))
		})
	}
}

type wrapper struct{ error }

func (w *wrapper) Unwrap() error { return w.error }

// ABT-2, ABT-11: a cancellation of another context (a private one, a deadline, a gate that was
// aborted alone) is a failure, also when it is joined with an abort error.
func TestForeignCancellationsAreFailures(t *testing.T) {
	var nilError *adk.Error
	var nilWrapper *wrapper
	private := func(ctx context.Context) error {
		own, cancel := context.WithCancelCause(ctx)
		cancel(errBoom)
		<-own.Done()
		return own.Err()
	}
	for name, stage := range map[string]func(ctx context.Context, h adk.Handle) error{
		"cancelled sibling": func(ctx context.Context, _ adk.Handle) error { return private(ctx) },
		"private deadline": func(ctx context.Context, _ adk.Handle) error {
			own, cancel := context.WithDeadline(ctx, time.Unix(0, 0))
			defer cancel()
			return own.Err()
		},
		"joined with an abort": func(ctx context.Context, _ adk.Handle) error {
			return errors.Join(adk.Aborted(nil), private(ctx))
		},
		"abort joined below": func(ctx context.Context, _ adk.Handle) error {
			return fmt.Errorf("%w and %w", private(ctx), adk.Aborted(nil))
		},
		// A nil pointer returned as an error is a non-nil error, whatever its methods do.
		"nil of our type":        func(context.Context, adk.Handle) error { return nilError },
		"nil of another type":    func(context.Context, adk.Handle) error { return nilWrapper },
		"panicked with an abort": func(context.Context, adk.Handle) error { panic(adk.Aborted(nil)) },
		// ABT-10, GAT-1
		"gate aborted alone": func(ctx context.Context, h adk.Handle) error {
			own, cancel := context.WithCancelCause(ctx)
			cancel(errBoom)
			_, err := h.WaitFor(own, adk.Gate{ID: "g", Reason: "r"})
			return err
		},
		// GAT-1: the same holds when the waiter's own context ended with an abort error.
		"gate of an aborted context": func(ctx context.Context, h adk.Handle) error {
			own, cancel := context.WithCancelCause(ctx)
			cancel(adk.Aborted(nil))
			_, err := h.WaitFor(own, adk.Gate{ID: "g", Reason: "r"})
			return err
		},
	} {
		inEach(t, func(t *testing.T, p pipeline) {
			t.Run(name, func(t *testing.T) {
				config := p.config()
				p.put(&config, "m", func(ctx context.Context, h adk.Handle, next adk.Next) error {
					next(ctx)
					return stage(ctx, h)
				})
				lines := runTurn(t, config, hello)
				assert.Equal(t, []string{"! error " + string(p.code) + " " + p.label + " m"}, with(lines, "! error"))
				assert.Empty(t, with(lines, "= cancel"))
			})
		})
		t.Run("executor/"+name, func(t *testing.T) {
			lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return stage(ctx, dc.Handle)
			}), hello)
			assert.Equal(t, []string{"! error E_LLM_EXECUTION_EXECUTOR_ERROR model"}, with(lines, "! error"))
		})
	}
}

// ABT-11: a deadline that a middleware passes on with next aborts nothing.
func TestDerivedDeadlineIsNoAbort(t *testing.T) {
	config := newConfig()
	p := pipelines[0]
	p.put(&config, "hurries", func(ctx context.Context, h adk.Handle, next adk.Next) error {
		ctx, cancel := context.WithDeadline(ctx, time.Unix(0, 0))
		defer cancel()
		next(ctx)
		assert.False(t, h.Aborted())
		return nil
	})
	p.put(&config, "slow", func(ctx context.Context, _ adk.Handle, next adk.Next) error { next(ctx); return ctx.Err() })
	lines := runTurn(t, config, hello)
	assert.Equal(t, []string{"turnStart", "error E_INPUT_PIPELINE_ERROR turn-input slow", "turnEnd"}, events(lines))
}

// ABT-6: the middleware that aborts runs to the end of its body.
func TestAbortingMiddlewareFinishes(t *testing.T) {
	inEach(t, func(t *testing.T, p pipeline) {
		config, finished := p.config(), false
		p.put(&config, "m", func(ctx context.Context, h adk.Handle, next adk.Next) error {
			require.NoError(t, h.Abort(nil))
			require.NoError(t, h.Stash().Set("k", 1))
			next(ctx)
			finished = true
			return nil
		})
		runTurn(t, config, hello)
		assert.True(t, finished)
	})
}

// ABT-8, DEL-3: which of abort, signal and failure decides the status of the dispatch.
func TestAbortAndSignals(t *testing.T) {
	for name, c := range map[string]struct {
		run    func(ctx context.Context, dc *adk.DispatchContext) error
		status string
		errors int
		cause  []error
	}{
		"nack then abort": {func(_ context.Context, dc *adk.DispatchContext) error {
			return errors.Join(dc.Nack(errBoom), dc.Abort(nil))
		}, "nack", 1, []error{errBoom}},
		"abort then nack": {func(_ context.Context, dc *adk.DispatchContext) error {
			return errors.Join(dc.Abort(nil), dc.Nack(errBoom))
		}, "aborted", 0, []error{errBoom}},
		"ack then abort": {func(_ context.Context, dc *adk.DispatchContext) error { return errors.Join(dc.Ack(), dc.Abort(nil)) }, "aborted", 0, nil},
		"abort then ack": {func(_ context.Context, dc *adk.DispatchContext) error { return errors.Join(dc.Abort(nil), dc.Ack()) }, "aborted", 0, nil},
		"ack then abort error": {func(_ context.Context, dc *adk.DispatchContext) error {
			return errors.Join(dc.Ack(), adk.Aborted(errBoom))
		}, "aborted", 0, []error{errBoom}},
		"nack then abort error": {func(_ context.Context, dc *adk.DispatchContext) error { _ = dc.Nack(errBoom); return adk.Aborted(nil) }, "nack", 1, []error{errBoom}},
		// DSP-11
		"ack then failure":  {func(_ context.Context, dc *adk.DispatchContext) error { _ = dc.Ack(); return errBoom }, "nack", 1, []error{errBoom, adk.E_LLM_EXECUTION_EXECUTOR_ERROR}},
		"nack then failure": {func(_ context.Context, dc *adk.DispatchContext) error { _ = dc.Nack(errNacked); return errBoom }, "nack", 1, []error{errBoom, errNacked, adk.E_LLM_EXECUTION_EXECUTOR_ERROR}},
		// ABT-13
		"abort then failure": {func(_ context.Context, dc *adk.DispatchContext) error { _ = dc.Abort(nil); return errBoom }, "aborted", 0, []error{errBoom}},
		"abort then panic":   {func(_ context.Context, dc *adk.DispatchContext) error { _ = dc.Abort(nil); panic(errBoom) }, "aborted", 1, []error{errBoom}},
		"abort, nack, panic": {func(_ context.Context, dc *adk.DispatchContext) error {
			_ = dc.Abort(nil)
			_ = dc.Nack(errNacked)
			panic(errBoom)
		}, "aborted", 1, []error{errBoom, errNacked}},
		"panic": {func(context.Context, *adk.DispatchContext) error { panic(errBoom) }, "nack", 1, []error{errBoom}},
	} {
		for _, place := range []string{"executor", "dispatch-input"} {
			t.Run(name+" in "+place, func(t *testing.T) {
				config, heard, held := newConfig(), &outcome{}, -1
				run := func(ctx context.Context, dc *adk.DispatchContext) error {
					require.NoError(t, dc.Messages().Store(ctx, message("m")))
					return c.run(ctx, dc)
				}
				want := c.cause
				if place == "executor" {
					config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return run(ctx, dc) })
				} else {
					config.DispatchInput = []adk.DispatchMiddleware{{Name: "m", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
						err := run(ctx, dc)
						next(ctx)
						return err
					}}}
					want = nil
					for _, cause := range c.cause {
						if cause == adk.E_LLM_EXECUTION_EXECUTOR_ERROR {
							cause = adk.E_DISPATCH_PIPELINE_ERROR
						}
						want = append(want, cause)
					}
				}
				config.TurnInput = []adk.TurnMiddleware{{Name: "outer", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error { next(ctx); return nil }}}
				config.TurnOutput = []adk.TurnMiddleware{{Name: "held", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
					held = tc.Messages().Len()
					next(ctx)
					return nil
				}}}
				lines := runTurn(t, config, heard.watch(hello))
				require.Len(t, heard.ends, 1)
				assert.Equal(t, c.status, heard.ends[0].Status)
				assert.Len(t, heard.errors, c.errors)
				for _, cause := range want {
					assert.ErrorIs(t, heard.ends[0].Error, cause)
				}
				assert.Equal(t, -1, held, "RUN-10")
				assert.Empty(t, with(lines, "> executor/model#1"), "ABT-7")
			})
		}
	}
}

var errNacked = errors.New("nacked with")

// ABT-13: the end of an aborted dispatch holds every error: those that middlewares return as they
// unwind, the executor's, a panic's and a nack's.
func TestAbortKeepsEveryError(t *testing.T) {
	errOuter, errInner, errExecutor := errors.New("outer"), errors.New("inner"), errors.New("executor")
	returning := func(err error) body {
		return func(ctx context.Context, _ adk.Handle, next adk.Next) error { next(ctx); return err }
	}
	for name, c := range map[string]struct {
		outer, inner body
		run          func(dc *adk.DispatchContext) error
		want         []error
	}{
		"two middlewares": {returning(errOuter), func(ctx context.Context, h adk.Handle, next adk.Next) error {
			return errors.Join(h.Abort(errBoom), errInner)
		}, nil, []error{errOuter, errInner}},
		"an abort error and a panic": {func(ctx context.Context, _ adk.Handle, next adk.Next) error { next(ctx); panic(errOuter) },
			func(context.Context, adk.Handle, adk.Next) error { return adk.Aborted(errInner) }, nil, []error{errOuter, errInner}},
		"a panic and what follows it": {returning(errOuter), func(_ context.Context, h adk.Handle, _ adk.Next) error {
			_ = h.Abort(errBoom)
			panic(errInner)
		}, nil, []error{errOuter, errInner}},
		"the executor's and a nack": {onward, onward, func(dc *adk.DispatchContext) error {
			return errors.Join(dc.Abort(errBoom), dc.Nack(errNacked), errExecutor)
		}, []error{errExecutor, errNacked}},
		"the executor's panic and a nack": {onward, onward, func(dc *adk.DispatchContext) error {
			_ = errors.Join(dc.Abort(errBoom), dc.Nack(errNacked))
			panic(errExecutor)
		}, []error{errExecutor, errNacked}},
	} {
		t.Run(name, func(t *testing.T) {
			config, heard := newConfig(), &outcome{}
			config.DispatchInput = []adk.DispatchMiddleware{dispatchStep("outer", c.outer), dispatchStep("inner", c.inner)}
			if c.run != nil {
				config.Executor = executor(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return c.run(dc) })
			}
			runTurn(t, config, heard.watch(hello))
			require.Len(t, heard.ends, 1)
			assert.Equal(t, adk.StatusAborted, heard.ends[0].Status)
			for _, want := range c.want {
				assert.ErrorIs(t, heard.ends[0].Error, want)
			}
		})
	}
}

// ABT-13: a panic after the abort, in a middleware of any pipeline, gives one error event with
// the panic as its cause. The status stays aborted.
func TestPanicAfterAbort(t *testing.T) {
	inEach(t, func(t *testing.T, p pipeline) {
		config, heard := p.config(), &outcome{}
		p.put(&config, "m", func(ctx context.Context, h adk.Handle, next adk.Next) error {
			require.NoError(t, h.Abort(nil))
			next(ctx)
			panic(errBoom)
		})
		runTurn(t, config, heard.watch(hello))
		require.Len(t, heard.errors, 1)
		assert.ErrorIs(t, heard.errors[0].Error, p.code)
		assert.ErrorIs(t, heard.errors[0].Error, errBoom)
		if p.dispatches() {
			assert.Equal(t, adk.StatusAborted, heard.ends[0].Status)
			assert.ErrorIs(t, heard.ends[0].Error, errBoom)
		}
	})
}

// ABT-4, ABT-8: a failure that happened before the abort is emitted.
func TestFailureBeforeAbort(t *testing.T) {
	inEach(t, func(t *testing.T, p pipeline) {
		config, heard := p.config(), &outcome{}
		p.put(&config, "aborts", func(ctx context.Context, h adk.Handle, next adk.Next) error {
			next(ctx)
			return h.Abort(nil)
		})
		p.put(&config, "fails", func(context.Context, adk.Handle, adk.Next) error { return errBoom })
		runTurn(t, config, heard.watch(hello))
		require.Len(t, heard.errors, 1)
		if p.dispatches() {
			assert.Equal(t, adk.StatusNack, heard.ends[0].Status)
		}
	})
}

// ABT-7, DEL-3: what a dispatch had queued before the abort is not delivered to the turn. The storage
// keeps what it has stored.
func TestAbortDiscardsTheQueue(t *testing.T) {
	store, config, after := &book{}, newConfig(), -1
	config.Storage = store.storage()
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		require.NoError(t, dc.Messages().Store(ctx, message("m")))
		return dc.Abort(nil)
	})
	rec := &recorder{}
	config.Probe = rec
	config.TurnInput = []adk.TurnMiddleware{{Name: "keeps", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		next(ctx)
		after = tc.Messages().Len()
		return nil
	}}}
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	assert.Equal(t, []string{"messages.store m"}, store.all())
	assert.Equal(t, 0, after)
	states := statesOf(rec.crossings())
	empty := adk.StateDigest{Prompt: adk.NewTokenizable("be kind").Digest()}.Digest()
	assert.Equal(t, []adk.Digest{empty, empty}, states, "DET-8: at the executor and at turnEnd")
}

func statesOf(told []adk.Crossing) (digests []adk.Digest) {
	for _, x := range told {
		if x.Kind == adk.KindState {
			digests = append(digests, x.Digest)
		}
	}
	return digests
}

// ABT-8, DEL-2: an abort after the flush comes too late to change the dispatch's status, but
// turn output does not run.
func TestAbortAfterTheFlush(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	config := newConfig()
	pipelines[3].put(&config, "never", onward)
	raw := hello
	raw.Observability.DispatchEnd = func(adk.DispatchEnd) { cancel() }
	lines := runTurnIn(t, ctx, config, raw)
	assert.Contains(t, lines, "! dispatchEnd ack 1")
	assert.Empty(t, with(lines, "> turn-output"))
	assert.Len(t, with(lines, "= state"), 2, "turn output has not started (DET-8)")
}

// ABT-8, DEL-2: an acked dispatch whose output pipeline was flushed stays acked when the abort
// comes before dispatchEnd.
func TestAbortBetweenFlushAndEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	config := executing(func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil })
	config.DispatchOutput = []adk.DispatchMiddleware{{Name: "acks", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		next(ctx)
		return errors.Join(dc.Messages().Store(ctx, message("m")), dc.Ack())
	}}}
	raw := hello
	raw.Observability.IterationEnd = func(adk.IterationEnd) { cancel() }
	lines := runTurnIn(t, ctx, config, raw)
	assert.Equal(t, []string{"! dispatchEnd ack 1"}, with(lines, "! dispatchEnd"))
}

// ABT-9: an abort of one turn does not affect another turn of the same runner.
func TestAbortTouchesOneTurn(t *testing.T) {
	config := newConfig()
	inside, goOn := make(chan struct{}), make(chan struct{})
	config.TurnInput = []adk.TurnMiddleware{{Name: "m", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		if tc.Stash().Has("aborts") {
			<-inside
			defer close(goOn)
			return tc.Abort(nil)
		}
		close(inside)
		<-goOn
		assert.False(t, tc.Aborted())
		assert.NoError(t, ctx.Err())
		next(ctx)
		return nil
	}}}
	runner, ended := newRunner(t, config), make(chan error)
	go func() {
		raw := hello
		raw.Stash = map[string]any{"aborts": true}
		ended <- runner.Run(context.Background(), raw)
	}()
	var heard outcome
	require.NoError(t, runner.Run(context.Background(), heard.watch(hello)))
	require.NoError(t, <-ended)
	assert.Equal(t, adk.StatusAck, heard.ends[0].Status)
}

// beginnings are all operations that an aborted turn refuses to begin. Each returns the error
// that the engine returned.
var beginnings = map[string]func(ctx context.Context, dc *adk.DispatchContext) error{
	"execute": func(ctx context.Context, dc *adk.DispatchContext) error {
		_, err := dc.Execute(ctx, tool("destructive", done), "{}")
		return err
	},
	"execute badly": func(ctx context.Context, dc *adk.DispatchContext) error {
		_, err := dc.Execute(ctx, tool("destructive", done), "no JSON") // the arguments are not even parsed any more
		return err
	},
	"fork": func(ctx context.Context, dc *adk.DispatchContext) error {
		s, err := dc.Fork(ctx, "s", func(context.Context, *adk.DispatchContext) error { panic("runs") })
		if s != nil {
			return errors.New("there is a strand")
		}
		return err
	},
	"wait-for": func(ctx context.Context, dc *adk.DispatchContext) error {
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "r", Timeout: time.Minute})
		return err
	},
	"dispatch": func(ctx context.Context, dc *adk.DispatchContext) error {
		end, err := adk.Dispatch(ctx, adk.DispatchInput{Name: "d", Source: dc, Executor: ackAt(0)})
		if end.Status != adk.StatusAborted || end.DispatchID != "" {
			return errors.New("there was a dispatch")
		}
		return err
	},
	"sleep": func(ctx context.Context, dc *adk.DispatchContext) error { return dc.Sleep(ctx, time.Hour) },
	"open-media": func(ctx context.Context, dc *adk.DispatchContext) error {
		data, err := dc.OpenMedia(ctx, picture("p", func(context.Context) (io.ReadCloser, error) { panic("is read") }))
		if data != nil {
			return errors.New("there are bytes")
		}
		return err
	},
}

// ABT-7: after the abort, an operation that would begin something returns the abort's cause and
// runs nothing, also when it is called with a context that is not cancelled.
func TestNothingBeginsAfterTheAbort(t *testing.T) {
	for how, abort := range triggersWithin() {
		for name, begin := range beginnings {
			t.Run(how+"/"+name, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					abort(cancel, dc)
					assert.ErrorIs(t, begin(context.WithoutCancel(ctx), dc), errBoom)
					return nil
				})
				config.Tools = []*adk.Tool{tool("destructive", done)}
				lines := runTurnIn(t, ctx, config, hello)
				assert.Equal(t, []string{"> run", "> dispatch", "> executor/model#0"}, with(lines, ">"))
				assert.Empty(t, with(lines, "! tool"))
				assert.Empty(t, with(lines, "! turnGate"))
				assert.Len(t, with(lines, "= cancel"), 1)
			})
		}
	}
}

// triggersWithin returns the ways to abort a turn after which the stage goes on running.
func triggersWithin() map[string]func(context.CancelCauseFunc, *adk.DispatchContext) {
	return map[string]func(context.CancelCauseFunc, *adk.DispatchContext){
		"abort":  func(_ context.CancelCauseFunc, dc *adk.DispatchContext) { _ = dc.Abort(errBoom) },
		"cancel": func(cancel context.CancelCauseFunc, _ *adk.DispatchContext) { cancel(errBoom) },
	}
}

// ABT-7: the same on a turn's context, where a dispatch does not begin either. No dispatch has
// ended then, so no dispatchEnd is emitted.
func TestNoDispatchAfterTheAbort(t *testing.T) {
	config := newConfig()
	config.TurnInput = []adk.TurnMiddleware{{Name: "m", Run: func(ctx context.Context, tc *adk.TurnContext, _ adk.Next) error {
		require.NoError(t, tc.Abort(errBoom))
		end, err := adk.Dispatch(ctx, adk.DispatchInput{Name: "d", Source: tc, Executor: ackAt(0)})
		assert.Same(t, errBoom, err)
		assert.Equal(t, adk.DispatchEnd{TurnID: tc.TurnID(), Status: adk.StatusAborted, Error: errBoom}, end)
		_, err = tc.Fork(ctx, "s", func(context.Context, *adk.TurnContext) error { panic("runs") })
		assert.Same(t, errBoom, err)
		return nil
	}}}
	lines := runTurn(t, config, hello)
	assert.Equal(t, []string{"> run", "> turn-input/m"}, with(lines, ">"))
	assert.Equal(t, []string{"fork s boom"}, with(lines, "fork"))
}

// ABT-7, TOL-3: a tool does not run either when the abort comes between Execute and the tool's
// handler: before the start event, or from a listener of it.
func TestAbortOnTheWayIntoATool(t *testing.T) {
	for _, c := range []struct {
		at     func(adk.Step) bool
		events []string
	}{
		{func(s adk.Step) bool { return s.Kind == adk.KindToolExecutionStart }, nil},
		{func(s adk.Step) bool { return s.Kind == adk.KindCall && s.Call == 3 }, []string{"! toolExecutionStart", "! toolExecutionEnd"}},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		rec := &recorder{begin: func(s adk.Step) {
			if c.at(s) {
				cancel(errBoom)
			}
		}}
		config := watchedBy(executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_, err := dc.Execute(ctx, tool("destructive", done), "{}")
			assert.Same(t, errBoom, err)
			return err
		}), rec)
		require.NoError(t, newRunner(t, config).Run(ctx, hello))
		lines := rec.all()
		assert.Empty(t, with(lines, "> tool"))
		assert.Len(t, with(lines, "! toolExecution"), len(c.events), "%q", lines)
		assert.Empty(t, with(lines, "! error"))
		holdsInvariants(t, rec)
	}
}

// ABT-5, DET-5: reading and cleaning up stay possible after the turn was aborted.
func TestWorkAfterAbort(t *testing.T) {
	store := &book{}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		require.NoError(t, dc.Abort(errBoom))
		assert.NoError(t, dc.Messages().Store(ctx, message("m")))
		_, err := h.ReportMessage("m", "x", true)
		assert.NoError(t, err)
		assert.ErrorIs(t, dc.Sleep(context.Background(), time.Hour), errBoom)
		_, err = dc.WaitFor(context.Background(), adk.Gate{ID: "g", Reason: "r"})
		assert.ErrorIs(t, err, adk.E_TURN_GATE_ABORTED)
		assert.ErrorIs(t, err, errBoom)
		return nil
	})
	config.Storage = store.storage()
	lines := runTurn(t, config, hello)
	assert.Equal(t, []string{"messages.store m"}, store.all())
	assert.Contains(t, lines, "! message m x complete")
}
