package replay

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// headerLine is the first line of a trace of nothing.
const headerLine = `{"adkreplay":"trace","version":1,"contract":1,"start":"2025-01-01T00:00:00Z","seams":{"executor":"m","turn-input":[],"turn-output":[],"dispatch-input":[],"dispatch-output":[]}}`

// seal makes a trace of lines: the header, the crossings, and a footer that
// begins with extra.
func seal(lines []string, extra string) []byte {
	body := strings.Join(lines, "\n") + "\n"
	return fmt.Appendf([]byte(body), `{%s"end":%d,"sha256":"%x"}`+"\n", extra, len(lines)-1, sha256.Sum256([]byte(body)))
}

// readError reads what no trace is, and gives what is wrong with it.
func readError(t *testing.T, data []byte) *FormatError {
	t.Helper()
	_, err := ReadTrace(bytes.NewReader(data), Options{File: "t.jsonl"})
	var format *FormatError
	require.ErrorAs(t, err, &format, "%s", data)
	assert.Contains(t, err.Error(), fmt.Sprintf("t.jsonl:%d: %s trace: ", format.Line, format.Fault))
	return format
}

func TestEveryMalformedLineIsAnErrorThatNamesIt(t *testing.T) {
	for _, c := range []struct{ line, reason string }{
		{``, "want an object"},
		{`null`, "want an object"},
		{`[]`, "want an object"},
		{`{`, "found the end"},
		{`{"kind":"now"} x`, "column 16: want nothing more"},
		{`{"kind":"now",}`, "want a name in quotes"},
		{`{"kind":"now" "in":1}`, "want a comma"},
		{`{"kind" "now"}`, "want a colon"},
		{`{"kind":"now","in":01}`, "want a comma"},
		{`{"kind":"now","x":nul}`, "want a value"},
		{`{"kind":"now","x":1.}`, "want a digit"},
		{`{"kind":"now","x":1e}`, "want a digit"},
		{`{"kind":"now","x":-}`, "want a digit"},
		{`{"kind":"now","x":[1}}`, "want a comma or ]"},
		{`{"kind":"now","x":{"a":1]}`, "want a comma or }"},
		{`{"kind":"now","x":"\x"}`, "want an escape"},
		{"{\"kind\":\"now\",\"x\":\"\t\"}", "control character"},
		{"{\"kind\":\"now\",\"x\":\"\xff\"}", "not valid UTF-8"},
		{`{"kind":"now","kind":"now"}`, `the member "kind" is there twice`},
		{`{"kind":"now","x":1,"x":2}`, `the member "x" is there twice`},
		{`{"in":1}`, "the line has no kind"},
		{`{"kind":7}`, "kind: want a string, found 7"},
		{`{"kind":"nap"}`, `there is no kind "nap"`},
		{`{"kind":"now","phase":"begin"}`, "now has no phases"},
		{`{"kind":"fetch"}`, "fetch needs a phase"},
		{`{"kind":"fetch","phase":"whole"}`, `want "begin" or "done"`},
		{`{"kind":"now","in":"1"}`, "in: want a whole number"},
		{`{"kind":"now","in":1.5}`, "in: want a whole number"},
		{`{"kind":"now","in":99999999999999999999}`, "in: want a whole number"},
		{`{"kind":"new-id","id":1}`, "id: want a string, found 1"},
		{`{"kind":"new-id","id":"\ud800"}`, "half of a surrogate pair"},
		{`{"kind":"new-id","id":{"$string":"!"}}`, "want base64"},
		{`{"kind":"call","seam":"nowhere"}`, "begins with no known label"},
		{`{"kind":"return","outcome":"fine"}`, `want "ok", "error", "panic" or "goexit"`},
		{`{"kind":"add","record":{"#":1}}`, "record 1 has not been there"},
		{`{"kind":"add","record":{"#":2,"instruction":"a"}}`, "a new record has the number 2: want 1"},
		{`{"kind":"add","record":{"#":1,"frob":"a"}}`, "no kind of record"},
		{`{"kind":"add","record":{"#":1,"message":{}}}`, "E_INVALID_INITIAL_MESSAGE_VALUE"},
		{`{"kind":"add","record":{}}`, "want a record"},
		{`{"kind":"return","result":{"#":1}}`, "want text, bytes, media or mediaList"},
		{`{"kind":"return","result":{"media":{"#":1,"instruction":"a"}}}`, "want a media, found a instruction"},
		{`{"kind":"return","err":{}}`, "is no error"},
		{`{"kind":"return","err":{"code":"E","text":"a"}}`, "is no error"},
		{`{"kind":"return","err":{"text":"a","cuase":1}}`, "cuase: is no member of an error"},
		{`{"kind":"return","err":{"sentinel":"shop.ErrSoldOut"}}`, "is not known, and has no text"},
		{`{"kind":"stash","value":{"$frob[]":1}}`, "$frob[]"},
		{`{"kind":"report-tool-call","args":5}`, "want an object, JSON text"},
		{`{"kind":"sight","digest":"abcd"}`, "want 32 hexadecimal digits"},
		{`{"kind":"sleep","phase":"begin","for":5}`, "want a string"},
		{`{"kind":"sleep","phase":"begin","for":"soon"}`, "want a duration"},
		{`{"kind":"emit-message","phase":"begin","payload":{"frob":1}}`, "frob: is no member of the event"},
		{`{"kind":"report-message","complete":"yes"}`, "want true or false"},
	} {
		format := readError(t, seal([]string{headerLine, `{"kind":"now"}`, c.line}, ""))
		assert.Equal(t, FaultMalformed, format.Fault, c.line)
		assert.Equal(t, 3, format.Line, c.line)
		assert.Contains(t, format.Reason, c.reason, c.line)
	}
}

func TestAHeaderThatIsNoHeaderIsRefused(t *testing.T) {
	for _, c := range []struct {
		header string
		fault  Fault
		reason string
	}{
		{`{}`, FaultVersion, "this is no trace"},
		{`{"adkreplay":"envelope","version":1}`, FaultVersion, "this is no trace"},
		{`{"adkreplay":"trace"}`, FaultVersion, "the format's version is"},
		{`{"adkreplay":"trace","version":"1"}`, FaultVersion, "the format's version is"},
		{`{"adkreplay":"trace","version":3,"anything":[]}`, FaultVersion, "the format's version is 3: this program reads 1 to 2"},
		{`{"adkreplay":"trace","version":1}`, FaultMalformed, "the header has no contract"},
		{`what is this`, FaultMalformed, "want an object"},
		{strings.Replace(headerLine, `"contract":1`, `"contract":0`, 1), FaultMalformed, "want a number from 1"},
		{strings.Replace(headerLine, `2025-`, `x`, 1), FaultMalformed, "want a time as in RFC 3339"},
		{strings.Replace(headerLine, `"turn-input":[]`, `"turn-input":[1]`, 1), FaultMalformed, "seams: turn-input: [0]: want a string"},
	} {
		format := readError(t, seal([]string{c.header}, ""))
		assert.Equal(t, c.fault, format.Fault, c.header)
		assert.Equal(t, 1, format.Line, c.header)
		assert.Contains(t, format.Reason, c.reason, c.header)
	}
}

func TestAFooterMustBeRight(t *testing.T) {
	good := string(seal([]string{headerLine, `{"kind":"now"}`}, ""))
	for _, c := range []struct {
		data   string
		fault  Fault
		line   int
		reason string
	}{
		{strings.Replace(good, `"end":1`, `"end":2`, 1), FaultCount, 3, "counts 2 crossings: there are 1"},
		{strings.Replace(good, `"kind":"now"`, `"kind": "now"`, 1), FaultDigest, 3, "something changed the file"},
		{strings.ReplaceAll(good, "\n", "\r\n"), FaultDigest, 3, "ends of lines"},
		{strings.Replace(good, `"end":1`, `"end":"1"`, 1), FaultMalformed, 3, "end: want a whole number"},
		{strings.Replace(good, `"sha256":"`, `"sha256":"x`, 1), FaultMalformed, 3, "hexadecimal"},
		{headerLine + "\n{\"end\":0}\n", FaultMalformed, 2, "the footer has no sha256"},
		{good + "\n", FaultMalformed, 4, "more after the footer"},
		{good + good, FaultMalformed, 4, "more after the footer"},
		{good[:len(good)-1], FaultTruncated, 3, "cut short within it"},
	} {
		format := readError(t, []byte(c.data))
		assert.Equal(t, c.fault, format.Fault, c.data)
		assert.Equal(t, c.line, format.Line, c.data)
		assert.Contains(t, format.Reason, c.reason, c.data)
	}
}

// A crash leaves a readable prefix, wherever it cuts.
func TestEveryPrefixGivesItsWholeLines(t *testing.T) {
	m, err := adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleUser, Content: "hi", CreatedAt: testStart, UpdatedAt: testStart})
	require.NoError(t, err)
	data := writeTrace(t,
		adk.Crossing{Kind: adk.KindCall, At: testStart, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}},
		adk.Crossing{Kind: adk.KindAdd, At: testStart, Collection: adk.Messages, Record: m},
		adk.Crossing{Kind: adk.KindReturn, At: testStart, ID: 1, Outcome: adk.OutcomeOK})
	first := bytes.IndexByte(data, '\n') + 1
	for n := range len(data) {
		trace, err := ReadTrace(bytes.NewReader(data[:n]))
		var format *FormatError
		require.ErrorAs(t, err, &format)
		assert.Equal(t, FaultTruncated, format.Fault, "%d bytes", n)
		if n < first {
			assert.Nil(t, trace)
			continue
		}
		whole := bytes.Count(data[:n], []byte("\n")) - 1
		require.Len(t, trace.Lines, whole)
		assert.False(t, trace.Sealed)
		assert.Equal(t, whole+2, format.Line)
		var again bytes.Buffer
		_, err = trace.WriteTo(&again)
		require.NoError(t, err)
		assert.Equal(t, string(data[:bytes.LastIndexByte(data[:n], '\n')+1]), again.String(), "what was cut short is not sealed")
	}
}

func TestLinesAreBounded(t *testing.T) {
	long := `{"kind":"new-id","id":"` + strings.Repeat("x", 200<<10) + `"}`
	data := seal([]string{headerLine, long}, "")
	read, err := ReadTrace(bytes.NewReader(data))
	require.NoError(t, err)
	assert.Len(t, read.Lines[0].Name, 200<<10)
	_, err = ReadTrace(bytes.NewReader(data), Options{MaxLine: 100 << 10})
	var format *FormatError
	require.ErrorAs(t, err, &format)
	assert.Equal(t, FaultTooLong, format.Fault)
	assert.Equal(t, 2, format.Line)
}

func TestNestingIsBounded(t *testing.T) {
	deep := func(n int) string {
		return `{"kind":"now","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	_, err := ReadTrace(bytes.NewReader(seal([]string{headerLine, deep(maxDepth)}, "")))
	require.NoError(t, err)
	format := readError(t, seal([]string{headerLine, deep(maxDepth + 1<<20)}, ""))
	assert.Contains(t, format.Reason, "nested more than")
}

func TestAnErrorOfTheReaderIsNoFormatError(t *testing.T) {
	broken := errors.New("the network is down")
	r, err := NewReader(io.MultiReader(strings.NewReader(headerLine+"\n"), iotest.ErrReader(broken)))
	require.NoError(t, err)
	_, err = r.Next()
	require.ErrorIs(t, err, broken)
	assert.NotErrorAs(t, err, new(*FormatError))
	_, again := r.Next()
	assert.Equal(t, err, again, "an error stays")
}

// fuzzLines are lines from which a fuzzer can make others.
var fuzzLines = []string{
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
	`{"kind":"sight","digest":"000102030405060708090a0b0c0d0e0f"}`,
}

// FuzzLine reads a trace of one good header and one line: what is taken must be
// written so that it is read as the same, and never be refused.
func FuzzLine(f *testing.F) {
	for _, line := range fuzzLines {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		first, err := ReadTrace(bytes.NewReader(seal([]string{headerLine, line}, "")))
		if err != nil {
			require.ErrorAs(t, err, new(*FormatError))
			return
		}
		var once, twice bytes.Buffer
		_, err = first.WriteTo(&once)
		require.NoError(t, err)
		second, err := ReadTrace(bytes.NewReader(once.Bytes()))
		require.NoError(t, err, "%s", once.String())
		_, err = second.WriteTo(&twice)
		require.NoError(t, err)
		require.Equal(t, once.String(), twice.String(), "what was written is not read as it was")
	})
}
