package shrink_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// FuzzTurnOf translates a trace of any lines. If the trace contains no turn, that is an error of the file.
// Otherwise the turn survives a round trip through JSON, and can be written as Go.
func FuzzTurnOf(f *testing.F) {
	tracetest.AddBodies(f)
	f.Fuzz(func(t *testing.T, lines []byte) {
		recorded, _ := trace.Read(bytes.NewReader(tracetest.Resealed(lines)), trace.Options{MaxLine: 1 << 20})
		if recorded == nil {
			return
		}
		one, err := shrink.TurnOf(recorded)
		if err != nil {
			require.ErrorAs(t, err, new(*trace.FormatError))
			return
		}
		data, err := json.Marshal(one)
		require.NoError(t, err)
		var again turn.Turn
		require.NoError(t, json.Unmarshal(data, &again))
		data2, err := json.Marshal(again)
		require.NoError(t, err)
		assert.Equal(t, string(data), string(data2))
		require.NoError(t, shrink.WriteScenario(new(bytes.Buffer), "shrunk_test", "Shrunk", one))
	})
}
