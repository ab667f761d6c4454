package turntest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/replay/transcript"
)

// TranscriptText returns the transcript of a trace.
func TranscriptText(t testing.TB, trace []byte) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, transcript.Write(&out, bytes.NewReader(trace)))
	return out.String()
}
