package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// sameCrossing compares crossings by their meaning. Errors and values that a trace cannot hold are
// compared by their written form.
var sameCrossing = cmp.Options{
	cmp.FilterPath(tracetest.At("Record", "Records[0]"), cmp.Comparer(wire.SameRecord)),
	cmp.FilterPath(tracetest.At("Value"), cmp.Comparer(plain.Equal)),
	cmp.FilterPath(tracetest.At("Args"), cmp.Comparer(tracetest.SameArgs)),
	cmp.FilterPath(tracetest.At("Schema"), cmp.Comparer(tracetest.SameSchema)),
	cmp.FilterPath(tracetest.At("Payload", "Result"), cmp.Comparer(func(a, b any) bool { return tracetest.Written(a) == tracetest.Written(b) })),
	cmp.FilterPath(tracetest.At("Err", "Cause"), cmp.Comparer(func(a, b error) bool {
		return tracetest.Written(a) == tracetest.Written(b) && (a == nil || a.Error() == b.Error())
	})),
	cmp.FilterPath(tracetest.At("Seq"), cmp.Ignore()),
}

// DET-4: every crossing of every kind is read back as it was written.
func TestEveryCrossingComesBackAsItWas(t *testing.T) {
	t.Parallel()
	for _, k := range adk.Kinds() {
		phases := []adk.Phase{adk.Whole}
		if k.Spanning() {
			phases = []adk.Phase{adk.Begin, adk.Done}
		}
		for _, p := range phases {
			t.Run(k.String()+" "+p.String(), tracetest.InParallel(func(t *rapid.T) {
				want := []adk.Crossing{tracetest.DrawCrossing(t, k, p), tracetest.DrawCrossing(t, k, p)}
				data := tracetest.WriteTrace(t, want...)
				read := tracetest.ReadTrace(t, data)
				require.Len(t, read.Lines(), 2)
				for i, line := range read.Lines() {
					assert.Equal(t, i+1, line.Seq)
					assert.Empty(t, line.Extra)
					require.Empty(t, cmp.Diff(want[i], line.Crossing, sameCrossing), "%s", data)
				}
				tracetest.RequireSameAgain(t, read, data)
			}))
		}
	}
}

func TestHeaderComesBackAsItWas(t *testing.T) {
	c := adk.Crossing{Kind: adk.KindNow, At: tracetest.TestStart}
	read := tracetest.ReadTrace(t, tracetest.WriteTrace(t, c))
	assert.Equal(t, trace.FormatVersion, read.Version)
	assert.Equal(t, trace.ContractRevision, read.Contract)
	assert.Equal(t, tracetest.TestStart, read.Start)
	assert.Empty(t, cmp.Diff(tracetest.TestHeader.Info, read.Info, cmp.Comparer(func(a, b []string) bool {
		return strings.Join(a, "|") == strings.Join(b, "|")
	})))
}

func TestAnEmptyTraceIsATrace(t *testing.T) {
	read := tracetest.ReadTrace(t, tracetest.WriteTrace(t))
	assert.Empty(t, read.Lines())
	assert.True(t, read.Sealed)
}

// The example in the package's documentation is what the code writes.
func TestLinesReadAsDocumented(t *testing.T) {
	m, err := adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleUser, Content: "hi", CreatedAt: tracetest.TestStart, UpdatedAt: tracetest.TestStart})
	require.NoError(t, err)
	data := tracetest.WriteTrace(t,
		adk.Crossing{Kind: adk.KindCall, At: tracetest.TestStart, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}, Text: "be brief", Texts: []string{"no jokes"}},
		adk.Crossing{Kind: adk.KindFetch, Phase: adk.Begin, At: tracetest.TestStart.Add(1500), Call: 2, Strand: 1, Op: 1, Collection: adk.Messages},
		adk.Crossing{Kind: adk.KindReturn, At: tracetest.TestStart.Add(1500), Call: 2, ID: 4, Outcome: adk.OutcomeOK, Records: []adk.Record{m, m}},
		adk.Crossing{Kind: adk.KindReturn, At: tracetest.TestStart.Add(1500), Call: 1, ID: 2, Outcome: adk.OutcomeError, Err: &adk.Error{Code: "E_X", Message: "m", Cause: io.EOF}},
	)
	lines := strings.Split(string(data), "\n")
	text, err := m.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, `{"adkreplay":"trace","version":5,"contract":2,"start":"2025-01-01T00:00:00Z","seams":{"executor":"model","turn-input":["hydrate",{"$string":"YSJi/w=="}],"turn-output":[],"dispatch-input":[],"dispatch-output":["cap"]},"writeBehind":true}`, lines[0])
	assert.Equal(t, `{"kind":"call","id":1,"seam":"run","prompt":"be brief","instructions":["no jokes"]}`, lines[1])
	assert.Equal(t, `{"kind":"fetch","phase":"begin","at":1500,"in":2,"strand":1,"op":1,"of":"messages"}`, lines[2])
	assert.Equal(t, `{"kind":"return","in":2,"id":4,"records":[{"#":1,"message":`+string(text)+`},{"#":1}]}`, lines[3])
	assert.Equal(t, `{"kind":"return","in":1,"id":2,"outcome":"error","err":{"code":"E_X","message":"m","cause":{"sentinel":"io.EOF"}}}`, lines[4])
	assert.Regexp(t, `^{"end":4,"sha256":"[0-9a-f]{64}"}$`, lines[5])
}

func TestUnknownMembersSurviveByteForByte(t *testing.T) {
	lines := []string{
		`{"x":[1, 2],"adkreplay":"trace","version":1,"contract":1,"y":null,"start":"2025-01-01T00:00:00Z","seams":{"executor":"m","turn-input":[],"turn-output":[],"dispatch-input":[],"new":{},"dispatch-output":[]},"z":1e3}`,
		`{"new":{"a": "\u0041"},"kind":"now","later":1,"more":2,"in":1,"last":"ü"}`,
		`{"kind":"new-id","in":1,"mid":true,"id":"1"}`,
	}
	data := tracetest.Seal(lines, `"note":"kept",`)
	read := tracetest.ReadTrace(t, data)
	assert.Equal(t, []wire.Member{
		{Name: "new", Value: json.RawMessage(`{"a": "\u0041"}`), Before: "kind"}, {Name: "later", Value: json.RawMessage("1"), Before: "in"},
		{Name: "more", Value: json.RawMessage("2"), Before: "in"}, {Name: "last", Value: json.RawMessage(`"ü"`), Before: ""},
	}, read.Lines()[0].Extra)
	assert.Equal(t, []wire.Member{{Name: "note", Value: json.RawMessage(`"kept"`), Before: "end"}}, read.FooterExtra)
	tracetest.RequireSameAgain(t, read, data)
}

func TestAMemberThatWouldBreakTheLineIsRefused(t *testing.T) {
	for _, m := range []wire.Member{
		{Name: "a", Value: json.RawMessage("{")}, {Name: "a", Value: json.RawMessage("{\n}")},
		{Name: "kind", Value: json.RawMessage(`"now"`)}, {Name: "a", Value: nil}, {Name: "a", Value: json.RawMessage("\"\xff\"")},
	} {
		w := trace.NewWriter(io.Discard, tracetest.TestHeader)
		err := w.WriteLine(&trace.Line{Crossing: adk.Crossing{Kind: adk.KindNow, At: tracetest.TestStart}, Extra: []wire.Member{m}})
		assert.Error(t, err, "%s", m.Value)
	}
}

func TestWriterRefusesWhatNoReaderWouldTake(t *testing.T) {
	for name, c := range map[string]adk.Crossing{
		"no kind":            {},
		"unknown kind":       {Kind: 200},
		"phase of one line":  {Kind: adk.KindNow, Phase: adk.Begin},
		"no phase":           {Kind: adk.KindFetch},
		"unknown phase":      {Kind: adk.KindFetch, Phase: 7},
		"unknown outcome":    {Kind: adk.KindReturn, Outcome: "well"},
		"seam without label": {Kind: adk.KindCall, Seam: adk.Seam{Name: "x"}},
		"seam of two paths":  {Kind: adk.KindCall, Seam: adk.Seam{Label: adk.LabelTool, Name: "x", Iteration: 3}},
	} {
		w := trace.NewWriter(io.Discard, trace.Header{Start: tracetest.TestStart})
		err := w.Write(&c)
		assert.Error(t, err, name)
		assert.Equal(t, err, w.Write(&adk.Crossing{Kind: adk.KindNow}), "%s: the failure stays", name)
		assert.Equal(t, err, w.Close(), "%s: no footer", name)
	}
}

// countingWriter counts its calls, and fails from a given call on.
type countingWriter struct {
	bytes.Buffer
	calls, failAt int
	short         bool
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.calls++
	if w.failAt > 0 && w.calls >= w.failAt {
		if w.short {
			return len(p) - 1, nil
		}
		return 0, errors.New("disk full")
	}
	return w.Buffer.Write(p)
}

func TestEveryLineIsOneWrite(t *testing.T) {
	var out countingWriter
	w := trace.NewWriter(&out, tracetest.TestHeader)
	for range 3 {
		require.NoError(t, w.Write(&adk.Crossing{Kind: adk.KindNow, At: tracetest.TestStart}))
	}
	require.NoError(t, w.Close())
	assert.Equal(t, 5, out.calls)
	assert.Error(t, w.Close())
	assert.Error(t, w.Write(&adk.Crossing{Kind: adk.KindNow, At: tracetest.TestStart}))
	assert.Equal(t, 5, out.calls)
}

func TestAfterAFailureNothingIsWritten(t *testing.T) {
	for _, short := range []bool{true, false} {
		out := countingWriter{failAt: 3, short: short}
		w := trace.NewWriter(&out, tracetest.TestHeader)
		require.NoError(t, w.Write(&adk.Crossing{Kind: adk.KindNow, At: tracetest.TestStart}))
		assert.ErrorContains(t, w.Write(&adk.Crossing{Kind: adk.KindNow, At: tracetest.TestStart}), "line 3")
		assert.Error(t, w.Close())
		assert.Equal(t, 3, out.calls)
	}
}

// A trace does not grow quadratically with its
// turn: a repeated record is written as its number.
func TestNoRecordIsWrittenTwice(t *testing.T) {
	m, err := adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleUser, Content: strings.Repeat("long ", 100), CreatedAt: tracetest.TestStart, UpdatedAt: tracetest.TestStart})
	require.NoError(t, err)
	var crossings []adk.Crossing
	for range 10 {
		crossings = append(crossings, adk.Crossing{Kind: adk.KindAdd, At: tracetest.TestStart, Collection: adk.Messages, Record: m})
	}
	data := tracetest.WriteTrace(t, crossings...)
	assert.Equal(t, 1, bytes.Count(data, []byte(`"content"`)))
	read := tracetest.ReadTrace(t, data)
	assert.Same(t, read.Lines()[0].Record, read.Lines()[9].Record)
}

func TestATraceThatWasChangedCanBeSealedAgain(t *testing.T) {
	read := tracetest.ReadTrace(t, tracetest.WriteTrace(t, adk.Crossing{Kind: adk.KindNewID, At: tracetest.TestStart, Name: "secret"}, adk.Crossing{Kind: adk.KindNow, At: tracetest.TestStart}))
	read.Lines()[0].Name = "redacted"
	var out bytes.Buffer
	_, err := read.WriteTo(&out)
	require.NoError(t, err)
	assert.Equal(t, "redacted", tracetest.ReadTrace(t, out.Bytes()).Lines()[0].Name)
}

// A trace of a former version is read with the names of that version, and written again with them;
// names of another version are refused.
func TestFormerVersionsHaveTheirWords(t *testing.T) {
	file := func(version, alone, state string) string {
		lines := []string{
			`{"adkreplay":"trace","version":` + version + `,"contract":1,"start":"2025-01-01T00:00:00Z","seams":{"executor":"m","turn-input":[],"turn-output":[],"dispatch-input":[],"dispatch-output":[]},"` + alone + `":true}`,
			`{"kind":"` + state + `","digest":"000102030405060708090a0b0c0d0e0f"}`,
		}
		return string(tracetest.Seal(lines, ""))
	}
	for _, c := range []struct{ version, alone, state string }{{"1", "alone", "sight"}, {"2", "alone", "sight"}, {"3", "standalone", "state"}} {
		read, err := trace.Read(strings.NewReader(file(c.version, c.alone, c.state)))
		require.NoError(t, err, c)
		assert.True(t, read.Info.Standalone, c)
		assert.Equal(t, adk.KindState, read.Lines()[0].Kind, c)
		var again strings.Builder
		_, err = read.WriteTo(&again)
		require.NoError(t, err)
		assert.Equal(t, file(c.version, c.alone, c.state), again.String())
	}
	_, err := trace.Read(strings.NewReader(file("2", "alone", "state")))
	require.ErrorContains(t, err, `there is no kind "state"`)
	_, err = trace.Read(strings.NewReader(file("3", "standalone", "sight")))
	require.ErrorContains(t, err, `there is no kind "sight"`)
	other, err := trace.Read(strings.NewReader(file("2", "standalone", "sight")))
	require.NoError(t, err)
	assert.False(t, other.Info.Standalone, "version 2 does not know it")
	assert.Len(t, other.Extra, 1)
}

// Text of a file that is no trace never begins a line of the error about it.
func TestReasonsStayOnTheirLine(t *testing.T) {
	body := tracetest.FixtureNamed(t, "executor-panic").Body()
	_, err := trace.Read(bytes.NewReader(bytes.Replace(body, []byte(`"seam":"run"`), []byte(`"seam":"run\n::error::forged"`), 1)))
	format := new(trace.FormatError)
	require.ErrorAs(t, err, &format)
	assert.Contains(t, format.Reason, "forged")
	assert.NotContains(t, err.Error(), "\n")
	assert.NotContains(t, (&trace.FormatError{Reason: "a\n::error::b"}).Error(), "\n")
}
