package fakes_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// strands is a step that forks a strand for each name and waits for all of them.
func strands(body func(ctx context.Context, dc *adk.DispatchContext, name string) error, names ...string) fakes.Step {
	return fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var all []*adk.Strand
		for _, name := range names {
			s, err := dc.Fork(ctx, name, func(ctx context.Context, dc *adk.DispatchContext) error { return body(ctx, dc, name) })
			if err != nil {
				return err
			}
			all = append(all, s)
		}
		var faults []error
		for _, s := range all {
			faults = append(faults, s.Wait())
		}
		return errors.Join(faults...)
	})
}

// busy is a config whose strands do a little of everything.
func busy() adk.Config {
	storage := fakes.NewStorage()
	tool := fakes.NewTool("look", "looks", "found")
	tool.Repeat = true
	script := fakes.Script{
		{fakes.Say("Looking."), fakes.Parallel(fakes.Call("look", `{"at":1}`), fakes.Call("look", `{"at":2}`), fakes.Call("look", `{"at":3}`))},
		{strands(func(ctx context.Context, dc *adk.DispatchContext, name string) error {
			dc.NewID()
			if err := dc.Sleep(ctx, time.Duration(len(name))*time.Minute); err != nil {
				return err
			}
			if err := dc.Stash().Set("woke."+name, dc.Now().String()); err != nil {
				return err
			}
			nested, err := dc.Fork(ctx, "below "+name, func(ctx context.Context, dc *adk.DispatchContext) error {
				_, err := dc.Memories().Fetch(ctx)
				return err
			})
			if err != nil {
				return err
			}
			return nested.Wait()
		}, "aaa", "b", "cc", "d"), fakes.Ack()},
	}
	return adk.Config{Executor: script.Executor("model"), Storage: storage.Storage(), Tools: []*adk.Tool{tool.Tool()}}
}

// DET-2: a turn whose strands run one at a time makes the same crossings in the same order, on
// any number of processors.
func TestSchedulerIsDeterministic(t *testing.T) {
	for name, order := range map[string]fakes.Order{
		"in order": fakes.RunInOrder(), "round robin": fakes.RoundRobin(), "seeded": fakes.Seeded(7),
	} {
		t.Run(name, func(t *testing.T) {
			var first string
			for _, procs := range []int{1, 2, 8} {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				for i := range 40 {
					c := busy()
					c.Probe = fakes.NewScheduler(order)
					seen := &transcript{}
					if h := play(t, t.Context(), fakes.Deterministic(c, seen)); h.status != adk.StatusAck {
						t.Fatalf("%s: %v", h.status, h.err)
					}
					if first == "" {
						first = seen.String()
					}
					if got := seen.String(); got != first {
						t.Fatalf("run %d on %d processors differs:\n%s\n\nfrom\n%s", i, procs, got, first)
					}
				}
			}
		})
	}
}

// everyOrder calls run once for each possible order, depth first, and returns how many there
// were.
func everyOrder(t *testing.T, limit int, run func(order fakes.Order)) (runs int) {
	t.Helper()
	var path, width []int // the choices of this run, and between how many strands each was
	for {
		step := 0
		run(fakes.Pick(func(c fakes.Choice) int {
			if step == len(path) {
				path, width = append(path, 0), append(width, 0)
			}
			width[step] = len(c.Runnable)
			step++
			return path[step-1]
		}))
		path, width = path[:step], width[:step]
		runs++
		for len(path) > 0 && path[len(path)-1]+1 == width[len(width)-1] {
			path, width = path[:len(path)-1], width[:len(width)-1]
		}
		if len(path) == 0 {
			return runs
		}
		path[len(path)-1]++
		if runs == limit {
			t.Fatalf("more than %d orders", limit)
		}
	}
}

// DET-6: a scheduler chooses at the begin of each operation, so exploring its choices reaches
// every order.
func TestSchedulerReachesEveryPermutation(t *testing.T) {
	reached := map[string]bool{}
	runs := everyOrder(t, 5000, func(order fakes.Order) {
		storage := fakes.NewStorage()
		c := config(fakes.Script{{strands(func(ctx context.Context, dc *adk.DispatchContext, name string) error {
			return dc.Messages().Store(ctx, message(t, name, name))
		}, "a", "b", "c"), fakes.Ack()}}, storage)
		c.Probe = fakes.NewScheduler(order)
		if h := play(t, t.Context(), fakes.Deterministic(c)); h.status != adk.StatusAck {
			t.Fatalf("%s: %v", h.status, h.err)
		}
		reached[keys(storage.Messages())] = true
	})
	if len(reached) != 6 {
		t.Errorf("%d runs reached %v, want all 6 permutations", runs, reached)
	}
}

// DET-1: strands wake in the order of virtual time, and no real time passes.
func TestSchedulerMovesTime(t *testing.T) {
	storage := fakes.NewStorage()
	waits := map[string]time.Duration{"a": 3 * time.Hour, "b": time.Hour, "c": 2 * time.Hour}
	var woke []string
	c := config(fakes.Script{{strands(func(ctx context.Context, dc *adk.DispatchContext, name string) error {
		if err := dc.Sleep(ctx, waits[name]); err != nil {
			return err
		}
		woke = append(woke, name+" "+dc.Now().Sub(fakes.Epoch).String())
		return nil
	}, "a", "b", "c"), fakes.Wait(time.Hour), fakes.Ack()}}, storage)
	c = fakes.Deterministic(c)
	play(t, t.Context(), c)
	if want := []string{"b 1h0m0s", "c 2h0m0s", "a 3h0m0s"}; !slices.Equal(woke, want) {
		t.Errorf("woke %q, want %q", woke, want)
	}
	if got := c.Clock.Now().Sub(fakes.Epoch); got != 4*time.Hour {
		t.Errorf("the turn took %v, want 4h", got)
	}
}

// GAT-8: the timeout of a gate runs on the runner's clock.
func TestSchedulerTimesGatesOut(t *testing.T) {
	c := fakes.Deterministic(config(fakes.Script{{fakes.WaitFor(adk.Gate{ID: "g", Reason: "go on?", Timeout: 24 * time.Hour})}}, fakes.NewStorage()))
	h := play(t, t.Context(), c)
	if !errors.Is(h.err, adk.E_TURN_GATE_TIMEOUT) {
		t.Errorf("got %v, want a timeout", h.err)
	}
	if got := c.Clock.Now().Sub(fakes.Epoch); got != 24*time.Hour {
		t.Errorf("the turn took %v, want 24h", got)
	}
}

// A timer may settle a gate: the code that a timer calls makes crossings of its own.
func TestSchedulerTimerSettlesGate(t *testing.T) {
	clock := fakes.NewClock()
	c := config(fakes.Script{{fakes.WaitFor(adk.Gate{ID: "g", Reason: "go on?"}), fakes.Ack()}}, fakes.NewStorage())
	c.Probe = fakes.NewSchedulerOn(clock, nil)
	runner, err := adk.NewRunner(fakes.Deterministic(c))
	if err != nil {
		t.Fatal(err)
	}
	var status string
	runner.Observe(adk.Observability{
		TurnGateOpen: func(e adk.TurnGateOpen) {
			clock.AfterFunc(time.Hour, func() { _, _ = e.Gate.Resolve("timer", true) })
		},
		DispatchEnd: func(e adk.DispatchEnd) { status = e.Status },
	})
	if err := runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "x"}); err != nil || status != adk.StatusAck {
		t.Errorf("%s: %v", status, err)
	}
}

// When no strand can continue and no timer is pending, a run waits for events from outside: here for
// gates that another goroutine settles, and for a cancellation.
func TestSchedulerWaitsForTheOutside(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gates := make(chan *adk.TurnGate, 2)
	c := config(fakes.Script{{strands(func(ctx context.Context, dc *adk.DispatchContext, name string) error {
		_, err := dc.WaitFor(ctx, adk.Gate{ID: name, Reason: "go on?"})
		return err
	}, "a", "b"), fakes.WaitDone()}}, fakes.NewStorage())
	runner, err := adk.NewRunner(fakes.Deterministic(c))
	if err != nil {
		t.Fatal(err)
	}
	var end adk.DispatchEnd
	runner.Observe(adk.Observability{
		TurnGateOpen: func(e adk.TurnGateOpen) { gates <- e.Gate },
		TurnGateClosed: func(e adk.TurnGateClosed) {
			if e.GateID == "b" {
				cancel(errors.New("enough"))
			}
		},
		DispatchEnd: func(e adk.DispatchEnd) { end = e },
	})
	go func() {
		for g := range gates {
			_, _ = g.Resolve("outside", nil)
			if g.ID() == "b" {
				return
			}
		}
	}()
	if err := runner.Run(ctx, adk.RawTurn{SystemPrompt: "x"}); err != nil {
		t.Fatal(err)
	}
	if end.Status != adk.StatusAborted || end.Error == nil || end.Error.Error() != "enough" {
		t.Errorf("ended %s with %v, want aborted with the cause of the cancel", end.Status, end.Error)
	}
}

// A strand that aborts the turn wakes another strand that is waiting.
func TestSchedulerStrandAborts(t *testing.T) {
	reason := errors.New("no more")
	c := fakes.Deterministic(config(fakes.Script{{strands(func(ctx context.Context, dc *adk.DispatchContext, name string) error {
		if name == "waits" {
			return dc.Sleep(ctx, fakes.Forever)
		}
		return dc.Abort(reason)
	}, "waits", "aborts")}}, fakes.NewStorage()))
	if h := play(t, t.Context(), c); h.status != adk.StatusAborted || !errors.Is(h.err, reason) {
		t.Errorf("%s: %v", h.status, h.err)
	}
}

// RUN-11: a strand that uses another strand's helpers, or a plain goroutine, is let through by the
// scheduler, and nothing hangs.
func TestSchedulerLetsStrangersThrough(t *testing.T) {
	for name, order := range map[string]fakes.Order{"in order": nil, "round robin": fakes.RoundRobin()} {
		t.Run(name, func(t *testing.T) {
			c := config(fakes.Script{{
				fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
					s, err := dc.Fork(ctx, "talks", func(ctx context.Context, _ *adk.DispatchContext) error {
						h.Log(adk.LevelInfo, "test", "from a strand", nil)
						if err := dc.Sleep(ctx, time.Minute); err != nil { // through the handle of its parent
							return err
						}
						_, err := h.ReportMessage("m", "hello", true)
						return err
					})
					if err != nil {
						return err
					}
					h.Log(adk.LevelInfo, "test", "from the executor", nil)
					return s.Wait()
				}),
				fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
					done := make(chan error)
					go func() { done <- dc.Stash().Set("plain", 1) }()
					return <-done
				}),
				fakes.Ack(),
			}}, fakes.NewStorage())
			c.TurnInput = []adk.TurnMiddleware{{Name: "elsewhere", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
				done := make(chan struct{})
				go func() { defer close(done); next(ctx) }()
				<-done
				return nil
			}}}
			c.Probe = fakes.NewScheduler(order)
			if h := play(t, t.Context(), fakes.Deterministic(c)); h.status != adk.StatusAck {
				t.Errorf("%s: %v", h.status, h.err)
			}
		})
	}
}

// Strands that wait for one another through the handle of their parent wake in any order, and
// none is forgotten.
func TestSchedulerSiblingsWait(t *testing.T) {
	for seed := range uint64(200) {
		c := config(fakes.Script{{fakes.Do(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			before := func(context.Context) error { return nil }
			var last *adk.Strand
			for _, name := range []string{"a", "b", "c", "d"} {
				wait := before
				s, err := dc.Fork(ctx, name, func(ctx context.Context, own *adk.DispatchContext) error {
					if err := own.Sleep(ctx, time.Second); err != nil {
						return err
					}
					if err := wait(ctx); err != nil {
						return err
					}
					return own.Stash().Set(name, true)
				})
				if err != nil {
					return err
				}
				before = func(context.Context) error { return s.Wait() }
				last = s
			}
			return last.Wait()
		}), fakes.Ack()}}, fakes.NewStorage())
		c.Probe = fakes.NewScheduler(fakes.Seeded(seed))
		if h := play(t, t.Context(), fakes.Deterministic(c)); h.status != adk.StatusAck {
			t.Fatalf("%s: %v", h.status, h.err)
		}
	}
}

// DET-4: an order that panics is dropped and disturbs nothing.
func TestSchedulerOrderPanics(t *testing.T) {
	c := busy()
	c.Probe = fakes.NewScheduler(fakes.Pick(func(fakes.Choice) int { panic("no idea") }))
	c = fakes.Deterministic(c)
	clock := c.Clock.(*fakes.Clock)
	stop := make(chan struct{})
	go func() { // the clock, which the scheduler moves no more
		for {
			select {
			case <-stop:
				return
			default:
				clock.Advance(time.Minute)
				runtime.Gosched()
			}
		}
	}()
	defer close(stop)
	if h := play(t, t.Context(), c); h.status != adk.StatusAck {
		t.Errorf("%s: %v", h.status, h.err)
	}
}

// The strands of a choice are sorted, and any number is accepted as an answer.
func TestPickTakesAnyNumber(t *testing.T) {
	for _, answer := range []int{-1, 1000, 3} {
		c := busy()
		c.Probe = fakes.NewScheduler(fakes.Pick(func(c fakes.Choice) int {
			if len(c.Runnable) < 2 || !slices.IsSorted(c.Runnable) {
				t.Errorf("choice between %v", c.Runnable)
			}
			return answer
		}))
		if h := play(t, t.Context(), fakes.Deterministic(c)); h.status != adk.StatusAck {
			t.Errorf("%s: %v", h.status, h.err)
		}
	}
}

// With four times as many strands, choosing takes four times the work: a choice does not look at
// strands whose state has not changed.
func TestChoosingIsLinearInStrands(t *testing.T) {
	for name, order := range map[string]fakes.Order{"in order": fakes.RunInOrder(), "round robin": fakes.RoundRobin(),
		"in order, asleep": fakes.RunInOrder(), "round robin, asleep": fakes.RoundRobin()} {
		work := func(width int) float64 {
			slept := time.Duration(0)
			c := config(fakes.Script{{strands(func(ctx context.Context, dc *adk.DispatchContext, _ string) error {
				dc.NewID()
				if strings.HasSuffix(name, "asleep") {
					slept += time.Second // one strand runs at a time, and each wakes alone
					return dc.Sleep(ctx, slept)
				}
				dc.NewID()
				return nil
			}, slices.Repeat([]string{"a"}, width)...), fakes.Ack()}}, fakes.NewStorage())
			scheduler := fakes.NewScheduler(order)
			c.Probe = scheduler
			if h := play(t, t.Context(), fakes.Deterministic(c)); h.status != adk.StatusAck {
				t.Fatalf("%s: %v", h.status, h.err)
			}
			return float64(scheduler.Work())
		}
		if small, large := work(500), work(2_000); large > 4.5*small {
			t.Errorf("%s: 500 strands are %.0f steps, 2,000 are %.0f", name, small, large)
		}
	}
}

func TestDeterministicKeepsWhatServes(t *testing.T) {
	clock, seen := fakes.NewClockAt(fakes.Epoch.AddDate(1, 0, 0)), &transcript{}
	c := fakes.Deterministic(adk.Config{Clock: clock, IDs: fakes.NewIDs("x"), Probe: seen,
		Executor: fakes.Script{{fakes.Ack()}}.Executor("model"), Storage: fakes.NoOpStorage()})
	play(t, t.Context(), c)
	if c.Clock != clock || !strings.Contains(seen.String(), "turnStart") || !strings.Contains(seen.String(), "x-1") {
		t.Errorf("clock, ids or probe were lost:\n%s", seen)
	}
	other := fakes.Deterministic(adk.Config{Clock: adk.SystemClock()})
	if _, ok := other.Clock.(*fakes.Clock); !ok {
		t.Errorf("the clock is a %T, want one that stands", other.Clock)
	}
}

// BenchmarkSchedulerOneStrand: a run with one strand pays one atomic load for each operation.
func BenchmarkSchedulerOneStrand(b *testing.B) {
	o := fakes.NewScheduler(nil).Observe(adk.RunInfo{})
	for b.Loop() {
		o.Begin(adk.Step{Kind: adk.KindNow})
	}
}

// A goroutine that waits through a strand's handle, and is not that strand, takes the turn from no strand.
func TestSchedulerGoroutinesHaveNoTurn(t *testing.T) {
	var choices []fakes.Choice
	o := fakes.NewScheduler(fakes.Pick(func(c fakes.Choice) int { choices = append(choices, c); return 0 })).Observe(adk.RunInfo{})
	over, began := make(chan struct{}), make(chan int, 3)
	var all sync.WaitGroup
	for n := range 3 {
		strand := n + 1
		o.Tell(&adk.Crossing{Kind: adk.KindFork, ID: strand})
		all.Go(func() {
			o.Begin(adk.Step{Kind: adk.KindCall, Strand: strand, Call: strand})
			began <- strand
			<-over
			o.Park(strand, nil)
		})
	}
	never := func() bool { return false }
	o.Park(0, never) // strand 0 waits, and the first of the other strands has the turn
	if first := <-began; first != 1 || len(choices) != 1 {
		t.Fatalf("strand %d has begun, after %v", first, choices)
	}
	o.Park(0, never) // as a goroutine does that strand 0 has started
	if len(choices) != 1 {
		t.Errorf("strand 1 has the turn, and it was given to another one: %v", choices)
	}
	close(over)
	all.Wait()
}

// A goroutine that waits through a strand's handle, and was taken for another strand that then arrived itself,
// gets the turn when it is free.
func TestSchedulerForgetsNobodyWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := fakes.NewScheduler(fakes.RunInOrder()).Observe(adk.RunInfo{})
		over := make(chan struct{})
		var all sync.WaitGroup
		for _, strand := range []int{1, 2} {
			o.Tell(&adk.Crossing{Kind: adk.KindFork, ID: strand})
			all.Go(func() {
				o.Begin(adk.Step{Kind: adk.KindCall, Strand: strand, Call: strand})
				if strand == 2 {
					<-over
				}
				o.Park(strand, nil)
			})
		}
		goesOn := make(chan struct{})
		all.Go(func() {
			o.Park(1, func() bool { return false }) // is taken for strand 0, which has the turn
			<-goesOn
			o.Resume(1)
		})
		synctest.Wait() // strand 2 has the turn
		o.Begin(adk.Step{Kind: adk.KindNow, Call: 1})
		close(goesOn)
		synctest.Wait()
		close(over)
		all.Wait()
	})
}
