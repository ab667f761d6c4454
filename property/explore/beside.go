package explore

import (
	"context"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/turn"
)

// checkReturns is the invariant of a check that has not returned after half of the budget.
const checkReturns = "a check comes to its end"

// This file bounds the code of a subject that runs outside of its turns and that the watcher does
// not watch: its checks, and its Close.

// check runs the subject's checks on a run. A check that has not returned when time is up is
// reported if it had at least half of the budget. Otherwise its result is left out, and NotCovered
// says so.
func (e *exploring) check(i turn.Instance, run turn.Run, length int) []property.Violation {
	if !e.subject.IsJudged(i) {
		return nil
	}
	var err error
	fails := []property.Violation{{Crossing: length + 1, Seam: adk.LabelRun}}
	begun := time.Now()
	switch ended := e.limit.Wait(func() { err = watchdog.Recovered(func() error { return e.subject.Judge(i, run) }) }); {
	case ended && err == nil:
		return nil
	case ended:
		fails[0].Invariant, fails[0].Text = checkGiven, err.Error()
	case time.Since(begun) >= max(2*overtimeGrace, e.options.Budget/2):
		fails[0].Invariant, fails[0].Text = checkReturns, "it had not returned when time was up"
	default:
		e.left.Store(true)
		return nil
	}
	return fails
}

// closing returns the subject with a Close that is waited for only as long as the limit allows.
func (e *exploring) closing(s turn.Subject) turn.Subject {
	open := s.Open
	if open == nil { // Build makes nothing that is closed
		return s
	}
	s.Open = func(cancel context.CancelCauseFunc) turn.Instance {
		i := open(cancel)
		if end := i.Close; end != nil {
			i.Close = func() {
				if !e.limit.Wait(end) {
					e.left.Store(true)
				}
			}
		}
		return i
	}
	return s
}
