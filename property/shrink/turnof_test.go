package shrink_test

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/gen"
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// notInATurn gives, for some traces, the reason why the turn made of them makes another trace.
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
			one := turntest.Translated(t, want)
			if strings.Contains(string(want), `"kind":"open-media"`) {
				assert.Empty(t, turn.CheckTurn(one))
				t.Skip("a turn does not open media: what is told of that is not in it")
			}
			if strings.Contains(string(want), `"kind":"ask"`) {
				assert.Empty(t, turn.CheckTurn(one))
				t.Skip("a turn does not ask: what is told of that is not in it")
			}
			if why := notInATurn[name]; why != "" {
				assert.Empty(t, turn.CheckTurn(one))
				t.Skip(why)
			}
			got, _, err := one.Trace()
			require.NoError(t, err)
			assert.Empty(t, turntest.DiffersFrom(want, got), "%#v", one)
		})
	}
}

// The inputs of a turn are recorded with its first call; without that call there is no turn.
func TestTurnOfNothing(t *testing.T) {
	want, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	read, err := trace.Read(bytes.NewReader(want))
	require.NoError(t, err)
	read.SetLines(read.Lines()[:1])
	_, err = shrink.TurnOf(read)
	require.NoError(t, err)
	read.SetLines(nil)
	_, err = shrink.TurnOf(read)
	assert.ErrorContains(t, err, "breaks off before the call of its run")
}

// A trace that no run can have made is an error that names its line and the field.
func TestTurnOfWhatNoRunCanBe(t *testing.T) {
	for name, c := range map[string]struct {
		fixture string
		kind    adk.Kind
		edit    func(*adk.Crossing)
		want    string
	}{
		"an execute of no tool":       {"tool-round-trip", adk.KindExecute, func(x *adk.Crossing) { x.Record = nil }, "tool: "},
		"a call that nobody makes":    {"tool-round-trip", adk.KindDispatchStart, func(x *adk.Crossing) { x.Kind, x.Call = adk.KindCall, 0 }, "in: "},
		"a strand that awaits itself": {"parallel-tools", adk.KindWait, func(x *adk.Crossing) { x.Strand = x.ID }, "in: "},
		"a wait of another call":      {"parallel-tools", adk.KindWait, func(x *adk.Crossing) { x.Call = 1 }, "in: "},
	} {
		f := tracetest.FixtureNamed(t, c.fixture)
		lines := slices.Clone(f.Trace.Lines())
		at := slices.IndexFunc(lines, func(l trace.Line) bool { return l.Kind == c.kind })
		c.edit(&lines[at].Crossing)
		_, err := shrink.TurnOf(tracetest.Sealed(f, lines))
		var format *trace.FormatError
		require.ErrorAs(t, err, &format, name)
		assert.Equal(t, trace.FaultImpossible, format.Fault, name)
		assert.Equal(t, at+2, format.Line, name)
		assert.Contains(t, format.Reason, c.want, name)
	}
}

// SIG-3: the translation keeps which handler was taken off again, if several have the same name.
func TestTurnOfHandlersTakenOff(t *testing.T) {
	assert.Empty(t, turntest.Flawless(handlersTakenOff()))
	assert.Empty(t, turntest.AsPredicted(handlersTakenOff()))
	assert.Empty(t, turntest.TranslatedBack(handlersTakenOff()))
}

func TestTurnOfGenerated(t *testing.T) {
	turntest.CheckTurns(t, turntest.InAnyOrder(gen.Turns(gen.Knobs{})), turntest.TranslatedBack)
}

// An operation on a collection without a name is no step of a turn.
func TestTurnOfNoCollection(t *testing.T) {
	f := tracetest.FixtureNamed(t, "tool-round-trip")
	lines := slices.Clone(f.Trace.Lines())
	at := slices.IndexFunc(lines, func(l trace.Line) bool { return l.Kind == adk.KindFetch && l.Phase == adk.Begin })
	require.Positive(t, at)
	lines[at].Collection = ""
	_, err := shrink.TurnOf(tracetest.Sealed(f, lines))
	require.ErrorContains(t, err, "of: a fetch is of a collection, and this one of none")
}
