package adk

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/allocs"
)

// counted is an instruction that counts how often its digest is asked for.
type counted struct {
	*Tokenizable
	asked *int
}

func (c counted) Digest() Digest { *c.asked++; return c.Tokenizable.Digest() }

// DET-8, DSP-9: a state of a turn that grows costs what is new, and so does one of each
// dispatch that begins with a copy of it. Twice as many records, with a state after each,
// have twice as many digests hashed.
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

// DET-8: what is asked for at each state allocates nothing, however much there is.
func TestStatesAllocateNothing(t *testing.T) {
	v := beginning("prompt", []string{"be kind"}, map[string]any{"a": 1}, nil)
	for i := range 1000 {
		text := strconv.Itoa(i)
		v.sets[atMessages].Add(text, NewTokenizable(text))
	}
	allocs.AtMost(t, 1, 100, func() { v.digest() }, "a state")
}
