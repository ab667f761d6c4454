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

// AsPredicted compares a turn with the model of the engine and returns the difference. It skips
// turns with several strands and turns that end a goroutine.
func AsPredicted(one turn.Turn) string {
	said := one.GoString()
	if strings.Contains(said, `"op":"fork"`) || strings.Contains(said, `goexit"`) {
		return ""
	}
	return model.Check(one)
}

// TextOf returns the text of an error, or nothing.
func TextOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// DiffersFrom describes the first difference between a trace and the trace that is wanted.
func DiffersFrom(want, got []byte) string {
	n, wanted, is := turntext.FirstDifference(want, got)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("line %d:\nwant %s\ngot  %s", n, wanted, is)
}

// Translated returns the turn that a trace translates to.
func Translated(t require.TestingT, recorded []byte) turn.Turn {
	read, err := trace.Read(bytes.NewReader(recorded))
	require.NoError(t, err)
	turn, err := shrink.TurnOf(read)
	require.NoError(t, err)
	return turn
}

// toldWhole reports whether the turn's trace records all that the turn consists of. That a listener
// ended its goroutine is not recorded as such.
func toldWhole(t turn.Turn) bool {
	return !slices.ContainsFunc(t.Loud, func(l turn.Loud) bool { return l.Goexit })
}

// announced is a probe that detects whether strands may have taken turns at an operation that is
// not recorded, because the engine announced it and then refused it; untold says so.
type announced struct {
	model.Spectator
	open   map[int]adk.Kind // by strand
	forked bool
	untold bool
}

// Observe returns the probe itself.
func (a *announced) Observe(adk.RunInfo) adk.Observer { return a }

// Begin notes the operation that is announced.
func (a *announced) Begin(step adk.Step) {
	_, still := a.open[step.Strand]
	a.untold = a.untold || still && a.forked
	delete(a.open, step.Strand)
	if step.Kind.Class() == adk.ClassOperation && step.Phase != adk.Done {
		a.open[step.Strand] = step.Kind
	}
}

// Tell notes the crossing. A contained crossing counts as the announced operation, because misuse
// is recorded in that way.
func (a *announced) Tell(x *adk.Crossing) {
	a.forked = a.forked || x.Kind == adk.KindFork
	if x.Kind == a.open[x.Strand] || x.Kind == adk.KindContained {
		delete(a.open, x.Strand)
	}
}

// toldInOrder reports whether a turn's trace records all places where its strands took turns.
func toldInOrder(t turn.Turn) bool {
	seen := &announced{open: map[int]adk.Kind{}}
	_ = t.Run(seen) // other checks report a refusal
	return !seen.untold
}

// TranslatedBack compares the trace of a turn with the trace of the turn's translation.
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

// UsesOthersHandles reports whether, by the scripts, a strand of the turn uses the handle of
// another strand. A crossing then has the number of the handle's strand.
func UsesOthersHandles(one turn.Turn) bool {
	return slices.ContainsFunc(one.Scripts, func(s turn.Script) bool { return borrows(&s.Body, nil, false) })
}

// borrows is UsesOthersHandles for a body. in is the dispatch in which the body is, or nil for the
// turn's own.
func borrows(b *turn.Body, in *turn.Nested, forked bool) bool {
	return b != nil && slices.ContainsFunc(b.Ops, func(op turn.Op) bool {
		if forked && op.On != "" && !isOwn(in, op.On) || borrows(op.Do, in, forked || op.Kind == "fork") {
			return true
		}
		return op.Dispatch != nil && slices.ContainsFunc(op.Dispatch.Scripts, func(s turn.Script) bool { return borrows(&s.Body, op.Dispatch, forked) })
	})
}

// isOwn reports whether a path is that of a seam of the dispatch.
func isOwn(n *turn.Nested, path string) bool {
	seam, err := adk.ParseSeam(path)
	if n == nil || err != nil {
		return false
	}
	names := map[string][]string{adk.LabelExecutor: {n.Executor}, adk.LabelDispatchInput: n.Input, adk.LabelDispatchOutput: n.Output}
	return slices.Contains(names[seam.Label], seam.Name)
}
