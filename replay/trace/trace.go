package trace

import (
	"io"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// Member is a member of a header, a line or a footer that this package does not know.
type Member = wire.Member

// ErrorType is how a trace keeps the errors of one type (Options.ErrorTypes). ErrorOf makes
// that of most types. For others Split gives the texts that an error of the type is made of
// by their names, and nil for any other error, and Build makes one of them and of what the
// error wrapped; Build may give nil.
type ErrorType = wire.ErrorForm

// ErrorOf keeps the errors of type E: of a struct, or of what E points to, the exported
// fields, of any other type the whole. A field is kept as JSON, and what JSON does not hold
// is not kept, nor is what only unexported fields hold; a field of type error is what the
// error wraps.
func ErrorOf[E error]() ErrorType { return wire.FormOf[E]() }

// Trace is a whole trace in memory. What was read is held in a few times the size of its
// file, and a crossing is made of it where it is asked for.
type Trace struct {
	Header
	// Sealed tells that the trace is whole: its footer was read, and one will be
	// written. Setting it seals a trace that was made or cut by hand.
	Sealed bool
	// FooterExtra are the members of the footer that this package does not know.
	FooterExtra []Member

	options Options   // with which it was read
	media   *Openings // what the openings of media in it gave
	body    *body     // the crossings; nil is none
}

// New is a trace of lines, which it takes over. It is not sealed.
func New(h Header, lines []Line) *Trace {
	t := &Trace{Header: h}
	t.SetLines(lines)
	return t
}

// Read reads a whole trace. Where that fails behind the header, it gives
// what stands before the failure as well as the error: the prefix of a trace
// that was cut short is good.
func Read(r io.Reader, options ...Options) (*Trace, error) {
	reader, err := NewReader(r, options...)
	if err != nil {
		return nil, err
	}
	return reader.Rest()
}

// Rest reads what is left of a trace. The lines are read before they are decoded, so that
// their number is known.
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

// Openings are what the openings of media in a trace gave: the media that are read from it
// read their bytes there. Package replay moves through them; readers of a trace need none.
type Openings = wire.Openings

// Openings are those of the trace.
func (t *Trace) Openings() *Openings { return t.media }

// Options are the options with which the trace was read.
func (t *Trace) Options() Options { return t.options }

// WriteTo writes the trace, with a footer of its own if it is sealed: what was
// changed since it was read is counted and digested anew. A trace that was
// written by this package and read is written with the same bytes.
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
