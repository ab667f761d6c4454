package replay

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
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// testHeader is of a run with a name in every place.
var testHeader = Header{Info: adk.RunInfo{Executor: "model", TurnInput: []string{"hydrate", "a\"b\xff"}, DispatchOutput: []string{"cap"}, WriteBehind: true}}

// writeTrace gives the trace of crossings.
func writeTrace(t require.TestingT, crossings ...adk.Crossing) []byte {
	var out bytes.Buffer
	w := NewWriter(&out, testHeader, Options{Sentinels: testSentinels})
	for i := range crossings {
		require.NoError(t, w.Write(&crossings[i]))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// readTrace reads a whole trace.
func readTrace(t require.TestingT, data []byte) *Trace {
	trace, err := ReadTrace(bytes.NewReader(data), Options{Sentinels: testSentinels})
	require.NoError(t, err, "%s", data)
	return trace
}

// sameCrossing compares crossings by what they mean. Errors and values that a
// trace cannot hold are compared by their written form.
var sameCrossing = cmp.Options{
	cmp.FilterPath(at("Record", "Records[0]"), cmp.Comparer(sameRecord)),
	cmp.FilterPath(at("Value"), cmp.Comparer(plain.Equal)),
	cmp.FilterPath(at("Args"), cmp.Comparer(sameArgs)),
	cmp.FilterPath(at("Schema"), cmp.Comparer(sameSchema)),
	cmp.FilterPath(at("Payload", "Result"), cmp.Comparer(func(a, b any) bool { return written(a) == written(b) })),
	cmp.FilterPath(at("Err", "Cause"), cmp.Comparer(func(a, b error) bool {
		return written(a) == written(b) && (a == nil || a.Error() == b.Error())
	})),
	cmp.FilterPath(at("Seq"), cmp.Ignore()),
}

// at filters the fields of Crossing with the names; [0] stands for elements.
func at(names ...string) func(cmp.Path) bool {
	return func(p cmp.Path) bool {
		for _, name := range names {
			field, isElement := strings.CutSuffix(name, "[0]")
			want := 2
			if isElement {
				want = 3
			}
			if f, ok := p.Index(1).(cmp.StructField); ok && len(p) == want && f.Name() == field {
				return true
			}
		}
		return false
	}
}

// sameArgs reports whether two arguments are the same as a trace keeps them.
func sameArgs(a, b any) bool {
	one, err := canonical.Marshal(a)
	other, err2 := canonical.Marshal(b)
	if err != nil || err2 != nil || holdsOpaque(a) || holdsOpaque(b) {
		return plain.Equal(a, b)
	}
	return bytes.Equal(one, other)
}

// sameSchema reports whether two schemas are the same as a trace keeps them.
func sameSchema(a, b json.RawMessage) bool {
	var one, other bytes.Buffer
	if json.Compact(&one, a) != nil || json.Compact(&other, b) != nil {
		return bytes.Equal(a, b)
	}
	return one.String() == other.String()
}

// written is the form of one value in a line.
func written(v any) string {
	known, _ := newSentinels(testSentinels)
	e := newEncoder(known)
	e.begin(nil)
	switch v := v.(type) {
	case error:
		e.errorField("x", v)
	case adk.ToolResult:
		_ = e.resultField("x", v)
	case nil:
	default:
		_ = e.payloadField("x", v)
	}
	return string(e.out)
}

// DET-4
func TestEveryCrossingComesBackAsItWas(t *testing.T) {
	t.Parallel()
	for _, k := range adk.Kinds() {
		phases := []adk.Phase{adk.Whole}
		if k.Spanning() {
			phases = []adk.Phase{adk.Begin, adk.Done}
		}
		for _, p := range phases {
			t.Run(k.String()+" "+p.String(), inParallel(func(t *rapid.T) {
				want := []adk.Crossing{drawCrossing(t, k, p), drawCrossing(t, k, p)}
				data := writeTrace(t, want...)
				read := readTrace(t, data)
				require.Len(t, read.Lines, 2)
				for i, line := range read.Lines {
					assert.Equal(t, i+1, line.Seq)
					assert.Empty(t, line.Extra)
					require.Empty(t, cmp.Diff(want[i], line.Crossing, sameCrossing), "%s", data)
				}
				requireSameAgain(t, read, data)
			}))
		}
	}
}

// inParallel is a check for a subtest that runs beside the others.
func inParallel(check func(*rapid.T)) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, check)
	}
}

// requireSameAgain writes what was read, which must give the same bytes.
func requireSameAgain(t require.TestingT, read *Trace, data []byte) {
	var again bytes.Buffer
	n, err := read.WriteTo(&again)
	require.NoError(t, err)
	require.Equal(t, string(data), again.String())
	require.EqualValues(t, len(data), n)
}

func TestHeaderComesBackAsItWas(t *testing.T) {
	c := adk.Crossing{Kind: adk.KindNow, At: testStart}
	read := readTrace(t, writeTrace(t, c))
	assert.Equal(t, FormatVersion, read.Version)
	assert.Equal(t, ContractRevision, read.Contract)
	assert.Equal(t, testStart, read.Start)
	assert.Empty(t, cmp.Diff(testHeader.Info, read.Info, cmp.Comparer(func(a, b []string) bool {
		return strings.Join(a, "|") == strings.Join(b, "|")
	})))
}

func TestAnEmptyTraceIsATrace(t *testing.T) {
	read := readTrace(t, writeTrace(t))
	assert.Empty(t, read.Lines)
	assert.True(t, read.Sealed)
}

// The example in the package's documentation is what is written.
func TestLinesReadAsDocumented(t *testing.T) {
	m, err := adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleUser, Content: "hi", CreatedAt: testStart, UpdatedAt: testStart})
	require.NoError(t, err)
	data := writeTrace(t,
		adk.Crossing{Kind: adk.KindCall, At: testStart, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}, Text: "be brief", Texts: []string{"no jokes"}},
		adk.Crossing{Kind: adk.KindFetch, Phase: adk.Begin, At: testStart.Add(1500), Call: 2, Strand: 1, Op: 1, Collection: adk.Messages},
		adk.Crossing{Kind: adk.KindReturn, At: testStart.Add(1500), Call: 2, ID: 4, Outcome: adk.OutcomeOK, Records: []adk.Record{m, m}},
		adk.Crossing{Kind: adk.KindReturn, At: testStart.Add(1500), Call: 1, ID: 2, Outcome: adk.OutcomeError, Err: &adk.Error{Code: "E_X", Message: "m", Cause: io.EOF}},
	)
	lines := strings.Split(string(data), "\n")
	text, err := m.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, `{"adkreplay":"trace","version":2,"contract":2,"start":"2025-01-01T00:00:00Z","seams":{"executor":"model","turn-input":["hydrate",{"$string":"YSJi/w=="}],"turn-output":[],"dispatch-input":[],"dispatch-output":["cap"]},"writeBehind":true}`, lines[0])
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
	data := seal(lines, `"note":"kept",`)
	read := readTrace(t, data)
	assert.Equal(t, []Member{
		{"new", json.RawMessage(`{"a": "\u0041"}`), "kind"}, {"later", json.RawMessage("1"), "in"},
		{"more", json.RawMessage("2"), "in"}, {"last", json.RawMessage(`"ü"`), ""},
	}, read.Lines[0].Extra)
	assert.Equal(t, []Member{{"note", json.RawMessage(`"kept"`), "end"}}, read.FooterExtra)
	requireSameAgain(t, read, data)
}

func TestAMemberThatWouldBreakTheLineIsRefused(t *testing.T) {
	for _, m := range []Member{
		{Name: "a", Value: json.RawMessage("{")}, {Name: "a", Value: json.RawMessage("{\n}")},
		{Name: "kind", Value: json.RawMessage(`"now"`)}, {Name: "a", Value: nil}, {Name: "a", Value: json.RawMessage("\"\xff\"")},
	} {
		w := NewWriter(io.Discard, testHeader)
		err := w.WriteLine(&Line{Crossing: adk.Crossing{Kind: adk.KindNow, At: testStart}, Extra: []Member{m}})
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
		w := NewWriter(io.Discard, Header{Start: testStart})
		err := w.Write(&c)
		assert.Error(t, err, name)
		assert.Equal(t, err, w.Write(&adk.Crossing{Kind: adk.KindNow}), "%s: the failure stays", name)
		assert.Equal(t, err, w.Close(), "%s: no footer", name)
	}
}

// countingWriter counts its calls, and fails from one on.
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
	w := NewWriter(&out, testHeader)
	for range 3 {
		require.NoError(t, w.Write(&adk.Crossing{Kind: adk.KindNow, At: testStart}))
	}
	require.NoError(t, w.Close())
	assert.Equal(t, 5, out.calls)
	assert.Error(t, w.Close())
	assert.Error(t, w.Write(&adk.Crossing{Kind: adk.KindNow, At: testStart}))
	assert.Equal(t, 5, out.calls)
}

func TestAfterAFailureNothingIsWritten(t *testing.T) {
	for _, short := range []bool{true, false} {
		out := countingWriter{failAt: 3, short: short}
		w := NewWriter(&out, testHeader)
		require.NoError(t, w.Write(&adk.Crossing{Kind: adk.KindNow, At: testStart}))
		assert.ErrorContains(t, w.Write(&adk.Crossing{Kind: adk.KindNow, At: testStart}), "line 3")
		assert.Error(t, w.Close())
		assert.Equal(t, 3, out.calls)
	}
}

// A trace does not grow with the square of what happened: a record that comes
// again costs its number.
func TestNoRecordIsWrittenTwice(t *testing.T) {
	m, err := adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleUser, Content: strings.Repeat("long ", 100), CreatedAt: testStart, UpdatedAt: testStart})
	require.NoError(t, err)
	var crossings []adk.Crossing
	for range 10 {
		crossings = append(crossings, adk.Crossing{Kind: adk.KindAdd, At: testStart, Collection: adk.Messages, Record: m})
	}
	data := writeTrace(t, crossings...)
	assert.Equal(t, 1, bytes.Count(data, []byte(`"content"`)))
	read := readTrace(t, data)
	assert.Same(t, read.Lines[0].Record, read.Lines[9].Record)
}

func TestATraceThatWasChangedCanBeSealedAgain(t *testing.T) {
	read := readTrace(t, writeTrace(t, adk.Crossing{Kind: adk.KindNewID, At: testStart, Name: "secret"}, adk.Crossing{Kind: adk.KindNow, At: testStart}))
	read.Lines[0].Name = "redacted"
	var out bytes.Buffer
	_, err := read.WriteTo(&out)
	require.NoError(t, err)
	assert.Equal(t, "redacted", readTrace(t, out.Bytes()).Lines[0].Name)
}
