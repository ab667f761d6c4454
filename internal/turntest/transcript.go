package turntest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/replay"
)

// TranscriptText is a trace as its transcript.
func TranscriptText(t testing.TB, trace []byte) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, replay.WriteTranscript(&out, bytes.NewReader(trace)))
	return out.String()
}
