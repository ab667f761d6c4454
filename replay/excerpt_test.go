package replay_test

import (
	"bytes"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
)

func linesOf(trace *replay.Trace) iter.Seq[*adk.Crossing] {
	return func(yield func(*adk.Crossing) bool) {
		for i := range trace.Lines {
			if !yield(&trace.Lines[i].Crossing) {
				return
			}
		}
	}
}

func excerptOf(t *testing.T, f fixture, numbers ...int) string {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, replay.WriteExcerpt(&text, linesOf(f.trace), numbers))
	return text.String()
}

// The lines of an excerpt stand in the transcript, in their order, whatever is
// asked for; what is asked for as a whole leaves nothing out.
func TestExcerptsAreOfTheTranscript(t *testing.T) {
	for _, f := range allFixtures(t) {
		var whole bytes.Buffer
		require.NoError(t, replay.WriteTranscript(&whole, bytes.NewReader(f.bytes)))
		all := strings.Split(whole.String(), "\n")
		var everything []int
		for n := range f.trace.Lines {
			everything = append(everything, n+1)
			pair := excerptOf(t, f, 3, n+1)
			assert.NotEmpty(t, pair, "%s: crossing %d has a line", f.name, n+1)
		}
		given := strings.Split(excerptOf(t, f, everything...), "\n")
		for _, line := range all {
			assert.Contains(t, strings.Join(given, "\n"), strings.TrimSpace(line), f.name)
		}
		assert.NotContains(t, strings.Join(given, "\n"), "…", f.name)
	}
}

func TestExcerpt(t *testing.T) {
	for _, f := range allFixtures(t) {
		if f.name != "hello" {
			continue
		}
		assert.Equal(t, "* turnStart turn1\n  … 13 crossings\n  executor/model#0\n", excerptOf(t, f, 2, 16))
		assert.Equal(t, "* turnStart turn1\nturn-input/hydrate\n", excerptOf(t, f, 2, 3), "where nothing lies between, nothing is said")
		assert.Equal(t, "add m1 to messages\n", excerptOf(t, f, 8), "one is shown without what is around it")
		assert.Equal(t, "executor/model#0\n  … 6 crossings\n  ack\n  ack done\n", excerptOf(t, f, 16, 23, 24), "an end has a line where it is asked for")
		assert.Empty(t, excerptOf(t, f))

		f.trace.Lines = f.trace.Lines[:5]
		assert.Equal(t, "  turn-input/hydrate\n… 2 crossings\n!! ends here, within run turn-input/hydrate storage/messages.fetch\n", excerptOf(t, f, 3, 6), "a number behind the last is the end")
	}
}
