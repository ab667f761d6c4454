package trace

import (
	"io"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// Member is a member of a header, a line or a footer that this package does not know.
type Member = wire.Member

// ErrorType says how a trace keeps the errors of one Go type (see Options.ErrorTypes). ErrorOf
// makes the ErrorType of most types. For the others, Split returns the named texts that an error of
// the type consists of, and nil for every other error. Build makes the error again from these texts
// and from the error that it wrapped; Build may return nil.
type ErrorType = wire.ErrorForm

// ErrorOf returns an ErrorType that keeps errors of type E. Of a struct, or a pointer to one, it
// keeps the exported fields; of any other type, the whole value. Each field is kept as JSON, so
// what JSON cannot represent and what only unexported fields hold is lost. A field of type error
// holds the wrapped error.
func ErrorOf[E error]() ErrorType { return wire.FormOf[E]() }

// Trace is a whole trace in memory. What was read takes a few times the size of its file; a
// crossing is decoded only when the caller asks for it.
type Trace struct {
	Header
	// Sealed is true if the trace is complete: its footer was read, and WriteTo writes one. Set it
	// to seal a trace that was made or cut by hand.
	Sealed bool
	// FooterExtra holds the members of the footer that this package does not know.
	FooterExtra []Member

	options Options   // with which the trace was read
	media   *Openings // what the open-media operations in it returned
	body    *body     // the crossings; nil if there are none
}

// New returns an unsealed trace of the given lines. It takes ownership of the slice.
func New(h Header, lines []Line) *Trace {
	t := &Trace{Header: h}
	t.SetLines(lines)
	return t
}

// Read reads a whole trace. If reading fails after the header, Read returns both the error and the
// lines before the failure, because the prefix of a trace that was cut short is valid.
func Read(r io.Reader, options ...Options) (*Trace, error) {
	reader, err := NewReader(r, options...)
	if err != nil {
		return nil, err
	}
	return reader.Rest()
}

// Rest reads the rest of the trace. It reads all lines before it decodes any, so that it knows how
// many there are.
func (r *Reader) Rest() (*Trace, error) {
	t := &Trace{Header: r.Header(), options: r.options, media: r.dec.Media}
	if r.err == nil && r.ahead == nil {
		r.err = r.readAhead()
	}
	if r.err != nil {
		return t, r.err
	}
	lines := wire.NewHeld(r.ahead.lines)
	t.body = &body{held: lines}
	size := r.ahead.size + lineMemory*int64(r.ahead.lines)
	for into := new(Line); ; {
		line, err := r.NextInto(into)
		if err != nil {
			break
		}
		lines.Add(r.dec, &line.Crossing, line.Extra)
		if size += r.weight.All(); size > r.options.MaxMemory {
			r.err = r.beyond(limitMemory)
		}
	}
	if r.err == io.EOF {
		t.Sealed, t.FooterExtra = true, r.footer
		return t, nil
	}
	return t, r.err
}

// Openings holds what the open-media operations of a trace returned. Media values read from the
// trace take their bytes from it. Package replay moves through it; readers of a trace need not.
type Openings = wire.Openings

// Openings returns the trace's Openings.
func (t *Trace) Openings() *Openings { return t.media }

// Options returns the options with which the trace was read.
func (t *Trace) Options() Options { return t.options }

// WriteTo writes the trace. If the trace is sealed, WriteTo adds a footer with a newly computed
// count and digest, so changes made since reading are covered. A trace that this package wrote and
// read is written with the same bytes.
func (t *Trace) WriteTo(w io.Writer) (int64, error) {
	out := NewWriter(w, t.Header, t.options)
	for _, line := range t.All() {
		if err := out.WriteLine(line); err != nil {
			return out.size, err
		}
	}
	if out.begin(); out.err != nil || !t.Sealed {
		return out.size, out.err
	}
	return out.size, out.CloseWith(t.FooterExtra)
}
