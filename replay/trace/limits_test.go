package trace_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// tooLarge reads a trace that is beyond a limit, whole and line by line, and gives the
// errors of both.
func tooLarge(t *testing.T, data []byte, o trace.Options) (whole, lines *trace.FormatError) {
	t.Helper()
	_, err := trace.Read(bytes.NewReader(data), o)
	require.ErrorAs(t, err, &whole)
	assert.Equal(t, trace.FaultTooLarge, whole.Fault, whole.Error())
	r, err := trace.NewReader(bytes.NewReader(data), o)
	for err == nil {
		_, err = r.Next()
	}
	if err != io.EOF {
		require.ErrorAs(t, err, &lines)
	}
	return whole, lines
}

// repeated is a trace of lines that say the same.
func repeated(line string, n int) []byte {
	lines := []string{tracetest.HeaderLine}
	for range n {
		lines = append(lines, line)
	}
	return tracetest.Seal(lines, "")
}

// Every limit is named by the error of what is beyond it, with how it can be raised, and
// raised it lets the trace be read.
func TestLimits(t *testing.T) {
	t.Parallel()
	nested := []string{tracetest.HeaderLine}
	for i := range 30 {
		nested = append(nested, fmt.Sprintf(`{"kind":"call","in":%d,"id":%d,"seam":"dispatch/a"}`, i, i+1))
	}
	cases := map[string]struct {
		data []byte
		most int64
	}{
		"line":      {repeated(`{"kind":"new-id","id":"`+strings.Repeat("x", 2000)+`"}`, 1), 1000},
		"crossings": {repeated(`{"kind":"now"}`, 30), 20},
		"nesting":   {tracetest.Seal(nested, ""), 20},
		"said":      {repeated(`{"left":0,"part":"{\"kind\":\"now\",\"x\":\"`+strings.Repeat("x", 100)+`\"}"}`, 1), 90},
		"values":    {repeated(`{"kind":"execute","phase":"begin","args":{"of":[`+strings.Repeat("1,", 40)+`1]}}`, 1), 20},
		"restored": {tracetest.Seal([]string{tracetest.HeaderLine, `{"kind":"ask","phase":"begin","op":1,"of":"m","request":"` + strings.Repeat("x", 98) + `"}`,
			`{"kind":"ask","phase":"begin","op":2,"of":"m","request":{"$from":1,"head":100}}`}, ""), 90},
		"memory": {repeated(`{"kind":"now"}`, 30), 9000},
	}
	for name, c := range cases {
		var o trace.Options
		require.NoError(t, o.SetLimit(name, c.most))
		whole, lines := tooLarge(t, c.data, o)
		assert.Contains(t, whole.Reason, fmt.Sprintf("%s: more than %d ", name, c.most))
		assert.Contains(t, whole.Reason, "--limit "+name+"=N")
		if name == "memory" {
			assert.Nil(t, lines, "who reads line by line holds none of them")
		} else {
			assert.Equal(t, whole.Reason, lines.Reason)
		}
		require.NoError(t, o.SetLimit(name, 1<<40))
		_, err := trace.Read(bytes.NewReader(c.data), o)
		assert.NoError(t, err, name)
	}
	assert.Len(t, trace.Limits(), len(cases)+1, "and bytes, which are those of what is compressed")
	var o trace.Options
	assert.ErrorContains(t, o.SetLimit("lines", 1), `no limit "lines"`)
	assert.ErrorContains(t, o.SetLimit("line", 0), "from 1")
}

// A small file that unpacks to a large one is given up where it is known to be one,
// before anything of it is decoded.
func TestBombsAreGivenUpEarly(t *testing.T) {
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed)
	require.NoError(t, err)
	line := strings.Repeat(`{"kind":"now"}`+"\n", 1000)
	_, err = io.WriteString(w, tracetest.HeaderLine+"\n")
	for range 2000 {
		require.NoError(t, err)
		_, err = io.WriteString(w, line)
	}
	require.NoError(t, w.Close())
	assert.Less(t, packed.Len(), 100<<10)
	allocated := allocs.Bytes(func() {
		_, err := trace.Read(&packed)
		assert.ErrorContains(t, err, "memory: more than")
	})
	assert.Less(t, allocated, uint64(128<<20))
}

// A trace that was read whole holds at most ten times its file, whatever its lines say: also
// if they say next to nothing, or what takes many times its text.
func TestHeldTraces(t *testing.T) {
	const lines = 4_000
	held := func(name string, data []byte) {
		held := allocs.Held(func() *trace.Trace {
			read, err := trace.Read(bytes.NewReader(data))
			require.NoError(t, err)
			return read
		})
		times := float64(held) / float64(len(data))
		t.Logf("%s: %.1f bytes a byte", name, times)
		assert.Less(t, times, 10.0, name)
	}
	for _, shape := range large.Shapes {
		held(shape.Name, shape.Trace(lines))
	}
	times := slices.IndexFunc(large.Heavy, func(s large.Shape) bool { return s.Name == "times" })
	held("times", large.Heavy[times].Trace(1))
	for _, line := range []string{`{"kind":"now"}`, `{"kind":"log"}`, `{"kind":"new-id","id":"a"}`, `{"kind":"return","id":1}`,
		`{"kind":"now","x":1}`, `{"kind":"prune","pruned":[]}`, `{"kind":"return","err":{"text":""}}`, `{"kind":"iterationStart","iteration":1}`,
		`{"kind":"call","records":[]}`, `{"kind":"call","id":1,"seam":"run"}`, `{"kind":"piece","piece":1}`, `{"kind":"stash","value":[[]]}`} {
		held(line, repeated(line, lines))
	}
	for _, value := range []string{"1", "[]", "{}", `"a"`, "[[]]", `{"a":1}`} {
		list := strings.Repeat(value+",", 99) + value
		for _, line := range []string{`{"kind":"stash","value":[%s]}`, `{"kind":"execute","phase":"begin","args":{"a":[%s]}}`,
			`{"kind":"execute","phase":"begin","args":[[%s]]}`, `{"kind":"now","x":[%s]}`} {
			held(fmt.Sprintf(line, value+",…"), repeated(fmt.Sprintf(line, list), lines/10))
		}
	}
	unknown := `{"kind":"now"`
	for i := range 100 {
		unknown += fmt.Sprintf(`,"%d":1`, i)
	}
	held("unknown members", repeated(unknown+"}", lines/10))
}

// What is given of a trace that was read is the caller's, until all lines are wanted at once:
// those are the trace's. Copies keep what they have when it is given others.
func TestLinesOfTraces(t *testing.T) {
	read := tracetest.ReadTrace(t, repeated(`{"kind":"new-id","id":"a"}`, 100))
	assert.Equal(t, 100, read.Len())
	for _, line := range read.All() {
		line.Name = "b"
	}
	names := func(t *trace.Trace) (names []string) {
		for i, line := range t.All() {
			if names = append(names, line.Name); i == 2 {
				break
			}
		}
		return names
	}
	assert.Equal(t, []string{"a", "a", "a"}, names(read))
	read.Lines()[1].Name = "c"
	assert.Equal(t, []string{"a", "c", "a"}, names(read))
	whole := *read
	whole.SetLines(read.Lines()[1:2])
	assert.Equal(t, []string{"c"}, names(&whole))
	assert.Equal(t, 1, whole.Len())
	assert.Equal(t, 100, read.Len())
	none := trace.New(read.Header, nil)
	assert.Zero(t, none.Len())
	assert.Empty(t, none.Lines())
	assert.Empty(t, names(none))
}

// What is held of a trace are its texts as well as its values: a trace of many values whose
// one text is longer takes as much more.
func TestHeldTextsCount(t *testing.T) {
	shape, ok := large.Named("arguments")
	require.True(t, ok)
	short := shape.Trace(2_000)
	short = short[:bytes.LastIndex(short, []byte(`{"end":`))]
	needs := func(body []byte) (limit int64) {
		file := tracetest.Resealed(body)
		for limit = 1 << 20; ; limit += 128 << 10 {
			if _, err := trace.Read(bytes.NewReader(file), trace.Options{MaxMemory: limit}); err == nil {
				return limit
			}
		}
	}
	const more = 1 << 20
	long := bytes.Replace(short, []byte("Be brief."), bytes.Repeat([]byte{'a'}, more), 1)
	assert.GreaterOrEqual(t, needs(long)-needs(short), int64(more-128<<10))
}

// Objects of one member take as much memory as any: a trace that is held whole counts them as
// more than other values, however short they are written. Texts that look like some, and
// objects of none, are no objects.
func TestHeldObjectsCount(t *testing.T) {
	const each = 10_000
	fits := func(limit int64, one any) bool {
		list := make([]any, each)
		for i := range list {
			list[i] = one
		}
		var out bytes.Buffer
		w := trace.NewWriter(&out, trace.Header{})
		require.NoError(t, w.Write(&adk.Crossing{Kind: adk.KindExecute, Phase: adk.Begin, Args: map[string]any{"of": list}}))
		require.NoError(t, w.Close())
		_, err := trace.Read(bytes.NewReader(out.Bytes()), trace.Options{MaxMemory: limit})
		if err != nil {
			assert.ErrorContains(t, err, "memory: more than ")
		}
		return err == nil
	}
	const limit = each * 256
	assert.False(t, fits(limit, map[string]any{"a": 1.0}))
	assert.True(t, fits(2*limit, map[string]any{"a": 1.0}))
	for name, one := range map[string]any{"a list": []any{1.0}, "none": map[string]any{}, "a text": `{"a":1}`} {
		assert.True(t, fits(limit, one), name)
	}
}
