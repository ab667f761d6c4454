package explore

import (
	"context"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/turn"
)

// checkReturns is what a check breaks for which half of the time is waited, and in vain.
const checkReturns = "a check comes to its end"

// This file bounds what code of a subject's does beside its runs, which nobody watches: its
// checks, and what closes what it has opened.

// check asks the subject's checks about a run. That they were waited for is their fault where
// they had half of the budget; for less they are left out.
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

// closing is a subject whose Close is waited for until that is late.
func (e *exploring) closing(s turn.Subject) turn.Subject {
	open := s.Open
	if open == nil { // what Build makes has none
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
