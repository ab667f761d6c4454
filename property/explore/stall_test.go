package explore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/race"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// pair returns a subject whose executor runs two strands that share the value that make returns.
func pair[T any](name string, make func() *T, strand func(ctx context.Context, dc *adk.DispatchContext, shared *T, n int) error) turn.Subject {
	return turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		shared := make()
		run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var strands []*adk.Strand
			for n := range 2 {
				s, err := dc.Fork(ctx, "worker", func(ctx context.Context, dc *adk.DispatchContext) error { return strand(ctx, dc, shared, n) })
				if err != nil {
					return err
				}
				strands = append(strands, s)
			}
			for _, s := range strands {
				if err := s.Wait(); err != nil {
					return err
				}
			}
			return dc.Ack()
		}
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}}
}

// within explores with a budget and checks that the exploration ends within it.
func within(t *testing.T, s turn.Subject, budget time.Duration, o explore.Options) *explore.Exploration {
	t.Helper()
	o.Budget = budget
	var result *explore.Exploration
	took := served(func() { result = explored(t, s, o) })
	assert.Less(t, took, budget+time.Second+slack, "an exploration ends in time")
	return result
}

// slack is how much longer a loaded machine may take, and longer with the race detector. A real hang never
// ends, so the bound can be generous.
var slack = func() time.Duration {
	if race.Detector {
		return 10 * time.Second
	}
	return 2 * time.Second
}()

// served measures how long do takes, in time that this program really gets: a pause of ten milliseconds
// counts as at most twenty, however late a loaded machine ends it.
func served(do func()) (sum time.Duration) {
	const pause = 10 * time.Millisecond
	over := make(chan struct{})
	go func() { defer close(over); do() }()
	for {
		begun := time.Now()
		select {
		case <-over:
			return sum
		case <-time.After(pause):
			sum += min(time.Since(begun), 2*pause)
		}
	}
}

// patient is a budget that even an exploration on a loaded machine does not use up, because it ends as
// soon as it has found that something hangs.
const patient = patience.Long

// endsOfItself explores a subject that hangs, and checks that it ends long before the budget does.
func endsOfItself(t *testing.T, s turn.Subject, o explore.Options) *explore.Exploration {
	t.Helper()
	o.Budget = patient
	var result *explore.Exploration
	took := served(func() { result = explored(t, s, o) })
	assert.Less(t, took, patient/2, "it ends when it has found what hangs")
	assert.NotContains(t, strings.Join(result.NotCovered, "\n"), "was used up")
	return result
}

// says returns the violations of x whose text contains text.
func says(x *explore.Exploration, text string) (found []explore.Breach) {
	for _, b := range x.Violations {
		if strings.Contains(b.Text, text) {
			found = append(found, b)
		}
	}
	return found
}

type locked struct{ first, second sync.Mutex }

// A lock that is held during an operation is correct, and such code is explored to its end: a strand that
// waits for the lock gives up its turn.
func TestLockHeldOverAnOperation(t *testing.T) {
	s := pair("holds a lock", func() *locked { return &locked{} }, func(ctx context.Context, dc *adk.DispatchContext, l *locked, _ int) error {
		l.first.Lock()
		_, err := dc.Memories().Fetch(ctx)
		l.first.Unlock() // no defer needed: operations return an answer and do not unwind the stack
		return err
	})
	result := explored(t, s, explore.Options{})
	assert.Empty(t, result.Violations, result)
	assert.Empty(t, result.NotCovered)
	assert.Greater(t, result.Schedules, 60)
}

// The same holds for a strand that waits on a channel for another strand, for a strand that sleeps, or for
// its own goroutines.
func TestStrandsThatWaitForOneAnother(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	s := pair("hands over", func() *chan int { c := make(chan int); return &c }, func(ctx context.Context, dc *adk.DispatchContext, c *chan int, n int) error {
		if n == 0 {
			select {
			case <-*c:
			case <-ctx.Done():
			}
			return nil
		}
		defer close(*c)
		return dc.Sleep(ctx, time.Hour)
	})
	result := explored(t, s, explore.Options{})
	assert.Empty(t, result.Violations, result)
	if assert.Len(t, result.NotCovered, 1) {
		assert.Contains(t, result.NotCovered[0], "a strand waits there outside the engine, for another one")
	}

	own := executing("goroutines of its own", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		jobs, done := make(chan int), make(chan int)
		for range 3 {
			go func() {
				for n := range jobs {
					time.Sleep(3 * time.Millisecond)
					done <- n
				}
			}()
		}
		go func() {
			defer close(jobs)
			for n := range 3 {
				jobs <- n
			}
		}()
		for range 3 {
			<-done
		}
		return errors.Join(dc.Sleep(ctx, time.Minute), dc.Ack())
	})
	result = explored(t, own, explore.Options{})
	assert.Empty(t, result.Violations, result)
}

// RUN-5: two locks that are taken in two orders are a deadlock, reported with the lines that
// wait.
func TestDeadlockOfLocks(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	s := pair("lock order", func() *locked { return &locked{} }, func(ctx context.Context, dc *adk.DispatchContext, l *locked, n int) error {
		first, second := &l.first, &l.second
		if n == 1 {
			first, second = second, first
		}
		first.Lock()
		defer first.Unlock()
		_, err := dc.Memories().Fetch(ctx)
		second.Lock()
		defer second.Unlock()
		return err
	})
	result := endsOfItself(t, s, explore.Options{})
	found := says(result, "deadlock: ")
	require.NotEmpty(t, found, result)
	assert.Regexp(t, `(?m)^sync\.Mutex\.Lock in explore_test\.\S+ at .*stall_test\.go:\d+`, found[0].Text)
	assert.Equal(t, "a turn comes to an end", found[0].Invariant)
	for _, b := range result.Violations {
		assert.Contains(t, b.Text, "deadlock: ", "nothing else is wrong")
	}
}

// stacks returns the stacks of all goroutines, including some that other tests have left behind.
func stacks() []string {
	for size := 1 << 20; ; size *= 2 {
		all := make([]byte, size)
		if n := runtime.Stack(all, true); n < size {
			return strings.Split(string(all[:n]), "\n\n")
		}
	}
}

// headOf returns the goroutine's name in the first line of a stack.
func headOf(stack string) string {
	head, _, _ := strings.Cut(stack, " [")
	return head
}

// RUN-5: if the explorer gives up on a turn while Build is making it, the turn is not run once Build returns.
func TestWhatIsMadeTooLateIsNotRun(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	var made, ran atomic.Bool
	over := make(chan struct{})
	s := turn.Subject{Name: "made too late", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		if made.Swap(true) { // the first call is the test whether Build makes a turn
			<-over
		}
		run := func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			ran.Store(true)
			return dc.Ack()
		}
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}}
	result := endsOfItself(t, s, explore.Options{Workers: 1})
	assert.NotEmpty(t, says(result, "deadlock: "), result)
	var making []string // the goroutines in Build, by their heads
	for _, stack := range stacks() {
		if strings.Contains(stack, "TestWhatIsMadeTooLateIsNotRun") && strings.Contains(stack, "explore.(*attempt).run(") {
			making = append(making, headOf(stack))
		}
	}
	require.NotEmpty(t, making)
	close(over)
	assert.True(t, patience.Until(func() bool {
		return !slices.ContainsFunc(stacks(), func(stack string) bool { return slices.Contains(making, headOf(stack)) })
	}))
	assert.False(t, ran.Load())
}

// RUN-5: runs that share a lock of the whole program take it one after the other. A run is not stuck if it
// waits for another run that holds the lock and works for a long time.
func TestALockThatAnotherRunHas(t *testing.T) {
	var lock sync.Mutex
	var runs, work atomic.Int64
	s := executing("shares a lock", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		lock.Lock()
		if runs.Add(1) == 9 { // the runs before this one do not overlap
			for began := time.Now(); time.Since(began) < 200*time.Millisecond; { // longer than the explorer waits for a single run
				work.Load()
			}
		}
		lock.Unlock()
		return dc.Ack()
	})
	result := explored(t, s, explore.Options{Workers: 2, Faults: []turn.FaultKind{turn.Cancel}})
	assert.Greater(t, runs.Load(), int64(12))
	assert.Empty(t, result.Violations, result)
	assert.Zero(t, result.Waited)
}

// RUN-5: whatever user code does, the exploration ends within its budget, and the report says
// where the code hung.
func TestExplorationsEnd(t *testing.T) {
	thorough.Long(t)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	var over atomic.Bool // stops the spinning once its exploration has ended
	spin := func() {
		for !over.Load() {
		}
	}
	const spinning = "a loop without operations"
	whenRefused := func(then func(ctx context.Context, dc *adk.DispatchContext)) turn.Subject {
		return executing("asks", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if _, err := dc.Messages().Fetch(ctx); err != nil {
				then(ctx, dc)
				return err
			}
			return dc.Ack()
		})
	}
	for name, c := range map[string]struct {
		subject turn.Subject
		want    string
		where   string
	}{
		"a channel that nobody sends to": {whenRefused(func(context.Context, *adk.DispatchContext) { <-never }), "deadlock: ", "stall_test.go:"},
		spinning:                         {whenRefused(func(context.Context, *adk.DispatchContext) { spin() }), "hang: ", "stall_test.go:"},
		"a loop of operations": {whenRefused(func(_ context.Context, dc *adk.DispatchContext) {
			for {
				dc.Now()
			}
		}), "hang: ", "stall_test.go:"},
		"a loop of the engine's": {subject("loop", func(c *adk.Config) adk.RawTurn {
			c.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if _, err := dc.Messages().Fetch(ctx); err != nil || dc.Iteration() > 0 {
					return nil
				}
				return dc.Ack()
			}
			return adk.RawTurn{SystemPrompt: "Help."}
		}), "went on until its caller cancelled", "executor/model#"},
		"a listener that blocks": {subject("listener", func(*adk.Config) adk.RawTurn {
			return adk.RawTurn{SystemPrompt: "Help.", Observability: adk.Observability{Error: func(adk.ErrorEvent) { <-never }}}
		}), "deadlock: ", "stall_test.go:"},
	} {
		t.Run(name, func(t *testing.T) {
			var options explore.Options
			if name == spinning { // alone and before the others: it takes a core, beside which the others would wait longer
				options.Workers = 1
				defer over.Store(true)
			} else {
				t.Parallel() // the others only wait, and take no core
			}
			result := endsOfItself(t, c.subject, options)
			found := says(result, c.want)
			require.NotEmpty(t, found, result)
			assert.Contains(t, found[0].Text, c.where)
		})
	}
}

// If a run is under way when the budget is used up, it is ended when it next asks the engine for
// something, and left behind if it never does. That is no violation.
func TestARunIsNotWaitedFor(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	for name, wait := range map[string]func(dc *adk.DispatchContext){
		"asks":        func(dc *adk.DispatchContext) { dc.Now(); time.Sleep(time.Millisecond) },
		"asks rarely": func(dc *adk.DispatchContext) { dc.Now(); time.Sleep(350 * time.Millisecond) },
	} {
		s := executing(name, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if _, err := dc.Messages().Fetch(ctx); err != nil {
				for n := 0; n < 20000 && err != nil; n++ {
					wait(dc)
				}
			}
			return dc.Ack()
		})
		result := within(t, s, 500*time.Millisecond, explore.Options{Workers: 2})
		assert.Empty(t, says(result, "hang"), result)
		assert.Contains(t, strings.Join(result.NotCovered, "\n"), "the budget of 500ms was used up")
	}
}

// A check or a Close that does not return is waited for as long as the budget lasts.
func TestWhatHangsBesideTheRuns(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	s := executing("is checked for ever", func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() })
	result := within(t, checked(s, func(turn.Run) error { <-never; return nil }), 3*time.Second, explore.Options{})
	require.NotEmpty(t, result.Violations)
	assert.Equal(t, "a check comes to its end", result.Violations[0].Invariant)

	build := s.Build
	s.Name, s.Build = "is closed for ever", nil
	var closed atomic.Int64
	s.Open = func(cancel context.CancelCauseFunc) (i turn.Instance) {
		i.Config, i.Raw = build(cancel)
		i.Close = func() {
			if closed.Add(1) > 10 {
				<-never
			}
		}
		return i
	}
	result = within(t, s, time.Second, explore.Options{})
	assert.Empty(t, result.Violations, result)
	assert.Contains(t, strings.Join(result.NotCovered, "\n"), "what comes behind a check or a Close of the subject's that had not returned: the budget of 1s was used up")

	s.Open = func(cancel context.CancelCauseFunc) (i turn.Instance) {
		i.Config, i.Raw = build(cancel)
		i.Close = func() { <-never }
		return i
	}
	_, err := explore.Explore(t.Context(), s, explore.Options{Budget: 100 * time.Millisecond})
	assert.EqualError(t, err, "is closed for ever: the first turn that it makes is not made, or not closed: the budget of 100ms was used up")
}

// A check that ends its goroutine, as t.FailNow does, ends the goroutine that called Explore.
func TestCheckThatEndsTheTest(t *testing.T) {
	s := checked(executing("fails now", func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }),
		func(turn.Run) error { runtime.Goexit(); return nil })
	came, over := false, make(chan struct{})
	go func() {
		defer close(over)
		_, _ = explore.Explore(t.Context(), s, explore.Options{Workers: 1})
		came = true
	}()
	<-over
	assert.False(t, came)
}

// After the budget is used up, no run is started: not to find out which schedule left a goroutine, whether a
// second run is the same, or whether a run that never ends holds something that others need.
func TestNoRunBeginsBehindTheBudget(t *testing.T) {
	t.Parallel() // one of the subtests waits
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	for name, leave := range map[string]func(){
		"leaves a goroutine": func() { go func() { <-never }() },
		"waits for ever":     func() { <-never },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var late atomic.Bool
			var behind atomic.Int64
			s := executing(name, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if late.Load() {
					behind.Add(1)
				}
				if _, err := dc.Messages().Fetch(ctx); err != nil {
					late.Store(true)
					leave()
				}
				return dc.Ack()
			})
			result := explored(t, s, explore.Options{Workers: 1, Budget: time.Hour, Faults: []turn.FaultKind{turn.StorageBefore}, Now: func() time.Time {
				if late.Load() {
					return fakes.Epoch.Add(time.Hour)
				}
				return fakes.Epoch
			}})
			assert.True(t, late.Load())
			assert.Zero(t, behind.Load(), "runs behind the budget")
			assert.Contains(t, strings.Join(result.NotCovered, "\n"), "the budget of 1h0m0s was used up")
		})
	}
}

// The exploration also ends if the undisturbed turn hangs.
func TestUndisturbedHang(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	result := endsOfItself(t, executing("never", func(context.Context, *adk.DispatchContext, *adk.Helpers) error { <-never; return nil }), explore.Options{})
	require.Len(t, result.Violations, 1, result)
	assert.Equal(t, "undisturbed", result.Violations[0].Schedule.String())
}

// A run that was left behind may hold something that the next run needs. The report says so, and
// accuses no run of what another run did.
func TestStateOfALostRun(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	var global sync.Mutex
	s := executing("global", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		global.Lock()
		if _, err := dc.Messages().Fetch(ctx); err != nil {
			global.Lock() // forgets that it already holds the lock
		}
		global.Unlock()
		return dc.Ack()
	})
	result := endsOfItself(t, s, explore.Options{Workers: 1})
	require.Len(t, result.Violations, 1, result)
	assert.Contains(t, strings.Join(result.NotCovered, "\n"), "keeps what every run needs")
}

// RUN-5: an idle HTTP connection does not prevent a run from counting as stuck. If code waits for a goroutine
// that has failed and never answers, it waits until its caller leaves. A hint says where it waits, and the
// exploration continues.
func TestWhoStandsStillBesideAConnection(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "pens") }))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: adkhttp.NewTransport(nil)}
	t.Cleanup(client.CloseIdleConnections)
	look := func(ctx context.Context) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			return "", err
		}
		res, err := client.Do(req)
		if err != nil {
			return "", err
		}
		text, err := io.ReadAll(res.Body)
		return string(text), errors.Join(err, res.Body.Close())
	}
	asking := func(name string, room int) turn.Subject {
		return executing(name, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			found, failed := make(chan string), make(chan error, room)
			go func() {
				text, err := look(ctx) // runs after the turn if its caller leaves early
				if err != nil {
					failed <- err
					return
				}
				select {
				case found <- text:
				case <-ctx.Done():
				}
			}()
			wait := failed
			if room == 0 {
				wait = nil
			}
			select {
			case <-found:
				return dc.Ack()
			case err := <-wait:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
	const hint = "a turn does not stand still by itself"
	result := explored(t, asking("hears of no failure", 0), explore.Options{})
	assert.Greater(t, result.Schedules, 30, result)
	assert.Empty(t, says(result, "hang: "))
	found := slices.DeleteFunc(slices.Clone(result.Hints), func(b explore.Breach) bool { return b.Invariant != hint })
	if assert.Len(t, found, 1, result) {
		assert.Contains(t, found[0].Text, "chan send in explore_test.TestWhoStandsStillBesideAConnection")
		assert.Contains(t, found[0].Text, "select in explore_test.TestWhoStandsStillBesideAConnection")
		assert.NotContains(t, found[0].Text, "persistConn")
	}
	log := &recorder{T: t}
	explore.Test(log, asking("hears of no failure", 0), explore.Options{})
	assert.Regexp(t, `was\s+open:\n +chan send in\s+explore_test.TestWhoStandsStillBesideAConnection`, log.logs[0], "in what it stands")
	result = explored(t, asking("hears of it", 1), explore.Options{})
	assert.Empty(t, result.Violations, result)
	assert.Zero(t, result.Waited)
	assert.False(t, slices.ContainsFunc(result.Hints, func(b explore.Breach) bool { return b.Invariant == hint }), result)
}

// backsOff waits before a retry as clients do: on a timer of the machine, or until the turn is over.
func backsOff(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Code that waits on the machine's clock before it retries is judged like any other, because nothing else runs
// meanwhile. If other strands run meanwhile, the report says that less is known.
func TestWaitsByTheMachinesClock(t *testing.T) {
	t.Parallel()
	pays := func(ctx context.Context) (err error) {
		for try := range 2 {
			if try > 0 {
				if err := backsOff(ctx); err != nil {
					return err
				}
			}
			_, err = adk.Ask(ctx, "pay", adk.NewID(ctx), func(context.Context, string) (bool, error) { return true, nil }, adk.AskOptions{Effect: adk.EffectWrites})
			if err == nil {
				return nil
			}
		}
		return err
	}
	alone := turn.Subject{Name: "retry", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if err := pays(ctx); err != nil {
				return err
			}
			return dc.Ack()
		}
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}}
	some := explore.Options{Faults: []turn.FaultKind{turn.AskLost}, UsualInput: true}
	x := explored(t, alone, some)
	assert.NotEmpty(t, says(x, "pay was asked 2 times to write the same"), "%s", x)
	assert.Empty(t, x.NotCovered[1:], "but for the other faults")

	strands := pair("one for the other", func() *chan int { ch := make(chan int); return &ch }, func(ctx context.Context, _ *adk.DispatchContext, paid *chan int, n int) error {
		if n == 0 {
			<-*paid
			return nil
		}
		defer close(*paid)
		return pays(ctx)
	})
	x = explored(t, strands, some)
	assert.Contains(t, strings.Join(x.NotCovered, "\n"), "a strand waits there outside the engine")
}

// A goroutine of user code may fork strands and wait for them while another goroutine waits for a slow answer.
// These goroutines belong to no strand, so their waiting takes no strand's turn.
func TestGoroutinesThatForkAndWait(t *testing.T) {
	t.Parallel()
	asks := func(ctx context.Context, of string) error {
		_, err := adk.Ask(ctx, of, "q", func(context.Context, string) (bool, error) {
			<-time.After(time.Millisecond) // a server takes some time too
			return true, nil
		}, adk.AskOptions{Effect: adk.EffectReads})
		return err
	}
	run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var tools sync.WaitGroup
		var errs [2]error
		tools.Go(func() { errs[0] = asks(ctx, "mcp") })
		tools.Go(func() {
			var strands []*adk.Strand
			for _, n := range []string{"1", "2", "3"} {
				s, err := dc.Fork(ctx, n, func(ctx context.Context, _ *adk.DispatchContext) error {
					if err := asks(ctx, "i"+n); err != nil || n != "2" {
						return err
					}
					if err := adk.Sleep(ctx, time.Second); err != nil {
						return err
					}
					return asks(ctx, "i2")
				})
				if err != nil {
					errs[1] = err
					return
				}
				strands = append(strands, s)
			}
			for _, s := range strands {
				errs[1] = cmp.Or(errs[1], s.Wait())
			}
		})
		tools.Wait()
		if err := cmp.Or(ctx.Err(), errs[0], errs[1]); err != nil {
			return err
		}
		return dc.Ack()
	}
	x := explored(t, turn.Subject{Name: "tools", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}}, explore.Options{Faults: []turn.FaultKind{turn.AskSlow}, UsualInput: true})
	assert.Empty(t, x.Violations, "%s", x)
}

// A write that is sent again with a new idempotency key each time is done twice. The report then says that the
// keys differ, because the code does send a key.
func TestAnotherKeyEachTimeIsSaid(t *testing.T) {
	for key, text := range map[bool]string{true: "pay was asked 2 times to write the same, each time with another idempotency key;", false: "pay was asked 2 times to write the same;"} {
		subject := turn.Subject{Name: "till", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
			run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				err := errors.New("not tried")
				for try := 0; try < 2 && err != nil; try++ {
					o := adk.AskOptions{Effect: adk.EffectWrites}
					if key {
						o.Key = fmt.Sprint("try ", try)
					}
					_, err = adk.Ask(ctx, "pay", 40, func(context.Context, int) (bool, error) { return true, nil }, o)
				}
				return errors.Join(err, dc.Ack())
			}
			return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
		}}
		result := explored(t, subject, explore.Options{Faults: []turn.FaultKind{turn.AskLost}, UsualInput: true})
		assert.NotEmpty(t, says(result, text), "%s", result)
	}
}
