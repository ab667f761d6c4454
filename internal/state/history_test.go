package state_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/digest"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/tracetest"
)

// DET-8: through a long history, the incremental digests of the engine and of the fold equal the digest that is
// computed from all that is held at that moment.
func TestDigestsAreThoseOfAllThatIsHeld(t *testing.T) {
	shape, _ := large.Named("history")
	read, f := tracetest.ReadTrace(t, shape.Trace(6_000)), state.New()
	most := 0
	for i := range read.Lines() {
		x := &read.Lines()[i].Crossing
		if x.Kind == adk.KindState {
			held := f.StateDigest(x.Call)
			most = max(most, len(*held.Of(adk.Messages)))
			require.Equal(t, held.Digest(), x.Digest, "crossing %d", x.Seq)
			require.Equal(t, x.Digest, f.Digest(x.Call))
		}
		require.NoError(t, f.Apply(x))
	}
	assert.Greater(t, most, 3*digest.Block, "as many records as are summed")
}

// counted is a message that counts how often its digest is asked for.
type counted struct {
	*adk.Message
	asked *int
}

func (c counted) Digest() adk.Digest { *c.asked++; return c.Message.Digest() }

// DET-8: the digest of a growing history costs only what is new. With twice as many records, and a state after
// each, twice as many digests are hashed.
func TestStatesOfGrowingHistoriesCostWhatIsNew(t *testing.T) {
	hashed := func(records int) float64 {
		f, asked := state.New(), 0
		require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}))
		for i := range records {
			m, err := adk.NewMessage(adk.MessageInit{ID: strconv.Itoa(i), Role: adk.RoleUser, Content: "hi", CreatedAt: tracetest.TestStart, UpdatedAt: tracetest.TestStart})
			require.NoError(t, err)
			require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindAdd, Call: 1, Collection: adk.Messages, Record: counted{m, &asked}}))
			f.Digest(1)
		}
		return float64(asked)
	}
	assert.InDelta(t, 2, hashed(4_000)/hashed(2_000), 0.05)
}

// The tokens that an executor can show are counted from what is there, whatever was added, replaced or removed
// since the last count.
func TestShownTokensFollowTheView(t *testing.T) {
	f, carried := state.New(), state.NewShownTokens("")
	require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}))
	add := func(i int, content string, was bool) {
		m, err := adk.NewMessage(adk.MessageInit{ID: strconv.Itoa(i), Role: adk.RoleUser, Content: content, CreatedAt: tracetest.TestStart, UpdatedAt: tracetest.TestStart})
		require.NoError(t, err)
		require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindAdd, Call: 1, Collection: adk.Messages, Record: m, Flag: was}))
		require.Equal(t, state.NewShownTokens("").Of(f.Seen(1)), carried.Of(f.Seen(1)))
	}
	for i := range 200 {
		add(i, "so many words as there are", false)
	}
	add(10, "fewer", true)
	require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindRemove, Call: 1, Collection: adk.Messages, Key: "100", Flag: true}))
	add(200, "one more", false)
}
