package replay

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/bycause"
	"github.com/adkreplay/adkreplay/replay/internal/rename"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// With live seams too, an event that was not recorded is a difference, and
// so is a missing event, in every call and after every operation. The
// engine emits events, and today's engine may differ. No live code can
// make it do so, and the test therefore compares two edited runs directly.
func TestEventsAreComparedWithLiveSeams(t *testing.T) {
	known, err := wire.NewSentinels(nil, nil)
	require.NoError(t, err)
	tracetest.EachFixture(t, func(t *testing.T, recorded *trace.Trace) {
		classes := func(lines []trace.Line) (all []Class) {
			lines = slices.Clone(lines)
			for i := range lines {
				lines[i].Seq = i + 1
			}
			j := comparison{known: wire.Comparer{Sentinels: known}, want: describe.Of(calls.New(trace.FormatVersion, recorded.Info, recorded.Lines())), got: describe.Of(calls.New(trace.FormatVersion, recorded.Info, lines))}
			for _, d := range j.compare() {
				all = append(all, d.class)
			}
			return all
		}
		require.Empty(t, classes(recorded.Lines()))
		for i, line := range recorded.Lines() {
			if line.Kind.Class() == adk.ClassEvent {
				assert.Contains(t, classes(slices.Insert(slices.Clone(recorded.Lines()), i, line)), Extra, "crossing %d, %s, comes twice", i+1, line.Kind)
				assert.Contains(t, classes(slices.Delete(slices.Clone(recorded.Lines()), i, i+1)), Missing, "crossing %d, %s, is gone", i+1, line.Kind)
			}
		}
	})
}

// With live seams too, it is a difference if an operation now leads to a call of user code that it
// did not lead to when recorded, or no longer leads to one.
func TestCallsBelowOperationsAreComparedWithLiveSeams(t *testing.T) {
	known, err := wire.NewSentinels(nil, nil)
	require.NoError(t, err)
	found := map[string]int{}
	for _, name := range []string{"hello", "tool-round-trip", "ephemeral-tools", "edited-answer"} {
		recorded := fixtureNamed(t, name)
		compared := func(want, got []trace.Line) (all []Class) {
			for _, lines := range [][]trace.Line{want, got} {
				for i := range lines {
					lines[i].Seq = i + 1
				}
			}
			j := comparison{known: wire.Comparer{Sentinels: known}, want: describe.Of(calls.New(trace.FormatVersion, recorded.Info, want)), got: describe.Of(calls.New(trace.FormatVersion, recorded.Info, got))}
			for _, d := range j.compare() {
				all = append(all, d.class)
			}
			return all
		}
		for i, call := range recorded.Lines() {
			label := call.Seam.Label
			if call.Kind != adk.KindCall || label != adk.LabelStorage && label != adk.LabelTool && label != adk.LabelOnAck {
				continue
			}
			end := i + slices.IndexFunc(recorded.Lines()[i:], func(l trace.Line) bool { return l.Kind == adk.KindReturn && l.ID == call.ID })
			less := slices.Delete(slices.Clone(recorded.Lines()), i, end+1)
			assert.Contains(t, compared(slices.Clone(less), slices.Clone(recorded.Lines())), Extra, "%s: %s is new", name, call.Seam)
			assert.Contains(t, compared(slices.Clone(recorded.Lines()), slices.Clone(less)), Missing, "%s: %s is gone", name, call.Seam)
			found[label]++
		}
	}
	assert.Len(t, found, 3)
}

// A run with live seams that equals its recording but breaks the contract is red: a recording made
// by the same engine does not prove the engine right.
func TestLiveRunIsHeldAgainstTheContract(t *testing.T) {
	known, err := wire.NewSentinels(nil, nil)
	require.NoError(t, err)
	recorded := fixtureNamed(t, "hello")
	at := slices.IndexFunc(recorded.Lines(), func(l trace.Line) bool { return l.Kind == adk.KindState })
	for _, broken := range []bool{false, true} {
		if broken {
			recorded.Lines()[at].Digest[0]++
		}
		r := &replayed{trace: recorded, outcome: &bycause.Outcome{IDs: &rename.IDs{}}, comparison: comparison{known: wire.Comparer{Sentinels: known}, want: describe.Of(calls.New(trace.FormatVersion, recorded.Info, recorded.Lines())), got: describe.Of(calls.New(trace.FormatVersion, recorded.Info, recorded.Lines()))}}
		d := r.report().Divergence
		if !broken {
			assert.Nil(t, d)
			continue
		}
		require.NotNil(t, d)
		assert.Equal(t, at+1, d.Crossing)
		assert.Equal(t, "contract", d.Fields[0].Field)
	}
}
