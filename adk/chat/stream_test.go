package chat_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

// delta is a chunk with a text.
func delta(text string) string { return `{"choices":[{"delta":{"content":` + quoted(text) + `}}]}` }

// SSE-1, SSE-2, SSE-3, SSE-4, SSE-9: how streams of all forms are read.
func TestFraming(t *testing.T) {
	a, b := delta("A"), delta("B")
	for name, c := range map[string]struct {
		text  string
		want  string
		kinds []string // of all logs except those at the end of an answer
	}{
		"LF":                       {"data: " + a + "\n\ndata: " + b + "\n\ndata: [DONE]\n\n", "AB", nil},
		"CRLF":                     {"data: " + a + "\r\n\r\ndata: " + b + "\r\n\r\ndata: [DONE]\r\n\r\n", "AB", nil},
		"CR":                       {"data: " + a + "\r\rdata: " + b + "\r\rdata: [DONE]\r\r", "AB", nil},
		"mixed":                    {"data: " + a + "\r\n\ndata: " + b + "\n\r\ndata: [DONE]\r\n\n", "AB", nil},
		"a byte order mark":        {"\ufeffdata: " + a + "\n\ndata: [DONE]\n\n", "A", nil},
		"no blank":                 {"data:" + a + "\n\ndata:[DONE]\n\n", "A", nil},
		"two blanks":               {"data:  " + a + "\n\ndata:  [DONE]\n\n", "A", nil},
		"the end is no event":      {"data: " + a + "\n\ndata: [DONE]", "A", nil},
		"the last event ends":      {"data: " + a + "\n\ndata: " + b, "AB", []string{"sse-eof-without-done"}},
		"no end":                   {"data: " + a + "\n\n", "A", []string{"sse-eof-without-done"}},
		"comments":                 {": OPENROUTER PROCESSING\n\ndata: " + a + "\n: and more\n\n:\n\ndata: [DONE]\n\n", "A", nil},
		"other fields":             {"event: x\nid: 1\nretry: 5\ndata: " + a + "\n\ndatum: " + b + "\ndata-x: 1\n\ndata: [DONE]\n\n", "A", nil},
		"data of nothing":          {"data\n\ndata:\n\ndata: \n\ndata: " + a + "\n\ndata: [DONE]\n\n", "A", nil},
		"lines that are one":       {"data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"A\"}}]}\n\ndata: [DONE]\n\n", "A", nil},
		"lines that are many":      {"data: " + a + "\ndata: " + b + "\ndata: [DONE]\n\n", "AB", nil},
		"behind the end":           {"data: " + a + "\n\ndata: [DONE]\n\ndata: " + b + "\n\n", "A", nil},
		"a finish reason, no end":  {"data: {\"choices\":[{\"delta\":{\"content\":\"A\"},\"finish_reason\":\"stop\"}]}\n\ndata: " + b + "\n\ndata: [DONE]\n\n", "AB", nil},
		"no JSON":                  {"data: " + a + "\n\ndata: {\"choices\n\ndata: " + b + "\n\ndata: [DONE]\n\n", "AB", []string{"sse-parse-failure"}},
		"no object":                {"data: [1]\n\ndata: \"x\"\n\ndata: " + b + "\n\ndata: [DONE]\n\n", "B", []string{"sse-parse-failure", "sse-parse-failure"}},
		"half a character":         {"data: {\"choices\":[{\"delta\":{\"content\":\"A\xc3\"}}]}\n\ndata: [DONE]\n\n", "A\ufffd", nil},
		"members of another type":  {"data: {\"choices\":[{\"index\":\"0\",\"delta\":{\"content\":\"A\",\"tool_calls\":{}}}],\"usage\":3}\n\ndata: [DONE]\n\n", "A", nil},
		"a call that says nothing": {"data: {\"choices\":[{\"delta\":{\"content\":\"A\",\"tool_calls\":[null,{},{\"index\":3,\"id\":\"\"}]}}]}\n\ndata: [DONE]\n\n", "A", nil},
		"no choices":               {"data: {\"choices\":null}\n\ndata: {}\n\ndata: {\"choices\":[{}]}\n\ndata: " + a + "\n\ndata: [DONE]\n\n", "A", nil},
		"a content in parts":       {"data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"text\":\"no\"},{\"type\":\"text\",\"text\":\"A\"}]}}]}\n\ndata: [DONE]\n\n", "A", nil},
		"a field that nobody has":  {"datum: 1\nx: 2\n\ndata: " + a + "\n\ndata: [DONE]\n\n", "A", nil},
		"lines before any payload": {"\n\n\r\n\rdata: " + a + "\n\ndata: [DONE]\n\n", "A", nil},
	} {
		for portions, cut := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader} {
			t.Run(name+" "+portions, func(t *testing.T) {
				p := play(t, scene{options: streaming(), replies: []reply{{kind: "text/event-stream; charset=utf-8", from: cut(strings.NewReader(c.text))}}}).acked(t)
				assert.Equal(t, []string{"said " + c.want}, p.texts())
				assert.Equal(t, append(c.kinds, "accumulator-finalised", "finish"), p.kinds())
			})
		}
	}
}

// SSE-4: data that is not a JSON object is quoted up to 256 characters.
func TestParseFailureIsQuoted(t *testing.T) {
	p := play(t, scene{options: streaming(), replies: []reply{events("no JSON " + strings.Repeat("é", 300))}}).acked(t)
	log := p.log(t, "sse-parse-failure")
	assert.Equal(t, adk.LevelTrace, log.Level)
	assert.Equal(t, map[string]any{"dataPreview": "no JSON " + strings.Repeat("é", 248)}, log.Payload)
}

// SSE-5: of several choices the one with index 0 counts, in whatever order they come, and one warning
// says so.
func TestFurtherChoices(t *testing.T) {
	p := play(t, scene{options: streaming(), replies: []reply{events(
		`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"A"}}]}`,
		`{"choices":[{"index":1,"delta":{"content":"no"}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"B"}},{"index":1,"delta":{"content":"no"}}]}`)}}).acked(t)
	assert.Equal(t, []string{"said AB"}, p.texts())
	assert.Equal(t, adk.LevelWarn, p.log(t, "ignored-choices").Level)
}

// SSE-6: an error that a provider reports within a 200 answer fails the exchange, with its words.
// Nothing is stored.
func TestErrorsInGoodAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		options func() chat.Options
		reply   reply
		says    string
	}{
		"streamed":              {streaming, events(delta("A"), `{"error":{"message":"overloaded","code":503}}`), "overloaded"},
		"beside empty choices":  {streaming, events(delta("A"), `{"choices":[],"error":{"message":"overloaded"}}`), "overloaded"},
		"a text":                {streaming, events(`{"error":"overloaded"}`), "overloaded"},
		"the finish reason":     {streaming, events(delta("A"), `{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"message":"overloaded"}}`), "overloaded"},
		"plain":                 {whole, plain(`{"error":{"message":"overloaded"}}`), "overloaded"},
		"plain where streaming": {streaming, plain(`{"error":{"message":"overloaded"}}`), "overloaded"},
		"plain as a stream":     {streaming, reply{kind: "text/event-stream", body: `{"error":{"message":"overloaded"}}`}, "overloaded"},
		"of the choice":         {streaming, events(delta("A"), `{"choices":[{"delta":{},"error":{"message":"overloaded"},"finish_reason":"error"}]}`), "overloaded"},
		"an event of that name": {streaming, stream(delta("A") + "\n\nevent: error\ndata: {\"message\":\"overloaded\",\"type\":\"server_error\"}"), "it failed: overloaded"},
		"of that name, a text":  {streaming, reply{kind: "text/event-stream", body: "event:error\r\ndata: overloaded\r\n\r\n"}, "it failed: overloaded"},
		"without a word":        {streaming, events(delta("A"), `{"choices":[{"delta":{},"finish_reason":"error"}]}`), "the provider says that it failed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, scene{options: c.options(), replies: []reply{c.reply}})
			err := p.failure(t)
			assert.ErrorIs(t, err, adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR)
			assert.ErrorContains(t, err, c.says)
			assert.Empty(t, p.texts())
			assert.Equal(t, adk.StatusNack, p.end.Status)
			assert.Equal(t, adk.LevelError, p.log(t, "stream-error").Level)
		})
	}
	// An error in the same event as words of the model is ignored.
	p := play(t, scene{options: streaming(), replies: []reply{events(`{"choices":[{"delta":{"content":"A"}}],"error":{"message":"x"}}`)}}).acked(t)
	assert.Equal(t, []string{"said A"}, p.texts())
}

// SSE-2, SSE-6: an event of type error that holds words of the model is not an error. Neither is an event
// that only mentions errors, or one without a message.
func TestEventsThatAreNoErrors(t *testing.T) {
	p := play(t, scene{options: streaming(), replies: []reply{stream(delta("A") + "\n\nevent: error\ndata: " + delta("B") + "\n\nevent: error\n\n" +
		"event: errors\ndata: {\"message\":\"x\"}\n\nid: error\ndata: {\"message\":\"error\"}\n\ndata: [DONE]")}}).acked(t)
	assert.Equal(t, []string{"said AB"}, p.texts())
}

// SSE-7: the parts of a delta that holds everything are reported in one order. A refusal is an answer,
// with one warning.
func TestOrderOfADelta(t *testing.T) {
	p := play(t, scene{options: streaming(), replies: []reply{events(
		`{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"x"}}],"reasoning":"R","refusal":"No","content":"C"}}]}`,
		`{"choices":[{"delta":{"refusal":"."}}]}`), saying("A")}}).acked(t)
	id := p.storage.Messages()[0].ID()
	assert.Equal(t, []string{`message ` + id + ` "C"`, `message ` + id + ` "No"`, `thought ` + id + ` "R"`, `message ` + id + ` "."`}, p.reports[:4])
	assert.Contains(t, p.texts(), "said CNo.")
	assert.Equal(t, adk.LevelWarn, p.log(t, "refusal").Level)
	assert.Len(t, p.results(t), 1)
}

// SSE-8: the accumulator builds the same calls from the deltas of all kinds of servers.
func TestAccumulator(t *testing.T) {
	at := func(i int) *int { return &i }
	for name, c := range map[string]struct {
		deltas []chat.CallDelta
		want   []chat.WantedCall
	}{
		"nothing": {nil, []chat.WantedCall{}},
		"in parts": {[]chat.CallDelta{{Index: at(0), ID: "c", Type: "function", Name: "wea"}, {Index: at(0), Name: "ther", Arguments: `{"a"`}, {Index: at(0), Arguments: `:1}`}},
			[]chat.WantedCall{{ID: "c", Type: "function", Name: "weather", Arguments: `{"a":1}`}}},
		"in parallel, out of order": {[]chat.CallDelta{{Index: at(1), ID: "d", Name: "y"}, {Index: at(0), ID: "c", Name: "x"}, {Index: at(1), Arguments: "2"}, {Index: at(0), Arguments: "1"}},
			[]chat.WantedCall{{ID: "c", Type: "function", Name: "x", Arguments: "1"}, {ID: "d", Type: "function", Name: "y", Arguments: "2"}}},
		"no id": {[]chat.CallDelta{{Index: at(3), Name: "x"}, {Index: at(3), Arguments: "1"}},
			[]chat.WantedCall{{Type: "function", Name: "x", Arguments: "1"}}},
		"an id that comes late": {[]chat.CallDelta{{Index: at(0), Name: "x"}, {Index: at(0), ID: "c", Type: "custom"}},
			[]chat.WantedCall{{ID: "c", Type: "custom", Name: "x"}}},
		"all at index 0": {[]chat.CallDelta{{Index: at(0), ID: "c", Name: "x", Arguments: "1"}, {Index: at(0), ID: "d", Name: "y"}, {Index: at(0), Arguments: "2"}},
			[]chat.WantedCall{{ID: "c", Type: "function", Name: "x", Arguments: "1"}, {ID: "d", Type: "function", Name: "y", Arguments: "2"}}},
		"no index": {[]chat.CallDelta{{ID: "c", Name: "x"}, {ID: "d", Name: "y"}, {ID: "c", Arguments: "1"}, {Arguments: "2"}},
			[]chat.WantedCall{{ID: "c", Type: "function", Name: "x", Arguments: "1"}, {ID: "d", Type: "function", Name: "y", Arguments: "2"}}},
		"neither": {[]chat.CallDelta{{Name: "x"}, {Arguments: "1"}},
			[]chat.WantedCall{{Type: "function", Name: "x", Arguments: "1"}}},
		"two at one index, no ids": {[]chat.CallDelta{{Index: at(0), Name: "x", Arguments: "{}"}, {Index: at(0), Name: "y", Arguments: "{}"}},
			[]chat.WantedCall{{Type: "function", Name: "x", Arguments: "{}"}, {Type: "function", Name: "y", Arguments: "{}"}}},
		"two of neither": {[]chat.CallDelta{{Name: "x", Arguments: `{"a":{}}`}, {Name: "x"}, {Arguments: `{"a":`}, {Arguments: "2}"}, {Name: "y", Arguments: "{}"}},
			[]chat.WantedCall{{Type: "function", Name: "x", Arguments: `{"a":{}}`}, {Type: "function", Name: "x", Arguments: `{"a":2}`}, {Type: "function", Name: "y", Arguments: "{}"}}},
		"one of neither, in parts": {[]chat.CallDelta{{Name: "wea"}, {Name: "ther", Arguments: `{"a":{}`}, {Name: "", Arguments: "}"}},
			[]chat.WantedCall{{Type: "function", Name: "weather", Arguments: `{"a":{}}`}}},
		"the id in each part": {[]chat.CallDelta{{Index: at(0), ID: "c", Name: "x", Arguments: "{}"}, {Index: at(0), ID: "c", Name: "y", Arguments: "{}"}},
			[]chat.WantedCall{{ID: "c", Type: "function", Name: "xy", Arguments: "{}{}"}}},
		"the same id again": {[]chat.CallDelta{{Index: at(0), ID: "c", Name: "x"}, {Index: at(0), ID: "c", Arguments: "1"}},
			[]chat.WantedCall{{ID: "c", Type: "function", Name: "x", Arguments: "1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			acc := chat.DefaultHelpers().Accumulator()
			for _, d := range c.deltas {
				acc.Feed(d)
			}
			assert.Equal(t, c.want, acc.Drain())
		})
	}
}

// SSE-9: a stream that breaks stores none of its text and calls. A stream that merely ends does, and
// a call that was cut off is stored as failed.
func TestCutStreams(t *testing.T) {
	const call = `data: {"choices":[{"delta":{"content":"A","tool_calls":[{"index":0,"id":"c","function":{"name":"weather","arguments":"{\"ci"}}]}}]}` + "\n\n"
	broken := errors.New("connection reset")
	p := play(t, scene{options: streaming(), tools: []*adk.Tool{weather(t)}, alone: true,
		replies: []reply{{kind: "text/event-stream", from: io.MultiReader(strings.NewReader(call), iotest.ErrReader(broken))}}})
	err := p.failure(t)
	assert.ErrorIs(t, err, adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR)
	assert.ErrorIs(t, err, broken)
	assert.Empty(t, p.texts())
	assert.Empty(t, p.results(t))

	p = play(t, scene{options: streaming(), tools: []*adk.Tool{weather(t)}, replies: []reply{{kind: "text/event-stream", body: call}, saying("B")}}).acked(t)
	assert.Equal(t, []string{"said A", "said B"}, p.texts())
	assert.Equal(t, []string{`failed c weather{}: The arguments of this call are not valid JSON. They were: {"ci`}, p.results(t))
	assert.Equal(t, map[string]any{"finishReason": ""}, p.log(t, "sse-eof-without-done").Payload)
}

// SSE-11: a JSON document instead of a stream is the answer, whatever its content type is.
func TestJSONInThePlaceOfAStream(t *testing.T) {
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "text/plain", "", "text/event-stream"} {
		answer := saying("A")
		answer.kind, answer.body = kind, "\ufeff\n "+answer.body
		p := play(t, scene{options: streaming(), replies: []reply{answer}}).acked(t)
		assert.Equal(t, []string{"said A"}, p.texts(), kind)
	}
	for _, kind := range []string{"text/plain", "", "application/octet-stream", "application/json"} {
		for _, before := range []string{"", "\r\n", ": waiting\n\n", "\xef\xbb\xbf", "id:1\n", "event: delta\n", "retry: 5\n\n"} {
			answer := events(delta("A"))
			answer.kind, answer.body = kind, before+answer.body
			p := play(t, scene{options: streaming(), replies: []reply{answer}, alone: true}).acked(t)
			assert.Equal(t, []string{"said A"}, p.texts(), "%s %q", kind, before)
		}
	}
}

// SSE-11, RTY-6, RTY-7: an answer that is not JSON, or too large, fails, and its beginning is quoted.
func TestAnswersThatAreNone(t *testing.T) {
	thorough.Long(t)
	endless := func(begin string) io.Reader { return io.MultiReader(strings.NewReader(begin), zeros{}) }
	for name, c := range map[string]struct {
		options func() chat.Options
		reply   reply
		says    string
	}{
		"a page":                  {whole, reply{kind: "text/html", body: "<html>" + strings.Repeat("x", 1000)}, "no JSON object: <html>xxx"},
		"nothing":                 {whole, reply{kind: "application/json"}, "no JSON object"},
		"nothing, without a type": {streaming, reply{kind: "application/json"}, "no JSON object"},
		"a page, and no stream":   {streaming, reply{kind: "text/html", body: "<html>Sign in"}, "no JSON object: <html>Sign in"},
		"a page, called a stream": {streaming, reply{kind: "text/event-stream", body: "\n<html>Sign in"}, "no JSON object: \n<html>Sign in"},
		"bytes, called a stream":  {streaming, reply{kind: "text/event-stream", body: "\x0b\x02\x80"}, "no JSON object: "},
		"a text, and no stream":   {streaming, reply{kind: "text/plain", body: "down"}, "no JSON object: down"},
		"a list, and no stream":   {streaming, reply{body: "[1]"}, "no JSON object: [1]"},
		"a list":                  {whole, plain(`[]`), "no JSON object"},
		"JSON cut":                {whole, plain(`{"choices":[`), "no JSON object"},
		"an endless event":        {streaming, reply{kind: "text/event-stream", from: endless("data: ")}, "too large"},
		"an endless answer":       {whole, reply{kind: "application/json", from: endless("{")}, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, scene{options: c.options(), replies: []reply{c.reply}, untold: true})
			err := p.failure(t)
			assert.ErrorIs(t, err, adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR)
			assert.ErrorContains(t, err, c.says)
			assert.Less(t, len(err.Error()), 600)
			assert.Empty(t, p.texts())
		})
	}
}

// RTY-6: an event may have 16 MiB, and not one byte more.
func TestLargestEvent(t *testing.T) {
	thorough.OneGoroutine(t)
	const most = 16 << 20
	around := len(`data: ` + delta("") + "\n\n")
	for name, c := range map[string]struct {
		length int
		fits   bool
	}{"the largest": {most - around, true}, "a byte more": {most - around + 1, false}} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat("a", c.length)
			p := play(t, scene{options: streaming(), replies: []reply{events(delta(text))}, bare: true})
			if !c.fits {
				assert.ErrorIs(t, p.failure(t), adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR)
				assert.Empty(t, p.storage.Messages())
				return
			}
			p.acked(t)
			require.Len(t, p.storage.Messages(), 1)
			assert.Equal(t, c.length, len(p.storage.Messages()[0].Content().String()))
		})
	}
}

// zeros is a reader without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}
