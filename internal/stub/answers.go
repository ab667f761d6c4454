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

// answered holds the answer of an operation that was made again against the recording.
func (s *Stage) answered(x *adk.Crossing, got perform.Answer) {
	switch x.Kind {
	case adk.KindNext, adk.KindOffAck, adk.KindReportLog: // they answer nothing
		return
	case adk.KindFork:
		s.mu.Lock()
		s.strands[x.ID], s.forkedBy[x.ID], s.lastFork[x.Call] = got.Strand, x.Call, x.ID
		s.mu.Unlock()
		return
	case adk.KindOnAck:
		if got.Err == nil {
			s.mu.Lock()
			s.offAck[calls.AckHandlerOf(x)] = got.Off
			s.mu.Unlock()
		}
		return
	case adk.KindNow:
		if !got.At.Equal(x.At) {
			s.director.Wrong(x, "answer", x.At, got.At)
		}
		return
	case adk.KindNewID:
		if got.ID != x.Name {
			s.director.Wrong(x, "answer", x.Name, got.ID)
		}
		return
	case adk.KindOpenMedia:
		s.director.AnsweredBytes(x, got.Bytes, got.Err)
		return
	}
	s.director.Answered(x, got.Err)
	s.gave(x, got)
}

// gave compares what an operation gave beside its error.
func (s *Stage) gave(x *adk.Crossing, got perform.Answer) {
	switch x.Kind {
	case adk.KindPrune:
		if !slices.Equal(got.Texts, x.Texts) {
			s.director.Wrong(x, "answer", x.Texts, got.Texts)
		}
	case adk.KindAdd, adk.KindRemove, adk.KindUnregister:
		if got.Err == nil && got.Flag != x.Flag {
			s.director.Wrong(x, "answer", x.Flag, got.Flag)
		}
	case adk.KindFetch, adk.KindRefresh:
		from := s.director.LastReturn(x)
		if got.Err == nil && from != nil && !slices.EqualFunc(from.Records, got.Records, wire.SameRecord) {
			s.director.Wrong(from, "answer", len(from.Records), len(got.Records))
		}
	case adk.KindExecute:
		from := s.director.LastReturn(x)
		if got.Err == nil && from != nil && !state.EqualResults(from.Result, got.Result) {
			s.director.Wrong(from, "answer", from.Result, got.Result)
		}
	case adk.KindWaitFor:
		from := s.director.Resolution(x)
		if got.Err == nil && from != nil && !plain.Equal(from.Value, got.Value) {
			s.director.Wrong(from, "answer", from.Value, got.Value)
		}
	}
}
