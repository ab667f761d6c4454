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

// Examination holds the findings about one trace.
type Examination struct {
	// Crossings is the number of crossings in the trace.
	Crossings int
	// Violations are the broken invariants; Hints point to what is legal but probably a mistake.
	Violations []Violation
	Hints      []Hint
	// Cut is not nil if the trace breaks off. Such a trace was examined as far as it goes, and
	// nothing is reported as missing at its end.
	Cut error

	content blocks // the bytes of the file, which is read again to show a finding
	options []trace.Options
	shown   map[string]string // excerpts of the transcript, by place
}

// Examine reads a trace of any turn, recorded by any program, and checks it against all invariants
// and all advice. A trace that breaks off is examined as far as it goes. The error says why the
// trace cannot be read; if a part of it could be read, Examine returns the examination of that part
// as well. The examination keeps the bytes of the file, but not the decoded crossings.
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

// crossings yields the crossings of a reader, all in the same memory, and at last the error, if
// any.
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

// again reads the crossings once more, as far as possible.
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

// blocks keeps a copy of the bytes that are written to it, without ever moving them.
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

// Stretch returns the shortest stretch of the transcript that shows a violation: from the first
// related crossing to the one that breaks the invariant.
func (e *Examination) Stretch(v Violation) string {
	return e.excerpt(placeOf(v.Crossing, v.Related), func() (all [][]int) {
		for _, v := range e.Violations {
			all = append(all, placeOf(v.Crossing, v.Related))
		}
		return all
	})
}

// Where returns the stretch of the transcript that a hint is about.
func (e *Examination) Where(h Hint) string {
	return e.excerpt(placeOf(h.Crossing, h.Related), func() (all [][]int) {
		for _, h := range e.Hints {
			all = append(all, placeOf(h.Crossing, h.Related))
		}
		return all
	})
}

// excerpt returns the stretch that shows a place. It makes the stretches of all other findings in
// the same pass over the trace, because there may be as many findings as crossings.
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

// placeOf returns the numbers of the related crossings and of the crossing itself.
func placeOf(crossing int, related []int) []int {
	return append(related[:len(related):len(related)], crossing)
}

// Excerpt returns the shortest stretch of a turn's transcript that shows a crossing and its related
// crossings, given by their numbers from 1.
func Excerpt(crossings iter.Seq[*adk.Crossing], crossing int, related []int) string {
	var text strings.Builder
	_ = transcript.WriteExcerpt(&text, crossings, placeOf(crossing, related))
	return text.String()
}
