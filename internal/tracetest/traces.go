package tracetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Reseal gives an edited trace a valid footer.
func Reseal(t *testing.T, edited []byte) []byte {
	recorded, err := trace.Read(bytes.NewReader(edited))
	require.Error(t, err) // the digest is that of the original
	recorded.Sealed = true
	var sealed bytes.Buffer
	_, err = recorded.WriteTo(&sealed)
	require.NoError(t, err)
	return sealed.Bytes()
}

// TraceOf returns crossings as a trace.
func TraceOf(told []*adk.Crossing) *trace.Trace {
	lines := make([]trace.Line, len(told))
	for i, x := range told {
		lines[i].Crossing = *x
	}
	return trace.New(trace.Header{}, lines)
}

// HeaderLine is the first line of a minimal trace.
const HeaderLine = `{"adkreplay":"trace","version":5,"contract":1,"start":"2025-01-01T00:00:00Z","seams":{"executor":"m","turn-input":[],"turn-output":[],"dispatch-input":[],"dispatch-output":[]}}`

// Seal makes a trace of lines: the header, the crossings, and a footer that begins with extra. A
// crossing that is cut into parts counts as one.
func Seal(lines []string, extra string) []byte {
	body := strings.Join(lines, "\n") + "\n"
	parts := strings.Count(body, "\n{\"left\":") - strings.Count(body, "\n{\"left\":0,")
	return fmt.Appendf([]byte(body), `{%s"end":%d,"sha256":"%x"}`+"\n", extra, len(lines)-1-parts, sha256.Sum256([]byte(body)))
}

// ReadError reads data that is not a valid trace, and returns what is wrong with it.
func ReadError(t *testing.T, data []byte) *trace.FormatError {
	t.Helper()
	_, err := trace.Read(bytes.NewReader(data), trace.Options{File: "t.jsonl"})
	var format *trace.FormatError
	require.ErrorAs(t, err, &format, "%s", data)
	assert.Contains(t, err.Error(), fmt.Sprintf("t.jsonl:%d: %s: ", format.Line, format.Fault.Of("trace")))
	return format
}

// FuzzLines are lines for a fuzzer to mutate.
var FuzzLines = []string{
	`{"x":1,"kind":"now","at":-5,"in":1}`,
	`{"kind":"call","id":1,"seam":"dispatch-input/cap#2","prompt":"\u00e9","instructions":["a",{"$string":"/w=="}],"stash":{"$[]int8":[1,2]},"args":{"a":[1e3,null]},"record":{"#":1,"instruction":"a"}}`,
	`{"kind":"stash","path":"a.b","value":{"$map":{"$x":1.0}}}`,
	`{"kind":"return","outcome":"ok","records":[{"#":1,"instruction":"a"},{"#":1}],"result":{"bytes":"AA=="}}`,
	`{"kind":"return","result":{"mediaList":[{"#":1,"media":{"id":"a","kind":"image","mimeType":"image/png","filename":"a","trustTier":"first-party","modalityHazard":"inert"}}]}}`,
	`{"kind":"return","outcome":"panic","err":{"panic":"x","cause":{"text":"a","is":["io.EOF","u"],"causes":[{"sentinel":"io.EOF"},{"cut":"y"},{"code":"E","cause":{"sentinel":"adk.E"}},{"sentinel":"u","text":"v"}]}}}`,
	`{"kind":"emit-tool-call","phase":"begin","payload":{"args":{"a":1},"results":{"text":"t"},"createdAt":"2025-01-01T00:00:00Z"}}`,
	`{"kind":"emit-message","phase":"begin","payload":{"turn":"t","iteration":1,"delta":"d","complete":true}}`,
	`{"kind":"wait-for","phase":"begin","schema":{"$json":"{"},"timeout":"1h"}`,
	`{"kind":"wait-for","phase":"begin","schema":{"type":"object"}}`,
	`{"kind":"report-tool-call","args":[{"$opaque":"chan int"}],"results":{"text":""},"isError":true}`,
	`{"kind":"state","digest":"000102030405060708090a0b0c0d0e0f"}`,
	`{"left":1,"part":"{\"kind\":"}`, `{"left":0,"part":"\"now\",\"in\":1}"}`,
}

// Crossings stores the crossings that it observes by value, as an observer must.
type Crossings struct {
	mu  sync.Mutex
	All []adk.Crossing
}

// Observe returns the observer of the run.
func (c *Crossings) Observe(adk.RunInfo) adk.Observer { return c }

// Begin does nothing.
func (*Crossings) Begin(adk.Step) {}

// Park does nothing.
func (*Crossings) Park(int, func() bool) {}

// Resume does nothing.
func (*Crossings) Resume(int) {}

// Tell stores a crossing.
func (c *Crossings) Tell(x *adk.Crossing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.All = append(c.All, *x)
}

// Redacted writes a trace again, as a recorder with these rules would have written it.
func Redacted(t testing.TB, recorded *trace.Trace, r redact.Rules) []byte {
	t.Helper()
	rules, err := redacting.Compile(&r)
	require.NoError(t, err)
	var file bytes.Buffer
	w := redacting.NewWriter(&file, trace.Header{Info: recorded.Info}, rules, trace.Options{})
	for _, line := range recorded.All() {
		require.NoError(t, w.Write(&line.Crossing))
	}
	require.NoError(t, w.Close())
	return file.Bytes()
}

// Join concatenates lines.
func Join(lines [][]byte) []byte { return slices.Concat(lines...) }

// TestHeader is the header of a run with names everywhere.
var TestHeader = trace.Header{Info: adk.RunInfo{Executor: "model", TurnInput: []string{"hydrate", "a\"b\xff"}, DispatchOutput: []string{"cap"}, WriteBehind: true}}

// WriteTrace returns the trace of crossings.
func WriteTrace(t require.TestingT, crossings ...adk.Crossing) []byte {
	var out bytes.Buffer
	w := trace.NewWriter(&out, TestHeader, trace.Options{Sentinels: testSentinels})
	for i := range crossings {
		require.NoError(t, w.Write(&crossings[i]))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// ReadTrace reads a whole trace.
func ReadTrace(t require.TestingT, data []byte) *trace.Trace {
	recorded, err := trace.Read(bytes.NewReader(data), trace.Options{Sentinels: testSentinels})
	require.NoError(t, err, "%s", data)
	return recorded
}

// At returns a filter for the fields of Crossing with these names; a name with [0] selects the
// elements of the field.
func At(names ...string) func(cmp.Path) bool {
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

// SameArgs reports whether two arguments are the same in a trace.
func SameArgs(a, b any) bool {
	one, err := canonical.Marshal(a)
	other, err2 := canonical.Marshal(b)
	if err != nil || err2 != nil || wire.HoldsOpaque(a) || wire.HoldsOpaque(b) {
		return plain.Equal(a, b)
	}
	return bytes.Equal(one, other)
}

// SameSchema reports whether two schemas are the same in a trace.
func SameSchema(a, b json.RawMessage) bool {
	var one, other bytes.Buffer
	if json.Compact(&one, a) != nil || json.Compact(&other, b) != nil {
		return bytes.Equal(a, b)
	}
	return one.String() == other.String()
}

// Written returns a value in the form of a line.
func Written(v any) string {
	known, _ := wire.NewSentinels(testSentinels, nil)
	e := wire.NewEncoder(known)
	e.Begin(nil)
	switch v := v.(type) {
	case error:
		e.ErrorField("x", v)
	case adk.ToolResult:
		_ = e.ResultField("x", v)
	case nil:
	default:
		_ = e.PayloadField("x", v)
	}
	return string(e.Out)
}

// InParallel returns a check for a subtest that runs in parallel with others.
func InParallel(check func(*rapid.T)) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, check)
	}
}

// RequireSameAgain checks that writing a trace again gives the same bytes.
func RequireSameAgain(t require.TestingT, read *trace.Trace, data []byte) {
	var again bytes.Buffer
	n, err := read.WriteTo(&again)
	require.NoError(t, err)
	require.Equal(t, string(data), again.String())
	require.EqualValues(t, len(data), n)
}
