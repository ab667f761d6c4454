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
	Callers  *codeplace.Callers // who made the operations of the new run
	Recorded []*adk.Crossing    // the recording
	Asks     map[int]int        // the recorded asks whose answers those of the new run got, by the crossings that begin them; 0 is none
	NewSeq   []int              // of each recorded call, return and operation, the new crossing in its place, 0 if there is none; nil of a run in the recorded order

	records map[string]bool // of the recording, as compare.RecordText has them; made where they are asked for
}

// Match finds the recorded step for each new one: first those that make one id, then those
// that are alike in all that user code gave, then those about the same thing, then the others of
// one kind; of those alike, the first with the first. As far as all are alike
// one by one, which is how most runs are to their end, no keys are needed.
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
		for i, g := range is { // how long they are says nothing of which they are: 20, 40, 80 may be 40, 80, 160 now
			matched[g], taken[was[i]] = was[i], true
		}
	}
	asks := make(map[int]*calls.Step) // by their Seq
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
	first := 0 // of those that are not taken
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

// readings matches those of the clock that were given the time of one. They are all alike, and the
// first is not the first where today's code reads it less.
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

// isBesides reports whether a new step is about another recorded thing than the recorded one of
// its kind. Where that comes before something else that is still to come, it is one more.
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

// endAlike is alike for two steps behind which all are alike, of which each may be done by
// somebody else than in the other run where goroutines do them, or have another one's answer.
func (m *Matcher) endAlike(w, g *calls.Step) bool {
	recorded, asks := m.Asks[g.X.Seq]
	return !m.Callers.IsApart(g.X) && (!asks || recorded == w.X.Seq) && m.alike(w, g)
}

// siblings are the recorded dispatches of those that goroutines began at once, as far as what was
// done in them shows it.
func (m *Matcher) siblings(want, got []*calls.Step) map[*calls.Step]*calls.Step {
	var begun, recorded []*calls.Step
	for _, g := range got {
		if wire.IsDispatched(g.X) && m.Callers.IsApart(g.X) {
			begun = append(begun, g)
		}
	}
	if len(begun) == 0 || m.NewSeq == nil { // a run in the recorded order has them in that
		return nil
	}
	for _, w := range want {
		if wire.IsDispatched(w.X) {
			recorded = append(recorded, w)
		}
	}
	return siblings.Pair(m.Known, recorded, begun, m.NewSeq)
}

// IsUnanswered reports whether a step asks what got no recorded answer: it stands for no
// recorded ask then, however the two look.
func (m *Matcher) IsUnanswered(g *calls.Step) bool {
	recorded, asks := m.Asks[g.X.Seq]
	return asks && recorded == 0
}

func (m *Matcher) whole(s *calls.Step) string { return subjects.Whole(m.Known, s) }

// alike reports whether two steps have one key of whole, without making it.
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
