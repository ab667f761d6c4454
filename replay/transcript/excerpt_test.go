package transcript_test

import (
	"bytes"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

func linesOf(recorded *trace.Trace) iter.Seq[*adk.Crossing] {
	return func(yield func(*adk.Crossing) bool) {
		for i := range recorded.Lines() {
			if !yield(&recorded.Lines()[i].Crossing) {
				return
			}
		}
	}
}

func excerptOf(t *testing.T, f tracetest.Fixture, numbers ...int) string {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, transcript.WriteExcerpt(&text, linesOf(f.Trace), numbers))
	return text.String()
}

// The lines of an excerpt are lines of the transcript, in their order, whichever crossings are
// requested. A crossing that is requested as a whole is shown in full.
func TestExcerptsAreOfTheTranscript(t *testing.T) {
	for _, f := range tracetest.AllFixtures(t) {
		var whole bytes.Buffer
		require.NoError(t, transcript.Write(&whole, bytes.NewReader(f.Bytes)))
		all := strings.Split(whole.String(), "\n")
		var everything []int
		for n := range f.Trace.Lines() {
			everything = append(everything, n+1)
			pair := excerptOf(t, f, 3, n+1)
			assert.NotEmpty(t, pair, "%s: crossing %d has a line", f.Name, n+1)
		}
		given := strings.Split(excerptOf(t, f, everything...), "\n")
		for _, line := range all {
			assert.Contains(t, strings.Join(given, "\n"), strings.TrimSpace(line), f.Name)
		}
		for _, line := range given { // long texts are cut in every transcript
			assert.NotEqual(t, "…", strings.TrimSpace(line), f.Name)
		}
	}
}

func TestExcerpt(t *testing.T) {
	for _, f := range tracetest.AllFixtures(t) {
		if f.Name != "hello" {
			continue
		}
		assert.Equal(t, "* turnStart turn1\n  … 13 crossings\n  executor/model#0\n", excerptOf(t, f, 2, 16))
		assert.Equal(t, "* turnStart turn1\nturn-input/hydrate\n", excerptOf(t, f, 2, 3), "where nothing lies between, nothing is said")
		assert.Equal(t, "add m1 to messages\n", excerptOf(t, f, 8), "one is shown without what is around it")
		assert.Equal(t, "executor/model#0\n  … 6 crossings\n  ack\n  ack done\n", excerptOf(t, f, 16, 23, 24), "an end has a line where it is asked for")
		assert.Empty(t, excerptOf(t, f))

		f.Trace.SetLines(f.Trace.Lines()[:5])
		assert.Equal(t, "  turn-input/hydrate\n… 2 crossings\n!! ends here, within run turn-input/hydrate storage/messages.fetch\n", excerptOf(t, f, 3, 6), "a number behind the last is the end")
	}
}

// Excerpts that are made in one pass equal those that are made one by one.
func TestExcerptsTogether(t *testing.T) {
	thorough.Long(t)
	for _, f := range tracetest.AllFixtures(t) {
		var lists [][]int
		for n := range f.Trace.Lines() {
			lists = append(lists, []int{n + 1}, []int{n + 1, max(1, n/2)}, []int{n + 1, n + 3})
		}
		for i, text := range transcript.Excerpts(linesOf(f.Trace), lists) {
			assert.Equal(t, excerptOf(t, f, lists[i]...), text, "%s: %v", f.Name, lists[i])
		}
	}
}

// Beyond a certain depth, lines are not indented further, and say their depth instead: the size of
// a transcript is linear in its crossings.
func TestDeepNestingIsNotIndented(t *testing.T) {
	deep, ok := large.Named("nesting")
	require.True(t, ok)
	size := func(crossings int) float64 {
		var text bytes.Buffer
		require.NoError(t, transcript.Write(&text, bytes.NewReader(deep.Trace(crossings))))
		assert.Contains(t, text.String(), "[100] ")
		return float64(text.Len())
	}
	assert.Less(t, size(16_000)/size(8_000), 2.2)
}
