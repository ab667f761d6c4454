package replay

import (
	"errors"
	"io"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// kept is what keeps a new run while it is made.
type kept interface {
	adk.Probe
	// give hands the run over to be held against the recording.
	give(to *replayed) error
}

// newKept keeps a run as a trace of its own where somebody wants that, whole or to take out
// of it what the recording's redaction hides, and else on a tape.
func newKept(p *causal, options trace.Options, whole bool) kept {
	options.File = ""
	if !whole && !p.live.hides() {
		return &tape{known: p.known, want: p.tree.Lines, options: options, failed: p.fail}
	}
	k := &keptTrace{options: options}
	k.Recorder = Record(&k.written, RecordOptions{Sentinels: options.Sentinels, MaxLine: options.MaxLine,
		MaxCrossings: options.MaxCrossings, MaxValues: options.MaxValues})
	return k
}

// keptTrace keeps a new run as a trace.
type keptTrace struct {
	*Recorder
	written pages
	options trace.Options
}

func (k *keptTrace) give(to *replayed) error {
	in, err := trace.NewReader(&k.written, k.options)
	if err == nil {
		to.trace, err = in.Rest()
	}
	if err := errors.Join(k.Err(), err); err != nil {
		return err
	}
	to.holds(to.trace)
	if !to.live.hides() {
		return nil
	}
	shown, err := to.withheld(to.live.Redact, trace.Options{Sentinels: k.options.Sentinels})
	if err == nil && shown != to.trace {
		to.holds(shown)
	}
	return err
}

// tape keeps a new run as a trace would hold it. A crossing that says what was recorded at
// its place is the recorded one: it is neither written nor read. All others go through the
// lines of a trace, one by one, so that what is compared is what a trace has of them.
type tape struct {
	known   wire.Comparer
	want    []*adk.Crossing // the recording
	options trace.Options
	failed  func(error) // takes in that the tape panicked
	info    adk.RunInfo // of the new run
	told    []*adk.Crossing
	line    pages // that was written and is not yet read
	out     *trace.Writer
	in      *trace.Reader // nil until there is a line
	err     error         // why there is no more
}

// Observe makes the tape the observer of the new run.
func (t *tape) Observe(info adk.RunInfo) adk.Observer {
	t.info, t.told = info, make([]*adk.Crossing, 0, len(t.want))
	t.out = trace.NewWriter(&t.line, trace.Header{Info: info}, t.options)
	return stub.Watcher{Observer: t, Fail: t.failed}
}

// Begin, Park and Resume are of no interest to it.
func (*tape) Begin(adk.Step)        {}
func (*tape) Park(int, func() bool) {}
func (*tape) Resume(int)            {}

// Tell keeps the crossing.
func (t *tape) Tell(x *adk.Crossing) {
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
func (t *tape) recorded(x *adk.Crossing) bool {
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
func (t *tape) retell(x *adk.Crossing) (err error) {
	if err := t.out.Write(x); err != nil {
		return err
	}
	if t.in == nil {
		if t.in, err = trace.NewReader(&t.line, t.options); err != nil {
			return err
		}
	}
	line, err := t.in.Next()
	if err != nil {
		return err
	}
	if line.Seq = x.Seq; !t.recorded(&line.Crossing) {
		t.told = append(t.told, &line.Crossing)
	}
	return nil
}

// identical reports whether two crossings say the same, numbers and time too.
func (t *tape) identical(a, b *adk.Crossing) bool {
	if a.Kind != b.Kind || a.Phase != b.Phase || a.Seq != b.Seq || !a.At.Equal(b.At) || a.Call != b.Call || a.Strand != b.Strand || a.Op != b.Op {
		return false
	}
	return !slices.ContainsFunc(a.Kind.Fields(a.Phase), func(use adk.FieldUse) bool { return !t.known.Same(use.Field, a, b) })
}

func (t *tape) give(to *replayed) error {
	if t.err != nil {
		return t.err
	}
	told := t.told
	switch {
	case len(to.ids.want) > 0:
		lines := make([]trace.Line, len(told))
		for i, x := range told {
			lines[i].Crossing = *x
		}
		to.got = describe.Of(calls.New(to.want.Version(), t.info, to.ids.apply(lines)))
	case slices.Equal(told, t.want):
		to.got = to.want
	default:
		to.got = describe.Of(calls.NewOf(to.want.Version(), t.info, told))
	}
	return nil
}

// pages hold what is written to them until it was read.
type pages struct{ all [][]byte }

// pageSize is how much is held in one piece.
const pageSize = 64 << 10

func (p *pages) Write(text []byte) (int, error) {
	last := len(p.all) - 1
	if last < 0 || cap(p.all[last])-len(p.all[last]) < len(text) {
		size := pageSize
		if last < 0 {
			size = pageSize / 16 // most runs need no more
		}
		p.all = append(p.all, make([]byte, 0, max(size, len(text))))
		last++
	}
	p.all[last] = append(p.all[last], text...)
	return len(text), nil
}

func (p *pages) Read(into []byte) (int, error) {
	if len(p.all) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.all[0])
	if p.all[0] = p.all[0][n:]; len(p.all[0]) == 0 {
		p.all[0] = nil
		p.all = p.all[1:]
	}
	return n, nil
}
