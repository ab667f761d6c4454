package trace_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// With any crossings, and the shortest possible limit, no written line is too long. The crossings
// are read back unchanged, and written again in the same way.
func TestLongLinesAreCut(t *testing.T) {
	t.Parallel()
	var cut atomic.Int64 // over all fixtures, which are tried in parallel
	tracetest.ForEachFixture(t, func(t *testing.T, f tracetest.Fixture) {
		header := int64(bytes.IndexByte(f.Bytes, '\n') + 1)
		for _, most := range []int64{header, header + 1, header + 100} {
			o := trace.Options{MaxLine: most}
			written := writeAgain(t, f.Trace, o)
			for line := range bytes.Lines(written) {
				require.LessOrEqual(t, int64(len(line)), most)
			}
			cut.Add(int64(bytes.Count(written, []byte("\n{\"left\":"))))
			read, err := trace.Read(bytes.NewReader(written), o)
			require.NoError(t, err)
			assert.Equal(t, string(f.Bytes), string(writeAgain(t, read, trace.Options{})), "whole again")
			assert.Equal(t, string(written), string(writeAgain(t, read, o)))
		}
	})
	assert.Greater(t, cut.Load(), int64(1000))
}

func writeAgain(t require.TestingT, recorded *trace.Trace, o trace.Options) []byte {
	var out bytes.Buffer
	w := trace.NewWriter(&out, recorded.Header, o)
	for _, line := range recorded.All() {
		require.NoError(t, w.WriteLine(line))
	}
	require.NoError(t, w.CloseWith(recorded.FooterExtra))
	return out.Bytes()
}

// Lines are cut between characters, whatever these are.
func TestLinesAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		told := adk.Crossing{Kind: adk.KindReportLog, At: tracetest.TestStart, Text: strings.Repeat(rapid.String().Draw(t, "text"), 40)}
		o := trace.Options{MaxLine: rapid.Int64Range(200, 600).Draw(t, "most")}
		var out bytes.Buffer
		w := trace.NewWriter(&out, trace.Header{}, o)
		require.NoError(t, w.Write(&told))
		require.NoError(t, w.Close())
		read, err := trace.Read(bytes.NewReader(out.Bytes()), o)
		require.NoError(t, err, "%s", out.Bytes())
		assert.Equal(t, told.Text, read.Lines()[0].Text)
	})
}

// If a line lacks a part, or has one too many, the error says where. A line of which the file has
// only the first parts was cut short.
func TestDamagedPartsAreRefused(t *testing.T) {
	const a, b, c = `{"left":2,"part":"{\"kind\":"}`, `{"left":1,"part":"\"now\""}`, `{"left":0,"part":"}"}`
	read, err := trace.Read(bytes.NewReader(tracetest.Seal([]string{tracetest.HeaderLine, a, b, c, `{"kind":"now"}`}, "")))
	require.NoError(t, err)
	require.Len(t, read.Lines(), 2)
	for _, damage := range []struct {
		lines  []string
		line   int
		reason string
	}{
		{[]string{a, c}, 3, "a part of a line with 0 behind it follows one with 2: one is missing"},
		{[]string{a, b, b, c}, 4, "a part of a line with 1 behind it follows one with 1"},
		{[]string{b, a, c}, 3, "a part of a line with 2 behind it follows one with 1"},
		{[]string{b, c}, 3, "the line that its parts make: column 1: want an object"},
		{[]string{a, b}, 4, "a line was cut into parts, of which 1 are missing here"},
		{[]string{a, b, `{"kind":"now"}`}, 4, "a line was cut into parts, of which 1 are missing here"},
		{[]string{a, b, c, c}, 5, "the line that its parts make: column 1: want an object"},
		{[]string{`{"left":0,"part":"{\"left\":0,\"part\":\"{}\"}"}`}, 2, "the line has no kind"},
		{[]string{`{"left":0,"part":"{\"end\":1,\"sha256\":\"00\"}"}`}, 2, "the line has no kind"},
		{[]string{`{"left":-1,"part":"{}"}`}, 2, "left: fewer than none cannot follow"},
		{[]string{`{"left":"1","part":"{}"}`}, 2, "left: want a whole number"},
		{[]string{`{"left":0,"part":1}`}, 2, "part: want a string"},
		{[]string{`{"part":"{}"}`}, 2, "a part of a line has left and part, and nothing else"},
		{[]string{`{"left":0,"part":"{}","more":1}`}, 2, "a part of a line has left and part, and nothing else"},
	} {
		sealed := tracetest.Seal(append([]string{tracetest.HeaderLine}, damage.lines...), "")
		_, err := trace.Read(bytes.NewReader(sealed))
		var fault *trace.FormatError
		require.ErrorAs(t, err, &fault, "%s", sealed)
		assert.Equal(t, trace.FaultMalformed, fault.Fault, fault.Reason)
		assert.Equal(t, damage.line, fault.Line, fault.Reason)
		assert.Contains(t, fault.Reason, damage.reason)
	}
	file := tracetest.Seal([]string{tracetest.HeaderLine, a, b, c}, "")
	for end := range len(file) {
		_, err := trace.Read(bytes.NewReader(file[:end]))
		var fault *trace.FormatError
		require.ErrorAs(t, err, &fault)
		require.Equal(t, trace.FaultTruncated, fault.Fault, "%s", file[:end])
	}
}

// The size of a crossing is bounded, in however many lines it is written: a writer reports that
// before it writes any of them, and a reader holds no more than the limit.
func TestWhatACrossingSaysIsBounded(t *testing.T) {
	line := adk.Crossing{Kind: adk.KindReportLog, At: tracetest.TestStart, Text: strings.Repeat("x", 2000)}
	var plain bytes.Buffer
	require.NoError(t, trace.NewWriter(&plain, trace.Header{}).Write(&line))
	lines := bytes.SplitAfter(plain.Bytes(), []byte("\n"))
	said := int64(len(lines[1]))
	for most, fits := range map[int64]bool{said: true, said - 1: false} {
		o := trace.Options{MaxLine: 300, MaxSaid: most}
		var out bytes.Buffer
		w := trace.NewWriter(&out, trace.Header{}, o)
		err := w.Write(&line)
		if fits {
			require.NoError(t, err)
			require.NoError(t, w.Close())
			_, err := trace.Read(bytes.NewReader(out.Bytes()), o)
			require.NoError(t, err)
			o.MaxSaid = said - 2 // the end of the line does not count as text of its parts
			whole, byLine := tooLarge(t, out.Bytes(), o)
			assert.Contains(t, whole.Reason, fmt.Sprintf("said: more than %d bytes of one crossing", o.MaxSaid))
			assert.Equal(t, whole, byLine)
			continue
		}
		assert.ErrorContains(t, err, fmt.Sprintf("line 2 of a trace: it says %d bytes, and no reader takes more than %d: Options.MaxSaid", said, most))
		assert.Equal(t, string(lines[0]), out.String(), "nothing of it is written")
		assert.Error(t, w.Close())
	}
	w := trace.NewWriter(io.Discard, trace.Header{Start: line.At}, trace.Options{MaxLine: 20})
	assert.ErrorContains(t, w.Write(&line), "line 1 of a trace: it has ", "a header is not cut")
}
