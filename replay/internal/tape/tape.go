// Package tape keeps a run that is made again in the form of a trace, without writing what is as it
// was recorded.
package tape

import (
	"io"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Tape keeps a new run in the form of a trace. A crossing that equals the recorded one in its place
// is stored as the recorded one; it is neither written nor read. All others are written as a line
// of a trace and read back, one by one, so that a comparison sees exactly what a trace would have
// of them.
type Tape struct {
	known   wire.Comparer
	want    []*adk.Crossing // the recording
	options trace.Options
	info    adk.RunInfo // of the new run
	told    []*adk.Crossing
	line    Pages // what was written and is not yet read
	out     *trace.Writer
	in      *trace.Reader // nil until there is a line
	spare   *trace.Line   // for the next line that is read; nil if none is free
	err     error         // why the tape stopped
}

// New makes a tape for a run that is compared with the recorded one, whose crossings are want.
// options are those of the trace through which differing crossings go.
func New(known wire.Comparer, want []*adk.Crossing, options trace.Options) *Tape {
	return &Tape{known: known, want: want, options: options}
}

// Observe makes the tape the observer of the new run.
func (t *Tape) Observe(info adk.RunInfo) adk.Observer {
	t.info, t.told = info, make([]*adk.Crossing, 0, len(t.want))
	t.out = trace.NewWriter(&t.line, trace.Header{Info: info}, t.options)
	return t
}

// Begin does nothing.
func (*Tape) Begin(adk.Step) {}

// Park does nothing.
func (*Tape) Park(int, func() bool) {}

// Resume does nothing.
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

// recorded stores the crossing that was recorded in the place of x if it equals x, and reports
// whether it does.
func (t *Tape) recorded(x *adk.Crossing) bool {
	n := len(t.told)
	if n >= len(t.want) || !t.identical(t.want[n], x) {
		return false
	}
	t.told = append(t.told, t.want[n])
	return true
}

// isRead reports whether a crossing is always written and read, since later reading depends on it:
// on how deep calls lie, and on what media give.
func isRead(x *adk.Crossing) bool { return x.Kind.Class() == adk.ClassCall || wire.OpensMedia(x) }

// retell stores what a trace has of a crossing.
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

// identical reports whether two crossings are the same, including numbers and time.
func (t *Tape) identical(a, b *adk.Crossing) bool {
	if a.Kind != b.Kind || a.Phase != b.Phase || a.Seq != b.Seq || !a.At.Equal(b.At) || a.Call != b.Call || a.Strand != b.Strand || a.Op != b.Op {
		return false
	}
	return !slices.ContainsFunc(a.Kind.Fields(a.Phase), func(use adk.FieldUse) bool { return !t.known.Same(use.Field, a, b) })
}

// Run returns the run that was kept, and its crossings. Those that equal the recorded ones in their
// places are the recorded ones. The error says why the run could not be kept.
func (t *Tape) Run() (info adk.RunInfo, told []*adk.Crossing, err error) {
	return t.info, t.told, t.err
}

// Pages hold what is written to them until it is read.
type Pages struct {
	all  [][]byte
	read int // how much of the first page
}

// pageSize is the size of a page in bytes.
const pageSize = 64 << 10

// Write appends text. It never fails.
func (p *Pages) Write(text []byte) (int, error) {
	last := len(p.all) - 1
	if last < 0 || cap(p.all[last])-len(p.all[last]) < len(text) {
		size := pageSize
		if last < 0 {
			size = pageSize / 16 // enough for most runs
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

// Read returns what was written, and io.EOF where there is nothing more yet.
func (p *Pages) Read(into []byte) (int, error) {
	if len(p.all) == 0 || p.read == len(p.all[0]) {
		return 0, io.EOF
	}
	n := copy(into, p.all[0][p.read:])
	if p.read += n; p.read < len(p.all[0]) {
		return n, nil
	}
	p.read = 0
	if len(p.all) == 1 && cap(p.all[0]) <= pageSize { // a line that was written and read leaves its page to the next
		p.all[0] = p.all[0][:0]
		return n, nil
	}
	p.all[0] = nil
	p.all = p.all[1:]
	return n, nil
}
