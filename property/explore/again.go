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

// This file holds a run against another of the same schedule.

// unsteadyRun is what a run breaks that is another one the second time.
const unsteadyRun = "a run is the same every time"

// suspects are what makes a run another one the second time, mostly.
const suspects = "Ids come from adk.NewID(ctx) or NewID of a handle, times from its Now, and what else is new each time, as a number of chance, is drawn with adk.Ask. The order of a map is another one, too."

// sameAgain holds the second run of a schedule against the first: it has to do the
// same (DET-2).
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

// notFirst holds the first run that is judged, of the undisturbed turn too, against the one before
// it: where that did something else, what it left is there for all others.
func (e *exploring) notFirst(n candidate, a *attempt, s *stall) {
	if e.undisturbed == nil || s != nil || a.passed() || n.cost > 0 || n.number > 0 || !n.input.IsZero() || n.script != nil || n.orders || n.random > 0 || len(n.picks) > 0 {
		return
	}
	if at, _ := steady.PartAt(e.undisturbed.Crossings, a.crossings); at >= 0 {
		e.first = strings.TrimSpace(steady.BothSides(e.undisturbed.Crossings, a.crossings, at))
	}
}

// looseOrder is what is said of a run that is another one because code asks from goroutines
// of its own.
const looseOrder = "code asks from goroutines of its own, and their order is the system's: strands (Fork) go on in an order that can be explored and run again"

// byChance is what is said of what some runs of a schedule show and others do not.
const byChance = "some runs of this schedule show it, and others do not"

// isLoose takes in whether code asks from goroutines of its own.
func (e *exploring) isLoose(a *attempt) {
	if a.hasOwnAsks() {
		e.ownAsks.Store(true)
	}
	if a.isLoose() {
		at := a.looseAt // which the next run forgets
		e.looseAt.CompareAndSwap(nil, &at)
		for _, seam := range a.seamsAsked() {
			e.looseIn.Store(seam, true)
		}
		e.loose.Store(true)
	}
}

// mayClose reports whether goroutines of user code asked in a seam call: one of them may yet
// close what it holds open.
func (e *exploring) mayClose(seam string) bool {
	s, err := adk.ParseSeam(seam)
	_, ok := e.looseIn.Load(anyIteration(s))
	return err != nil || ok
}

// anyCase is what is said of a run that is another one once its caller has left.
const anyCase = "its context has ended before: a select that waits for that too takes any of its cases that are ready"

// isLate reports whether a handle was used behind its call: who asks twice at once, and takes what comes
// first, leaves a goroutine behind that may ask with a context that it has ended.
func isLate(v property.Violation) bool {
	return v.Invariant == lateUse && strings.HasPrefix(v.Text, adk.LatePrefix)
}

// loosen has it be a hint that a run is not the same every time, or uses a handle late, where code asks from
// goroutines of its own, or its context has ended: that is legal. The advice on such goroutines comes in
// one run and not in another, and is left to what was not covered.
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

// endsContextBefore reports whether a fault ends the context of the run before a crossing.
func (n candidate) endsContextBefore(crossing int) bool {
	return slices.ContainsFunc(n.faults, func(f planned) bool { return endsContext(f.Kind) && f.At <= crossing })
}

// blame takes from a run's violations what was there before anything had gone wrong in it: where the
// order of crossings is the system's, that comes in one run and not in another, and no fault is to blame.
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

// ofThePast is the advice that is given at the crossing that shows it, whatever comes behind it.
var ofThePast = []string{"repeated-ask", "repeated-call", "secret-in-ask", "secret-told", lateUse}

func endsContext(k turn.FaultKind) bool {
	return k == turn.Cancel || k == turn.CancelAfter || k == turn.Deadline
}

// doubt has it be a hint what only one run of a schedule shows, where code asks from
// goroutines of its own: others of the schedule may do something else, but what never comes
// again nobody can reproduce. What is known was seen again.
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

// onceSeen is what is said of what was seen once.
const onceSeen = "one run of this schedule showed it, and no other one"

// again reports whether one more run of a schedule shows a violation.
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

// runShowing runs a schedule to show what it violates. Where that comes by chance it does so
// until it comes, and takes over at which crossing it then shows.
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

// mostResolved is in how many runs the crossing of a fault is looked for, where the order of
// crossings is the system's.
const mostResolved = 64

// resolveFault is resolve for a fault, behind those that a schedule has.
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

// looseness is what is not covered where goroutines of user code ask.
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

// plainGoroutines is the advice on goroutines that ask, unclosedAnswer that on answers which
// one of them may be about to close, and lateUse that on what one of them may do too late.
const (
	plainGoroutines = "plain-goroutines"
	unclosedAnswer  = "unclosed-answer"
	lateUse         = "contained-failure"
)
