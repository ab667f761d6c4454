package trace_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// tooLarge reads a trace that exceeds a limit, as a whole and line by line, and returns both
// errors.
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

// repeated is a trace with n equal lines.
func repeated(line string, n int) []byte {
	lines := []string{tracetest.HeaderLine}
	for range n {
		lines = append(lines, line)
	}
	return tracetest.Seal(lines, "")
}

// If a trace exceeds a limit, the error names the limit and how to raise it. With the limit raised
// the trace can be read.
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
		"memory": {repeated(`{"kind":"now"}`, 30), 4000},
	}
	for name, c := range cases {
		var o trace.Options
		require.NoError(t, o.SetLimit(name, c.most))
		whole, lines := tooLarge(t, c.data, o)
		assert.Contains(t, whole.Reason, fmt.Sprintf("%s: more than %d ", name, c.most))
		assert.Contains(t, whole.Reason, "--limit "+name+"=N")
		if name == "memory" {
			assert.Nil(t, lines, "of what these say nothing stays where they are read line by line")
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

// A small file that unpacks to a large one is refused as soon as that is known, before any of it
// is decoded.
func TestBombsAreGivenUpEarly(t *testing.T) {
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed)
	require.NoError(t, err)
	line := strings.Repeat(`{"kind":"now"}`+"\n", 1000)
	_, err = io.WriteString(w, tracetest.HeaderLine+"\n")
	for range 4000 {
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

// A trace that was read as a whole takes at most ten times the memory of its file, whatever its
// lines say: also if they say almost nothing, or values that take many times their text.
func TestHeldTraces(t *testing.T) {
	thorough.Long(t)
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

// Lines that a trace returns belong to the caller, until Lines returns all of them: those belong
// to the trace. Copies of a trace keep their own lines.
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

// The memory of a trace counts its texts as well as its values: if one text of a trace of many
// values is longer, it counts as that much more.
func TestHeldTextsCount(t *testing.T) {
	thorough.Long(t)
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

// Objects with one member take as much memory as any other: a trace that is held as a whole counts
// them as more than other values, however short their text is. Texts that look like such objects,
// and empty objects, do not count as objects.
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
	const limit = each * 512
	assert.False(t, fits(limit, map[string]any{"a": 1.0}))
	assert.True(t, fits(4*limit, map[string]any{"a": 1.0}))
	for name, one := range map[string]any{"a list": []any{1.0}, "none": map[string]any{}, "a text": `{"a":1}`} {
		assert.True(t, fits(limit, one), name)
	}
}

// dense is a list of n small objects.
func dense(n int) string { return "[" + strings.Repeat(`{"a":1},`, n-1) + `{"a":1}]` }

// What a trace must retain is also counted when it is read line by line: a value of a stash until
// it is replaced or removed or its dispatch is over, records forever, and the input of an
// operation, a call or a report until that is over. The error of a trace that exceeds the limit
// names the line. With the limit raised the trace can be read.
func TestWhatStaysCounts(t *testing.T) {
	t.Parallel()
	const each, rounds = 500, 12
	value := dense(each)
	repeat := func(line func(i int) string) (lines []string) {
		for i := range rounds {
			lines = append(lines, strings.Split(line(i), "\n")...)
		}
		return lines
	}
	stash := func(in int, path string) string {
		return fmt.Sprintf(`{"kind":"stash","in":%d,"path":"%s","value":%s}`, in, path, value)
	}
	const call = `{"kind":"call","in":%d,"id":%d,"seam":"%s"}`
	message := `{"kind":"report-message","in":%d,"id":"m","delta":"` + strings.Repeat("a", 400*each) + `"}`
	toolCall := `{"kind":"add","in":1,"of":"toolCalls","record":{"#":%d,"toolCall":{"id":"c%[1]d","tool":"t","args":{"a":` + value + `},"results":{"text":""},"inline":true,` +
		`"createdAt":"2025-01-01T00:00:00Z","updatedAt":"2025-01-01T00:00:00Z","completedAt":"2025-01-01T00:00:00Z"}}}`
	for name, c := range map[string]struct {
		stays bool
		line  func(i int) string
	}{
		"keys":             {true, func(i int) string { return stash(1, fmt.Sprintf("k%d", i)) }},
		"keys of a branch": {true, func(i int) string { return stash(1, fmt.Sprintf("a.b.k%d", i)) }},
		"one key":          {false, func(int) string { return stash(1, "k") }},
		"a branch":         {false, func(i int) string { return stash(1, fmt.Sprintf("a.k%d", i)) + "\n" + stash(1, "a") }},
		"keys removed": {false, func(i int) string {
			return stash(1, fmt.Sprintf("k%d", i)) + fmt.Sprintf("\n"+`{"kind":"stash","in":1,"path":"k%d"}`, i)
		}},
		"keys refused": {false, func(i int) string {
			return strings.TrimSuffix(stash(1, fmt.Sprintf("k%d", i)), "}") + `,"err":{"text":"no"}}`
		}},
		"dispatches": {false, func(i int) string {
			return fmt.Sprintf(call, 1, i+2, "dispatch/a") + "\n" + stash(i+2, "k") + fmt.Sprintf("\n"+`{"kind":"return","in":1,"id":%d}`, i+2)
		}},
		"dispatches within one another": {true, func(i int) string {
			return fmt.Sprintf(call, i+1, i+2, "dispatch/a") + "\n" + stash(i+2, "k")
		}},
		"dispatches that share": {false, func(i int) string {
			set := ""
			if i == 0 {
				set = stash(1, "k") + "\n"
			}
			return set + fmt.Sprintf(call, i+1, i+2, "dispatch/a") + fmt.Sprintf("\n"+`{"kind":"stash","in":%d,"path":"own","value":1}`, i+2)
		}},
		"records": {true, func(i int) string { return fmt.Sprintf(toolCall, i+1) }},
		"one record": {false, func(i int) string {
			if i > 0 {
				return `{"kind":"add","in":1,"of":"toolCalls","record":{"#":1},"replaced":true}`
			}
			return fmt.Sprintf(toolCall, 1)
		}},
		"reports": {true, func(i int) string {
			return fmt.Sprintf(`{"kind":"report-tool-call","in":1,"id":"c%d","args":{"a":%s}}`, i, value)
		}},
		"one report": {false, func(int) string {
			return fmt.Sprintf(`{"kind":"report-tool-call","in":1,"id":"c","args":{"a":%s}}`, value)
		}},
		"messages":       {true, func(int) string { return fmt.Sprintf(message, 1) }},
		"short messages": {false, func(int) string { return `{"kind":"report-message","in":1,"id":"m","delta":"a"}` }},
		"messages of dispatches": {false, func(i int) string {
			return fmt.Sprintf(call, 1, i+2, "dispatch/a") + "\n" + fmt.Sprintf(message, i+2) + fmt.Sprintf("\n"+`{"kind":"return","in":1,"id":%d}`, i+2)
		}},
		"open operations": {true, func(i int) string {
			return fmt.Sprintf(`{"kind":"execute","phase":"begin","in":1,"op":%d,"args":{"a":%s}}`, i+1, value)
		}},
		"operations": {false, func(i int) string {
			return fmt.Sprintf(`{"kind":"execute","phase":"begin","in":1,"op":%d,"args":{"a":%s}}`+"\n"+`{"kind":"execute","phase":"done","in":1,"op":%[1]d}`, i+1, value)
		}},
		"open calls": {true, func(i int) string {
			return fmt.Sprintf(`{"kind":"call","in":1,"id":%d,"seam":"tool/t","args":{"a":%s}}`, i+2, value)
		}},
		"calls": {false, func(i int) string {
			return fmt.Sprintf(`{"kind":"call","in":1,"id":%d,"seam":"tool/t","args":{"a":%s}}`+"\n"+`{"kind":"return","in":1,"id":%[1]d}`, i+2, value)
		}},
		"logs": {false, func(int) string { return fmt.Sprintf(`{"kind":"report-log","in":1,"payload":%s}`, value) }},
	} {
		data := tracetest.Seal(append([]string{tracetest.HeaderLine, `{"kind":"call","id":1,"seam":"run"}`}, repeat(c.line)...), "")
		limit := int64(each * 400 * 3 * 3) // three values, each held by three
		fault := readLines(t, data, trace.Options{MaxMemory: limit})
		if !c.stays {
			assert.Nil(t, fault, name)
			continue
		}
		if assert.NotNil(t, fault, name) {
			assert.Equal(t, trace.FaultTooLarge, fault.Fault, name)
			assert.Contains(t, fault.Reason, "memory: more than ")
			assert.Contains(t, fault.Reason, "--limit memory=N")
			assert.Greater(t, fault.Line, 3, name)
		}
		assert.Nil(t, readLines(t, data, trace.Options{MaxMemory: rounds * limit}), name)
	}
}

// A value that fits once, but not as often as it will be held, is refused at its own line: a
// caller that gets it holds it before it is held again.
func TestWhatWillStayCounts(t *testing.T) {
	const each = 500
	data := tracetest.Seal([]string{tracetest.HeaderLine, `{"kind":"call","id":1,"seam":"run"}`,
		`{"kind":"stash","in":1,"path":"k","value":` + dense(each) + `}`}, "")
	fault := readLines(t, data, trace.Options{MaxMemory: each * 400 * 2})
	require.NotNil(t, fault)
	assert.Equal(t, trace.FaultTooLarge, fault.Fault)
	assert.Equal(t, 3, fault.Line)
	assert.Nil(t, readLines(t, data, trace.Options{MaxMemory: each * 400 * 4}))
}

// readLines reads a trace line by line, and returns its fault, if it has one.
func readLines(t *testing.T, data []byte, o trace.Options) (fault *trace.FormatError) {
	t.Helper()
	r, err := trace.NewReader(bytes.NewReader(data), o)
	for err == nil {
		_, err = r.Next()
	}
	if err != io.EOF {
		require.ErrorAs(t, err, &fault)
	}
	return fault
}

// A line that is too heavy is refused before it is decoded, however it is read, also in a
// compressed trace. So is a line that has more members than a line may have values.
func TestHeavyLinesAreGivenUpEarly(t *testing.T) {
	const objects = 100_000
	lines := map[string]string{
		"values":  `{"kind":"stash","in":1,"path":"k","value":` + dense(objects) + `}`,
		"args":    `{"kind":"execute","phase":"begin","in":1,"op":1,"args":{"a":` + dense(objects) + `}}`,
		"root":    `{"kind":"call","id":2,"seam":"run","stash":{"a":` + dense(objects) + `}}`,
		"payload": `{"kind":"emit-tool-call","phase":"begin","in":1,"op":1,"payload":{"args":{"a":` + dense(objects) + `}}}`,
		"record":  `{"kind":"add","in":1,"of":"toolCalls","record":{"#":1,"toolCall":{"args":{"a":` + dense(objects) + `}}}}`,
		"tool":    `{"kind":"register","in":1,"tool":{"#":1,"tool":{"inputSchema":{"allOf":[` + strings.Repeat("{},", objects) + `{}]}}}}`,
		"members": `{"kind":"now"` + strings.Repeat(`,"a":1`, objects) + `}`,
	}
	for name, line := range lines {
		data := repeated(line, 1)
		var packed bytes.Buffer
		w, err := zstd.NewWriter(&packed)
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		for _, content := range [][]byte{data, packed.Bytes()} {
			o := trace.Options{MaxMemory: 8 << 20}
			if name == "members" {
				o.MaxValues = 1000
			}
			var whole, alone error
			allocated := allocs.Bytes(func() {
				_, whole = trace.Read(bytes.NewReader(content), o)
				r, err := trace.NewReader(bytes.NewReader(content), o)
				require.NoError(t, err)
				_, alone = r.Next()
			})
			assert.ErrorContains(t, whole, "more than ", name)
			assert.Equal(t, whole.Error(), alone.Error(), name)
			assert.Less(t, allocated, uint64(40<<20), name)
		}
	}
	_, err := trace.NewReader(strings.NewReader(strings.Replace(tracetest.HeaderLine, `"turn-input":[]`, `"turn-input":`+dense(50), 1)+"\n"), trace.Options{MaxValues: 40})
	assert.ErrorContains(t, err, "values: more than 40 ")
}

// A line that only refers to earlier records counts for almost nothing, and new records count for
// no more than they take.
func TestManyRecordsAreRead(t *testing.T) {
	const many = 20_000
	var news strings.Builder
	for i := range many {
		fmt.Fprintf(&news, `,{"#":%d,"instruction":"i%d"}`, i+1, i)
	}
	list := func(records string) string {
		return `{"kind":"return","in":1,"id":2,"records":[` + records + `]}`
	}
	data := tracetest.Seal([]string{tracetest.HeaderLine, `{"kind":"call","id":1,"seam":"run"}`,
		list(news.String()[1:]), list(strings.Repeat(`{"#":1},`, 10*many) + `{"#":1}`)}, "")
	assert.Nil(t, readLines(t, data, trace.Options{MaxMemory: many * 520}))
	assert.NotNil(t, readLines(t, data, trace.Options{MaxMemory: many * 300}))
}

// Retaining one line does not retain the memory of other heavy lines, however lines are allocated.
func TestAHeavyLineStandsAlone(t *testing.T) {
	light, heavy := `{"kind":"new-id","id":"x"}`, `{"kind":"stash","key":"k","value":"`+strings.Repeat("x", 100_000)+`"}`
	data := tracetest.Seal([]string{tracetest.HeaderLine, light, heavy, light, heavy, light}, "")
	for name, next := range map[string]func(*trace.Reader, *trace.Line) (*trace.Line, error){
		"Next":     func(r *trace.Reader, _ *trace.Line) (*trace.Line, error) { return r.Next() },
		"NextInto": (*trace.Reader).NextInto,
	} {
		t.Run(name, func(t *testing.T) {
			r, err := trace.NewReader(bytes.NewReader(data))
			require.NoError(t, err)
			into := make([]trace.Line, 5)
			var kept []*trace.Line
			var gone []weak.Pointer[trace.Line]
			func() {
				for i := range into {
					line, err := next(r, &into[i])
					require.NoError(t, err)
					if line.Kind == adk.KindStash {
						gone = append(gone, weak.Make(line))
					} else {
						kept = append(kept, line)
					}
				}
			}()
			runtime.GC()
			require.Len(t, gone, 2)
			for i, line := range gone {
				assert.True(t, line.Value() == nil, "somebody has heavy line %d", i)
			}
			assert.Len(t, kept, 3)
			runtime.KeepAlive(kept)
			runtime.KeepAlive(into)
			runtime.KeepAlive(r)
		})
	}
}
