// Package footprint says what a step of a strand touched, according to its crossings, and so which
// steps of two strands may be exchanged.
package footprint

import (
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// Step is what a step of a strand touched. The zero Step touched nothing.
type Step struct {
	all    bool // the step changed what handles read
	things []sharedRef
}

// sharedRef is a named thing that a step touched.
type sharedRef struct {
	what adk.Touch
	kind adk.Kind // for a stream
	name string
}

// Add adds what a crossing touched.
func (f *Step) Add(x *adk.Crossing) {
	touched, all := touches(x)
	f.all = f.all || all
	if touched.what != 0 && !slices.Contains(f.things, touched) {
		f.things = append(f.things, touched)
	}
}

// touches returns what one crossing touched. A kind that is not listed changes everything (all).
func touches(x *adk.Crossing) (touched sharedRef, all bool) {
	switch what := x.Kind.Touches(); what {
	case adk.TouchNothing, adk.TouchReading:
		return sharedRef{}, false
	case adk.TouchWriting:
		return sharedRef{}, x.Phase == adk.Done // the storage obligation is a call of its own
	case adk.TouchSeam:
		return touchedByCall(x), false
	case adk.TouchGates:
		if x.Phase == adk.Done {
			return sharedRef{}, false
		}
		return sharedRef{what: what}, false
	case adk.TouchStream:
		return sharedRef{what, x.Kind, x.Name}, false
	case adk.TouchIDs, adk.TouchStrands, adk.TouchMedia:
		return sharedRef{what: what}, false
	}
	return sharedRef{}, true
}

// touchedByCall returns the tool, the dispatch, the executor or the collection that a call goes to.
func touchedByCall(x *adk.Crossing) sharedRef {
	switch x.Seam.Label {
	case adk.LabelTool, adk.LabelDispatch, adk.LabelExecutor:
		return sharedRef{what: adk.TouchSeam, name: x.Seam.Label + "/" + x.Seam.Name}
	case adk.LabelStorage:
		collection, _, _ := strings.Cut(x.Seam.Name, ".")
		return sharedRef{what: adk.TouchSeam, name: collection}
	}
	return sharedRef{}
}

// Commutes reports whether two steps of different strands commute.
func (f *Step) Commutes(with *Step) bool {
	if f.all || with.all {
		return false
	}
	return !slices.ContainsFunc(f.things, func(t sharedRef) bool { return slices.Contains(with.things, t) })
}
