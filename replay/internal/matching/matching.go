// Package matching finds which recorded step each step of a new run stands for.
package matching

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/siblings"
	"github.com/adkreplay/adkreplay/replay/internal/subjects"
)

// Matcher matches the steps of two runs.
type Matcher struct {
	Known    wire.Comparer
	Callers  *codeplace.Callers // where user code called the operations of the new run
	Recorded []*adk.Crossing    // the recording
	Asks     map[int]int        // the recorded ask whose answer each new ask got, by their numbers; 0 is none
	NewSeq   []int              // the new crossing of each recorded call, return and operation; 0 is none; nil if not known

	records map[string]bool // of the recording, in the form of compare.RecordText; made when needed
}

// Match finds the recorded step for each new one. It pairs steps that make the same id, then steps
// that are equal in all that user code gave, then steps about the same thing, then the other steps
// of one kind; among equal steps, the first with the first. Steps at the beginning and the end that
// are equal one by one, as most steps of most runs are, are paired before that without computing
// keys.
func (m *Matcher) Match(want, got []*calls.Step) map[*calls.Step]*calls.Step {
	matched := make(map[*calls.Step]*calls.Step, len(got))
	for len(want) > 0 && len(got) > 0 && m.alike(want[0], got[0]) {
		matched[got[0]] = want[0]
		want, got = want[1:], got[1:]
	}
	for len(want) > 0 && len(got) > 0 && m.endAlike(want[len(want)-1], got[len(got)-1]) {
		matched[got[len(got)-1]] = want[len(want)-1]
		want, got = want[:len(want)-1], got[:len(got)-1]
	}
	taken := map[*calls.Step]bool{}
	for g, w := range m.siblings(want, got) {
		matched[g], taken[w] = w, true
	}
	if was, is := subjects.Pauses(want), subjects.Pauses(got); len(was) == len(is) && !slices.ContainsFunc(is, func(g *calls.Step) bool { return m.Callers.IsApart(g.X) }) {
		for i, g := range is { // their length does not tell them apart: 20, 40, 80 may be 40, 80, 160 now
			matched[g], taken[was[i]] = was[i], true
		}
	}
	asks := make(map[int]*calls.Step) // by number
	for _, w := range want {
		if w.IsAsk() {
			asks[w.X.Seq] = w
		}
	}
	for _, g := range got {
		if w := asks[m.Asks[g.X.Seq]]; w != nil {
			matched[g], taken[w] = w, true
		}
	}
	m.readings(want, got, matched, taken)
	first := 0 // the first one that is not taken
	for _, key := range []func(*calls.Step) string{subjects.MadeID, m.whole, subjects.Of, subjects.Kind} {
		open := map[string][]*calls.Step{}
		for _, w := range want {
			if !taken[w] {
				if k := key(w); k != "" {
					open[k] = append(open[k], w)
				}
			}
		}
		for _, g := range got {
			if matched[g] != nil || m.IsUnanswered(g) {
				continue
			}
			for first < len(want) && taken[want[first]] {
				first++
			}
			k := key(g)
			if list := open[k]; k != "" && len(list) > 0 && (list[0] == want[first] || !m.isBesides(list[0], g)) {
				matched[g], open[k] = list[0], list[1:]
				taken[list[0]] = true
			}
		}
	}
	return matched
}

// readings pairs each reading of the clock with the recorded one whose time it got. All readings
// are equal, so the first need not stand for the first where today's code reads the clock less
// often.
func (m *Matcher) readings(want, got []*calls.Step, matched map[*calls.Step]*calls.Step, taken map[*calls.Step]bool) {
	if m.NewSeq == nil {
		return
	}
	at := map[int]*calls.Step{}
	for _, g := range got {
		if matched[g] == nil && wire.TellsTime(g.X) {
			at[g.X.Seq] = g
		}
	}
	for _, w := range want {
		if g := at[m.NewSeq[w.X.Seq]]; g != nil && !taken[w] && wire.TellsTime(w.X) {
			matched[g], taken[w] = w, true
		}
	}
}

// isBesides reports whether a new step is about another recorded thing than a recorded step of its
// kind. If the recorded step may still come, the new one is then an additional one.
func (m *Matcher) isBesides(w, g *calls.Step) bool {
	if m.records == nil {
		m.records = map[string]bool{}
		for _, x := range m.Recorded {
			m.records[compare.RecordText(x.Record)] = x.Record != nil
		}
	}
	key := compare.RecordText(g.X.Record)
	return key != compare.RecordText(w.X.Record) && m.records[key]
}

// endAlike is alike for two steps after which all are equal. A step by a goroutine, or one that got
// another ask's answer, is left to Match, because it may stand for another recorded step.
func (m *Matcher) endAlike(w, g *calls.Step) bool {
	recorded, asks := m.Asks[g.X.Seq]
	return !m.Callers.IsApart(g.X) && (!asks || recorded == w.X.Seq) && m.alike(w, g)
}

// siblings are the recorded dispatches for those that goroutines began at the same time, as far as
// what was done in them shows it.
func (m *Matcher) siblings(want, got []*calls.Step) map[*calls.Step]*calls.Step {
	var begun, recorded []*calls.Step
	for _, g := range got {
		if wire.IsDispatched(g.X) && m.Callers.IsApart(g.X) {
			begun = append(begun, g)
		}
	}
	if len(begun) == 0 || m.NewSeq == nil { // a run in the recorded order has them in that order
		return nil
	}
	for _, w := range want {
		if wire.IsDispatched(w.X) {
			recorded = append(recorded, w)
		}
	}
	return siblings.Pair(m.Known, recorded, begun, m.NewSeq)
}

// IsUnanswered reports whether a step asks for something and got no recorded answer: it then stands
// for no recorded ask, however similar the two are.
func (m *Matcher) IsUnanswered(g *calls.Step) bool {
	recorded, asks := m.Asks[g.X.Seq]
	return asks && recorded == 0
}

func (m *Matcher) whole(s *calls.Step) string { return subjects.Whole(m.Known, s) }

// alike reports whether two steps have the same key of whole, without computing it.
func (m *Matcher) alike(w, g *calls.Step) bool {
	if w.In.Strand != g.In.Strand || w.X.Kind != g.X.Kind || w.X.Phase != g.X.Phase || w.Waits() != g.Waits() {
		return false
	}
	if w.X.Kind == adk.KindCall {
		return !m.Callers.IsApart(g.X) && w.X.Seam == g.X.Seam && w.X.Key == g.X.Key && compare.RecordText(w.X.Record) == compare.RecordText(g.X.Record)
	}
	if id := wire.MadeID(g.X); id != "" && id != wire.MadeID(w.X) && m.Callers.IsApart(g.X) {
		return false // another goroutine made it
	}
	operation := w.X.Kind.Class() == adk.ClassOperation
	for _, use := range w.X.Kind.Fields(w.X.Phase) {
		ignored := use.Field == adk.FieldDigest
		if operation {
			ignored = !use.Input || use.Names == adk.MadeID
		}
		if !ignored && !m.Known.Same(use.Field, w.X, g.X) {
			return false
		}
	}
	return true
}
