package stub

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Answers are the checks of what the engine hands to scripted seams.
type Answers interface {
	// answered is told what the operation x answered.
	Answered(x *adk.Crossing, err error)
	// wrong is told that the engine handed out got where want was told.
	Wrong(x *adk.Crossing, field string, want, got any)
	// lastReturn is how the last call in the strand of an operation returned.
	LastReturn(x *adk.Crossing) *adk.Crossing
	// answeredBytes is told what the opening x of a media answered.
	AnsweredBytes(x *adk.Crossing, got []byte, err error)
	// resolution is the settlement that resolved the gate of a wait.
	Resolution(x *adk.Crossing) *adk.Crossing
	// handed is told what an obligation is called with.
	Handed(s adk.Scope, record adk.Record, key string)
}

// answeredRecords is answered for a fetch.
func answeredRecords[T adk.Record](s *Stage, x *adk.Crossing, got []T, err error) {
	s.director.Answered(x, err)
	from := s.director.LastReturn(x)
	if err != nil || from == nil {
		return
	}
	if !slices.EqualFunc(from.Records, got, func(a adk.Record, b T) bool { return wire.SameRecord(a, b) }) {
		s.director.Wrong(from, "answer", len(from.Records), len(got))
	}
}
