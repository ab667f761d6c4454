// Package subjects says what a step of a run is about: steps of two runs about the same thing are
// compared with each other.
//
// Each function returns a key that is equal for two steps that are alike in this respect; it is
// empty for a step that cannot be matched in this way.
package subjects

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// MadeID is the key of a step that makes an id, by that id.
func MadeID(s *calls.Step) string {
	if id := wire.MadeID(s.X); id != "" && wire.OnlyMakes(s.X) {
		return s.In.Strand + "\n" + id
	}
	return ""
}

// Whole is the key of a step by everything that user code gave.
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

// Of is the key of a step by what it is about: the record, the stream, the gate, the path. Calls
// have none; they are found by their paths or not at all.
func Of(s *calls.Step) string {
	x := s.X
	if s.Call != nil {
		return ""
	}
	key := s.In.Strand + "\n" + x.Kind.String() + " " + string(x.Collection) + " "
	switch {
	case x.Record != nil:
		return key + x.Record.Key()
	case x.Kind.Class() == adk.ClassFact: // the key of a fact says by whom it is, and not about what
		return key + x.Name
	case !x.Kind.Uses(adk.FieldKey) && !x.Kind.Uses(adk.FieldName) || wire.EngineMakesID(x): // it is about nothing else
		return key
	case x.Key+x.Name == "":
		return ""
	}
	return key + x.Key + " " + x.Name
}

// Kind is the key of an operation by its kind and collection: operations about different things
// still have that in common.
func Kind(s *calls.Step) string {
	if s.Call != nil || s.X.Kind.Class() != adk.ClassOperation {
		return ""
	}
	return s.In.Strand + "\n" + s.X.Kind.String() + " " + string(s.X.Collection)
}

// Pauses returns the steps that sleep.
func Pauses(steps []*calls.Step) []*calls.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s *calls.Step) bool { return s.Call != nil || !wire.IsPause(s.X) })
}
