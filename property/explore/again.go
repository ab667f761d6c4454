package explore

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/steady"
)

// This file holds a run against another of the same schedule.

// unsteadyRun is what a run breaks that is another one the second time.
const unsteadyRun = "a run is the same every time"

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
		Text: "a second run of the same schedule made another crossing here" + steady.BothSides(first, second, at)}}
}

// looseOrder is what is said of a run that is another one because code asks from goroutines
// of its own.
const looseOrder = "code asks from goroutines of its own, and their order is the system's: strands (Fork) go on in an order that can be explored and run again"

// byChance is what is said of what some runs of a schedule show and others do not.
const byChance = "some runs of this schedule show it, and others do not"

// loosen has it be a hint that a run is not the same every time, where code asks from
// goroutines of its own: that is legal.
func (e *exploring) loosen(t *tried) {
	if !e.loose.Load() {
		return
	}
	rest := t.violations[:0:0]
	for _, v := range t.violations {
		if v.Invariant == unsteadyRun || v.Invariant == plainGoroutines {
			v.Text += "\n" + looseOrder
			t.hints = append(t.hints, v)
		} else {
			rest = append(rest, v)
		}
	}
	t.violations = rest
}

// plainGoroutines is the advice on goroutines that ask.
const plainGoroutines = "plain-goroutines"
