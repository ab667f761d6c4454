package corpus_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// hostile is a name that tries to inject markup and terminal sequences.
const hostile = "turns/a\x1b[31m\x00:b,c%0A\r\n::error::]]><testcase>&\"\ufffe.jsonl"

// mixed is the report on a trace that is the same, two that diverge with one cause, and one that
// cannot be opened.
func mixed(t *testing.T) *corpus.Report {
	hello := tracetest.FixtureNamed(t, "hello").Bytes
	divergent := tracetest.Reseal(t, []byte(strings.Replace(string(hello), `"iterations":1`, `"iterations":2`, 1)))
	absent := corpus.Source{Name: "absent.jsonl", Open: func() (io.ReadCloser, error) { return nil, errors.New("gone <away>\nto \x01 nowhere") }}
	report, err := corpus.Verify(t.Context(), []corpus.Source{
		livetest.Source("turns/good.jsonl", hello), livetest.Source(hostile, divergent), livetest.Source("other.jsonl", divergent), absent,
	}, nil)
	require.NoError(t, err)
	return report
}

func TestCorpusReportString(t *testing.T) {
	report := mixed(t)
	want := `4 traces, 81 crossings, 2 divergences, 1 unreadable
unreadable absent.jsonl: gone <away>\nto \x01 nowhere
cause 1 of 1: changed output in dispatch: dispatchEnd, iterations: 2 → 1
  in 2 traces:
      turns/a\x1b[31m\x00:b,c%0A\r\n::error::]]><testcase>&"\ufffe.jsonl,
      other.jsonl
` + indented(report.Traces[1].Divergence)
	assert.Equal(t, want, report.String())
	assert.EqualError(t, report.Err(), "replay: "+want)
}

// indented is a divergence as it is indented below its cause.
func indented(d *replay.Divergence) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(d.Details(), "\n"), "\n", "\n  ") + "\n"
}

// The text stays short, however many traces and causes there are.
func TestCorpusReportStringIsBounded(t *testing.T) {
	report := &corpus.Report{}
	for i := range 1000 {
		d := &replay.Divergence{Class: replay.Extra, Seam: "run", Got: fmt.Sprintf("stash key-%s = 1", strings.Repeat("x", i)),
			Before: strings.Split(strings.Repeat("a line\n", 100), "\n")}
		report.Traces = append(report.Traces, &corpus.TraceReport{Trace: fmt.Sprint(i), Error: "absent",
			Report: replay.Report{Divergence: d}, Cause: &corpus.Cause{Class: d.Class, Kind: d.Got}})
	}
	text := corpus.Regrouped(report).String()
	assert.Less(t, strings.Count(text, "\n"), 700)
	assert.Contains(t, text, "and 980 more causes, which hit no more traces each: the JSON has them\n")
	assert.Contains(t, text, "and 980 more that could not be read\n")
	assert.Regexp(t, `\n  and \d\d more lines: \S.* verify replay/corpus/0\n`, text)
}

// suites is JUnit's XML as a CI system reads it.
type suites struct {
	Suite struct {
		Time     string `xml:"time,attr"`
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Cases    []struct {
			Time    string   `xml:"time,attr"`
			File    string   `xml:"file,attr"`
			Line    int      `xml:"line,attr"`
			Class   string   `xml:"classname,attr"`
			Name    string   `xml:"name,attr"`
			Failure *problem `xml:"failure"`
			Error   *problem `xml:"error"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

type problem struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func junit(t *testing.T, r *corpus.Report) (read suites) {
	var out strings.Builder
	require.NoError(t, r.WriteJUnit(&out))
	require.NoError(t, xml.Unmarshal([]byte(out.String()), &read), out.String())
	for _, c := range out.String() {
		require.True(t, c == '\n' || c >= ' ' && c != utf8.MaxRune && c != '\ufffe' && c != '\uffff', "XML has no %U", c)
	}
	return read
}

func TestJUnit(t *testing.T) {
	report := mixed(t)
	suite := junit(t, report).Suite
	assert.Equal(t, []any{"adkreplay verify", 4, 2, 1}, []any{suite.Name, suite.Tests, suite.Failures, suite.Errors})
	require.Len(t, suite.Cases, 4)

	good, bad, other, absent := suite.Cases[0], suite.Cases[1], suite.Cases[2], suite.Cases[3]
	assert.Equal(t, []string{"turns", "good.jsonl", ".", "other.jsonl"}, []string{good.Class, good.Name, other.Class, other.Name})
	assert.Nil(t, good.Failure)
	assert.Nil(t, good.Error)
	assert.Equal(t, `a\x1b[31m\x00:b,c%0A\r\n::error::]]><testcase>&"\ufffe.jsonl`, bad.Name)
	assert.Equal(t, &problem{"changed output", report.Traces[1].Cause.String(), report.Traces[1].Divergence.String()}, bad.Failure)
	assert.Equal(t, &problem{"unreadable", "absent.jsonl: gone <away>\nto \\x01 nowhere", ""}, absent.Error)
}

// An incomplete report is not green, even if nothing in it diverged.
func TestJUnitOfAnIncompleteReport(t *testing.T) {
	report, err := corpus.Verify(t.Context(), embedded(t), nil, corpus.Options{Shard: corpus.Shard{Index: 2, Count: 9}})
	require.NoError(t, err)
	whole := junit(t, report).Suite
	assert.Equal(t, []any{"adkreplay verify 2/9", len(report.Traces), 0}, []any{whole.Name, whole.Tests, whole.Errors})
	report.Error = "interrupted"
	cut := junit(t, report).Suite
	assert.Equal(t, []int{len(report.Traces) + 1, 1}, []int{cut.Tests, cut.Errors})
	assert.Equal(t, &problem{"incomplete", "interrupted", ""}, cut.Cases[len(cut.Cases)-1].Error)
}

// A trace that diverged and then could not be
// read on is one failure, which says both.
func TestJUnitOfADivergenceInACutFile(t *testing.T) {
	whole := tracetest.Reseal(t, []byte(strings.Replace(string(tracetest.FixtureNamed(t, "hello").Bytes), `"iterations":1`, `"iterations":2`, 1)))
	report, err := corpus.Verify(t.Context(), []corpus.Source{livetest.Source("cut.jsonl", whole[:len(whole)-20])}, nil)
	require.NoError(t, err)
	suite := junit(t, report).Suite
	assert.Equal(t, []int{1, 0, 1}, []int{suite.Tests, suite.Failures, suite.Errors})
	assert.Contains(t, suite.Cases[0].Error.Message, "cut.jsonl:33: truncated trace")
	assert.Equal(t, report.Traces[0].Divergence.String(), suite.Cases[0].Error.Text)
}

func TestAnnotations(t *testing.T) {
	var out strings.Builder
	report := mixed(t)
	require.NoError(t, report.WriteAnnotations(&out))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, 2, "one cause, one trace that cannot be read, and no line of a text's own")
	assert.True(t, strings.HasPrefix(lines[0], `::error file=turns/a\x1b[31m\x00%3Ab%2Cc%250A\r\n%3A%3Aerror%3A%3A]]><testcase>&"\ufffe.jsonl,line=27,title=changed output::`+
		`changed output in dispatch: dispatchEnd, iterations: 2 → 1%0A  in 2 traces:%0A`), lines[0])
	assert.Contains(t, lines[0], "%0A      iterations: expected 2, got 1")
	assert.Equal(t, `::error file=absent.jsonl,title=unreadable::absent.jsonl: gone <away>%0Ato \x01 nowhere`, lines[1])

	out.Reset()
	report.Error = "interrupted: 100% of nothing"
	require.NoError(t, report.WriteAnnotations(&out))
	assert.True(t, strings.HasPrefix(out.String(), "::error title=not everything was verified::interrupted: 100%25 of nothing\n"))
}

// The JUnit report gives the duration of each replay, and the line of live code that a difference
// is in.
func TestJUnitSaysTimesAndCode(t *testing.T) {
	report := mixed(t)
	for i, trace := range report.Traces {
		trace.Elapsed = time.Duration(i+1) * 250 * time.Millisecond
	}
	report.Traces[1].Divergence.Place = "agent/agent.go:12 (agent.cap)"
	suite := junit(t, report).Suite
	assert.Equal(t, []string{"2.500", "0.250", "0.500"}, []string{suite.Time, suite.Cases[0].Time, suite.Cases[1].Time})
	assert.Equal(t, []any{"agent/agent.go", 12, "", 0}, []any{suite.Cases[1].File, suite.Cases[1].Line, suite.Cases[0].File, suite.Cases[0].Line})
}

// An annotation is placed at the line of live code if that is known and in the repository, and
// otherwise at the trace.
func TestAnnotationsStandAtTheCode(t *testing.T) {
	report := mixed(t)
	report.Causes[0].First.Divergence.Place = "agent/agent.go:12 (agent.cap)"
	for _, c := range []struct {
		find func(string) string
		file string
	}{
		{nil, "file=agent/agent.go,line=12,"},
		{func(file string) string { return "here/" + file }, "file=here/agent/agent.go,line=12,"},
		{func(file string) string { return strings.TrimPrefix(file, "agent/agent.go") }, ".jsonl,line=27,"},
	} {
		var out strings.Builder
		var files []func(string) string
		if c.find != nil {
			files = append(files, c.find)
		}
		require.NoError(t, report.WriteAnnotations(&out, files...))
		head, _, _ := strings.Cut(out.String(), "title=")
		assert.Contains(t, head, c.file)
	}
}

// If the report knows which source line holds the differing text, the annotation and the test case
// are placed there.
func TestAnnotationsStandAtWhatIsWritten(t *testing.T) {
	report := mixed(t)
	for _, d := range []*replay.Divergence{report.Causes[0].First.Divergence, report.Traces[1].Divergence} {
		d.Place, d.Mark = "asked at agent/client.go:7 (agent.ask)", "agent/agent.go:12 (agent.cap)"
		d.Written = "deadline set at agent/limits.go:3 (agent.limit)"
	}
	var out strings.Builder
	require.NoError(t, report.WriteAnnotations(&out))
	assert.True(t, strings.HasPrefix(out.String(), "::error file=agent/limits.go,line=3,"), out.String())
	found := junit(t, report).Suite.Cases[1]
	assert.Equal(t, []any{"agent/limits.go", 3}, []any{found.File, found.Line})
}

// A failed write is returned to the caller.
func TestRenderingsToAFullDisk(t *testing.T) {
	report, full := mixed(t), tracetest.FailingWriter{}
	for _, write := range []func(io.Writer) error{report.WriteJSON, report.WriteJUnit, func(w io.Writer) error { return report.WriteAnnotations(w) }} {
		assert.EqualError(t, write(full), "no space left")
	}
}
