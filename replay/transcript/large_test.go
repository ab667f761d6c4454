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

// Of a state the first and the last records are shown: a history of four times the length is shown
// at four times the cost.
func TestHistoriesAreShownInLinearTime(t *testing.T) {
	allocs.Countable(t)
	shape, _ := large.Named("history")
	cost := func(crossings int) float64 {
		recorded := shape.Trace(crossings)
		return float64(allocs.Bytes(func() { require.NoError(t, transcript.Write(io.Discard, bytes.NewReader(recorded))) }))
	}
	assert.Less(t, cost(40_000)/cost(10_000), 4.6)
}

// Passages that were returned are not retained: a trace with twenty times the lines takes no more memory.
func TestPassagesHoldOne(t *testing.T) {
	allocs.Countable(t)
	shape, known := large.Named("asks")
	require.True(t, known)
	peak := func(crossings int) int64 {
		recorded := shape.Trace(crossings)
		return allocs.Peak(func() {
			for _, err := range transcript.Passages(bytes.NewReader(recorded)) {
				require.NoError(t, err)
			}
		})
	}
	peak(200) // a first run, for what is allocated only once
	assert.Less(t, peak(10_000), peak(500)+4<<20)
}
