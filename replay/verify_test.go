package replay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fixtures"
)

// failingSource panics instead of giving another crossing.
type failingSource struct {
	linesSource
	left int
}

func (s *failingSource) next() (*adk.Crossing, error) {
	if s.left--; s.left < 0 {
		panic("a fault of the replay")
	}
	return s.linesSource.next()
}

// A panic of the replay's own code while the engine tells it something is the
// error of the replay: the engine contains it (DET-4), and the rest of the run
// would be watched by nobody.
func TestPanicOfAReplayIsItsError(t *testing.T) {
	file, err := fixtures.Traces.Open("read-image.jsonl")
	require.NoError(t, err)
	defer file.Close()
	trace, err := ReadTrace(file)
	require.NoError(t, err)

	for left := 3; left < len(trace.Lines); left++ {
		_, err = play(t.Context(), trace.Header, &failingSource{linesSource{trace.Lines}, left}, nil)
		require.ErrorContains(t, err, "replay: the replay itself failed: a fault of the replay\n")
		assert.ErrorContains(t, err, "failingSource", "the stack says where")
	}

	unheld := newCallTree(trace.Version, trace.Info, trace.Lines) // it does not know what its openings of media gave
	_, err = rerun(t.Context(), unheld, nil, Live{}, Options{})
	require.ErrorContains(t, err, "replay: the replay itself failed: ")
	assert.ErrorContains(t, err, "reached")
}
