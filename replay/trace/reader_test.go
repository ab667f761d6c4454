package trace_test

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/jsonscan"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/trace"
)

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
		{`{"kind":"fetch","phase":"begin","of":"mesages"}`, `of: there is no collection "mesages": want one of ["instructions" "messages"`},
		{`{"kind":"fetch","phase":"whole"}`, `want "begin" or "done"`},
		{`{"kind":"now","in":"1"}`, "in: want a whole number"},
		{`{"kind":"now","in":1.5}`, "in: want a whole number"},
		{`{"kind":"now","in":99999999999999999999}`, "in: want a whole number"},
		{`{"kind":"new-id","id":1}`, "id: want a string, found 1"},
		{`{"kind":"new-id","id":"\ud800"}`, "half of a surrogate pair"},
		{`{"kind":"new-id","id":{"$string":"!"}}`, "want base64"},
		{`{"kind":"call","seam":"nowhere"}`, "begins with no known label"},
		{`{"kind":"return","outcome":"fine"}`, `want "ok", "error", "panic" or "goexit"`},
		{`{"kind":"add","record":{"#":1}}`, "record 1 is not there"},
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
		{`{"kind":"state","digest":"abcd"}`, "want 32 hexadecimal digits"},
		{`{"kind":"sleep","phase":"begin","for":5}`, "want a string"},
		{`{"kind":"sleep","phase":"begin","for":"soon"}`, "want a duration"},
		{`{"kind":"emit-message","phase":"begin","payload":{"frob":1}}`, "frob: is no member of the event"},
		{`{"kind":"report-message","complete":"yes"}`, "want true or false"},
	} {
		format := tracetest.ReadError(t, tracetest.Seal([]string{tracetest.HeaderLine, `{"kind":"now"}`, c.line}, ""))
		assert.Equal(t, trace.FaultMalformed, format.Fault, c.line)
		assert.Equal(t, 3, format.Line, c.line)
		assert.Contains(t, format.Reason, c.reason, c.line)
	}
}

func TestAHeaderThatIsNoHeaderIsRefused(t *testing.T) {
	for _, c := range []struct {
		header string
		fault  trace.Fault
		reason string
	}{
		{`{}`, trace.FaultForeign, "want a header that begins"},
		{`{"adkreplay":"envelope","version":1}`, trace.FaultForeign, "want a header that begins"},
		{`{"adkreplay":"trace"}`, trace.FaultVersion, "the format's version is"},
		{`{"adkreplay":"trace","version":"1"}`, trace.FaultVersion, "the format's version is"},
		{`{"adkreplay":"trace","version":6,"anything":[]}`, trace.FaultVersion, "the format's version is 6: this program reads 1 to 5"},
		{`{"adkreplay":"trace","version":1}`, trace.FaultMalformed, "the header has no contract"},
		{`what is this`, trace.FaultForeign, `it begins with "what is this`},
		{"\x0b\xff", trace.FaultForeign, `it begins with "\v\xff`},
		{strings.Replace(tracetest.HeaderLine, `"contract":1`, `"contract":0`, 1), trace.FaultMalformed, "want a number from 1"},
		{strings.Replace(tracetest.HeaderLine, `2025-`, `x`, 1), trace.FaultMalformed, "want a time as in RFC 3339"},
		{strings.Replace(tracetest.HeaderLine, `"turn-input":[]`, `"turn-input":[1]`, 1), trace.FaultMalformed, "seams: turn-input: [0]: want a string"},
	} {
		format := tracetest.ReadError(t, tracetest.Seal([]string{c.header}, ""))
		assert.Equal(t, c.fault, format.Fault, c.header)
		assert.Equal(t, 1, format.Line, c.header)
		assert.Contains(t, format.Reason, c.reason, c.header)
	}
}

func TestAFooterMustBeRight(t *testing.T) {
	good := string(tracetest.Seal([]string{tracetest.HeaderLine, `{"kind":"now"}`}, ""))
	for _, c := range []struct {
		data   string
		fault  trace.Fault
		line   int
		reason string
	}{
		{strings.Replace(good, `"end":1`, `"end":2`, 1), trace.FaultCount, 3, "counts 2 crossings: there are 1"},
		{strings.Replace(good, `"kind":"now"`, `"kind": "now"`, 1), trace.FaultDigest, 3, "something changed the file"},
		{strings.ReplaceAll(good, "\n", "\r\n"), trace.FaultDigest, 3, "its lines end in CRLF: a checkout with core.autocrlf changed them; put `*.jsonl -text -merge` into .gitattributes"},
		{strings.Replace(good, `"end":1`, `"end":"1"`, 1), trace.FaultMalformed, 3, "end: want a whole number"},
		{strings.Replace(good, `"sha256":"`, `"sha256":"x`, 1), trace.FaultMalformed, 3, "hexadecimal"},
		{tracetest.HeaderLine + "\n{\"end\":0}\n", trace.FaultMalformed, 2, "the footer has no sha256"},
		{good + "\n", trace.FaultMalformed, 4, "more after the footer"},
		{good + good, trace.FaultMalformed, 4, "more after the footer"},
		{good[:len(good)-1], trace.FaultTruncated, 3, "cut short within it"},
	} {
		format := tracetest.ReadError(t, []byte(c.data))
		assert.Equal(t, c.fault, format.Fault, c.data)
		assert.Equal(t, c.line, format.Line, c.data)
		assert.Contains(t, format.Reason, c.reason, c.data)
	}
}

// Conflict markers that git leaves in a trace are reported as such, wherever they stand, together with what to do.
func TestConflictMarkersAreSaidToBeGits(t *testing.T) {
	lines := strings.SplitAfter(string(tracetest.Seal([]string{tracetest.HeaderLine, `{"kind":"now"}`}, "")), "\n")
	for _, marker := range []string{"<<<<<<< HEAD", "||||||| 3f2504e", "=======", ">>>>>>> other"} {
		for at := range lines[:len(lines)-1] {
			format := tracetest.ReadError(t, []byte(strings.Join(slices.Insert(slices.Clone(lines), at, marker+"\n"), "")))
			assert.Equal(t, trace.FaultMalformed, format.Fault, marker)
			assert.Equal(t, at+1, format.Line, marker)
			assert.Contains(t, format.Reason, "these are git's conflict markers", marker)
			assert.Contains(t, format.Reason, "take one side whole", marker)
			assert.Contains(t, format.Error(), "run the test with -update", marker)
		}
	}
	format := tracetest.ReadError(t, tracetest.Seal([]string{tracetest.HeaderLine, `<<<<<< {"kind":"now"}`}, ""))
	assert.NotContains(t, format.Reason, "git", "one character less is something else")
}

// A crash leaves a readable prefix, wherever it cuts the file.
func TestEveryPrefixGivesItsWholeLines(t *testing.T) {
	m, err := adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleUser, Content: "hi", CreatedAt: tracetest.TestStart, UpdatedAt: tracetest.TestStart})
	require.NoError(t, err)
	data := tracetest.WriteTrace(t,
		adk.Crossing{Kind: adk.KindCall, At: tracetest.TestStart, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}},
		adk.Crossing{Kind: adk.KindAdd, At: tracetest.TestStart, Collection: adk.Messages, Record: m},
		adk.Crossing{Kind: adk.KindReturn, At: tracetest.TestStart, ID: 1, Outcome: adk.OutcomeOK})
	first := bytes.IndexByte(data, '\n') + 1
	for n := range len(data) {
		recorded, err := trace.Read(bytes.NewReader(data[:n]))
		var format *trace.FormatError
		require.ErrorAs(t, err, &format)
		assert.Equal(t, trace.FaultTruncated, format.Fault, "%d bytes", n)
		if n < first {
			assert.Nil(t, recorded)
			continue
		}
		whole := bytes.Count(data[:n], []byte("\n")) - 1
		require.Len(t, recorded.Lines(), whole)
		assert.False(t, recorded.Sealed)
		assert.Equal(t, whole+2, format.Line)
		var again bytes.Buffer
		_, err = recorded.WriteTo(&again)
		require.NoError(t, err)
		assert.Equal(t, string(data[:bytes.LastIndexByte(data[:n], '\n')+1]), again.String(), "what was cut short is not sealed")
	}
}

func TestLinesAreBounded(t *testing.T) {
	long := `{"kind":"new-id","id":"` + strings.Repeat("x", 200<<10) + `"}`
	data := tracetest.Seal([]string{tracetest.HeaderLine, long}, "")
	read, err := trace.Read(bytes.NewReader(data))
	require.NoError(t, err)
	assert.Len(t, read.Lines()[0].Name, 200<<10)
	_, err = trace.Read(bytes.NewReader(data), trace.Options{MaxLine: 100 << 10})
	var format *trace.FormatError
	require.ErrorAs(t, err, &format)
	assert.Equal(t, trace.FaultTooLarge, format.Fault)
	assert.Equal(t, 2, format.Line)
}

func TestNestingIsBounded(t *testing.T) {
	deep := func(n int) string {
		return `{"kind":"now","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	_, err := trace.Read(bytes.NewReader(tracetest.Seal([]string{tracetest.HeaderLine, deep(jsonscan.MaxDepth)}, "")))
	require.NoError(t, err)
	format := tracetest.ReadError(t, tracetest.Seal([]string{tracetest.HeaderLine, deep(jsonscan.MaxDepth + 1<<20)}, ""))
	assert.Contains(t, format.Reason, "nested more than")
}

func TestAnErrorOfTheReaderIsNoFormatError(t *testing.T) {
	broken := errors.New("the network is down")
	r, err := trace.NewReader(io.MultiReader(strings.NewReader(tracetest.HeaderLine+"\n"), iotest.ErrReader(broken)))
	require.NoError(t, err)
	_, err = r.Next()
	require.ErrorIs(t, err, broken)
	assert.NotErrorAs(t, err, new(*trace.FormatError))
	_, again := r.Next()
	assert.Equal(t, err, again, "an error stays")
}

// An error message does not grow with the file, whichever text of a line is long, and it shows how the text ends.
func TestErrorsAreShort(t *testing.T) {
	texts, long := regexp.MustCompile(`"[^"\\]*"`), strings.Repeat("é", 1<<11)
	for _, line := range tracetest.FuzzLines {
		for _, at := range texts.FindAllStringIndex(line, -1) {
			_, err := trace.Read(bytes.NewReader(tracetest.Seal([]string{tracetest.HeaderLine, line[:at[0]+1] + long + line[at[1]-1:]}, "")))
			if err != nil {
				assert.Less(t, len(err.Error()), 500, line)
				assert.True(t, utf8.ValidString(err.Error()), line)
			}
		}
	}
	_, err := trace.Read(bytes.NewReader(tracetest.Seal([]string{tracetest.HeaderLine, `{"kind":"call","id":1,"seam":"` + long + `"}`}, "")))
	assert.ErrorContains(t, err, `line 2: malformed trace: seam: seam path "éé`)
	assert.ErrorContains(t, err, `éé" begins with no known label`)
}

// FuzzLine reads a trace of a valid header and one line. An accepted line must be written so that
// it is read back as the same, and is not refused. If it is cut into parts, before it is read or
// when it is written, it stays the same.
func FuzzLine(f *testing.F) {
	for _, line := range tracetest.FuzzLines {
		f.Add(line)
	}
	short := trace.Options{MaxLine: int64(len(tracetest.HeaderLine) + 1)}
	f.Fuzz(func(t *testing.T, line string) {
		first, err := trace.Read(bytes.NewReader(tracetest.Seal([]string{tracetest.HeaderLine, line}, "")))
		if parts := inParts(t, line); len(parts) > 0 {
			joined, inParts := trace.Read(bytes.NewReader(tracetest.Seal(append([]string{tracetest.HeaderLine}, parts...), "")))
			requireSameRead(t, first, err, joined, inParts)
		}
		if err != nil {
			require.ErrorAs(t, err, new(*trace.FormatError))
			return
		}
		once := writeAgain(t, first, trace.Options{})
		second, err := trace.Read(bytes.NewReader(once))
		require.NoError(t, err, "%s", once)
		require.Equal(t, string(once), string(writeAgain(t, second, trace.Options{})), "what was written is not read as it was")
		cut := writeAgain(t, first, short)
		for line := range bytes.Lines(cut) {
			require.LessOrEqual(t, int64(len(line)), short.MaxLine)
		}
		second, err = trace.Read(bytes.NewReader(cut), short)
		require.NoError(t, err, "%s", cut)
		require.Equal(t, string(once), string(writeAgain(t, second, trace.Options{})), "what was cut is not read as it is whole")
	})
}

// inParts cuts a line into parts of a few bytes each. It returns none if the text is more than one
// line, can be no crossing whatever its members are, or cannot be cut.
func inParts(t *testing.T, line string) []string {
	if strings.Contains(line, "\n") || !utf8.ValidString(line) {
		return nil
	}
	d := wire.Decoder{Format: trace.FormatVersion}
	if d.Scan([]byte(line)) == nil && (d.IsPart() || d.IsFooter()) {
		return nil
	}
	var parts bytes.Buffer
	require.NoError(t, wire.CutLine(&parts, []byte(line), 80))
	return strings.FieldsFunc(parts.String(), func(r rune) bool { return r == '\n' })
}

// requireSameRead compares what was read of a line in parts with what was read of the whole line.
func requireSameRead(t *testing.T, whole *trace.Trace, wholeErr error, joined *trace.Trace, joinedErr error) {
	if wholeErr == nil {
		require.NoError(t, joinedErr)
		require.Equal(t, string(writeAgain(t, whole, trace.Options{})), string(writeAgain(t, joined, trace.Options{})), "what was in parts is not read as it is whole")
		return
	}
	var want, got *trace.FormatError
	require.ErrorAs(t, wholeErr, &want)
	require.ErrorAs(t, joinedErr, &got)
	require.Equal(t, want.Fault, got.Fault)
	require.Equal(t, want.Reason, strings.TrimPrefix(got.Reason, "the line that its parts make: "))
}

// Records, and their direct members, do not count as values of a crossing: a history may be as
// long as lines allow. Values nested deeper do count.
func TestRecordsOfAListCountAsNoValues(t *testing.T) {
	o := trace.Options{MaxValues: 20}
	for deep, fits := range map[int]bool{18: true, 19: false} {
		told := adk.Crossing{Kind: adk.KindReturn, At: tracetest.TestStart, ID: 1, Outcome: adk.OutcomeOK}
		for i := range 50 {
			message, err := adk.NewMessage(adk.MessageInit{ID: strconv.Itoa(i), Role: adk.RoleUser, Content: "a question", CreatedAt: tracetest.TestStart, UpdatedAt: tracetest.TestStart})
			require.NoError(t, err)
			told.Records = append(told.Records, message)
		}
		call, err := adk.NewToolCall(adk.ToolCallInit{ID: "c", Tool: "t", Args: map[string]any{"of": make([]any, deep)}, Results: adk.NewTokenizable("done"), CreatedAt: tracetest.TestStart, UpdatedAt: tracetest.TestStart, CompletedAt: tracetest.TestStart})
		require.NoError(t, err)
		told.Records = append(told.Records, call)
		var out bytes.Buffer
		w := trace.NewWriter(&out, trace.Header{}, o)
		if err := w.Write(&told); !fits {
			assert.ErrorContains(t, err, "it has 21 JSON values, and no reader takes more than 20: Options.MaxValues")
			continue
		} else {
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		read, err := trace.Read(bytes.NewReader(out.Bytes()), o)
		require.NoError(t, err)
		assert.Len(t, read.Lines()[0].Records, 51)
		o := trace.Options{MaxValues: 19}
		whole, _ := tooLarge(t, out.Bytes(), o)
		assert.Contains(t, whole.Reason, "values: more than 19 ")
	}
}

// Whatever is written can be read: a user who raises a limit for both can write and read more.
func TestWhatNoReaderCountsIsNotWritten(t *testing.T) {
	list := make([]any, 100) // one more value is the list itself
	for i := range list {
		list[i] = 1.0
	}
	line := adk.Crossing{Kind: adk.KindExecute, Phase: adk.Begin, Args: map[string]any{"of": list}}
	for name, c := range map[string]struct {
		lines int
		says  string
	}{
		"values":    {1, "it has 101 JSON values, and no reader takes more than 100: Options.MaxValues"},
		"crossings": {101, "no reader takes more than 100 crossings: Options.MaxCrossings"},
	} {
		for most, fits := range map[int64]bool{100: false, 101: true} {
			var o trace.Options
			require.NoError(t, o.SetLimit(name, most))
			var out bytes.Buffer
			w := trace.NewWriter(&out, trace.Header{}, o)
			var err error
			for range c.lines {
				err = errors.Join(err, w.Write(&line))
			}
			if !fits {
				assert.ErrorContains(t, err, c.says, name)
				assert.Error(t, w.Close())
				continue
			}
			require.NoError(t, errors.Join(err, w.Close()), name)
			_, err = trace.Read(&out, o)
			assert.NoError(t, err, name)
		}
	}
}
