package transcript_test

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// Passages contain every crossing once, and every line of the transcript, each at its crossings.
func TestPassagesAreTheTranscript(t *testing.T) {
	names, err := fs.Glob(fixtures.Traces, "*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		recorded, err := fs.ReadFile(fixtures.Traces, name)
		require.NoError(t, err)
		for _, content := range [][]byte{recorded, recorded[:len(recorded)/2]} {
			var text bytes.Buffer
			want := transcript.Write(&text, bytes.NewReader(content))
			shown := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
			number, lines, last := 0, 0, error(nil)
			for p, err := range transcript.Passages(bytes.NewReader(content)) {
				if last = err; err != nil {
					continue
				}
				for _, x := range p.Crossings {
					number++
					assert.Equal(t, number, x.Crossing)
				}
				for _, line := range p.Lines {
					require.Less(t, lines, len(shown), name)
					assert.True(t, strings.HasSuffix(shown[lines], line), "%s: %q is not in %q", filepath.Base(name), line, shown[lines])
					lines++
				}
			}
			assert.Equal(t, want == nil, last == nil, name)
			assert.Len(t, shown, lines, name)
		}
	}
	for p, err := range transcript.Passages(bytes.NewReader(nil)) {
		assert.Nil(t, p)
		assert.Error(t, err)
	}
	recorded, err := fs.ReadFile(fixtures.Traces, names[0])
	require.NoError(t, err)
	for range transcript.Passages(bytes.NewReader(recorded)) {
		break
	}
}
