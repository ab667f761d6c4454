// Package subjects says what a step of a run is about: two steps of two runs that are about one
// thing are held against each other.
//
// Each function of a step gives a key, which two steps have in common that are alike in that; it is empty
// for a step that is not told by this.
package subjects

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// MadeID is a step that makes an id, with that.
func MadeID(s *calls.Step) string {
	if id := wire.MadeID(s.X); id != "" && wire.OnlyMakes(s.X) {
		return s.In.Strand + "\n" + id
	}
	return ""
}

// Whole is a step with all that user code gave.
func Whole(known wire.Comparer, s *calls.Step) string {
	strand := s.In.Strand + "\n"
	switch {
	case s.Call != nil:
		return strand + "call " + s.X.Seam.String() + " " + s.X.Key + compare.RecordText(s.X.Record)
	case s.X.Kind.Class() == adk.ClassOperation:
		return strand + compare.ArgumentsText(known, s.X) + s.Waits()
	}
	return strand + compare.ToldText(known, s.X)
}

// Of is what a step is about: the record, the stream, the gate, the path.
// Calls are found by their paths or not at all.
func Of(s *calls.Step) string {
	x := s.X
	if s.Call != nil {
		return ""
	}
	key := s.In.Strand + "\n" + x.Kind.String() + " " + string(x.Collection) + " "
	switch {
	case x.Record != nil:
		return key + x.Record.Key()
	case x.Kind.Class() == adk.ClassFact: // its key says by whom, and not about what
		return key + x.Name
	case !x.Kind.Uses(adk.FieldKey) && !x.Kind.Uses(adk.FieldName) || wire.EngineMakesID(x): // it is about nothing else
		return key
	case x.Key+x.Name == "":
		return ""
	}
	return key + x.Key + " " + x.Name
}

// Kind is the kind of an operation, and of which collection: of those about other things it is what
// they have in common.
func Kind(s *calls.Step) string {
	if s.Call != nil || s.X.Kind.Class() != adk.ClassOperation {
		return ""
	}
	return s.In.Strand + "\n" + s.X.Kind.String() + " " + string(s.X.Collection)
}

// Pauses are those of some steps that sleep.
func Pauses(steps []*calls.Step) []*calls.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s *calls.Step) bool { return s.Call != nil || !wire.IsPause(s.X) })
}
