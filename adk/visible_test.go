package adk

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/allocs"
)

// counted is an instruction that counts the calls of its Digest method.
type counted struct {
	*Tokenizable
	asked *int
}

func (c counted) Digest() Digest { *c.asked++; return c.Tokenizable.Digest() }

// DET-8, DSP-9: the cost of a state of a growing turn depends only on what is new in it, and so does the
// cost of a state of each dispatch that begins with a copy. Twice as many records, with a state after
// each, hash twice as many digests.
func TestStatesCostWhatIsNew(t *testing.T) {
	hashed := func(records int) float64 {
		asked, v := 0, beginning("prompt", nil, nil, nil)
		for i := range records {
			text := strconv.Itoa(i)
			v.sets[atMessages].Add(text, counted{NewTokenizable(text), &asked})
			require.NoError(t, v.stash.Set("n"+text, i))
			before := v.digest()
			below := v.copyOf()
			assert.Equal(t, before, below.digest())
		}
		return float64(asked)
	}
	assert.InDelta(t, 2, hashed(2_000)/hashed(1_000), 0.1)
}

// DSP-9, STA-6: a dispatch costs the same whatever the length of the history and stash that it copies,
// including its lookups, additions, changes and states. The same holds for a dispatch that it
// calls.
func TestDispatchesOnLongHistoriesCostTheSame(t *testing.T) {
	of := func(length int) (bytes uint64) {
		v, kept := beginning("prompt", nil, nil, nil), map[string]any{}
		add := func(v *visible, key string) { v.sets[atMessages].Add(key, NewTokenizable(key)) }
		for i := range length {
			add(v, strconv.Itoa(i))
			kept["n"+strconv.Itoa(i)] = i
		}
		require.NoError(t, v.stash.Set("kept", kept))
		dispatch := func(n int) {
			key := "new " + strconv.Itoa(n)
			outer := v.copyOf()
			add(outer, key)
			require.NoError(t, outer.stash.Set("own.n", n))
			outer.digest()
			inner := outer.copyOf()
			require.True(t, inner.sets[atMessages].Has("0"))
			add(inner, key+" within")
			inner.digest()
			add(v, key)
		}
		v.digest()
		dispatch(0)
		const rounds = 200
		return allocs.Bytes(func() {
			for n := range rounds {
				dispatch(1 + n)
			}
		}) / rounds
	}
	short, long := of(2_000), of(8_000)
	t.Logf("%d and %d bytes a dispatch", short, long)
	assert.Less(t, long, short+2800) // some more nodes on the path to a record
}

// DET-8: asking for a state again allocates almost nothing, however many records there are.
func TestStatesAllocateNothing(t *testing.T) {
	v := beginning("prompt", []string{"be kind"}, map[string]any{"a": 1}, nil)
	for i := range 1000 {
		text := strconv.Itoa(i)
		v.sets[atMessages].Add(text, NewTokenizable(text))
	}
	allocs.AtMost(t, 1, 100, func() { v.digest() }, "a state")
}
