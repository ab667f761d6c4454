package property

import (
	"bytes"
	"errors"
	"fmt"
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

	content blocks // of the file: what was found is shown by reading it again
	options []trace.Options
	shown   map[string]string // by place
}

// Examine reads a trace, of whatever turn and by whomever recorded, and holds it
// against all invariants and all advice. A trace that breaks off is examined as
// far as it goes. The error says why it cannot be read; there is an examination
// all the same if a part could be. It keeps the bytes of the file, and not what they
// say.
func Examine(r io.Reader, options ...trace.Options) (*Examination, error) {
	e := &Examination{options: options}
	in, err := trace.NewReader(io.TeeReader(r, &e.content), options...)
	if err != nil {
		return nil, err
	}
	story := newStory(in.Header().Info)
	story.advised()
	for x, failure := range crossings(in) {
		if err = failure; err == nil {
			story.tell(x)
			e.Crossings++
		}
	}
	if err == nil {
		story.end()
	}
	if fault, ok := errors.AsType[*trace.FormatError](err); ok && fault.Fault == trace.FaultTruncated {
		e.Cut, err = err, nil
	}
	e.Violations, e.Hints = story.inOrder(), story.hintsInOrder()
	return e, err
}

// crossings gives what a reader reads, in one piece of memory, and last what went
// wrong.
func crossings(in *trace.Reader) iter.Seq2[*adk.Crossing, error] {
	return func(yield func(*adk.Crossing, error) bool) {
		var line trace.Line
		for {
			read, err := in.NextInto(&line)
			if err == io.EOF || err == nil && !yield(&read.Crossing, nil) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// again reads the crossings once more, as far as it goes.
func (e *Examination) again(yield func(*adk.Crossing) bool) {
	in, err := trace.NewReader(e.content.reader(), e.options...)
	if err != nil {
		return // it could be read before
	}
	for x, err := range crossings(in) {
		if err != nil || !yield(x) {
			return
		}
	}
}

// blocks keep what is written to them, and copy it once.
type blocks struct{ all [][]byte }

func (b *blocks) Write(p []byte) (int, error) {
	b.all = append(b.all, bytes.Clone(p))
	return len(p), nil
}

func (b *blocks) reader() io.Reader {
	readers := make([]io.Reader, len(b.all))
	for i, block := range b.all {
		readers[i] = bytes.NewReader(block)
	}
	return io.MultiReader(readers...)
}

// Stretch is the shortest stretch of the transcript that shows a violation: from
// the first crossing that one has to see to the one that breaks the invariant.
func (e *Examination) Stretch(v Violation) string {
	return e.excerpt(placeOf(v.Crossing, v.Related), func() (all [][]int) {
		for _, v := range e.Violations {
			all = append(all, placeOf(v.Crossing, v.Related))
		}
		return all
	})
}

// Where is the stretch of the transcript that a hint is about.
func (e *Examination) Where(h Hint) string {
	return e.excerpt(placeOf(h.Crossing, h.Related), func() (all [][]int) {
		for _, h := range e.Hints {
			all = append(all, placeOf(h.Crossing, h.Related))
		}
		return all
	})
}

// excerpt is the stretch that shows a place. It is made with all that will be asked for
// after it, in one walk: there may be as many as crossings.
func (e *Examination) excerpt(place []int, others func() [][]int) string {
	key := fmt.Sprint(place)
	if _, made := e.shown[key]; !made {
		if e.shown == nil {
			e.shown = map[string]string{}
		}
		all := append(others(), place)
		for i, text := range transcript.Excerpts(e.again, all) {
			e.shown[fmt.Sprint(all[i])] = text
		}
	}
	return e.shown[key]
}

// placeOf are the numbers of a crossing and of those that are related to it.
func placeOf(crossing int, related []int) []int {
	return append(related[:len(related):len(related)], crossing)
}

// Excerpt is the shortest stretch of a turn's transcript that shows a crossing and
// those that are related to it, by their numbers from 1.
func Excerpt(crossings iter.Seq[*adk.Crossing], crossing int, related []int) string {
	var text strings.Builder
	_ = transcript.WriteExcerpt(&text, crossings, placeOf(crossing, related))
	return text.String()
}
