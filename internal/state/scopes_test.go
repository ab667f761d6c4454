package state_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/state"
)

// heldByDispatches returns the bytes that a fold holds once this many dispatches, nested or one after the other,
// have each set a value next to a large one.
func heldByDispatches(t *testing.T, dispatches int, nested bool) int64 {
	return allocs.Held(func() *state.Fold {
		f := state.New()
		apply := func(x adk.Crossing) { require.NoError(t, f.Apply(&x)) }
		apply(adk.Crossing{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}})
		list := make([]any, 100_000)
		apply(adk.Crossing{Kind: adk.KindStash, Call: 1, Name: "a.large", Value: list})
		for i := range dispatches {
			in := 1
			if nested {
				in = i + 1
			}
			apply(adk.Crossing{Kind: adk.KindCall, Call: in, ID: i + 2, Seam: adk.Seam{Label: adk.LabelDispatch}})
			apply(adk.Crossing{Kind: adk.KindStash, Call: i + 2, Name: "a." + strconv.Itoa(i), Value: i})
			value, found := f.Seen(i + 2).Values.Tree["a"].(map[string]any)["large"]
			require.True(t, found)
			require.Len(t, value, len(list))
			if !nested {
				apply(adk.Crossing{Kind: adk.KindStash, Call: i + 2, Name: "own", Value: make([]any, len(list))})
				apply(adk.Crossing{Kind: adk.KindReturn, Call: 1, ID: i + 2, Outcome: adk.OutcomeOK})
			}
		}
		require.Equal(t, []string{"a.large"}, f.Turn().StashKeys(), "what a dispatch sets its caller does not see")
		return f
	})
}

// DSP-9, STA-6: a dispatch that changes its stash gets its own copy of the branches on the path, and none of
// what lies next to them. When it is over, nothing of it is held.
func TestDispatchesShareTheirStash(t *testing.T) {
	one := heldByDispatches(t, 1, true)
	assert.Less(t, heldByDispatches(t, 20, true), 2*one)
	assert.Less(t, heldByDispatches(t, 20, false), 2*one)
}
