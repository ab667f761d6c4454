package whatif

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file finds out which overrides took effect, and what the new run had no answers for.

// reached sets, for each override, whether it took effect.
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

// offered reports whether a gate was offered the value of a settlement, whether or not the engine
// accepted it.
func (w *whatIf) offered(x, y *adk.Crossing) bool {
	return wire.IsSettlement(x) && wire.IsSettlement(y) && x.Name == y.Name && x.Key == y.Key &&
		x.Status == adk.GateResolved && plain.Equal(x.Value, y.Value)
}

// unanswered returns the calls of scripted seams that were not recorded, and the gates that nobody
// settles now.
func (w *whatIf) unanswered() []NoAnswer {
	all := []NoAnswer{}
	for _, n := range w.again.Unanswered {
		x := w.now.Lines[n-1]
		all = append(all, NoAnswer{x.Seq, w.now.SeamOf(x).String(), w.now.Line(x)})
	}
	return all
}

// asRecorded returns the scripted seams that ignored a difference. It compares each recorded
// crossing with its counterpart in the new run.
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

// shown returns the differences between what two executor calls were shown: between the states
// before them.
func (w *whatIf) shown(seen *compare.Views, x, y *adk.Crossing) []compare.FieldDiff {
	want, got := w.recorded.StateBefore(x), w.now.StateBefore(y)
	if want == nil || got == nil || want.Digest == got.Digest {
		return nil
	}
	return seen.Differ(w.recorded.Tree, w.now.Tree, want, got, []compare.FieldDiff{{Field: "digest", Want: want.Digest.String(), Got: got.Digest.String()}})
}

// answers returns the differences between the results of two operations: the error, what else the
// engine returned, and what a storage, a tool or a gate returned through the engine.
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

// given returns the crossing that gave an operation its result through the engine: the return of a
// storage or a tool, or the settlement of a gate.
func given(s *calls.Step) *adk.Crossing {
	if settled := s.Settlement(); settled != nil {
		return settled
	}
	if len(s.Calls) == 1 && (s.X.Kind.LeadsTo() == adk.LabelTool || s.X.Kind.Touches() == adk.TouchReading) {
		return s.Calls[0].Return
	}
	return nil
}
