package adk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// DET-7: the engine waits for a strand before the seam call returns, even if user code does not, and a
// panic of the strand becomes its error.
func TestStrandsAreWaitedForAndContained(t *testing.T) {
	inEach(t, func(t *testing.T, p pipeline) {
		config, ended := p.config(), false
		goOn := make(chan struct{})
		p.put(&config, "forks", func(ctx context.Context, h adk.Handle, next adk.Next) error { next(ctx); return nil })
		run := func(fork func(name string, fn func() error) *adk.Strand) error {
			fork("slow", func() error { <-goOn; ended = true; return nil })
			panics := fork("panics", func() error { panic(errBoom) })
			err := panics.Wait()
			var panicked *adk.PanicError
			assert.ErrorAs(t, err, &panicked)
			assert.ErrorIs(t, err, errBoom)
			fails := fork("fails", func() error { return errBoom })
			assert.Same(t, errBoom, fails.Wait())
			close(goOn)
			return nil
		}
		turn := func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			next(ctx)
			return run(func(name string, fn func() error) *adk.Strand {
				return must(tc.Fork(ctx, name, func(context.Context, *adk.TurnContext) error { return fn() }))
			})
		}
		dispatch := func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
			next(ctx)
			return run(func(name string, fn func() error) *adk.Strand {
				return must(dc.Fork(ctx, name, func(context.Context, *adk.DispatchContext) error { return fn() }))
			})
		}
		switch p.label {
		case adk.LabelTurnInput:
			config.TurnInput[0].Run = turn
		case adk.LabelTurnOutput:
			config.TurnOutput[0].Run = turn
		case adk.LabelDispatchInput:
			config.DispatchInput[0].Run = dispatch
		default:
			config.DispatchOutput[0].Run = dispatch
		}
		lines := runTurn(t, config, hello)
		assert.True(t, ended)
		text := strings.Join(lines, "\n")
		assert.Less(t, strings.Index(text, "< strand/slow ok"), strings.Index(text, "< "+p.label+"/forks"))
		assert.Contains(t, lines, "< strand/panics panic")
		assert.Empty(t, with(lines, "! error"), "an error that nobody returns is the strand's alone")
	})
}

// DET-7, DET-5: strands may fork further strands. Each has its own handle, which ends with it.
func TestNestedStrands(t *testing.T) {
	var inner, outer *adk.DispatchContext
	var numbers []int
	lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		s := must(dc.Fork(ctx, "outer", func(ctx context.Context, own *adk.DispatchContext) error {
			outer = own
			must(own.Fork(ctx, "inner", func(_ context.Context, own *adk.DispatchContext) error {
				inner = own
				_, strand := own.Where()
				numbers = append(numbers, strand)
				return own.Stash().Set("k", 1)
			}))
			return nil
		}))
		require.NoError(t, s.Wait())
		_, strand := outer.Where()
		numbers = append(numbers, strand)
		for _, ended := range []*adk.DispatchContext{inner, outer} {
			_, err := ended.Fork(ctx, "late", func(context.Context, *adk.DispatchContext) error { return nil })
			assert.ErrorIs(t, err, adk.E_CONTEXT_ENDED)
		}
		_, err := dc.Fork(ctx, "", func(context.Context, *adk.DispatchContext) error { return nil })
		assert.ErrorContains(t, err, "name")
		return dc.Ack()
	}), hello)
	assert.Equal(t, []int{2, 1}, numbers)
	assert.Equal(t, []string{"< strand/inner ok", "< strand/outer ok"}, with(lines, "< strand"))
	assert.Equal(t, []string{"contained late fork", "contained late fork"}, with(facts(lines), "contained"))
}

// DET-7: Fork refuses a strand without a name or a function.
func TestForkRefuses(t *testing.T) {
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, err := dc.Fork(ctx, "", func(context.Context, *adk.DispatchContext) error { return nil })
		assert.ErrorContains(t, err, "name")
		_, err = dc.Fork(ctx, "idle", nil)
		assert.ErrorContains(t, err, "function")
		return dc.Ack()
	})
	config.TurnInput = []adk.TurnMiddleware{{Name: "m", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		_, err := tc.Fork(ctx, "idle", nil)
		assert.ErrorContains(t, err, "function")
		next(ctx)
		return nil
	}}}
	lines := runTurn(t, config, hello)
	assert.Empty(t, with(lines, "fork"))
	assert.Contains(t, lines, "! dispatchEnd ack 1")
}

// DET-7: while a seam call waits for its strands, no further strand can be forked from it.
func TestForkWhileJoining(t *testing.T) {
	returned := make(chan struct{})
	lines := runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		defer close(returned)
		must(dc.Fork(ctx, "forks late", func(ctx context.Context, _ *adk.DispatchContext) error {
			<-returned
			for { // the waiting begins when the body has returned
				s, err := dc.Fork(ctx, "next", func(context.Context, *adk.DispatchContext) error { return nil })
				if err != nil {
					assert.ErrorIs(t, err, adk.E_CONTEXT_ENDED)
					return nil
				}
				_ = s.Wait()
			}
		}))
		return dc.Ack()
	}), hello)
	assert.Contains(t, lines, "! dispatchEnd ack 1")
}

// ABT-2, ABT-13: a strand's error that the stage returns counts as the stage's own error.
func TestStrandErrorEscapes(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status string
	}{
		"failure": {errBoom, adk.StatusNack}, "abort": {adk.Aborted(nil), adk.StatusAborted}, "both": {errors.Join(adk.Aborted(nil), errBoom), adk.StatusNack},
	} {
		t.Run(name, func(t *testing.T) {
			heard := &outcome{}
			runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return must(dc.Fork(ctx, "s", func(context.Context, *adk.DispatchContext) error { return c.err })).Wait()
			}), heard.watch(hello))
			assert.Equal(t, c.status, heard.ends[0].Status)
		})
	}
}

// turnstile lets one strand run at a time, until it parks or ends: the minimum that a scheduler
// does (DET-6).
type turnstile struct {
	mu      sync.Mutex
	changed *sync.Cond
	running int
	waiting map[int]func() bool
}

func newTurnstile() *turnstile {
	s := &turnstile{running: 0, waiting: map[int]func() bool{}}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *turnstile) Observe(adk.RunInfo) adk.Observer { return s }

// Tell registers a strand when it is forked, not when its goroutine begins.
func (s *turnstile) Tell(x *adk.Crossing) {
	if x.Kind == adk.KindFork && x.Err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting[x.ID] = func() bool { return true }
	}
}

// Begin makes a new strand wait until it is chosen.
func (s *turnstile) Begin(step adk.Step) {
	if step.Kind != adk.KindCall {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.await(step.Strand)
}

func (s *turnstile) Park(strand int, ready func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ready != nil {
		s.waiting[strand] = ready
	}
	s.running = -1
	s.choose()
}

func (s *turnstile) Resume(strand int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.await(strand)
}

func (s *turnstile) await(strand int) {
	for s.running != strand {
		s.changed.Wait()
	}
	delete(s.waiting, strand)
}

// choose lets the ready strand with the lowest number continue.
func (s *turnstile) choose() {
	for strand := range 64 {
		if ready := s.waiting[strand]; ready != nil && ready() {
			s.running = strand
			s.changed.Broadcast()
			return
		}
	}
}

// ringing is a clock whose timers fire at once, and also cancel the run's context.
type ringing struct {
	handClock
	cancel context.CancelCauseFunc
}

func (c *ringing) AfterFunc(_ time.Duration, fire func()) func() bool {
	fire()
	c.cancel(errBoom)
	return func() bool { return false }
}

// DET-2: when two events wake a strand at the same time, the recorded crossing decides which one it
// was, and not the case that a select chooses.
func TestWakingDecidesNothing(t *testing.T) {
	turn := func() []string {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		config := executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return errors.Join(dc.Sleep(context.Background(), time.Second), dc.Stash().Set("awake", true))
		})
		config.Clock = &ringing{cancel: cancel}
		return runTurnIn(t, ctx, config, hello)
	}
	first := turn()
	assert.Contains(t, strings.Join(first, "|"), "= cancel outside|sleep(|)sleep boom|stash awake")
	for range 40 {
		require.Equal(t, first, turn())
	}
}

// DET-2, DET-6: when one strand runs at a time, a turn makes the same crossings in every run, whatever
// GOMAXPROCS is (the suite runs with -cpu 1,2,8).
func TestTheSameTurnEveryTime(t *testing.T) {
	turn := func() []string {
		config := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for i := range 4 {
				must(dc.Fork(ctx, fmt.Sprint("s", i), func(ctx context.Context, dc *adk.DispatchContext) error {
					must(h.ReportMessage("m", fmt.Sprint(i), false))
					if err := dc.Messages().Store(ctx, message(fmt.Sprint(i))); err != nil {
						return err
					}
					return dc.Stash().Set("last", i)
				}))
			}
			return dc.Ack()
		})
		config.Probe = newTurnstile()
		return runTurn(t, config, hello)
	}
	first := turn()
	assert.Len(t, with(first, "< strand"), 4)
	for range 20 {
		require.Equal(t, first, turn())
	}
}

// DET-7, TOL-3: tools that run concurrently in strands each return to their own caller, also when one
// has ended before the other has returned.
func TestToolsInStrands(t *testing.T) {
	answers := map[string]string{}
	var mu sync.Mutex
	ended := make(chan struct{})
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		call := func(name string) *adk.Strand {
			return must(dc.Fork(ctx, name, func(ctx context.Context, dc *adk.DispatchContext) error {
				result, err := dc.Execute(ctx, tool(name, func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
					return adk.NewTokenizable("of " + name), nil
				}), "{}")
				mu.Lock()
				defer mu.Unlock()
				answers[name] = fmt.Sprint(result)
				return err
			}))
		}
		a, b := call("a"), call("b")
		return errors.Join(a.Wait(), b.Wait(), dc.Ack())
	})
	raw := hello
	raw.Observability.ToolExecutionEnd = func(e adk.ToolExecutionEnd) {
		if e.ToolName == "b" {
			close(ended)
		}
		<-ended // a has its result, and returns when b has ended
	}
	runTurn(t, config, raw)
	assert.Equal(t, map[string]string{"a": "of a", "b": "of b"}, answers)
}

// DET-5, DET-6, DET-7: waiting for a strand is recorded in two lines that name the strand and hold its
// error. Waiting through a handle that has ended is recorded as misuse.
func TestWaitingIsTold(t *testing.T) {
	rec := &recorder{}
	var kept *adk.Strand
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		kept = must(dc.Fork(ctx, "fails", func(context.Context, *adk.DispatchContext) error { return errBoom }))
		assert.Same(t, errBoom, kept.Wait())
		return dc.Ack()
	})
	config.DispatchOutput = nil
	config.TurnOutput = []adk.TurnMiddleware{{Name: "late", Run: func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error {
		assert.ErrorIs(t, kept.Wait(), adk.E_CONTEXT_ENDED)
		next(ctx)
		return nil
	}}}
	config.Probe = rec
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	var told []string
	for _, x := range rec.crossings() {
		if x.Kind == adk.KindWait || x.Kind == adk.KindContained {
			told = append(told, fmt.Sprint(x.Kind, " ", x.Phase, " ", x.Name, " ", x.ID, " ", x.Err))
		}
	}
	assert.Equal(t, []string{"wait begin fails 1 <nil>", "wait done  0 boom", "contained whole late wait 0 <nil>"}, told)
}
