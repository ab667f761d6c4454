package trace_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// conversation is a history that is sent again with each ask, written as a client of a model
// writes it: the messages are in the middle, with unchanged members after them.
type conversation struct {
	system   string
	messages []string
	// marked puts a mark on the last message, as prompt caches require it.
	marked bool
}

func (c *conversation) ask(n int) json.RawMessage {
	c.messages = append(c.messages, fmt.Sprintf(`{"role":"user","content":"Frage %d: wie ist \"das\" Wetter in Ålesund? %s"}`, n, strings.Repeat("…", n%7)))
	all := slices.Clone(c.messages)
	if last := len(all) - 1; c.marked {
		all[last] = strings.TrimSuffix(all[last], "}") + `,"cache_control":{"type":"ephemeral"}}`
	}
	return json.RawMessage(`{"method":"POST","path":"/v1","body":{"system":"` + c.system + `","messages":[` + strings.Join(all, ",") +
		`],"temperature":0.5,"tools":[{"name":"weather","description":"` + strings.Repeat("Tells the weather. ", 40) + `"}]}}`)
}

// asking returns the crossings of n asks, each answered in pieces.
func asking(n int, request func(n int) json.RawMessage) (all []adk.Crossing) {
	add := func(x adk.Crossing) {
		x.At = tracetest.TestStart
		all = append(all, x)
	}
	for op := 1; op <= n; op++ {
		add(adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Op: op, Name: "model", JSON: request(op)})
		for _, word := range []string{"It", "is", "four", "°C"} {
			event := fmt.Sprintf(`{"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1735689600,"model":"gpt","choices":[{"index":0,"delta":{"content":%q}}]}`, op, word)
			piece, _ := json.Marshal(map[string]string{"event": "data: " + event + "\n\n"})
			add(adk.Crossing{Kind: adk.KindPiece, Op: op, JSON: piece})
		}
		add(adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Op: op})
	}
	return all
}

// histories are the ways in which a turn repeats what it sent before.
func histories() map[string]func() func(n int) json.RawMessage {
	system := strings.Repeat("You are a helpful assistant. ", 100)
	among := func(all ...*conversation) func(n int) json.RawMessage {
		return func(n int) json.RawMessage { return all[n%len(all)].ask(n) }
	}
	return map[string]func() func(n int) json.RawMessage{
		"one": func() func(int) json.RawMessage { return among(&conversation{system: system}) },
		"two that alternate": func() func(int) json.RawMessage {
			return among(&conversation{system: system}, &conversation{system: "Plan."})
		},
		"two of one prompt": func() func(int) json.RawMessage {
			return among(&conversation{system: system}, &conversation{system: system})
		},
		"one with a mark that goes": func() func(int) json.RawMessage { return among(&conversation{system: system, marked: true}) },
		"one beside many of one ask": func() func(int) json.RawMessage {
			one := &conversation{system: system}
			return func(n int) json.RawMessage {
				if n%4 != 0 {
					return (&conversation{system: system}).ask(n)
				}
				return one.ask(n)
			}
		},
	}
}

// bytesOfAsks returns the size of a trace of n asks.
func bytesOfAsks(t require.TestingT, n int, history func() func(int) json.RawMessage) int {
	return len(tracetest.WriteTrace(t, asking(n, history())...))
}

// If a history is sent again with each ask, the trace grows linearly with what is new, and not
// quadratically.
func TestHistoriesMakeTracesLinear(t *testing.T) {
	for name, history := range histories() {
		some, twice := bytesOfAsks(t, 100, history), bytesOfAsks(t, 200, history)
		t.Logf("%s: %d bytes for 100 asks, %.2f times as many for 200", name, some, float64(twice)/float64(some))
		assert.LessOrEqual(t, float64(twice)/float64(some), 2.2, name)
	}
}

// BenchmarkHistories measures the size of a trace of asks that repeat their histories.
func BenchmarkHistories(b *testing.B) {
	for name, history := range histories() {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			var said int
			for _, x := range asking(100, history()) {
				said += len(x.JSON)
			}
			var some, twice int
			for b.Loop() {
				some, twice = bytesOfAsks(b, 100, history), bytesOfAsks(b, 200, history)
			}
			b.ReportMetric(float64(said)/100, "said-B/ask")
			b.ReportMetric(float64(some)/100, "B/ask")
			b.ReportMetric(float64(twice)/float64(some), "x-for-twice")
		})
	}
}

// drawAsks draws asks that repeat what others said, in full or in part, with texts that are no
// JSON, and with texts that look like marks.
func drawAsks(t *rapid.T) (all []adk.Crossing) {
	said := []string{`{"$from":1,"head":2}`, `{"$json":"x"}`, "no JSON", `"` + strings.Repeat("ü€😀\\n\\\"", 60) + `"`, `{"a":[` + strings.Repeat(`"b c",`, 80) + `0]}`}
	text := func() json.RawMessage {
		one := rapid.SampledFrom(said).Draw(t, "said")
		if rapid.IntRange(0, 3).Draw(t, "whole") > 0 {
			other := rapid.SampledFrom(said).Draw(t, "other")
			cut, rest := rapid.IntRange(0, len(one)).Draw(t, "cut"), rapid.IntRange(0, len(other)).Draw(t, "rest")
			quoted, _ := json.Marshal(one[:cut] + rapid.StringN(0, 9, -1).Draw(t, "new") + other[rest:])
			one = string(quoted)
		}
		if rapid.IntRange(0, 20).Draw(t, "nothing") == 0 {
			return nil
		}
		said = append(said, one)
		return json.RawMessage(one)
	}
	for range rapid.IntRange(1, 60).Draw(t, "lines") {
		op := rapid.IntRange(1, 24).Draw(t, "op")
		x := adk.Crossing{Kind: adk.KindPiece, At: tracetest.TestStart, Op: op, JSON: text()}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0, 1:
			x.Kind, x.Phase = adk.KindAsk, adk.Begin
		case 2:
			x.Kind, x.Phase = adk.KindAsk, adk.Done
		case 3, 4:
			media := bytes.Repeat([]byte{byte(rapid.IntRange(0, 2).Draw(t, "media"))}, rapid.SampledFrom([]int{10, 96, 97, 300, 1024}).Draw(t, "size"))
			said = append(said, `"`+base64.StdEncoding.EncodeToString(media)+`"`)
			x = adk.Crossing{Kind: adk.KindOpenMedia, Phase: adk.Done, At: tracetest.TestStart, Op: op, Value: media}
			if rapid.IntRange(0, 2).Draw(t, "result") == 0 {
				x = adk.Crossing{Kind: adk.KindReturn, At: tracetest.TestStart, ID: op, Outcome: adk.OutcomeOK, Result: adk.Bytes(media)}
			}
		}
		all = append(all, x)
	}
	return all
}

// Whatever asks repeat is restored exactly, and is written again as it was.
func TestWhatIsSaidAgainIsRestored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := drawAsks(t)
		o := trace.Options{
			MaxLine:     rapid.SampledFrom([]int64{0, 900, 3000}).Draw(t, "line"),
			MaxRestored: rapid.SampledFrom([]int64{0, 1, 5000}).Draw(t, "restored"),
		}
		var out bytes.Buffer
		w := trace.NewWriter(&out, trace.Header{}, o)
		for i := range all {
			require.NoError(t, w.Write(&all[i]))
		}
		require.NoError(t, w.Close())
		read, err := trace.Read(bytes.NewReader(out.Bytes()), o)
		require.NoError(t, err, "%s", out.Bytes())
		for i := range all {
			assert.Equal(t, string(all[i].JSON), string(read.Lines()[i].JSON), i)
			assert.Equal(t, all[i].Value, read.Lines()[i].Value, i)
		}
		assert.Equal(t, out.String(), string(writeAgain(t, read, o)))
	})
}

// wholeLines is a trace in the last version of the format in which each line says all that it
// means.
func wholeLines(t require.TestingT, recorded *trace.Trace) string {
	copied := *recorded
	copied.Version = 3
	var out bytes.Buffer
	_, err := copied.WriteTo(&out)
	require.NoError(t, err)
	return out.String()
}

// Version 3 writes each request and each piece
// in full; version 4 says the same in its lines.
func TestBeforeVersion4AsksAreWhole(t *testing.T) {
	one := conversation{system: "Plan."}
	all := asking(3, one.ask)
	all = append(all, adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, At: tracetest.TestStart, Op: 9, JSON: json.RawMessage(`{"$from":1}`)})
	read := tracetest.ReadTrace(t, tracetest.WriteTrace(t, all...))
	former := wholeLines(t, read)
	assert.Equal(t, 1, strings.Count(former, `"$from"`), "of which it is the value")
	again := tracetest.ReadTrace(t, []byte(former))
	for i := range all {
		assert.Equal(t, string(all[i].JSON), string(again.Lines()[i].JSON), i)
	}
}

// The bytes of a media are written once: where a tool returned them, or where they were opened
// first. Version 3 writes them each time. A small file that repeats them without end is refused.
func TestEqualBytesStandOnce(t *testing.T) {
	body := strings.Repeat("line é\n", 400)
	opened := func(op int, data string) adk.Crossing {
		return adk.Crossing{Kind: adk.KindOpenMedia, Phase: adk.Done, At: tracetest.TestStart, Op: op, Value: []byte(data)}
	}
	returned := adk.Crossing{Kind: adk.KindReturn, At: tracetest.TestStart, ID: 7, Outcome: adk.OutcomeOK, Result: adk.Text(body)}
	all := []adk.Crossing{opened(1, body+"x"), returned, opened(2, body), opened(3, body), opened(4, body+"x")}
	data := tracetest.WriteTrace(t, all...)
	lines := strings.Split(string(data), "\n")
	assert.Contains(t, lines[3], `"op":2,"bytes":{"$result":7}`)
	assert.Contains(t, lines[4], `"op":3,"bytes":{"$from":2}`)
	assert.Contains(t, lines[5], `"op":4,"bytes":{"$from":1}`)
	read := tracetest.ReadTrace(t, data)
	former := wholeLines(t, read)
	assert.NotContains(t, former, "$from")
	for _, again := range []*trace.Trace{read, tracetest.ReadTrace(t, []byte(former))} {
		for i := range all {
			assert.Equal(t, all[i].Value, again.Lines()[i].Value, i)
		}
	}
	for n := range 100 {
		lines = append(lines[:len(lines)-2], fmt.Sprintf(`{"kind":"open-media","phase":"done","op":%d,"bytes":{"$result":7}}`, n+5), "", "")
	}
	whole, byLine := tooLarge(t, tracetest.Seal(lines[:len(lines)-2], ""), trace.Options{MaxRestored: 10_000})
	assert.Contains(t, whole.Reason, "restored: more than 10000 bytes")
	assert.Contains(t, byLine.Reason, "restored: more than 10000 bytes")
}

// If an ask that others refer to is removed from a trace, the others are written in full.
func TestAsksThatOthersNameCanGo(t *testing.T) {
	one := conversation{system: strings.Repeat("Plan. ", 30)}
	read := tracetest.ReadTrace(t, tracetest.WriteTrace(t, asking(4, one.ask)...))
	read.SetLines(slices.DeleteFunc(read.Lines(), func(l trace.Line) bool { return l.Op == 2 || l.Op == 1 && l.Kind == adk.KindAsk }))
	var out bytes.Buffer
	_, err := read.WriteTo(&out)
	require.NoError(t, err)
	again := tracetest.ReadTrace(t, out.Bytes())
	for i := range read.Lines() {
		assert.Equal(t, string(read.Lines()[i].JSON), string(again.Lines()[i].JSON), i)
	}
}

// A reference to a text that was not said, or not in that form, is refused with the reason.
func TestWhatNamesNothing(t *testing.T) {
	begin := func(op int, request string) string {
		return fmt.Sprintf(`{"kind":"ask","phase":"begin","op":%d,"of":"m","request":%s}`, op, request)
	}
	piece := func(op int, text string) string { return fmt.Sprintf(`{"kind":"piece","op":%d,"piece":%s}`, op, text) }
	opened := func(op int, bytes string) string {
		return fmt.Sprintf(`{"kind":"open-media","phase":"done","op":%d,"bytes":%s}`, op, bytes)
	}
	first := begin(1, `{"a":"`+strings.Repeat("é", 50)+`"}`)
	for line, want := range map[string]string{
		begin(2, `{"$from":1,"head":2,"text":"\"b\":1}"}`):            "no JSON",
		begin(2, `{"$from":2,"head":2}`):                              "names what was not said before",
		begin(2, `{"$from":1,"head":-1}`):                             "head and tail are -1 and 0",
		begin(2, `{"$from":1,"head":107,"tail":2}`):                   "head and tail are 107 and 2: there are 108 bytes",
		begin(2, `{"$from":1,"head":7,"tail":6}`):                     "no JSON",
		begin(2, fmt.Sprintf(`{"$from":1,"head":%d}`, math.MaxInt)):   "there are 108 bytes",
		begin(2, `{"$from":1,"of":2}`):                                "of: is no member",
		begin(2, `{"$from":"1"}`):                                     "want a whole number",
		piece(1, `{"$from":1,"head":2}`):                              "names what was not said before",
		piece(2, `{"$from":1,"head":2}`):                              "names what was not said before",
		`{"kind":"ask","phase":"done","answer":{"$from":1}}`:          "names what was not said before",
		opened(2, `{"$from":1}`):                                      "$from: 1: names what was not said before",
		opened(2, `{"$result":1}`):                                    "$result: 1: names what was not said before",
		opened(2, `{"$result":"1"}`):                                  "want a whole number",
		begin(2, `{"$from":1,"head":6,"text":"x","tail":2,"tail":3}`): "there twice",
	} {
		got := tracetest.ReadError(t, tracetest.Seal([]string{tracetest.HeaderLine, first, line}, ""))
		assert.Equal(t, trace.FaultMalformed, got.Fault, line)
		assert.Contains(t, got.Reason, want, line)
	}
	good := tracetest.ReadTrace(t, tracetest.Seal([]string{tracetest.HeaderLine, first, begin(2, `{"$from":1,"head":6,"text":"x","tail":2}`)}, ""))
	assert.JSONEq(t, `{"a":"x"}`, string(good.Lines()[1].JSON))
}

// A small file that repeats much is refused with the name of the limit, before the repeated text
// takes memory.
func TestBombsOfRepeatedAsksAreGivenUp(t *testing.T) {
	lines := []string{tracetest.HeaderLine, `{"kind":"ask","phase":"begin","op":1,"of":"m","request":"` + strings.Repeat("x", 100_000) + `"}`}
	for range 2_000 {
		lines = append(lines, `{"kind":"ask","phase":"begin","op":1,"of":"m","request":{"$from":1,"head":100002}}`)
	}
	bomb := tracetest.Seal(lines, "")
	o := trace.Options{MaxRestored: 20 << 20, MaxMemory: 8 << 20}
	var whole, byLine *trace.FormatError
	allocated := allocs.Bytes(func() { whole, byLine = tooLarge(t, bomb, o) })
	assert.Contains(t, whole.Reason, "memory: more than")
	assert.Contains(t, byLine.Reason, "restored: more than 20971520 bytes")
	assert.Less(t, allocated, uint64(64<<20))
	o = trace.Options{MaxLine: 150_000}
	lines[2] = `{"kind":"ask","phase":"begin","op":2,"of":"m","request":{"$from":1,"head":100001,"text":"` + strings.Repeat("y", 60_000) + `","tail":1}}`
	whole, _ = tooLarge(t, tracetest.Seal(lines, ""), o)
	assert.Contains(t, whole.Reason, "line: more than 150000 bytes")
}

// Restored JSON values count like those that are written out.
func TestRestoredValuesCount(t *testing.T) {
	list := func(n int) json.RawMessage { return json.RawMessage("[" + strings.Repeat("1,", n) + "1]") }
	var out bytes.Buffer
	o := trace.Options{MaxValues: 200}
	w := trace.NewWriter(&out, trace.Header{}, o)
	for op, n := range []int{100, 150, 190, 210} {
		err := w.Write(&adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, At: tracetest.TestStart, Op: op + 1, JSON: list(n)})
		if n < 200 {
			require.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, "JSON values, and no reader takes more than 200")
		}
	}
	data := tracetest.WriteTrace(t, asking(2, func(n int) json.RawMessage { return list(110 * n) })...)
	whole, _ := tooLarge(t, data, trace.Options{MaxValues: 200})
	assert.Contains(t, whole.Reason, "values: more than 200")
}

// The pieces of an ask are held until it is done: a piece after its end refers to nothing.
func TestAnsweredAsksAreNotHeld(t *testing.T) {
	piece := adk.Crossing{Kind: adk.KindPiece, At: tracetest.TestStart, Op: 1, JSON: json.RawMessage(`"` + strings.Repeat("said ", 40) + `"`)}
	done := adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, At: tracetest.TestStart, Op: 1}
	lines := strings.Split(string(tracetest.WriteTrace(t, piece, piece, done, piece)), "\n")
	assert.Contains(t, lines[2], `"piece":{"$from":1,`)
	assert.Equal(t, lines[1], lines[4])
	got := tracetest.ReadError(t, tracetest.Seal([]string{tracetest.HeaderLine, lines[1], lines[3], lines[2]}, ""))
	assert.Contains(t, got.Reason, "names what was not said before")
}

// WLD-2: media that were opened through the context are in a trace once, however often a request
// contains them, and requests are restored exactly.
func TestMediaInRequestsAreNamed(t *testing.T) {
	header := bytes.Repeat([]byte("as all of its format begin "), 20)
	image := func(n byte) []byte {
		return append(bytes.Clone(header), bytes.Repeat([]byte{n, 7, n ^ 99}, 5001)...)
	}
	showing := func(data []byte) string {
		return `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(data) + `"}}`
	}
	silence := make([]byte, 20_000)
	request := func(parts ...string) json.RawMessage {
		return json.RawMessage(`{"body":{"messages":[{"role":"user","content":[` + strings.Join(parts, ",") + `]}],"temperature":0.5}}`)
	}
	requests := []json.RawMessage{
		request(showing(image(1))),
		request(showing(image(2))),
		request(showing(image(1)), showing(image(2)), showing(image(1))),
		request(showing(silence[:19_999]), showing(silence), `"`+strings.Repeat("A", 30_000)+`"`),
		request(showing(image(1)[:15_000]), showing(image(2))),
	}
	var all []adk.Crossing
	for op, data := range [][]byte{image(1), image(2), silence} {
		all = append(all, adk.Crossing{Kind: adk.KindOpenMedia, Phase: adk.Begin, At: tracetest.TestStart, Op: op + 1},
			adk.Crossing{Kind: adk.KindOpenMedia, Phase: adk.Done, At: tracetest.TestStart, Op: op + 1, Value: data})
	}
	for i, r := range requests {
		all = append(all, adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, At: tracetest.TestStart, Op: 10 + i, JSON: r},
			adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, At: tracetest.TestStart, Op: 10 + i})
	}
	data := tracetest.WriteTrace(t, all...)
	lines := strings.Split(string(data), "\n")
	assert.Contains(t, lines[7], `"request":{"$from":0,"text":["{\"body\":{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,",{"media":1},"\"}}]}],\"temperature\":0.5}}"]}}`)
	assert.Regexp(t, `"request":{"\$from":10,"head":\d+,"text":\["",{"media":2},""\],"tail":\d+}}`, lines[9])
	assert.Equal(t, 2, strings.Count(lines[11], `{"media":`), "what the request before has is taken from it")
	assert.Equal(t, 1, strings.Count(lines[13], `{"media":3}`))
	assert.Equal(t, 1, strings.Count(lines[15], `{"media":2}`))
	read := tracetest.ReadTrace(t, data)
	for i, r := range requests {
		assert.True(t, string(r) == string(read.Lines()[6+2*i].JSON), i)
	}
	tracetest.RequireSameAgain(t, read, data)
	former := tracetest.ReadTrace(t, []byte(wholeLines(t, read)))
	assert.True(t, string(requests[4]) == string(former.Lines()[14].JSON))
	got := tracetest.ReadError(t, tracetest.Seal([]string{tracetest.HeaderLine, lines[7]}, ""))
	assert.Contains(t, got.Reason, "media: 1: names what was not said before")
}
