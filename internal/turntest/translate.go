package turntest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/model"
	"github.com/adkreplay/adkreplay/internal/turntext"
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// AsPredicted holds a turn of one strand, in which no goroutine is ended, to the
// model.
func AsPredicted(one turn.Turn) string {
	said := one.GoString()
	if strings.Contains(said, `"op":"fork"`) || strings.Contains(said, `goexit"`) {
		return ""
	}
	return model.Check(one)
}

// TextOf says what is wrong, if anything is.
func TextOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// DiffersFrom says where a trace differs from what it has to be.
func DiffersFrom(want, got []byte) string {
	n, wanted, is := turntext.FirstDifference(want, got)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("line %d:\nwant %s\ngot  %s", n, wanted, is)
}

// Translated is the turn of a trace.
func Translated(t require.TestingT, recorded []byte) turn.Turn {
	read, err := trace.Read(bytes.NewReader(recorded))
	require.NoError(t, err)
	turn, err := shrink.TurnOf(read)
	require.NoError(t, err)
	return turn
}

// toldWhole reports whether a trace says all that a turn is made of: that a listener
// ended its goroutine is only to be seen from what comes next.
func toldWhole(t turn.Turn) bool {
	return !slices.ContainsFunc(t.Loud, func(l turn.Loud) bool { return l.Goexit })
}

// announced is a probe that sees whether strands may have taken turns at an operation
// that is nowhere told: the engine announced it, and then refused it.
type announced struct {
	model.Spectator
	open   map[int]adk.Kind // by strand
	forked bool
	untold bool
}

// Observe begins the run.
func (a *announced) Observe(adk.RunInfo) adk.Observer { return a }

// Begin notes what is announced.
func (a *announced) Begin(step adk.Step) {
	_, still := a.open[step.Strand]
	a.untold = a.untold || still && a.forked
	delete(a.open, step.Strand)
	if step.Kind.Class() == adk.ClassOperation && step.Phase != adk.Done {
		a.open[step.Strand] = step.Kind
	}
}

// Tell notes what is told. Misuse is what was announced, told as what it was.
func (a *announced) Tell(x *adk.Crossing) {
	a.forked = a.forked || x.Kind == adk.KindFork
	if x.Kind == a.open[x.Strand] || x.Kind == adk.KindContained {
		delete(a.open, x.Strand)
	}
}

// toldInOrder reports whether a trace says where the strands of a turn took turns.
func toldInOrder(t turn.Turn) bool {
	seen := &announced{open: map[int]adk.Kind{}}
	_ = t.Run(seen) // that it is refused is for others to see
	return !seen.untold
}

// TranslatedBack holds a turn to the trace of its translation.
func TranslatedBack(one turn.Turn) string {
	if !toldWhole(one) || UsesOthersHandles(one) || !toldInOrder(one) {
		return ""
	}
	want, refused, err := one.Trace()
	if err != nil || refused != nil {
		return TextOf(err)
	}
	read, err := trace.Read(bytes.NewReader(want))
	if err != nil {
		return err.Error()
	}
	again, err := shrink.TurnOf(read)
	if err != nil {
		return err.Error()
	}
	got, _, err := again.Trace()
	if err != nil {
		return err.Error()
	}
	if text := DiffersFrom(want, got); text != "" {
		return fmt.Sprintf("%s\n%#v", text, again)
	}
	return ""
}

// UsesOthersHandles reports whether a strand of a turn uses the handle of another, as
// far as scripts say: crossings bear the strand whose handle it is.
func UsesOthersHandles(one turn.Turn) bool {
	return slices.ContainsFunc(one.Scripts, func(s turn.Script) bool { return borrows(&s.Body, nil, false) })
}

// borrows is UsesOthersHandles of a body: in is the dispatch it is in, if it was called
// there.
func borrows(b *turn.Body, in *turn.Nested, forked bool) bool {
	return b != nil && slices.ContainsFunc(b.Ops, func(op turn.Op) bool {
		if forked && op.On != "" && !isOwn(in, op.On) || borrows(op.Do, in, forked || op.Kind == "fork") {
			return true
		}
		return op.Dispatch != nil && slices.ContainsFunc(op.Dispatch.Scripts, func(s turn.Script) bool { return borrows(&s.Body, op.Dispatch, forked) })
	})
}

// isOwn reports whether a seam is one of the dispatch's own.
func isOwn(n *turn.Nested, path string) bool {
	seam, err := adk.ParseSeam(path)
	if n == nil || err != nil {
		return false
	}
	names := map[string][]string{adk.LabelExecutor: {n.Executor}, adk.LabelDispatchInput: n.Input, adk.LabelDispatchOutput: n.Output}
	return slices.Contains(names[seam.Label], seam.Name)
}
