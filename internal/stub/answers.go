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

// Answers compares what the engine gives to scripted seams with the recording.
type Answers interface {
	// Answered is called with the error, or nil, with which the operation x was answered.
	Answered(x *adk.Crossing, err error)
	// Wrong is called if the engine gave got where want was recorded.
	Wrong(x *adk.Crossing, field string, want, got any)
	// LastReturn returns how the last call in the strand of an operation returned.
	LastReturn(x *adk.Crossing) *adk.Crossing
	// AnsweredBytes is called with the outcome of the opening x of a media.
	AnsweredBytes(x *adk.Crossing, got []byte, err error)
	// Resolution returns the settlement that resolved the gate of a wait.
	Resolution(x *adk.Crossing) *adk.Crossing
	// Handed is called with the arguments of a call of a storage obligation.
	Handed(s adk.Scope, record adk.Record, key string)
}

// answered compares the answer of an operation that was made again with the recording, and keeps
// the strand or handler that the operation returned.
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

// gave compares what an operation returned besides its error. That is what its line records of the
// engine's doing, or what came from the call that it led to or from the settlement of its gate.
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

// checked reports a wrong answer unless same is true. Only then are the values converted to
// interfaces, which allocates.
func checked[T any](director Director, x *adk.Crossing, same bool, want, got T) {
	if !same {
		director.Wrong(x, "answer", want, got)
	}
}
