package adk_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// steps adds middlewares a, b and c to a pipeline, which log their pre- and post-steps. A middleware
// in bodies runs that body instead of next.
func steps(p pipeline, config *adk.Config, log *notes, bodies map[string]body) {
	for _, name := range []string{"a", "b", "c"} {
		own := bodies[name]
		if own == nil {
			own = onward
		}
		p.put(config, name, func(ctx context.Context, h adk.Handle, next adk.Next) error {
			log.add("+" + name)
			defer log.add("-" + name)
			return own(ctx, h, next)
		})
	}
}

// first returns the lines up to the first post-step of a, which is one pass.
func first(lines []string) []string {
	for i, line := range lines {
		if line == "-a" {
			return lines[:i+1]
		}
	}
	return lines
}

// PIP-1, PIP-2, PIP-4: middlewares run in onion order. A failure ends only its own body and what has
// not been entered yet.
func TestOnion(t *testing.T) {
	fail := func(context.Context, adk.Handle, adk.Next) error { return errBoom }
	panics := func(context.Context, adk.Handle, adk.Next) error { panic("boom") }
	late := func(ctx context.Context, _ adk.Handle, next adk.Next) error { next(ctx); return errBoom }
	twice := func(ctx context.Context, _ adk.Handle, next adk.Next) error { next(ctx); next(ctx); return nil }
	short := func(context.Context, adk.Handle, adk.Next) error { return nil }
	inEach(t, func(t *testing.T, p pipeline) {
		for name, c := range map[string]struct {
			bodies map[string]body
			want   []string
			err    string
		}{
			"clean":        {nil, []string{"+a", "+b", "+c", "-c", "-b", "-a"}, ""},
			"b fails":      {map[string]body{"b": fail}, []string{"+a", "+b", "-b", "-a"}, "b"},
			"b panics":     {map[string]body{"b": panics}, []string{"+a", "+b", "-b", "-a"}, "b"},
			"a fails":      {map[string]body{"a": fail}, []string{"+a", "-a"}, "a"},
			"b fails late": {map[string]body{"b": late}, []string{"+a", "+b", "+c", "-c", "-b", "-a"}, "b"},
			// PIP-3
			"b calls next twice": {map[string]body{"b": twice}, []string{"+a", "+b", "+c", "-c", "-b", "-a"}, ""},
			// PIP-7
			"b short-circuits": {map[string]body{"b": short}, []string{"+a", "+b", "-b", "-a"}, "short"},
		} {
			t.Run(name, func(t *testing.T) {
				log, config := &notes{}, p.config()
				steps(p, &config, log, c.bodies)
				lines := runTurn(t, config, hello)
				assert.Equal(t, c.want, first(log.all()))
				switch c.err {
				case "":
					assert.Empty(t, with(lines, "! error"))
				case "short":
					assert.Equal(t, []string{"! error E_PIPELINE_SHORT_CIRCUITED " + p.label + " b"}, with(lines, "! error"))
				default:
					assert.Equal(t, []string{"! error " + string(p.code) + " " + p.label + " " + c.err}, with(lines, "! error"))
				}
			})
		}
	})
}

// PIP-5, DSP-6, ERR-1: the error holds code, label, name and cause, and a panic's stack.
func TestPipelineErrorIsReadable(t *testing.T) {
	inEach(t, func(t *testing.T, p pipeline) {
		for name, bad := range map[string]body{
			"error": func(context.Context, adk.Handle, adk.Next) error { return errBoom },
			"panic": func(context.Context, adk.Handle, adk.Next) error { panic(errBoom) },
		} {
			t.Run(name, func(t *testing.T) {
				config, heard := p.config(), &outcome{}
				p.put(&config, "bad", bad)
				runTurn(t, config, heard.watch(hello))
				require.Len(t, heard.errors, 1)
				e := heard.errors[0].Error
				assert.Equal(t, []string{string(p.code), p.label, "bad"}, []string{string(e.Code), e.Stage, e.Name})
				assert.ErrorIs(t, e, errBoom)
				assert.ErrorIs(t, e, p.code)
				assert.ErrorContains(t, e, "boom")
				var panicked *adk.PanicError
				if assert.Equal(t, name == "panic", errors.As(error(e), &panicked)) && panicked != nil {
					assert.Contains(t, string(panicked.Stack()), "pipeline_test.go")
					assert.NotContains(t, e.Error(), "goroutine")
				}
			})
		}
	})
}

// PIP-5: a failure is reported once, after the post-steps, and their own failures are joined
// to it.
func TestFailingPostStepsAreJoined(t *testing.T) {
	errPost, errLater := errors.New("post"), errors.New("later")
	inEach(t, func(t *testing.T, p pipeline) {
		log, config, heard := &notes{}, p.config(), &outcome{}
		steps(p, &config, log, map[string]body{
			"a": func(ctx context.Context, _ adk.Handle, next adk.Next) error { next(ctx); panic(errLater) },
			"b": func(ctx context.Context, _ adk.Handle, next adk.Next) error { next(ctx); return errPost },
			"c": func(context.Context, adk.Handle, adk.Next) error { return errBoom },
		})
		raw := heard.watch(hello)
		raw.Observability.Error = func(e adk.ErrorEvent) { log.add("error"); heard.errors = append(heard.errors, e) }
		runTurn(t, config, raw)
		assert.Equal(t, []string{"+a", "+b", "+c", "-c", "-b", "-a", "error"}, log.all())
		e := heard.errors[0].Error
		assert.Equal(t, []string{string(p.code), "c"}, []string{string(e.Code), e.Name})
		for _, cause := range []error{errBoom, errPost, errLater} {
			assert.ErrorIs(t, e, cause)
		}
	})
}

// PIP-5, PIP-7: a short circuit and a failure of a middleware above it give one event.
func TestShortCircuitJoinedWithAFailure(t *testing.T) {
	config, heard := newConfig(), &outcome{}
	pipelines[0].put(&config, "above", func(ctx context.Context, _ adk.Handle, next adk.Next) error { next(ctx); return errBoom })
	pipelines[0].put(&config, "short", func(context.Context, adk.Handle, adk.Next) error { return nil })
	runTurn(t, config, heard.watch(hello))
	require.Len(t, heard.errors, 1)
	assert.ErrorIs(t, heard.errors[0].Error, adk.E_PIPELINE_SHORT_CIRCUITED)
	assert.ErrorIs(t, heard.errors[0].Error, errBoom)
}

// PIP-6, PIP-7: what happens to the turn when a pipeline fails.
func TestWhatAPipelineFailureDoes(t *testing.T) {
	for _, bad := range []body{
		func(context.Context, adk.Handle, adk.Next) error { return errBoom },
		func(context.Context, adk.Handle, adk.Next) error { return nil },
	} {
		inEach(t, func(t *testing.T, p pipeline) {
			config, heard := p.config(), &outcome{}
			p.put(&config, "bad", bad)
			lines := runTurn(t, config, heard.watch(hello))
			require.Len(t, heard.errors, 1)
			switch {
			case p.dispatches():
				require.Len(t, heard.ends, 1)
				assert.Equal(t, adk.StatusNack, heard.ends[0].Status)
				assert.Same(t, heard.errors[0].Error, heard.ends[0].Error)
				assert.Empty(t, with(lines, "! iterationEnd"), "DSP-3")
			case p.label == adk.LabelTurnInput:
				assert.Empty(t, heard.ends)
			default:
				assert.Equal(t, adk.StatusAck, heard.ends[0].Status)
			}
		})
	}
}

// PIP-7, PIP-8: a signal is not a short circuit. If the middleware that signals calls next, later
// middlewares run.
func TestSignalsInDispatchPipelines(t *testing.T) {
	signals := map[string]func(*adk.DispatchContext) error{
		adk.StatusAck:  func(dc *adk.DispatchContext) error { return dc.Ack() },
		adk.StatusNack: func(dc *adk.DispatchContext) error { return dc.Nack(errBoom) },
	}
	for status, signal := range signals {
		for _, goesOn := range []bool{false, true} {
			list := []adk.DispatchMiddleware{
				{Name: "signals", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
					if goesOn {
						defer next(ctx)
					}
					return signal(dc)
				}},
				dispatchStep("later", onward),
			}
			for _, label := range []string{adk.LabelDispatchInput, adk.LabelDispatchOutput} {
				config, heard := executing(func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil }), &outcome{}
				if label == adk.LabelDispatchInput {
					config.DispatchInput = list
				} else {
					config.DispatchOutput = list
				}
				lines := runTurn(t, config, heard.watch(hello))
				assert.Equal(t, status, heard.ends[0].Status)
				assert.Equal(t, goesOn, len(with(lines, "> "+label+"/later#0")) == 1)
				assert.Empty(t, with(lines, "! error E_PIPELINE"))
				// DSP-3: the executor is skipped after a signal in the input pipeline; an
				// output pipeline that ended gets its iterationEnd.
				assert.Equal(t, label == adk.LabelDispatchOutput, len(with(lines, "> executor")) == 1)
				assert.Equal(t, label == adk.LabelDispatchOutput, len(with(lines, "! iterationEnd")) == 1)
			}
		}
	}
}

// PIP-9, ABT-6: after an abort no body is entered, and the post-steps of entered ones run.
func TestAbortSkipsBodies(t *testing.T) {
	inEach(t, func(t *testing.T, p pipeline) {
		log, config := &notes{}, p.config()
		steps(p, &config, log, map[string]body{"b": func(ctx context.Context, h adk.Handle, next adk.Next) error {
			require.NoError(t, h.Abort(errBoom))
			next(ctx)
			log.add("b goes on")
			return nil
		}})
		lines := runTurn(t, config, hello)
		assert.Equal(t, []string{"+a", "+b", "b goes on", "-b", "-a"}, log.all())
		assert.Empty(t, with(lines, "! error"))
	})
}

// PIP-10, DET-5: a second next and a late next do nothing and are recorded as contained.
func TestMisusedNext(t *testing.T) {
	inEach(t, func(t *testing.T, p pipeline) {
		config := p.config()
		if p.label == adk.LabelDispatchOutput {
			config.Executor = ackAt(0) // overwritten below: one iteration only
			config.Executor = executor(func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil })
			p.put(&config, "acks", onward)
			config.DispatchOutput[0].Run = func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
				next(ctx)
				return dc.Ack()
			}
		}
		var kept adk.Next
		p.put(&config, "keeps", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
			kept = next
			next(ctx)
			next(ctx)
			return nil
		})
		rec := &recorder{}
		config.Probe = rec
		raw := hello
		raw.Observability.TurnEnd = func(adk.TurnEnd) { kept(context.Background()) }
		require.NoError(t, newRunner(t, config).Run(context.Background(), raw))
		kept(context.Background()) // after the run: recorded nowhere
		assert.Equal(t, []string{"contained second next", "contained second next"}, with(facts(rec.all()), "contained"))
		assert.Empty(t, with(rec.all(), "! error"))
	})
}

// PIP-10: a next that is called after the middleware has returned is late, and the middleware
// has short-circuited.
func TestLateNext(t *testing.T) {
	config, entered := newConfig(), false
	var kept adk.Next
	pipelines[0].put(&config, "keeps", func(_ context.Context, _ adk.Handle, next adk.Next) error { kept = next; return nil })
	pipelines[0].put(&config, "never", func(ctx context.Context, _ adk.Handle, next adk.Next) error { entered = true; next(ctx); return nil })
	raw := hello
	raw.Observability.Error = func(adk.ErrorEvent) { kept(context.Background()) }
	lines := runTurn(t, config, raw)
	assert.False(t, entered)
	assert.Equal(t, []string{"contained late next"}, with(facts(lines), "contained"))
	assert.Contains(t, lines, "! error E_PIPELINE_SHORT_CIRCUITED turn-input keeps")
}

// PIP-10: next from another goroutine counts, and the engine waits for what it runs, although
// the middleware has returned.
func TestNextFromAnotherGoroutine(t *testing.T) {
	inEach(t, func(t *testing.T, p pipeline) {
		log, config := &notes{}, p.config()
		begun, goOn := make(chan struct{}, 2), make(chan struct{})
		steps(p, &config, log, map[string]body{
			"a": func(ctx context.Context, _ adk.Handle, next adk.Next) error {
				go next(ctx)
				<-begun
				defer close(goOn)
				return nil
			},
			"b": func(ctx context.Context, _ adk.Handle, next adk.Next) error {
				begun <- struct{}{}
				<-goOn
				next(ctx)
				log.add("b done")
				return nil
			},
		})
		config.Executor = firstIteration(p, config.Executor)
		runTurn(t, config, hello)
		assert.Equal(t, []string{"+c", "-c", "b done", "-b"}, without(log.all(), "+a", "-a", "+b"))
	})
}

// firstIteration makes a dispatch end after one iteration, also when its output pipeline
// is tested.
func firstIteration(p pipeline, acks adk.Executor) adk.Executor {
	if p.label != adk.LabelDispatchOutput {
		return acks
	}
	return executor(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if dc.Iteration() == 1 {
			return dc.Ack()
		}
		return nil
	})
}

func without(lines []string, drop ...string) []string {
	kept := []string{}
	for _, line := range lines {
		dropped := false
		for _, one := range drop {
			dropped = dropped || line == one
		}
		if !dropped {
			kept = append(kept, line)
		}
	}
	return kept
}

// PIP-10, DET-7: a strand is part of its seam call, so its next is in time even after the body
// has returned.
func TestNextFromAStrandAfterTheBody(t *testing.T) {
	config, entered := newConfig(), false
	returned := make(chan struct{})
	config.TurnInput = []adk.TurnMiddleware{
		{Name: "forks", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			defer close(returned)
			_, err := tc.Fork(ctx, "goes on", func(ctx context.Context, _ *adk.TurnContext) error {
				<-returned
				runtime.Gosched()
				next(ctx)
				return nil
			})
			return err
		}},
		turnStep("downstream", func(ctx context.Context, _ adk.Handle, next adk.Next) error { entered = true; next(ctx); return nil }),
	}
	lines := runTurn(t, config, hello)
	assert.True(t, entered)
	assert.Empty(t, with(lines, "! error"))
}

// PIP-1, ABT-11: next passes a derived context on to the rest of its pipeline.
func TestNextHandsAContextOn(t *testing.T) {
	type key struct{}
	inEach(t, func(t *testing.T, p pipeline) {
		config, seen := p.config(), []any{}
		p.put(&config, "derives", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
			next(context.WithValue(ctx, key{}, "derived"))
			return nil
		})
		p.put(&config, "sees", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
			seen = append(seen, ctx.Value(key{}))
			next(nil) //nolint:staticcheck // nil means the middleware's own
			return nil
		})
		p.put(&config, "sees too", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
			seen = append(seen, ctx.Value(key{}))
			next(ctx)
			return nil
		})
		runTurn(t, config, hello)
		assert.Equal(t, []any{"derived", "derived"}, seen[:2])
	})
}

// goexits are all places where user code can end its goroutine with runtime.Goexit.
func goexits() map[string]func(*adk.Config, *adk.RawTurn) {
	exit := func(context.Context, adk.Handle, adk.Next) error { runtime.Goexit(); return nil }
	all := map[string]func(*adk.Config, *adk.RawTurn){
		"executor": func(c *adk.Config, _ *adk.RawTurn) {
			c.Executor = executor(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				_ = dc.Ack()
				runtime.Goexit()
				return nil
			})
		},
		"tool": func(c *adk.Config, _ *adk.RawTurn) {
			exits := tool("exits", func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
				runtime.Goexit()
				return nil, nil
			})
			c.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				_, err := dc.Execute(ctx, exits, "{}")
				return err
			})
		},
		"on-ack": func(c *adk.Config, _ *adk.RawTurn) {
			c.Executor = executor(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				must(dc.OnAck("exits", func(context.Context, *adk.DispatchContext) { runtime.Goexit() }))
				return dc.Ack()
			})
		},
		"storage": func(c *adk.Config, _ *adk.RawTurn) {
			c.Storage = (&book{answer: func(context.Context, adk.Scope, string) error { runtime.Goexit(); return nil }}).storage()
			c.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return dc.Messages().Store(ctx, message("m"))
			})
		},
		"listener of turnStart": func(_ *adk.Config, raw *adk.RawTurn) {
			raw.Observability.TurnStart = func(adk.TurnStart) { runtime.Goexit() }
		},
		"listener of dispatchStart": func(_ *adk.Config, raw *adk.RawTurn) {
			raw.Observability.DispatchStart = func(adk.DispatchStart) { runtime.Goexit() }
		},
		"listener of iterationStart": func(_ *adk.Config, raw *adk.RawTurn) {
			raw.Observability.IterationStart = func(adk.IterationStart) { runtime.Goexit() }
		},
		"listener of error": func(c *adk.Config, raw *adk.RawTurn) {
			c.Executor = executor(failing)
			raw.Observability.Error = func(adk.ErrorEvent) { runtime.Goexit() }
		},
		"listener of dispatchEnd": func(_ *adk.Config, raw *adk.RawTurn) {
			raw.Observability.DispatchEnd = func(adk.DispatchEnd) { runtime.Goexit() }
		},
		"listener of turnGateOpen": func(c *adk.Config, raw *adk.RawTurn) {
			c.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "r"})
				return err
			})
			raw.Observability.TurnGateOpen = func(adk.TurnGateOpen) { runtime.Goexit() }
		},
		"listener of toolExecutionStart": func(c *adk.Config, raw *adk.RawTurn) {
			c.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				_, err := dc.Execute(ctx, tool("t", done), "{}")
				return err
			})
			raw.Observability.ToolExecutionStart = func(adk.ToolExecutionStart) { runtime.Goexit() }
		},
		"listener of message": func(c *adk.Config, raw *adk.RawTurn) {
			c.Executor = executor(func(_ context.Context, _ *adk.DispatchContext, h *adk.Helpers) error {
				_, err := h.ReportMessage("m", "x", false)
				return err
			})
			raw.Functional.Message = func(adk.MessageEvent) { runtime.Goexit() }
		},
	}
	for _, p := range pipelines {
		all[p.label] = func(c *adk.Config, _ *adk.RawTurn) { *c = p.config(); p.put(c, "exits", exit) }
	}
	return all
}

// PIP-11, RUN-6: wherever user code ends the goroutine, what was opened is closed, the trace says
// so, nothing waits for ever, and it counts neither as an error nor as a panic.
func TestGoexit(t *testing.T) {
	for name, place := range goexits() {
		t.Run(name, func(t *testing.T) {
			config, raw := newConfig(), hello
			place(&config, &raw)
			lines := runToGoexit(t, config, raw)
			said := events(lines)
			assert.Equal(t, "turnEnd", said[len(said)-1])
			assert.Equal(t, "< run goexit", lines[len(lines)-1])
			assert.NotContains(t, lines, "panic")
			for _, bracket := range [][2]string{
				{"! dispatchStart", "! dispatchEnd"}, {"! turnGateOpen", "! turnGateClosed"}, {"! toolExecutionStart", "! toolExecutionEnd"},
			} {
				assert.Len(t, with(lines, bracket[1]), len(with(lines, bracket[0])), bracket[1])
			}
			if name != "listener of error" {
				assert.Empty(t, with(lines, "! error"))
			}
		})
	}
}

// PIP-11: a strand that ends its goroutine aborts the run, and the run waits for it.
func TestGoexitOfAStrand(t *testing.T) {
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		s := must(dc.Fork(ctx, "exits", func(context.Context, *adk.DispatchContext) error { runtime.Goexit(); return nil }))
		err := s.Wait()
		assert.Error(t, err)
		return err
	})
	lines := runTurn(t, config, hello)
	assert.Contains(t, lines, "< strand/exits goexit")
	assert.Contains(t, lines, "= cancel goexit")
	assert.Contains(t, with(lines, "! dispatchEnd")[0], "aborted")
	assert.Empty(t, with(lines, "! error"))
}

// PIP-11, PIP-10: the goroutine ends while its next runs on another goroutine and waits at a gate.
// The abort ends that wait.
func TestGoexitWhileNextWaits(t *testing.T) {
	config, opened := newConfig(), make(chan struct{})
	pipelines[0].put(&config, "exits", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
		go next(ctx)
		<-opened
		runtime.Goexit()
		return nil
	})
	pipelines[0].put(&config, "waits", func(ctx context.Context, h adk.Handle, next adk.Next) error {
		_, err := h.WaitFor(ctx, adk.Gate{ID: "g", Reason: "r"})
		next(ctx)
		return err
	})
	raw := hello
	raw.Observability.TurnGateOpen = func(adk.TurnGateOpen) { close(opened) }
	lines := runToGoexit(t, config, raw)
	assert.Contains(t, lines, "! turnGateClosed g aborted")
	assert.Equal(t, "< run goexit", lines[len(lines)-1])
}

// PIP-11, DEL-3, RUN-10: an ack does not count if its goroutine ends after it: the dispatch is
// aborted, nothing is flushed, and turn output does not run. The same holds in a strand and in a
// tool that a strand runs, whose goroutine is not the run's.
func TestGoexitAfterAnAck(t *testing.T) {
	acks := func(ctx context.Context, dc *adk.DispatchContext) error {
		return errors.Join(dc.Messages().Store(ctx, message("m")), dc.Ack())
	}
	exits := func(context.Context, *adk.DispatchContext) error { runtime.Goexit(); return nil }
	uses := func(ctx context.Context, dc *adk.DispatchContext) error {
		_, err := dc.Execute(ctx, tool("t", func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			runtime.Goexit()
			return nil, nil
		}), "{}")
		return err
	}
	inStrand := func(run func(context.Context, *adk.DispatchContext) error) func(context.Context, *adk.DispatchContext) error {
		return func(ctx context.Context, dc *adk.DispatchContext) error {
			s, err := dc.Fork(ctx, "s", run)
			require.NoError(t, err)
			assert.Error(t, s.Wait(), "what waits for it goes on")
			return nil
		}
	}
	for name, c := range map[string]struct {
		after    func(ctx context.Context, dc *adk.DispatchContext) error
		inOutput bool // of the dispatch, instead of in the executor
		own      bool // the goroutine that ends is a strand's own
	}{
		"executor": {exits, false, false}, "tool": {uses, false, false}, "dispatch output": {exits, true, false},
		"strand": {inStrand(exits), false, true}, "strand of dispatch output": {inStrand(exits), true, true}, "tool in a strand": {inStrand(uses), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var held []string
			config, heard := seeded(&held), &outcome{}
			ackThen := func(ctx context.Context, dc *adk.DispatchContext) error {
				return errors.Join(acks(ctx, dc), c.after(ctx, dc))
			}
			if c.inOutput {
				config.Executor = executor(func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil })
				config.DispatchOutput = []adk.DispatchMiddleware{{Name: "acks", Run: func(ctx context.Context, dc *adk.DispatchContext, _ adk.Next) error { return ackThen(ctx, dc) }}}
			} else {
				config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return ackThen(ctx, dc) })
			}
			run := runToGoexit
			if c.own {
				run = runTurn
			}
			lines := run(t, config, heard.watch(hello))
			assert.Contains(t, lines, "= cancel goexit")
			require.Len(t, heard.ends, 1)
			assert.Equal(t, adk.StatusAborted, heard.ends[0].Status)
			assert.Empty(t, heard.errors)
			assert.Nil(t, held, "turn output does not run")
			states := with(lines, "= state")
			assert.Equal(t, states[0], states[len(states)-1], "nothing was flushed")
		})
	}
}
