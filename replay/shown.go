package replay

import (
	"encoding/json"
	"io"
	"iter"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
)

// Shown is a crossing that can be read alone: what a trace leaves to the lines
// before it is said in full.
type Shown struct {
	// Crossing is its number, from 1.
	Crossing int `json:"n"`
	// At is the time since the first crossing, in nanoseconds.
	At time.Duration `json:"at"`
	// Kind and Phase are as the trace writes them; the phase of a kind of one
	// line is empty.
	Kind  string `json:"kind"`
	Phase string `json:"phase,omitempty"`
	// Seam is the path of the seam call that it belongs to; of a call or a
	// return it is that call. Call is the call's number.
	Seam   string `json:"seam"`
	Call   int    `json:"call,omitempty"`
	Strand int    `json:"strand,omitempty"`
	// Op pairs the two lines of a spanning operation.
	Op int `json:"op,omitempty"`
	// Fields are the fields of its kind by their labels, each as a trace writes
	// it but with every record in full.
	Fields json.RawMessage `json:"fields,omitempty"`
	// Line is how a transcript says it, in a line of its own.
	Line string `json:"line"`
}

// ReadShown goes through the crossings of a trace. What is wrong with the trace
// comes last, as an error without a crossing; where it was cut short, what there
// is has come before.
func ReadShown(trace io.Reader, options ...Options) iter.Seq2[*Shown, error] {
	return func(yield func(*Shown, error) bool) {
		r, err := NewReader(trace, options...)
		if err != nil {
			yield(nil, err)
			return
		}
		s := &shower{namer: newNamer(NewFold()), comparer: comparer{r.sentinels()}}
		for {
			line, err := r.Next()
			switch {
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, err)
				return
			}
			if !yield(s.next(&line.Crossing), nil) {
				return
			}
		}
	}
}

// shower makes crossings that can be read alone.
type shower struct {
	namer    *namer
	comparer comparer
	number   int
	began    time.Time
}

func (s *shower) next(x *adk.Crossing) *Shown {
	if s.number++; s.number == 1 {
		s.began = x.At
	}
	shown := &Shown{
		Crossing: s.number, At: x.At.Sub(s.began), Kind: x.Kind.String(), Seam: s.namer.fold.seamOf(x),
		Call: x.Call, Strand: x.Strand, Op: x.Op, Fields: s.fields(x), Line: s.namer.line(x),
	}
	if x.Kind == adk.KindCall || x.Kind == adk.KindReturn {
		shown.Call = x.ID
	}
	if x.Phase != adk.Whole {
		shown.Phase = x.Phase.String()
	}
	_ = s.namer.pass(x) // whether an engine tells it is for transcripts to say
	return shown
}

// fields are the fields of a crossing as one object; nil where there are none.
func (s *shower) fields(x *adk.Crossing) json.RawMessage {
	var out []byte
	for _, use := range x.Kind.Fields(x.Phase) {
		if use.Field == adk.FieldID && x.Kind.Class() == adk.ClassCall {
			continue // it is the crossing's Call
		}
		text := s.comparer.text(use.Field, x)
		if text == "" {
			continue
		}
		if !json.Valid([]byte(text)) {
			text = quotedJSON(text)
		}
		out = append(append(canonical.AppendString(append(out, ','), use.Label), ':'), text...)
	}
	if out == nil {
		return nil
	}
	out[0] = '{'
	return append(out, '}')
}
