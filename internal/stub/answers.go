package stub

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/perform"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Answers are the checks of what the engine hands to scripted seams.
type Answers interface {
	// Answered is told what the operation x answered.
	Answered(x *adk.Crossing, err error)
	// Wrong is told that the engine handed out got where want was told.
	Wrong(x *adk.Crossing, field string, want, got any)
	// LastReturn is how the last call in the strand of an operation returned.
	LastReturn(x *adk.Crossing) *adk.Crossing
	// AnsweredBytes is told what the opening x of a media answered.
	AnsweredBytes(x *adk.Crossing, got []byte, err error)
	// Resolution is the settlement that resolved the gate of a wait.
	Resolution(x *adk.Crossing) *adk.Crossing
	// Handed is told what an obligation is called with.
	Handed(s adk.Scope, record adk.Record, key string)
}

// answered holds the answer of an operation that was made again against the recording,
// and keeps the strand or the handler that it gave.
func (s *Stage) answered(x *adk.Crossing, got perform.Answer) {
	switch {
	case got.Silent:
	case x.Kind.LeadsTo() == adk.LabelStrand:
		s.mu.Lock()
		s.strands[x.ID], s.forkedBy[x.ID], s.lastFork[x.Call] = got.Strand, x.Call, x.ID
		s.mu.Unlock()
	case x.Kind.Names(adk.HandlerNumber):
		if got.Err == nil {
			s.mu.Lock()
			s.offAck[calls.AckHandlerOf(x)] = got.Off
			s.mu.Unlock()
		}
	case wire.TellsTime(x):
		checked(s.director, x, x.At.Equal(got.At), x.At, got.At)
	case x.Kind.Names(adk.MadeID):
		checked(s.director, x, x.Name == got.ID, x.Name, got.ID)
	case wire.OpensMedia(x):
		s.director.AnsweredBytes(x, got.Bytes, got.Err)
	default:
		s.director.Answered(x, got.Err)
		if got.Err == nil {
			s.gave(x, got)
		}
	}
}

// gave compares what an operation gave beside its error: what its line says of the
// engine's doing, or what it was given by the call that it led to, or by whoever settled
// its gate.
func (s *Stage) gave(x *adk.Crossing, got perform.Answer) {
	switch {
	case x.Kind.Answers(adk.FieldTexts):
		checked(s.director, x, slices.Equal(x.Texts, got.Texts), x.Texts, got.Texts)
	case x.Kind.Answers(adk.FieldFlag):
		checked(s.director, x, x.Flag == got.Flag, x.Flag, got.Flag)
	case x.Kind.Touches() == adk.TouchReading:
		if from := s.director.LastReturn(x); from != nil {
			checked(s.director, from, slices.EqualFunc(from.Records, got.Records, wire.SameRecord), len(from.Records), len(got.Records))
		}
	case x.Kind.LeadsTo() == adk.LabelTool:
		if from := s.director.LastReturn(x); from != nil {
			checked(s.director, from, state.EqualResults(from.Result, got.Result), from.Result, got.Result)
		}
	case wire.AsksForGate(x):
		if from := s.director.Resolution(x); from != nil {
			checked(s.director, from, plain.Equal(from.Value, got.Value), from.Value, got.Value)
		}
	}
}

// checked says that an answer is wrong where it is not the same. What is given is made
// into an interface, which allocates, only then.
func checked[T any](director Director, x *adk.Crossing, same bool, want, got T) {
	if !same {
		director.Wrong(x, "answer", want, got)
	}
}
