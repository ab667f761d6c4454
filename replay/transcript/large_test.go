package transcript_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// Of a state the first records are said, and the last: a history of four times the length
// is shown at four times the cost.
func TestHistoriesAreShownInLinearTime(t *testing.T) {
	allocs.Countable(t)
	shape, _ := large.Named("history")
	cost := func(crossings int) float64 {
		recorded := shape.Trace(crossings)
		return float64(allocs.Bytes(func() { require.NoError(t, transcript.Write(io.Discard, bytes.NewReader(recorded))) }))
	}
	assert.Less(t, cost(40_000)/cost(10_000), 4.6)
}
