package replay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// failingSource panics instead of returning another crossing.
type failingSource struct {
	linesSource
	left int
}

func (s *failingSource) next() (*trace.Line, error) {
	if s.left--; s.left < 0 {
		panic("a fault of the replay")
	}
	return s.linesSource.next()
}

// If the replay's own code panics while it observes a crossing, that is the error of the replay.
// The engine contains such a panic (DET-4), and without the error the rest of the run would go
// unobserved.
func TestPanicOfAReplayIsItsError(t *testing.T) {
	file, err := fixtures.Traces.Open("read-image.jsonl")
	require.NoError(t, err)
	defer file.Close()
	recorded, err := trace.Read(file)
	require.NoError(t, err)

	for left := 3; left < len(recorded.Lines()); left++ {
		_, err = play(t.Context(), recorded.Header, &failingSource{linesSource{recorded.Lines()}, left}, nil)
		require.ErrorContains(t, err, "replay: the replay itself failed: a fault of the replay\n")
		assert.ErrorContains(t, err, "failingSource", "the stack says where")
	}

	unheld := calls.New(recorded.Version, recorded.Info, recorded.Lines()) // it lacks the results of the openings of media
	_, err = rerun(t.Context(), unheld, nil, Live{}, trace.Options{})
	require.ErrorContains(t, err, "replay: the replay itself failed: ")
	assert.ErrorContains(t, err, "Reached")
}
