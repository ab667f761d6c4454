package property

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay"
)

func translated(t require.TestingT, trace []byte) Turn {
	read, err := replay.ReadTrace(bytes.NewReader(trace))
	require.NoError(t, err)
	turn, err := TurnOf(read)
	require.NoError(t, err)
	return turn
}

// notInATurn is why the turn of some traces makes another one.
var notInATurn = map[string]string{
	"ticking-clock.jsonl":   "a turn has no clock that moves by itself",
	"waits-cut-short.jsonl": "a turn has no contexts but its own: that one of user code's ended is in its answers only",
}

// The turn that a trace is translated into makes the same trace again.
func TestTurnOfFixtures(t *testing.T) {
	names, err := fs.Glob(fixtures.Traces, "*.jsonl")
	require.NoError(t, err)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			want, err := fixtures.Traces.ReadFile(name)
			require.NoError(t, err)
			turn := translated(t, want)
			if strings.Contains(string(want), `"kind":"open-media"`) {
				assert.Empty(t, CheckTurn(turn))
				t.Skip("a turn does not open media: what is told of that is not in it")
			}
			if why := notInATurn[name]; why != "" {
				assert.Empty(t, CheckTurn(turn))
				t.Skip(why)
			}
			got, _, err := turn.Trace()
			require.NoError(t, err)
			if at := differsAt(want, got); at >= 0 {
				assert.Fail(t, "another trace", "line %d:\nwant %s\ngot  %s\n%#v", at+1, line(want, at), line(got, at), turn)
			}
		})
	}
}

// What was handed in is told with the first call: before that there is no turn.
func TestTurnOfNothing(t *testing.T) {
	want, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	read, err := replay.ReadTrace(bytes.NewReader(want))
	require.NoError(t, err)
	read.Lines = read.Lines[:1]
	_, err = TurnOf(read)
	require.NoError(t, err)
	read.Lines = nil
	_, err = TurnOf(read)
	assert.ErrorContains(t, err, "breaks off before the call of its run")
}

// toldWhole tells whether a trace says all that a turn is made of: that a listener
// ended its goroutine is only to be seen from what comes next.
func toldWhole(t Turn) bool {
	return !slices.ContainsFunc(t.Loud, func(l Loud) bool { return l.Goexit })
}

// SIG-3: what is taken off again, of several of one name, is in the translation.
func TestTurnOfHandlersTakenOff(t *testing.T) {
	assert.Empty(t, flawless(handlersTakenOff()))
	assert.Empty(t, asPredicted(handlersTakenOff()))
	assert.Empty(t, translatedBack(handlersTakenOff()))
}

func TestTurnOfGenerated(t *testing.T) { checkTurns(t, inAnyOrder(Turns(Knobs{})), translatedBack) }

// announced is a probe that sees whether strands may have taken turns at an operation
// that is nowhere told: the engine announced it, and then refused it.
type announced struct {
	spectator
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

// toldInOrder tells whether a trace says where the strands of a turn took turns.
func toldInOrder(t Turn) bool {
	seen := &announced{open: map[int]adk.Kind{}}
	_ = t.Run(seen) // that it is refused is for others to see
	return !seen.untold
}

// translatedBack holds a turn to the trace of its translation.
func translatedBack(turn Turn) string {
	if !toldWhole(turn) || !toldInOrder(turn) {
		return ""
	}
	want, refused, err := turn.Trace()
	if err != nil || refused != nil {
		return textOf(err)
	}
	read, err := replay.ReadTrace(bytes.NewReader(want))
	if err != nil {
		return err.Error()
	}
	again, err := TurnOf(read)
	if err != nil {
		return err.Error()
	}
	got, _, err := again.Trace()
	if err != nil {
		return err.Error()
	}
	if text := differsFrom(want, got); text != "" {
		return fmt.Sprintf("%s\n%#v", text, again)
	}
	return ""
}
