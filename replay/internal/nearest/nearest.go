// Package nearest finds the recorded operations that come nearest to one that got no answer.
package nearest

import (
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/likeness"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Operation is a recorded operation that did not answer a new one.
type Operation struct {
	X         *adk.Crossing
	Refused   []string // why it did not
	Spent     bool     // the only reason is that it has answered already
	Elsewhere bool     // it belongs to another seam or strand
}

// To returns the recorded operations of one kind that are nearest to an operation of a new run,
// each with the reasons why it did not answer it. It leaves out shown, the one that a report shows
// next to it.
func To(known wire.Comparer, recorded, replayed *calls.Tree, got, shown *adk.Crossing) (near []Operation) {
	const most = 3
	if got.Kind == adk.KindCall || got.Kind.Class() != adk.ClassOperation {
		return nil
	}
	gotCall := replayed.Calls[got.Call]
	for _, w := range recorded.Lines {
		if w.Kind != got.Kind || w.Phase != got.Phase || w == shown || !comesNear(known, w, got) {
			continue
		}
		call := recorded.Calls[w.Call]
		c := Operation{X: w, Refused: refusals(known, w, call, got, gotCall)}
		c.Elsewhere = call.Strand != gotCall.Strand || !sameSeam(call, gotCall)
		if len(c.Refused) == 0 {
			c.Spent, c.Refused = true, []string{SpentAnswer}
		}
		near = append(near, c)
	}
	slices.SortStableFunc(near, func(a, b Operation) int { return len(a.Refused) - len(b.Refused) })
	return near[:min(len(near), most)]
}

// comesNear reports whether a recorded operation and a new one of its kind have at least as much in
// common as they differ in: operations that differ more explain nothing about the new one.
func comesNear(known wire.Comparer, w, got *adk.Crossing) bool {
	if wire.IsAsk(w) {
		return likeness.Alike(likeness.Of(w).Words, likeness.Of(got).Words) >= 0.5
	}
	given, other := 0, 0
	for _, use := range w.Kind.Fields(w.Phase) {
		if use.Input {
			given++
		}
	}
	for _, f := range compare.CompareInputs(known, w, got) {
		if f.Input {
			other++
		}
	}
	return other <= given-other
}

// SpentAnswer is the reason for a recorded operation that equals the new one.
const SpentAnswer = "has answered already: today's code does this once more"

// sameSeam reports whether two calls belong to one seam, in any iteration.
func sameSeam(a, b *calls.Call) bool {
	return a.Begin.Seam.Label == b.Begin.Seam.Label && a.Begin.Seam.Name == b.Begin.Seam.Name
}

// refusals are the reasons why a recorded operation does not answer a new one; none where it would
// if it had not been given already.
func refusals(known wire.Comparer, w *adk.Crossing, call *calls.Call, got *adk.Crossing, gotCall *calls.Call) (reasons []string) {
	if !sameSeam(call, gotCall) {
		reasons = append(reasons, fmt.Sprintf("is in %s and not in %s", call.Begin.Seam, gotCall.Begin.Seam))
	}
	if call.Strand != gotCall.Strand && len(reasons) == 0 {
		reasons = append(reasons, fmt.Sprintf("is in strand %q", call.Strand))
	}
	fields := compare.InDetail(w, got, compare.CompareInputs(known, w, got))
	others := slices.ContainsFunc(fields, func(f compare.FieldDiff) bool { return f.Input && !isMadeID(w.Kind, f) })
	for _, f := range fields {
		switch want, now := f.Cut(); {
		case !f.Input, others && isMadeID(w.Kind, f): // a made id always differs
		case f.Of == adk.FieldRecord && w.Record != nil && got.Record != nil: // otherwise its members differ
			if was, is := w.Record.RecordKind(), got.Record.RecordKind(); was != is {
				reasons = append(reasons, fmt.Sprintf("has a %s and not a %s", was, is))
			} else {
				reasons = append(reasons, fmt.Sprintf("has another %s", is))
			}
		default:
			reasons = append(reasons, fmt.Sprintf("has the %s %s and not %s", f.Field, compare.OrNothing(want), compare.OrNothing(now)))
		}
	}
	return reasons
}

// isMadeID reports whether a field of a crossing of a kind is an id that is made for it.
func isMadeID(kind adk.Kind, f compare.FieldDiff) bool {
	return slices.ContainsFunc(kind.Fields(adk.Begin), func(use adk.FieldUse) bool { return use.Field == f.Of && use.Names.IsID() })
}
