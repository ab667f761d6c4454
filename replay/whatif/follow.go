package whatif

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file says what became of the answers, and what the new run had none for.

// reached tells of each answer whether it came to pass.
func (w *whatIf) reached() []Applied {
	for i, t := range w.targets {
		w.sets[i].Reached = w.cameToPass(t)
	}
	if w.sets == nil {
		return []Applied{}
	}
	return w.sets
}

func (w *whatIf) cameToPass(t target) bool {
	x := t.x
	switch {
	case t.special == pathCancel:
		return slices.ContainsFunc(w.now.Lines, func(y *adk.Crossing) bool {
			return wire.CancelledBy(y) == wire.OutsideCancel
		})
	case t.special == pathAt && w.again.Counterparts[x.Seq] != 0:
		return true
	case w.again.Counterparts[x.Seq] != 0:
		return len(compare.CompareInputs(w.known, x, w.now.Lines[w.again.Counterparts[x.Seq]-1])) == 0
	}
	return slices.ContainsFunc(w.now.Lines, func(y *adk.Crossing) bool {
		return w.now.SeamOf(y) == w.edited.SeamOf(x) && (w.offered(x, y) || len(compare.CompareInputs(w.known, x, y)) == 0)
	})
}

// offered reports whether a gate was offered the value of a settlement, whatever
// the engine said to it.
func (w *whatIf) offered(x, y *adk.Crossing) bool {
	return wire.IsSettlement(x) && wire.IsSettlement(y) && x.Name == y.Name && x.Key == y.Key &&
		x.Status == adk.GateResolved && plain.Equal(x.Value, y.Value)
}

// unanswered are the calls of scripted seams that were not recorded, and the
// gates that nobody settles now.
func (w *whatIf) unanswered() []NoAnswer {
	all := []NoAnswer{}
	for _, n := range w.again.Unanswered {
		x := w.now.Lines[n-1]
		all = append(all, NoAnswer{x.Seq, w.now.SeamOf(x).String(), w.now.Line(x)})
	}
	return all
}

// asRecorded are the scripted seams that took no notice of what is other now. The
// recorded crossings are gone through, each with the new one in its place.
func (w *whatIf) asRecorded() []AsRecorded {
	all := []AsRecorded{}
	var seen compare.Views
	live := calls.NewChoice(w.isLive)
	for _, x := range w.recorded.Lines {
		n := w.again.Counterparts[x.Seq]
		if n == 0 || live.Takes(w.recorded.Calls[wire.CallOf(x)]) {
			continue
		}
		y := w.now.Lines[n-1]
		var was string
		var fields []compare.FieldDiff
		switch {
		case x.Kind == adk.KindCall && x.Seam.Label == adk.LabelExecutor:
			was, fields = wasShown, w.shown(&seen, x, y)
		case x.Kind == adk.KindCall && (x.Seam.Label == adk.LabelTool || x.Seam.Label == adk.LabelStorage):
			was, fields = wasAsked, compare.InDetail(x, y, compare.CompareInputs(w.known, x, y))
		case x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done:
			was, fields = wasAnswered, w.answers(w.recorded.StepOf(x), w.now.StepOf(y))
		}
		if len(fields) > 0 {
			all = append(all, AsRecorded{w.recorded.SeamOf(x).String(), was, x.Seq, w.recorded.Line(x), fields})
		}
	}
	return all
}

// shown are the differences of what two executor calls were shown: of the states
// before them.
func (w *whatIf) shown(seen *compare.Views, x, y *adk.Crossing) []compare.FieldDiff {
	want, got := w.recorded.StateBefore(x), w.now.StateBefore(y)
	if want == nil || got == nil || want.Digest == got.Digest {
		return nil
	}
	return seen.Differ(w.recorded.Tree, w.now.Tree, want, got, []compare.FieldDiff{{Field: "digest", Want: want.Digest.String(), Got: got.Digest.String()}})
}

// answers are the differences of what two operations gave to who performed them:
// the error, what the engine said beside it, and what came through the engine
// from a storage, a tool or a gate.
func (w *whatIf) answers(s, t *calls.Step) []compare.FieldDiff {
	if s == nil || t == nil {
		return nil
	}
	var fields []compare.FieldDiff
	a, b := s.Last(), t.Last()
	for _, use := range a.Kind.Fields(a.Phase) {
		if !use.Names.IsNumber() && (!use.Input || wire.OpensMedia(a)) && a.Phase == b.Phase && !w.known.Same(use.Field, a, b) {
			fields = append(fields, compare.JSONDiff(use.Label, w.known.Text(use.Field, a), w.known.Text(use.Field, b))...)
		}
	}
	if a.Err != nil || b.Err != nil || a.Phase != b.Phase {
		return fields
	}
	x, y := given(s), given(t)
	if x == nil || y == nil {
		return fields
	}
	var through []compare.FieldDiff
	for _, f := range compare.CompareInputs(w.known, x, y) {
		switch f.Of {
		case adk.FieldResult, adk.FieldRecords, adk.FieldValue:
			through = append(through, f)
		}
	}
	return append(fields, compare.InDetail(x, y, through)...)
}

// given is the crossing with what came through the engine to an operation: the
// return of a storage or a tool, the settlement of a gate.
func given(s *calls.Step) *adk.Crossing {
	if settled := s.Settlement(); settled != nil {
		return settled
	}
	if len(s.Calls) == 1 && (s.X.Kind.LeadsTo() == adk.LabelTool || s.X.Kind.Touches() == adk.TouchReading) {
		return s.Calls[0].Return
	}
	return nil
}
