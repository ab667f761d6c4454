package calls_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Choice.Takes and Call.IsUnder give the same answer to whether a call belongs to a chosen seam, or lies below
// one. For a whole tree, Choice looks at each seam only once, even if chosen calls
// are nested.
func TestChoice(t *testing.T) {
	for _, name := range []string{"nesting", "parallel", "history"} {
		shape, ok := large.Named(name)
		require.True(t, ok)
		recorded, err := trace.Read(bytes.NewReader(shape.Trace(2_000)))
		require.NoError(t, err)
		tree := calls.Of(recorded)
		for _, label := range []string{adk.LabelExecutor, adk.LabelTool, adk.LabelDispatch, "nobody's"} {
			looked, taken := 0, 0
			is := func(seam adk.Seam) bool { return seam.Label == label }
			choice := calls.NewChoice(func(seam adk.Seam) bool { looked++; return is(seam) })
			for _, c := range tree.Calls {
				if takes := choice.Takes(c); takes {
					taken++
				}
				assert.Equal(t, c.IsUnder(is), choice.Takes(c), "%s: %s", name, c.Begin.Seam)
			}
			assert.LessOrEqual(t, looked, len(tree.Calls), name)
			assert.Equal(t, label == adk.LabelExecutor || label == adk.LabelTool && name != "nesting", taken > 0, "%s of %s", label, name)
		}
		assert.False(t, calls.NewChoice(func(adk.Seam) bool { return true }).Takes(nil))
	}
}

// If user code calls a dispatch, the executor of that dispatch belongs to the user code, and is not a seam that can
// be chosen. Of an agent with helpers, only the agent's own executor is such a seam.
func TestExecutorsOfCalledDispatchesAreNotChosen(t *testing.T) {
	data, err := fixtures.Traces.ReadFile("sub-agents.jsonl")
	require.NoError(t, err)
	recorded, err := trace.Read(bytes.NewReader(data))
	require.NoError(t, err)
	isExecutor := func(seam adk.Seam) bool { return seam.Label == adk.LabelExecutor }
	own, called := 0, 0
	for _, c := range calls.Of(recorded).Calls {
		if !isExecutor(c.Begin.Seam) {
			continue
		}
		assert.Equal(t, !c.Owner.Called(), c.IsOf(isExecutor), "%s", c.Begin.Seam)
		if c.Owner.Called() {
			called++
		} else {
			own++
		}
	}
	assert.NotZero(t, own)
	assert.NotZero(t, called)
}
