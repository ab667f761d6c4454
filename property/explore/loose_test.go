package explore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// asksTwo asks for two things concurrently, from goroutines of its own. One waits for the other, and first
// says which of the two.
func asksTwo(ctx context.Context, first bool) error {
	var group sync.WaitGroup
	errs := make([]error, 2)
	gate := make(chan struct{})
	for i, what := range []string{"tea", "milk"} {
		group.Go(func() {
			if (i == 0) == first {
				<-gate
			}
			_, errs[i] = adk.Ask(ctx, "search", what, func(context.Context, string) (string, error) { return "found", nil })
			if (i == 0) != first {
				close(gate)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// An agent's own goroutines may ask, and the system decides their order. If a run differs because of that
// order, the report says once that the orders are not covered. Code that differs for another reason is
// accused.
func TestOwnGoroutinesAreNoUnsteadiness(t *testing.T) {
	var mu sync.Mutex
	runs := 0
	turns := func() bool {
		mu.Lock()
		defer mu.Unlock()
		runs++
		return runs%2 == 0
	}
	loose := executing("asks at once", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if err := asksTwo(ctx, turns()); err != nil {
			return err
		}
		return dc.Ack()
	})
	result := explored(t, loose, explore.Options{Workers: 1})
	assert.Empty(t, result.Violations, result)
	for _, h := range result.Hints {
		assert.NotEqual(t, "a run is the same every time", h.Invariant, "it is said once")
	}
	assert.Contains(t, fmt.Sprint(result.NotCovered), "orders that goroutines of user code's own did not come in")
	log := &recorder{T: t}
	explore.Test(log, loose, explore.Options{Workers: 1})
	assert.Contains(t, log.logs[0], "\n  not covered: orders that goroutines of ", "the log of a test has it")
	assert.Regexp(t, `Strands\s+\(Fork\)`, log.logs[0], "and what to do")
	unsteady := executing("asks in turns", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		all := []string{"tea", "milk"}
		if turns() {
			all = []string{"milk", "tea"}
		}
		for _, what := range all {
			if _, err := adk.Ask(ctx, "search", what, func(context.Context, string) (string, error) { return "found", nil }); err != nil {
				return err
			}
		}
		return dc.Ack()
	})
	assert.NotEmpty(t, explored(t, unsteady, explore.Options{Workers: 1}).Violations)
}

// If code asks from goroutines of its own, the report says so once, under what is not covered, with what to do:
// the advice on plain goroutines would come in one run and not in another. A hint they may cause says so.
func TestOwnGoroutinesAreNotCoveredAndNoHint(t *testing.T) {
	s := executing("asks at once where it has to", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, missing := adk.Ask(ctx, "stock", "tea", func(context.Context, string) (string, error) { return "there", nil })
		first, second, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		var group sync.WaitGroup
		errs := make([]error, 2)
		group.Go(func() {
			defer close(done)
			_, errs[0] = adk.Ask(ctx, "search", "tea", func(context.Context, string) (string, error) {
				if close(first); missing != nil {
					<-second
				}
				return "found", nil
			})
		})
		group.Go(func() {
			if missing == nil {
				<-done
			} else {
				<-first
			}
			_, errs[1] = adk.Ask(ctx, "search", "milk", func(context.Context, string) (string, error) {
				close(second)
				<-done
				return "found", nil
			})
		})
		group.Wait()
		return errors.Join(errs[0], errs[1], dc.Ack())
	})
	result := explored(t, s, explore.Options{Workers: 1, UsualInput: true, Faults: []turn.FaultKind{turn.AskFailed, turn.AskRefused}})
	for _, b := range append(result.Violations, result.Hints...) {
		assert.NotEqual(t, "plain-goroutines", b.Invariant, b)
	}
	assert.Contains(t, strings.Join(result.NotCovered, " "), "loose_test.go:")
}

// askingInTurns asks for two things in two goroutines. In a few runs the second ask differs: it comes only after
// the call whose handle it uses has ended or, if again is set, it repeats the first question.
func askingInTurns(again bool) turn.Subject {
	runs := 0
	return turn.Subject{Name: "two at once", Open: func(context.CancelCauseFunc) turn.Instance {
		runs++
		odd := runs%4 == 0
		if again { // in two runs in a row, and rarely
			odd = runs%40 == 20 || runs%40 == 21
		}
		over := make(chan struct{})
		var group sync.WaitGroup
		end := sync.OnceFunc(func() { close(over); group.Wait() })
		ask := func(ctx context.Context, what string) error {
			_, err := adk.Ask(ctx, "search", what, func(context.Context, string) (string, error) { return "found", nil })
			return err
		}
		run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			own, cancel := context.WithCancel(ctx)
			defer cancel()
			answers := make(chan error, 2)
			group.Go(func() { answers <- ask(own, "tea") })
			err := <-answers
			group.Go(func() {
				what := "milk"
				switch {
				case again && odd:
					what = "tea"
				case odd:
					<-over
				}
				answers <- ask(own, what)
			})
			if again || !odd {
				err = errors.Join(err, <-answers)
			}
			dc.Log(adk.LevelInfo, "asked", "both", nil)
			if err != nil {
				return err
			}
			return dc.Ack()
		}
		return turn.Instance{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage(),
			TurnOutput: []adk.TurnMiddleware{{Name: "end", Run: func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error {
				end()
				next(ctx)
				return nil
			}}}}, Raw: adk.RawTurn{SystemPrompt: "Help."}, Close: end}
	}}
}

// Code that asks in two goroutines and returns on the first answer sometimes leaves the other to ask after its
// call has ended, with a context that has ended. That is a hint, with the line that asks so late.
func TestWhoAsksTooLateFromAGoroutine(t *testing.T) {
	result := explored(t, askingInTurns(false), explore.Options{Workers: 1, UsualInput: true})
	assert.Empty(t, result.Violations, result)
	at := slices.IndexFunc(result.Hints, func(b explore.Breach) bool { return strings.HasPrefix(b.Text, "late ask: ") })
	if assert.GreaterOrEqual(t, at, 0, result) {
		assert.Contains(t, strings.Join(result.Hints[at].Code, "\n"), "shows in explore_test.TestWhoAsksTooLateFromAGoroutine.askingInTurns")
	}
	log := &recorder{T: t}
	explore.Test(log, askingInTurns(false), explore.Options{Workers: 1, UsualInput: true})
	assert.Regexp(t, `late ask: (?s:.*)\n +shows in\s+explore_test\S+askingInTurns`, log.logs[0])
}

// What a run shows before its fault is not caused by the fault. If it happens only in some runs, it is a
// hint about the undisturbed turn.
func TestNoFaultIsToBlameForWhatWasBefore(t *testing.T) {
	result := explored(t, askingInTurns(true), explore.Options{Workers: 1, UsualInput: true, Faults: []turn.FaultKind{turn.Cancel, turn.CancelAfter, turn.Deadline, turn.Panic}})
	for _, b := range result.Violations {
		assert.False(t, b.Invariant == "repeated-ask" && len(b.Schedule.Faults) > 0 && b.Schedule.Faults[0].At > b.Crossing, b)
	}
	at := slices.IndexFunc(result.Hints, func(b explore.Breach) bool { return b.Invariant == "repeated-ask" })
	if assert.GreaterOrEqual(t, at, 0, result) {
		assert.Empty(t, result.Hints[at].Schedule.Faults)
		assert.Contains(t, result.Hints[at].Text, "some runs of this schedule show it")
	}
}
