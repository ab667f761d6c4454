package explore_test

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// A violation is reported with the fewest messages that show it, even if more messages were tried
// first.
func TestFewestMessages(t *testing.T) {
	s := remembering("many", 2, func([]*adk.Message) error { return nil })
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReturn && len(x.Records) > 8 {
				return errors.New("more than eight")
			}
		}
		return nil
	}
	found := says(explored(t, s, explore.Options{}), "more than eight")
	require.Len(t, found, 1)
	assert.Equal(t, "older@7", found[0].Schedule.String())
}

// lastFirst returns a subject whose bug needs the last of many strands to come before the first.
func lastFirst() turn.Subject {
	return turn.Subject{Name: "last first", Open: func(context.CancelCauseFunc) turn.Instance {
		var mu sync.Mutex // with the race detector on, the strands run concurrently
		var came []int
		s := executing("", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var strands []*adk.Strand
			for n := range 6 {
				one, err := dc.Fork(ctx, "worker", func(ctx context.Context, dc *adk.DispatchContext) error {
					_, err := dc.Memories().Fetch(ctx)
					mu.Lock()
					came = append(came, n)
					mu.Unlock()
					return errors.Join(err, dc.Memories().Mutate(ctx, noted(fmt.Sprint(n), "x")))
				})
				if err != nil {
					return err
				}
				strands = append(strands, one)
			}
			for _, one := range strands {
				if err := one.Wait(); err != nil {
					return err
				}
			}
			return dc.Ack()
		})
		config, raw := s.Build(nil)
		return turn.Instance{Config: config, Raw: raw, Check: func(turn.Run) error {
			for _, n := range came {
				switch n {
				case 0:
					return nil
				case 5:
					return errors.New("the last came before the first")
				}
			}
			return nil
		}}
	}}
}

// A random order is reduced to the decisions that matter, and the violation needs each one of
// them.
func TestFewestDecisions(t *testing.T) {
	result := explored(t, lastFirst(), explore.Options{Faults: []turn.FaultKind{}, Schedules: 150})
	found := says(result, "the last came before the first")
	require.Len(t, found, 1, result)
	order := found[0].Schedule.Order
	assert.Len(t, order, 1, found[0].Schedule)
	for i := range order {
		without := turn.Schedule{Order: append(append([]turn.Decision(nil), order[:i]...), order[i+1:]...)}
		again, err := explore.RunSchedule(t.Context(), lastFirst(), without, explore.Options{})
		if err == nil { // otherwise the shorter schedule is not even possible
			assert.Empty(t, says(again, "the last came before the first"), "%s shows it too", without)
		}
	}
	failing := &recorder{T: t}
	explore.Reproduce(failing, lastFirst(), found[0].Schedule.String())
	assert.NotEmpty(t, failing.errors)
}

// A violation can be written down as a Go test.
func TestGoTest(t *testing.T) {
	found := says(explored(t, torn(false), explore.Options{}), "half a memory")
	require.Len(t, found, 1)
	text := found[0].GoTest()
	_, err := parser.ParseFile(token.NewFileSet(), "torn_test.go", "package torn\n\n"+text, parser.SkipObjectResolution)
	require.NoError(t, err, text)
	assert.Regexp(t, `^// TestTheCheckGivenError\d+: the check given: half a memory\n//\n//\terror@\d+: user code fails at "fault point between the rows"`, text)
	assert.Contains(t, text, "\t"+found[0].Test+"\n}\n")
}

// Shortening ends with the budget, as the search before it does, and what was found is still reported.
func TestShorteningHasABudget(t *testing.T) {
	var opened atomic.Int64
	s := lastFirst()
	open := s.Open
	s.Open = func(cancel context.CancelCauseFunc) turn.Instance {
		opened.Add(1)
		return open(cancel)
	}
	runs := func() time.Time { return time.Unix(opened.Load(), 0) } // each run takes a second
	search := func(budget time.Duration) (searched, all int64) {
		opened.Store(0)
		result := explored(t, s, explore.Options{Faults: []turn.FaultKind{}, Schedules: 150, Workers: 1, Free: -1, Now: runs, Budget: budget,
			Progress: func(int, int) { searched = opened.Load() }})
		assert.Len(t, says(result, "the last came before the first"), 1, result)
		return searched, opened.Load()
	}
	searched, all := search(0)
	const show = 8 // the runs needed to repeat a schedule for comparison, and to show it
	require.Greater(t, all, searched+3*show)
	within, cut := search(time.Duration(searched) * time.Second)
	assert.Equal(t, searched, within)
	assert.LessOrEqual(t, cut, searched+show)
}

// The explorer looks for what schedules leave behind, and reports progress, first after some dozens of runs,
// then whenever the number of runs has doubled, and at least after each thousand.
func TestFirstLooks(t *testing.T) {
	var told []int
	explored(t, named(t, "hello"), explore.Options{Bound: 2, Workers: 1, Free: -1, Progress: func(run, _ int) { told = append(told, run) }})
	require.Greater(t, len(told), 3)
	last := 1 // the run of the undisturbed turn
	for _, run := range told[1:] {
		assert.LessOrEqual(t, run-last, min(1024, max(64, last)), "%v", told)
		last = run
	}
	assert.Equal(t, []int{1, 65}, told[:2])
}

// A check may use what Open made, because Close is called only after the run is judged. This also holds while a
// schedule is shortened, and while the explorer tests whether the check only knows the usual text.
func TestChecksComeBeforeClose(t *testing.T) {
	subject := func(wrong func(given int, prompt string) bool) turn.Subject {
		return turn.Subject{Name: "a file", Open: func(cancel context.CancelCauseFunc) turn.Instance {
			prompt, twice, closed := "", false, false
			s := remembering("a file", 3, func(given []*adk.Message) error {
				twice = wrong(len(given), prompt)
				return nil
			})
			config, raw := s.Build(cancel)
			run := config.Executor.Run
			config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				prompt = dc.SystemPrompt().String()
				return run(ctx, dc, h)
			}
			return turn.Instance{Config: config, Raw: raw, Close: func() { closed = true }, Check: func(turn.Run) error {
				switch {
				case closed:
					return errors.New("the file is closed")
				case twice:
					return errors.New("it is written twice")
				}
				return nil
			}}
		}}
	}
	result := explored(t, subject(func(given int, _ string) bool { return given > 4 }), explore.Options{})
	found := says(result, "it is written twice")
	require.Len(t, found, 1, result)
	assert.Equal(t, "older@2", found[0].Schedule.String(), "the fewest that show it")

	result = explored(t, subject(func(_ int, prompt string) bool { return strings.Contains(prompt, "%") }), explore.Options{})
	assert.Len(t, says(result, "it is written twice"), 1, result)
	assert.Empty(t, result.Hints)
}

// A check that panics is one violation, with the line that panicked, and the exploration continues.
func TestChecksThatPanic(t *testing.T) {
	s := remembering("many", 2, func([]*adk.Message) error { return nil })
	s.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReturn && len(x.Records) > 2 {
				panic("the database is closed")
			}
		}
		return nil
	}
	found := says(explored(t, s, explore.Options{}), "it panicked: the database is closed")
	require.Len(t, found, 1)
	assert.Regexp(t, `closed, in explore_test\.TestChecksThatPanic\.func2-range1 at property/explore/shorten_test\.go:\d+`, found[0].Text)
}

// An agent's own goroutines come in an order that no schedule determines. What goes wrong because of it is
// reported of the undisturbed turn, and not of the fault that was tried when it first showed.
func TestWhatComesByChanceIsNoFaults(t *testing.T) {
	runs := 0
	s := turn.Subject{Name: "by chance", Open: func(context.CancelCauseFunc) turn.Instance {
		runs++
		wrong := runs > 12 && runs%3 == 0 // takes the place of an order that the system chooses
		built := executing("by chance", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() { _, _ = dc.Memories().Fetch(ctx) })
			}
			all.Wait()
			return dc.Ack()
		})
		config, raw := built.Build(nil)
		return turn.Instance{Config: config, Raw: raw, Check: func(turn.Run) error {
			if wrong {
				return errors.New("results of the wrong orders")
			}
			return nil
		}}
	}}
	found := says(explored(t, s, explore.Options{Workers: 1}), "results of the wrong orders")
	require.Len(t, found, 1)
	assert.Equal(t, "undisturbed", found[0].Schedule.String())
	assert.Contains(t, found[0].Text, "some runs of this schedule show it, and others do not")
}

// Every run of the undisturbed turn is judged. What goes wrong in one of them is not reported of a schedule
// that ran later.
func TestTheUndisturbedTurnIsJudgedEachTime(t *testing.T) {
	runs := 0
	s := executing("now and then", func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() })
	s.Check = func(turn.Run) error {
		if runs++; runs%3 == 0 {
			return errors.New("it is written twice")
		}
		return nil
	}
	found := says(explored(t, s, explore.Options{Workers: 1}), "it is written twice")
	require.Len(t, found, 1)
	assert.Equal(t, "undisturbed", found[0].Schedule.String())
}
