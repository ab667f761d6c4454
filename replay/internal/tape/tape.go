// Package tape keeps a run that is made again as a trace would hold it, without writing
// what is as it was recorded.
package tape

import (
	"io"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Tape keeps a new run as a trace would hold it. A crossing that says what was recorded at
// its place is the recorded one: it is neither written nor read. All others go through the
// lines of a trace, one by one, so that what is compared is what a trace has of them.
type Tape struct {
	known   wire.Comparer
	want    []*adk.Crossing // the recording
	options trace.Options
	info    adk.RunInfo // of the new run
	told    []*adk.Crossing
	line    Pages // that was written and is not yet read
	out     *trace.Writer
	in      *trace.Reader // nil until there is a line
	spare   *trace.Line   // for the next that is read; nil if none is to be used again
	err     error         // why there is no more
}

// New makes a tape for a run that is held against the recorded one, whose crossings are
// want. Those of the run go through a trace of the given options.
func New(known wire.Comparer, want []*adk.Crossing, options trace.Options) *Tape {
	return &Tape{known: known, want: want, options: options}
}

// Observe makes the tape the observer of the new run.
func (t *Tape) Observe(info adk.RunInfo) adk.Observer {
	t.info, t.told = info, make([]*adk.Crossing, 0, len(t.want))
	t.out = trace.NewWriter(&t.line, trace.Header{Info: info}, t.options)
	return t
}

// Begin is of no interest to it.
func (*Tape) Begin(adk.Step) {}

// Park is of none either.
func (*Tape) Park(int, func() bool) {}

// Resume is of none either.
func (*Tape) Resume(int) {}

// Tell keeps the crossing.
func (t *Tape) Tell(x *adk.Crossing) {
	if t.err != nil {
		return
	}
	if !isRead(x) && t.recorded(x) {
		return
	}
	t.err = t.retell(x)
}

// recorded keeps the crossing that is recorded at the place of x, and reports whether x
// says the same.
func (t *Tape) recorded(x *adk.Crossing) bool {
	n := len(t.told)
	if n >= len(t.want) || !t.identical(t.want[n], x) {
		return false
	}
	t.told = append(t.told, t.want[n])
	return true
}

// isRead reports whether a crossing is always read, since a reader goes by it: how deep
// calls lie, and what media give.
func isRead(x *adk.Crossing) bool { return x.Kind.Class() == adk.ClassCall || wire.OpensMedia(x) }

// retell keeps what a trace has of a crossing.
func (t *Tape) retell(x *adk.Crossing) (err error) {
	if err := t.out.Write(x); err != nil {
		return err
	}
	if t.in == nil {
		if t.in, err = trace.NewReader(&t.line, t.options); err != nil {
			return err
		}
	}
	if t.spare == nil {
		t.spare = new(trace.Line)
	}
	line, err := t.in.NextInto(t.spare)
	if err != nil {
		return err
	}
	if line.Seq = x.Seq; t.recorded(&line.Crossing) {
		return nil
	}
	t.told = append(t.told, &line.Crossing)
	if line == t.spare {
		t.spare = nil
	}
	return nil
}

// identical reports whether two crossings say the same, numbers and time too.
func (t *Tape) identical(a, b *adk.Crossing) bool {
	if a.Kind != b.Kind || a.Phase != b.Phase || a.Seq != b.Seq || !a.At.Equal(b.At) || a.Call != b.Call || a.Strand != b.Strand || a.Op != b.Op {
		return false
	}
	return !slices.ContainsFunc(a.Kind.Fields(a.Phase), func(use adk.FieldUse) bool { return !t.known.Same(use.Field, a, b) })
}

// Run is the run that was kept, and its crossings. Those that say what was recorded at
// their place are the recorded ones. An error says why it could not be kept.
func (t *Tape) Run() (info adk.RunInfo, told []*adk.Crossing, err error) {
	return t.info, t.told, t.err
}

// Pages hold what is written to them until it was read.
type Pages struct {
	all  [][]byte
	read int // of the first
}

// pageSize is how much is held in one piece.
const pageSize = 64 << 10

// Write takes in text.
func (p *Pages) Write(text []byte) (int, error) {
	last := len(p.all) - 1
	if last < 0 || cap(p.all[last])-len(p.all[last]) < len(text) {
		size := pageSize
		if last < 0 {
			size = pageSize / 16 // most runs need no more
		}
		if last < 0 || len(p.all[last]) > 0 {
			p.all = append(p.all, nil)
			last++
		}
		p.all[last] = make([]byte, 0, max(size, len(text)))
	}
	p.all[last] = append(p.all[last], text...)
	return len(text), nil
}

// Read gives what was written, and io.EOF where there is no more yet.
func (p *Pages) Read(into []byte) (int, error) {
	if len(p.all) == 0 || p.read == len(p.all[0]) {
		return 0, io.EOF
	}
	n := copy(into, p.all[0][p.read:])
	if p.read += n; p.read < len(p.all[0]) {
		return n, nil
	}
	p.read = 0
	if len(p.all) == 1 && cap(p.all[0]) <= pageSize { // who writes a line and reads it needs no other page for the next
		p.all[0] = p.all[0][:0]
		return n, nil
	}
	p.all[0] = nil
	p.all = p.all[1:]
	return n, nil
}
