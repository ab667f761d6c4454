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

// AsPredicted compares a turn with the model, unless it has several strands or ends goroutines.
func AsPredicted(one turn.Turn) string {
	said := one.GoString()
	if strings.Contains(said, `"op":"fork"`) || strings.Contains(said, `goexit"`) {
		return ""
	}
	return model.Check(one)
}

// TextOf returns the text of an error, or "" for nil.
func TextOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// DiffersFrom says where a trace differs from the wanted one, or returns "".
func DiffersFrom(want, got []byte) string {
	n, wanted, is := turntext.FirstDifference(want, got)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("line %d:\nwant %s\ngot  %s", n, wanted, is)
}

// Translated returns the turn of a trace.
func Translated(t require.TestingT, recorded []byte) turn.Turn {
	read, err := trace.Read(bytes.NewReader(recorded))
	require.NoError(t, err)
	turn, err := shrink.TurnOf(read)
	require.NoError(t, err)
	return turn
}

// toldWhole reports whether a trace records everything in a turn. It does not record that a
// listener ended its goroutine, which only shows in what follows.
func toldWhole(t turn.Turn) bool {
	return !slices.ContainsFunc(t.Loud, func(l turn.Loud) bool { return l.Goexit })
}

// announced is a probe that finds out whether strands may have switched at an operation that is not
// recorded, because the engine announced it and then refused it.
type announced struct {
	model.Spectator
	open   map[int]adk.Kind // by strand
	forked bool
	untold bool
}

// Observe returns the observer of the run.
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

// Tell notes what is recorded. A misuse is the record of an operation that was announced as another
// kind.
func (a *announced) Tell(x *adk.Crossing) {
	a.forked = a.forked || x.Kind == adk.KindFork
	if x.Kind == a.open[x.Strand] || x.Kind == adk.KindContained {
		delete(a.open, x.Strand)
	}
}

// toldInOrder reports whether a trace records where the strands of a turn switched.
func toldInOrder(t turn.Turn) bool {
	seen := &announced{open: map[int]adk.Kind{}}
	_ = t.Run(seen) // other checks see whether the turn is refused
	return !seen.untold
}

// TranslatedBack checks that a turn translated from a trace gives the same trace.
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

// UsesOthersHandles reports whether a strand of a turn uses the handle of another, as far as the
// scripts show. The crossings then have the strand of the handle.
func UsesOthersHandles(one turn.Turn) bool {
	return slices.ContainsFunc(one.Scripts, func(s turn.Script) bool { return borrows(&s.Body, nil, false) })
}

// borrows is UsesOthersHandles for a body. in is the dispatch that the body is in, or nil.
func borrows(b *turn.Body, in *turn.Nested, forked bool) bool {
	return b != nil && slices.ContainsFunc(b.Ops, func(op turn.Op) bool {
		if forked && op.On != "" && !isOwn(in, op.On) || borrows(op.Do, in, forked || op.Kind == "fork") {
			return true
		}
		return op.Dispatch != nil && slices.ContainsFunc(op.Dispatch.Scripts, func(s turn.Script) bool { return borrows(&s.Body, op.Dispatch, forked) })
	})
}

// isOwn reports whether a seam belongs to the dispatch itself.
func isOwn(n *turn.Nested, path string) bool {
	seam, err := adk.ParseSeam(path)
	if n == nil || err != nil {
		return false
	}
	names := map[string][]string{adk.LabelExecutor: {n.Executor}, adk.LabelDispatchInput: n.Input, adk.LabelDispatchOutput: n.Output}
	return slices.Contains(names[seam.Label], seam.Name)
}
