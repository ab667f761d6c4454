package transcript

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Expanded is a crossing that can be read alone: it contains in full what the trace leaves to
// earlier lines.
type Expanded struct {
	// Crossing is its number, from 1.
	Crossing int `json:"n"`
	// At is the time since the first crossing, in nanoseconds.
	At time.Duration `json:"at"`
	// Kind and Phase are as in the trace. Phase is empty if the kind has only one line.
	Kind  string `json:"kind"`
	Phase string `json:"phase,omitempty"`
	// Seam is the path of the seam call that the crossing belongs to; for a call or a return, of
	// that call itself. Call is the number of the call.
	Seam   string `json:"seam"`
	Call   int    `json:"call,omitempty"`
	Strand int    `json:"strand,omitempty"`
	// Op pairs the two lines of a spanning operation.
	Op int `json:"op,omitempty"`
	// Fields holds the fields of the kind under their labels, as in the trace but with every record
	// in full.
	Fields json.RawMessage `json:"fields,omitempty"`
	// Line is how a transcript shows the crossing on a line of its own. Asks and their pieces are
	// shown as JSON, which is cut if it is long.
	Line string `json:"line"`
}

// Expand iterates over the crossings of a trace. If the trace has a fault, the last pair is the
// error without a crossing, after all crossings before the fault.
func Expand(recorded io.Reader, options ...trace.Options) iter.Seq2[*Expanded, error] {
	return func(yield func(*Expanded, error) bool) {
		err := expand(recorded, options, func(_ *adk.Crossing, shown *Expanded) bool { return yield(shown, nil) })
		if err != nil {
			yield(nil, err)
		}
	}
}

// Passage is a line of a transcript, and the crossings that it shows.
type Passage struct {
	Crossings []*Expanded
	// Lines holds the line and those below it, without their margins. It is empty for crossings
	// that a transcript does not show.
	Lines []string
}

// Passages is Expand grouped by the lines of the transcript.
func Passages(recorded io.Reader, options ...trace.Options) iter.Seq2[*Passage, error] {
	return func(yield func(*Passage, error) bool) {
		var rest bytes.Buffer
		t, p, goesOn := New(&rest), &Passage{}, true
		err := expand(recorded, options, func(x *adk.Crossing, shown *Expanded) bool {
			before := t.held
			_ = t.Write(x) // a buffer never fails
			if t.held != before && before != nil {
				rest.Reset() // drop the transcript so far, which may be long
				p.Lines = before.lines()
				goesOn = yield(p, nil)
				p = &Passage{}
			}
			p.Crossings = append(p.Crossings, shown)
			return goesOn
		})
		if !goesOn {
			return
		}
		rest.Reset()
		_ = t.Close()
		for line := range strings.Lines(rest.String()) {
			p.Lines = append(p.Lines, strings.TrimSpace(line))
		}
		if len(p.Crossings) > 0 && !yield(p, nil) {
			return
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// lines returns the line and those below it.
func (h *heldLine) lines() []string { return append([]string{h.text}, h.below...) }

// expand calls each for every crossing of a trace until it returns false. The error is a fault of
// the trace.
func expand(recorded io.Reader, options []trace.Options, each func(*adk.Crossing, *Expanded) bool) error {
	r, err := trace.NewReader(recorded, options...)
	if err != nil {
		return err
	}
	known, err := wire.NewSentinels(r.Options().Sentinels, r.Options().ErrorTypes)
	if err != nil {
		return err
	}
	s := &shower{namer: describe.New(state.New()), comparer: wire.Comparer{Sentinels: known}}
	for {
		line, err := r.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if !each(&line.Crossing, s.next(&line.Crossing)) {
			return nil
		}
	}
}

// shower makes Expanded crossings.
type shower struct {
	namer    *describe.Namer
	comparer wire.Comparer
	number   int
	began    time.Time
}

func (s *shower) next(x *adk.Crossing) *Expanded {
	if s.number++; s.number == 1 {
		s.began = x.At
	}
	shown := &Expanded{
		Crossing: s.number, At: x.At.Sub(s.began), Kind: x.Kind.String(), Seam: s.namer.Fold.SeamOf(x),
		Call: x.Call, Strand: x.Strand, Op: x.Op, Fields: s.fields(x), Line: s.namer.Line(x),
	}
	if x.Kind == adk.KindCall || x.Kind == adk.KindReturn {
		shown.Call = x.ID
	}
	if x.Phase != adk.Whole {
		shown.Phase = x.Phase.String()
	}
	_ = s.namer.Pass(x) // transcripts report what no engine can emit
	return shown
}

// fields returns the fields of a crossing as one object, or nil if there are none.
func (s *shower) fields(x *adk.Crossing) json.RawMessage {
	var out []byte
	for _, use := range x.Kind.Fields(x.Phase) {
		if use.Field == adk.FieldID && x.Kind.Class() == adk.ClassCall {
			continue // it is Expanded.Call
		}
		text := s.comparer.Text(use.Field, x)
		if text == "" {
			continue
		}
		if !json.Valid([]byte(text)) {
			text = compare.QuotedJSON(text)
		}
		out = append(append(canonical.AppendString(append(out, ','), use.Label), ':'), text...)
	}
	if out == nil {
		return nil
	}
	out[0] = '{'
	return append(out, '}')
}
