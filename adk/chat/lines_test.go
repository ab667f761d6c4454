package chat

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/thorough"
)

// SSE-1: cutting one line costs time in the length of that line only, whichever line ending is used.
func TestLinesOfOneEvent(t *testing.T) {
	thorough.OneGoroutine(t)
	const lines = 1 << 20
	for _, end := range []string{"\r", "\n", "\r\n"} {
		event := bytes.Repeat([]byte("data: x"+end), lines)
		assert.Len(t, payloads(event), lines, "%q", end)
	}
	line, rest := cutLine(append(bytes.Repeat([]byte("x"), 5000), "\r\ny"...))
	assert.Len(t, line, 5000)
	assert.Equal(t, "\ny", string(rest))
}
