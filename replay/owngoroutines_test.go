package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// takes is a tool that sleeps for the time in its arguments, and then sets a key of the stash.
var takes = tracetest.Must(adk.NewTool(adk.ToolInit{Name: "takes", Description: "Takes its time.", InputSchema: json.RawMessage(`{"type":"object"}`),
	Handler: func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		err := dc.Sleep(ctx, time.Duration(args["ms"].(float64))*time.Millisecond)
		return adk.Bytes("x"), errors.Join(err, sets(dc, "over"))
	}}))

// leaves is a tool that returns while a goroutine of its own still runs.
var leaves = tracetest.Must(adk.NewTool(adk.ToolInit{Name: "leaves", Description: "Leaves.", InputSchema: json.RawMessage(`{"type":"object"}`),
	Handler: func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
		go func() { _ = dc.Sleep(ctx, 50*time.Millisecond) }()
		time.Sleep(10 * time.Millisecond)
		return adk.Bytes("x"), nil
	}}))

func sets(dc *adk.DispatchContext, key string) error { return dc.Stash().Set(key, true) }

func executes(ctx context.Context, dc *adk.DispatchContext, ms int) error {
	_, err := dc.Execute(ctx, takes, map[string]any{"ms": ms})
	return err
}

// started is a group of goroutines that user code starts itself.
type started struct {
	wg     sync.WaitGroup
	mu     sync.Mutex
	failed error
}

func (s *started) Go(do func() error) {
	s.wg.Go(func() {
		err := do()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = errors.Join(s.failed, err)
	})
}

func (s *started) Wait() error {
	s.wg.Wait()
	return s.failed
}

// inBubble records a turn of an agent on a clock that advances when all of its goroutines wait.
func inBubble(t *testing.T, agent adk.Config, listeners adk.Observability) []byte {
	t.Helper()
	var recorded bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		agent.Probe = replay.Record(&recorded)
		require.NoError(t, tracetest.Must(adk.NewRunner(agent)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go.", Observability: listeners}))
		time.Sleep(time.Minute) // for goroutines that outlive the turn
	})
	return recorded.Bytes()
}

// Goroutines that user code starts itself may use the handle of another strand. What they do is
// replayed as recorded, although a recording does not say which goroutine did what: while one of
// them waits, the others and the call continue. (RUN-11)
func TestGoroutinesOfUserCodesOwnArePlayed(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	executor := func(run func(context.Context, *adk.DispatchContext, *started) error) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var all started
			return errors.Join(run(ctx, dc, &all), all.Wait(), dc.Ack())
		}, takes, leaves)
	}
	for name, agent := range map[string]adk.Config{
		"sleeps": executor(func(ctx context.Context, dc *adk.DispatchContext, all *started) error {
			all.Go(func() error { return dc.Sleep(ctx, 50*ms) })
			time.Sleep(10 * ms)
			return errors.Join(sets(dc, "a"), sets(dc, "b"))
		}),
		"several": executor(func(ctx context.Context, dc *adk.DispatchContext, all *started) error {
			all.Go(func() error {
				return errors.Join(dc.Sleep(ctx, 50*ms), sets(dc, "c"), dc.Sleep(ctx, 50*ms), sets(dc, "d"))
			})
			all.Go(func() error { return errors.Join(dc.Sleep(ctx, 30*ms), sets(dc, "e"), dc.Sleep(ctx, 200*ms)) })
			time.Sleep(10 * ms)
			return sets(dc, "a")
		}),
		"tools at once": executor(func(ctx context.Context, dc *adk.DispatchContext, all *started) error {
			for _, ms := range []int{30, 10, 20, 10} {
				all.Go(func() error { return executes(ctx, dc, ms) })
			}
			return nil
		}),
		"gates": executor(func(ctx context.Context, dc *adk.DispatchContext, all *started) error {
			for i := range 3 {
				all.Go(func() error {
					_, err := dc.WaitFor(ctx, adk.Gate{ID: fmt.Sprint("g", i), Reason: "may I?", Timeout: time.Duration(3-i) * ms})
					return errors.Join(sets(dc, fmt.Sprint("asked", i)), onlyTimeout(err))
				})
			}
			return sets(dc, "a")
		}),
		"in the place of another strand": executor(func(ctx context.Context, dc *adk.DispatchContext, _ *started) error {
			s, err := dc.Fork(ctx, "s", func(ctx context.Context, mine *adk.DispatchContext) error {
				var all started
				for range 300 { // by then the wait for the strand is long over
					if err := sets(mine, "c"); err != nil {
						return err
					}
				}
				all.Go(func() error { return dc.Sleep(ctx, 50*ms) })
				time.Sleep(10 * ms)
				return errors.Join(sets(mine, "a"), sets(mine, "b"), all.Wait())
			})
			return errors.Join(err, s.Wait())
		}),
		"for its own strand": executor(func(ctx context.Context, dc *adk.DispatchContext, all *started) error {
			var s *adk.Strand
			known := make(chan bool)
			s, err := dc.Fork(ctx, "s", func(ctx context.Context, mine *adk.DispatchContext) error {
				<-known
				all.Go(s.Wait)
				time.Sleep(10 * ms)
				return sets(mine, "a")
			})
			close(known)
			return errors.Join(err, s.Wait())
		}),
		"behind its call": executor(func(ctx context.Context, dc *adk.DispatchContext, _ *started) error {
			go func() { _ = dc.Sleep(ctx, 50*ms) }()
			time.Sleep(10 * ms)
			return sets(dc, "a")
		}),
		"behind the call of a tool": executor(func(ctx context.Context, dc *adk.DispatchContext, _ *started) error {
			_, err := dc.Execute(ctx, leaves, map[string]any{})
			return errors.Join(err, dc.Sleep(ctx, 100*ms))
		}),
	} {
		t.Run(name, func(t *testing.T) {
			d := inTime(t, inBubble(t, agent, adk.Observability{}), replay.Live{})
			require.Nil(t, d, "%s", d)
		})
	}
}

// Of two equal calls of a tool, the second may end before the first one's listener returns, which
// waits for that end.
func TestAnEqualCallThatOvertakes(t *testing.T) {
	t.Parallel()
	var began, over chan bool
	agent := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		began, over = make(chan bool), make(chan bool)
		var first started
		first.Go(func() error { return executes(ctx, dc, 0) })
		<-began
		err := executes(ctx, dc, 0)
		close(over)
		return errors.Join(err, first.Wait(), dc.Ack())
	}, takes)
	recorded := inBubble(t, agent, adk.Observability{ToolExecutionStart: func(adk.ToolExecutionStart) {
		select {
		case <-began:
		default:
			close(began)
			<-over
		}
	}})
	d := inTime(t, recorded, replay.Live{})
	require.Nil(t, d, "%s", d)
}

// onlyTimeout returns nil for the error of a gate that timed out, and any other error as it is.
func onlyTimeout(err error) error {
	if errors.Is(err, adk.E_TURN_GATE_TIMEOUT) {
		return nil
	}
	return err
}

// The same holds for arbitrary programs of goroutines that start others, in executors and in
// tools, with sleeps, gates, tools and records in between.
func TestWhateverGoroutinesDoIsPlayed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		agent := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			w := &wild{ctx: ctx, dc: dc, random: rand.New(rand.NewPCG(seed, 1))}
			return errors.Join(w.run(w.program(3)), dc.Ack())
		}, takes)
		recorded := inBubble(t, agent, adk.Observability{})
		d := inTime(t, recorded, replay.Live{})
		require.Nil(t, d, "seed %d: %s\n%s", seed, d, recorded)
	}
}

// wild is a randomly drawn program.
type wild struct {
	ctx    context.Context
	dc     *adk.DispatchContext
	random *rand.Rand
	made   int
}

// program draws what one goroutine does, some of it in goroutines that it starts.
func (w *wild) program(depth int) (steps []func() error) {
	for range 1 + w.random.IntN(4) {
		w.made++
		n, wait := w.made, w.random.IntN(40)
		switch what := w.random.IntN(7); {
		case what == 0 && depth > 0:
			var all [][]func() error
			for range 1 + w.random.IntN(3) {
				all = append(all, w.program(depth-1))
			}
			steps = append(steps, func() error {
				var s started
				for _, one := range all {
					s.Go(func() error { return w.run(one) })
				}
				return s.Wait()
			})
		case what <= 1:
			steps = append(steps, func() error { return executes(w.ctx, w.dc, wait) })
		case what == 2:
			steps = append(steps, func() error {
				_, err := w.dc.WaitFor(w.ctx, adk.Gate{ID: fmt.Sprint("g", n), Reason: "?", Timeout: time.Duration(wait+1) * time.Millisecond})
				return onlyTimeout(err)
			})
		case what == 3:
			steps = append(steps, func() error {
				return w.dc.Messages().Store(w.ctx, tracetest.Must(adk.NewMessage(adk.MessageInit{ID: fmt.Sprint("m", n), Role: adk.RoleUser, Content: "Hi.", CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})))
			})
		case what == 4:
			steps = append(steps, func() error { return sets(w.dc, fmt.Sprint("key", n)) })
		default:
			steps = append(steps, func() error { return w.dc.Sleep(w.ctx, time.Duration(wait)*time.Millisecond) })
		}
	}
	return steps
}

func (w *wild) run(steps []func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
