package trace_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// A trace that was read whole holds each crossing once, and what it says.
func TestHeldTraces(t *testing.T) {
	for _, shape := range large.Shapes {
		data := shape.Trace(10_000)
		held := allocs.Held(func() *trace.Trace {
			read, err := trace.Read(bytes.NewReader(data))
			require.NoError(t, err)
			return read
		})
		t.Logf("%s: %.1f bytes a byte", shape.Name, float64(held)/float64(len(data)))
		assert.Less(t, held, 10*int64(len(data)), shape.Name)
	}
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
