package property

import (
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// Examination is what there is to say about one trace.
type Examination struct {
	// Crossings is how many there are.
	Crossings int
	// Violations are what breaks an invariant, and Hints what is legal and likely
	// a mistake.
	Violations []Violation
	Hints      []Hint
	// Cut says that the trace breaks off: it was examined as far as it goes, and
	// nothing is missing at its end. It is nil for a whole one.
	Cut error

	trace *trace.Trace
}

// Examine reads a trace, of whatever turn and by whomever recorded, and holds it
// against all invariants and all advice. A trace that breaks off is examined as
// far as it goes. The error says why it cannot be read; there is an examination
// all the same if a part could be.
func Examine(r io.Reader, options ...trace.Options) (*Examination, error) {
	recorded, err := trace.Read(r, options...)
	if recorded == nil {
		return nil, err
	}
	e := &Examination{Crossings: len(recorded.Lines), trace: recorded}
	if fault := (*trace.FormatError)(nil); errors.As(err, &fault) && fault.Fault == trace.FaultTruncated {
		e.Cut, err = err, nil
	}
	whole := recorded.Sealed
	e.Violations = violations(recorded.Info, e.crossings(), whole)
	e.Hints = hints(recorded.Info, e.crossings(), whole)
	return e, err
}

func (e *Examination) crossings() iter.Seq[*adk.Crossing] {
	return func(yield func(*adk.Crossing) bool) {
		for i := range e.trace.Lines {
			if !yield(&e.trace.Lines[i].Crossing) {
				return
			}
		}
	}
}

// Stretch is the shortest stretch of the transcript that shows a violation: from
// the first crossing that one has to see to the one that breaks the invariant.
func (e *Examination) Stretch(v Violation) string {
	return Excerpt(e.crossings(), v.Crossing, v.Related)
}

// Where is the stretch of the transcript that a hint is about.
func (e *Examination) Where(h Hint) string { return Excerpt(e.crossings(), h.Crossing, h.Related) }

// Excerpt is the shortest stretch of a turn's transcript that shows a crossing and
// those that are related to it, by their numbers from 1.
func Excerpt(crossings iter.Seq[*adk.Crossing], crossing int, related []int) string {
	var text strings.Builder
	_ = transcript.WriteExcerpt(&text, crossings, append(related[:len(related):len(related)], crossing))
	return text.String()
}
