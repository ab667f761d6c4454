package replay

import (
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// This file says what became of the answers, and what the new run had none for.

// reached tells of each answer whether it came to pass.
func (w *whatIf) reached() []Set {
	for i, t := range w.targets {
		w.sets[i].Reached = w.cameToPass(t)
	}
	if w.sets == nil {
		return []Set{}
	}
	return w.sets
}

func (w *whatIf) cameToPass(t target) bool {
	x := t.x
	switch {
	case t.special == pathCancel:
		return slices.ContainsFunc(w.now.lines, func(y *adk.Crossing) bool {
			return y.Kind == adk.KindCancel && y.Key == outsideCancel
		})
	case t.special == pathAt && w.again.Counterparts[x.Seq] != 0:
		return true
	case w.again.Counterparts[x.Seq] != 0:
		return len(compareInputs(w.known, x, w.now.lines[w.again.Counterparts[x.Seq]-1])) == 0
	}
	return slices.ContainsFunc(w.now.lines, func(y *adk.Crossing) bool {
		return w.now.seamOf(y) == w.edited.seamOf(x) && (w.offered(x, y) || len(compareInputs(w.known, x, y)) == 0)
	})
}

// offered reports whether a gate was offered the value of a settlement, whatever
// the engine said to it.
func (w *whatIf) offered(x, y *adk.Crossing) bool {
	return x.Kind == adk.KindSettle && y.Kind == adk.KindSettle && x.Name == y.Name && x.Key == y.Key &&
		x.Status == adk.GateResolved && plain.Equal(x.Value, y.Value)
}

// unanswered are the calls of scripted seams that were not recorded, and the
// gates that nobody settles now.
func (w *whatIf) unanswered() []NoAnswer {
	all := []NoAnswer{}
	for _, n := range w.again.Unanswered {
		x := w.now.lines[n-1]
		all = append(all, NoAnswer{x.Seq, w.now.seamOf(x).String(), describeIn(w.now, x)})
	}
	return all
}

// asRecorded are the scripted seams that took no notice of what is other now. The
// recorded crossings are gone through, each with the new one in its place.
func (w *whatIf) asRecorded() []AsRecorded {
	all := []AsRecorded{}
	var seen views
	for _, x := range w.recorded.lines {
		n := w.again.Counterparts[x.Seq]
		if n == 0 || w.recorded.calls[callOf(x)].isUnder(w.live.TakesSeam) {
			continue
		}
		y := w.now.lines[n-1]
		var was string
		var fields []FieldDiff
		switch {
		case x.Kind == adk.KindCall && x.Seam.Label == adk.LabelExecutor:
			was, fields = wasShown, w.shown(&seen, x, y)
		case x.Kind == adk.KindCall && (x.Seam.Label == adk.LabelTool || x.Seam.Label == adk.LabelStorage):
			was, fields = wasAsked, inDetail(w.known, x, y, compareInputs(w.known, x, y))
		case x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done:
			was, fields = wasAnswered, w.answers(w.recorded.stepOf(x), w.now.stepOf(y))
		}
		if len(fields) > 0 {
			all = append(all, AsRecorded{w.recorded.seamOf(x).String(), was, x.Seq, describeIn(w.recorded, x), fields})
		}
	}
	return all
}

// shown are the differences of what two executor calls were shown: of the sights
// before them.
func (w *whatIf) shown(seen *views, x, y *adk.Crossing) []FieldDiff {
	want, got := w.recorded.sightBefore(x), w.now.sightBefore(y)
	if want == nil || got == nil || want.Digest == got.Digest {
		return nil
	}
	return seen.differ(w.recorded, w.now, want, got, []FieldDiff{{Field: "digest", Want: want.Digest.String(), Got: got.Digest.String()}})
}

// answers are the differences of what two operations gave to who performed them:
// the error, what the engine said beside it, and what came through the engine
// from a storage, a tool or a gate.
func (w *whatIf) answers(s, t *step) []FieldDiff {
	if s == nil || t == nil {
		return nil
	}
	var fields []FieldDiff
	a, b := s.last(), t.last()
	for _, use := range a.Kind.Fields(a.Phase) {
		if use.Field != adk.FieldID && (!use.Input || a.Kind == adk.KindOpenMedia) && a.Phase == b.Phase && !w.known.same(use.Field, a, b) {
			fields = append(fields, jsonDiff(use.Label, w.known.text(use.Field, a), w.known.text(use.Field, b))...)
		}
	}
	if a.Err != nil || b.Err != nil || a.Phase != b.Phase {
		return fields
	}
	x, y := given(s), given(t)
	if x == nil || y == nil {
		return fields
	}
	var through []FieldDiff
	for _, f := range compareInputs(w.known, x, y) {
		if strings.HasPrefix(f.Field, "re") || f.Field == "value" { // result, records
			through = append(through, f)
		}
	}
	return append(fields, inDetail(w.known, x, y, through)...)
}

// given is the crossing with what came through the engine to an operation: the
// return of a storage or a tool, the settlement of a gate.
func given(s *step) *adk.Crossing {
	if s.x.Kind == adk.KindWaitFor {
		return noteOf(s, adk.KindSettle)
	}
	if len(s.calls) == 1 && (s.x.Kind == adk.KindExecute || s.x.Kind == adk.KindFetch || s.x.Kind == adk.KindRefresh) {
		return s.calls[0].ret
	}
	return nil
}
