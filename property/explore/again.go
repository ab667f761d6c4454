package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/steady"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file compares a run with another run of the same schedule.

// unsteadyRun is the invariant that a run breaks if it differs the second time.
const unsteadyRun = "a run is the same every time"

// suspects lists the most common reasons why a run differs the second time.
const suspects = "Ids come from adk.NewID(ctx) or NewID of a handle, times from its Now, and what else is new each time, as a number of chance, is drawn with adk.Ask. The order of a map is another one, too."

// sameAgain compares the second run of a schedule with the first: it must do the same (DET-2).
func sameAgain(first []adk.Crossing, b *attempt, s *stall) []property.Violation {
	if b.passed() {
		return nil // what strands do that are blocked outside the engine has no order
	}
	second := b.crossings
	if s != nil {
		second = nil
	}
	at, _ := steady.PartAt(first, second)
	if at < 0 {
		return nil
	}
	return []property.Violation{{Invariant: unsteadyRun, Rule: "DET-2", Crossing: at + 1, Seam: adk.LabelRun,
		Text: "a second run of the same schedule made another crossing here" + steady.BothSides(first, second, at) + "\n" + suspects}}
}

// notFirst compares the first judged run of the undisturbed turn with the run before it, which
// measured the turn. If they differ, the measured run has left something behind that affects all
// later runs.
func (e *exploring) notFirst(n candidate, a *attempt, s *stall) {
	if e.undisturbed == nil || s != nil || a.passed() || n.cost > 0 || n.number > 0 || !n.input.IsZero() || n.script != nil || n.orders || n.random > 0 || len(n.picks) > 0 {
		return
	}
	if at, _ := steady.PartAt(e.undisturbed.Crossings, a.crossings); at >= 0 {
		e.first = strings.TrimSpace(steady.BothSides(e.undisturbed.Crossings, a.crossings, at))
	}
}

// looseOrder explains a run that differs because code asks from goroutines of its own.
const looseOrder = "code asks from goroutines of its own, and their order is the system's: strands (Fork) go on in an order that can be explored and run again"

// byChance marks what some runs of a schedule show and others do not.
const byChance = "some runs of this schedule show it, and others do not"

// isLoose records whether code of a run asks from goroutines of its own.
func (e *exploring) isLoose(a *attempt) {
	if a.hasOwnAsks() {
		e.ownAsks.Store(true)
	}
	if a.isLoose() {
		at := a.looseAt // a copy, since the next run resets it
		e.looseAt.CompareAndSwap(nil, &at)
		for _, seam := range a.seamsAsked() {
			e.looseIn.Store(seam, true)
		}
		e.loose.Store(true)
	}
}

// mayClose reports whether several goroutines of user code asked in a call at this seam: one of
// them may still close what the call has left open.
func (e *exploring) mayClose(seam string) bool {
	s, err := adk.ParseSeam(seam)
	_, ok := e.looseIn.Load(anyIteration(s))
	return err != nil || ok
}

// anyCase explains a run that differs after its caller has left.
const anyCase = "its context has ended before: a select that waits for that too takes any of its cases that are ready"

// isLate reports whether a handle was used after its call. For example, code that asks twice in
// parallel and takes the first answer leaves a goroutine behind that may ask with an ended context.
func isLate(v property.Violation) bool {
	return v.Invariant == lateUse && strings.HasPrefix(v.Text, adk.LatePrefix)
}

// loosen turns violations into hints where they are legal. A run may differ the second time, or use
// a handle late, if code asks from goroutines of its own; it may also differ after its context has
// ended. The advice on such goroutines appears in some runs only and is dropped here, as NotCovered
// says it.
func (e *exploring) loosen(t *tried) {
	loose := e.loose.Load()
	rest := t.violations[:0:0]
	for _, v := range t.violations {
		switch {
		case loose && v.Invariant == plainGoroutines:
			continue
		case v.Invariant == unsteadyRun && e.ownAsks.Load(), v.Invariant == unclosedAnswer && e.mayClose(v.Seam), isLate(v) && e.ownAsks.Load():
			v.Text += "\n" + looseOrder
		case v.Invariant == unsteadyRun && t.candidate.endsContextBefore(v.Crossing):
			v.Text += "\n" + anyCase
		default:
			rest = append(rest, v)
			continue
		}
		t.hints = append(t.hints, v)
	}
	t.violations = rest
}

// endsContextBefore reports whether a fault ends the context of the run up to a crossing.
func (n candidate) endsContextBefore(crossing int) bool {
	return slices.ContainsFunc(n.faults, func(f planned) bool { return endsContext(f.Kind) && f.At <= crossing })
}

// blame moves the violations that occurred before any fault from t.violations to t.before. If the
// order of crossings is the system's, such violations come in some runs and not in others, and no
// fault is to blame.
func (e *exploring) blame(t *tried, a *attempt) {
	if !e.loose.Load() || len(t.candidate.faults) == 0 || len(t.candidate.picks) > 0 || !t.candidate.input.IsZero() || t.candidate.script != nil {
		return
	}
	first := len(a.crossings) + 1
	for _, f := range a.faults {
		if at := a.cameAt(f); at > 0 {
			first = min(first, at)
		}
	}
	t.violations = slices.DeleteFunc(t.violations, func(v property.Violation) bool {
		if v.Crossing >= first || !slices.Contains(ofThePast, v.Invariant) {
			return false
		}
		v.Text += "\n" + byChance
		t.before = append(t.before, v)
		return true
	})
}

// ofThePast lists the advice that is given at the crossing that shows it, whatever comes later.
var ofThePast = []string{"repeated-ask", "repeated-call", "secret-in-ask", "secret-told", lateUse}

func endsContext(k turn.FaultKind) bool {
	return k == turn.Cancel || k == turn.CancelAfter || k == turn.Deadline
}

// doubt turns a violation into a hint if only one run of its schedule shows it and code asks from
// goroutines of its own. Other runs of the schedule may differ, but what never occurs again cannot
// be reproduced. A violation that is already in the result is not run again.
func (e *exploring) doubt(t *tried) {
	if !e.loose.Load() {
		return
	}
	if slices.ContainsFunc(t.hints, func(v property.Violation) bool { return v.Invariant == unsteadyRun }) {
		e.swayed++
	}
	if e.reproducing || t.shown != nil {
		return
	}
	t.violations = slices.DeleteFunc(t.violations, func(v property.Violation) bool {
		if _, known := e.result.groups[groupOf(v)]; known || v.Crossing == 0 || e.again(t.candidate, v) {
			return false
		}
		v.Text += "\n" + onceSeen
		t.hints = append(t.hints, v)
		e.once++
		return true
	})
}

// onceSeen marks what only one run has shown.
const onceSeen = "one run of this schedule showed it, and no other one"

// again reports whether one of a few more runs of a schedule shows a violation.
func (e *exploring) again(n candidate, v property.Violation) (shown bool) {
	n.random = 0
	for range mostByChance {
		if e.over() {
			return false
		}
		e.workers[0].runAnd(n, false, false, func(a *attempt, s *stall) {
			if s != nil && s.kind != crashed {
				e.gaveUp(e.workers[0], n, s)
			}
			shown = showing(e.judge(a, n, s), v)
		})
		if shown {
			return true
		}
	}
	return false
}

// runShowing runs a schedule to show what it violates. If the violation occurs
// nondeterministically, it runs the schedule up to mostByChance times until the violation occurs,
// and updates v with the crossings of that run.
func (e *exploring) runShowing(n candidate, v *property.Violation) (a *attempt, s *stall) {
	if !e.loose.Load() {
		return e.workers[0].run(n, true, false)
	}
	for at := range longestRun(e.workers[0].usual.crossings) {
		n.lines = append(n.lines, at)
	}
	shown := false
	for range mostByChance {
		a, s = e.workers[0].runAnd(n, true, false, func(a *attempt, s *stall) {
			t := e.judge(a, n, s)
			all := append(t.violations, t.hints...)
			if at := slices.IndexFunc(all, func(o property.Violation) bool { return groupOf(o) == groupOf(*v) }); at >= 0 {
				shown, v.Crossing, v.Related = true, all[at].Crossing, all[at].Related
			}
		})
		if shown || s != nil || e.over() {
			break
		}
	}
	return a, s
}

// mostResolved is in how many runs the crossing of a fault is looked for, if the order of crossings
// is the system's.
const mostResolved = 64

// resolveFault resolves a fault in a run of the schedule n, which has the earlier faults.
func (e *exploring) resolveFault(n candidate, f turn.Fault) (found planned, err error) {
	for range mostResolved {
		a, _ := e.workers[0].run(n, true, false)
		if found, err = a.resolve(f); err == nil || !e.loose.Load() || e.over() {
			return found, err
		}
	}
	return found, fmt.Errorf("%w: %s", err, looseOrder)
}

func showing(t tried, v property.Violation) bool {
	return slices.ContainsFunc(append(t.violations, t.hints...), func(o property.Violation) bool { return groupOf(o) == groupOf(v) })
}

// looseness says what is not covered because goroutines of user code ask.
func (e *exploring) looseness() (all []string) {
	if at := e.looseAt.Load(); e.loose.Load() && at != nil {
		text := "orders that goroutines of user code's own did not come in: they ask, or dispatch"
		if *at != "" {
			text += ", " + *at
		}
		if e.swayed > 0 {
			text += "; " + inWords(e.swayed, "schedule") + " went another way than the run that they were made of"
		}
		all = append(all, text+". Strands (Fork) go on in an order that can be explored and run again")
	}
	if e.once > 0 {
		all = append(all, "what "+inWords(e.once, "schedule")+" showed in one run, and in no other: see the hints")
	}
	return all
}

// plainGoroutines is the advice on goroutines that ask. unclosedAnswer is the advice on answers
// that one of them may be about to close, and lateUse on what one of them may do too late.
const (
	plainGoroutines = "plain-goroutines"
	unclosedAnswer  = "unclosed-answer"
	lateUse         = "contained-failure"
)
