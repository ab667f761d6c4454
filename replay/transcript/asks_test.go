package transcript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sebdah/goldie/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// exchange is an ask over HTTP: the body of the request and the pieces of the answer.
type exchange struct {
	of, body string
	pieces   []string
	open     bool // the last piece is cut off
	err      error
	lasts    time.Duration
}

// askedOf is the trace of a run that makes these asks.
func askedOf(t testing.TB, asks ...exchange) []byte {
	t.Helper()
	var recorded bytes.Buffer
	config := adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for _, one := range asks {
			ask(ctx, t, dc, one)
		}
		return dc.Ack()
	}}}
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&recorded)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "p"}))
	return recorded.Bytes()
}

func ask(ctx context.Context, t testing.TB, dc *adk.DispatchContext, one exchange) {
	request := one.body
	if !strings.HasPrefix(request, `{"method"`) {
		request = `{"method":"POST","path":"/v1/chat/completions","headers":{"content-type":"application/json"},"body":` + request + `}`
	}
	x, err := adk.OpenExchange(ctx, one.of, func() (json.RawMessage, error) { return json.RawMessage(request), nil })
	require.NoError(t, err)
	for i, piece := range one.pieces {
		x.Piece(json.RawMessage(piece), one.open && i == len(one.pieces)-1)
	}
	if one.lasts > 0 {
		require.NoError(t, dc.Sleep(ctx, one.lasts))
	}
	x.Done(nil, one.err)
}

// The query and the headers of a request are shown, and are not reported as removed by the next
// request that has none. That a JSON body has the content type JSON is not shown.
func TestQueryAndHeadersOfARequest(t *testing.T) {
	t.Parallel()
	request := func(outside string) exchange {
		return exchange{of: "model", body: `{"method":"POST","path":"/v1/chat/completions",` + outside + `"body":{"model":"small","temperature":0,"path":"p","messages":[` + question + `]}}`}
	}
	const plainly, asking = `"headers":{"content-type":"application/json"},`, "ask model POST /v1/chat/completions small, 1 message"
	said := linesWithin(t, askedOf(t, request(`"query":{"key":"left out","x":"1"},"headers":{"content-type":"application/json","x-trace":"7"},`), request(plainly), request("")))
	assert.Equal(t, asking+`
  headers {"x-trace":"7"}, query {"key":"left out","x":"1"}, path "p", temperature 0
  user "How warm is it in Oslo?"
  → no answer
`+asking+`
  - headers {"x-trace":"7"}
  - query {"key":"left out","x":"1"}
  → no answer
`+asking+", as before → no answer\n", said)
}

// linesWithin are the lines of a transcript within the executor.
func linesWithin(t testing.TB, recorded []byte) string {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, transcript.Write(&text, bytes.NewReader(recorded)))
	_, behind, _ := strings.Cut(text.String(), "executor/model#0\n")
	within, _, _ := strings.Cut(behind, "      ack\n")
	return strings.ReplaceAll(strings.TrimPrefix(within, "      "), "\n      ", "\n")
}

const (
	okHead   = `{"status":200,"headers":{"content-type":"application/json"}}`
	system   = `{"role":"system","content":"You are a weather assistant."}`
	question = `{"role":"user","content":"How warm is it in Oslo?"}`
	calling  = `{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"forecast","arguments":"{\"city\":\"Oslo\"}"}}]}`
	result   = `{"role":"tool","content":"4 °C","tool_call_id":"call_1"}`
	forecast = `{"type":"function","function":{"name":"forecast","description":"Tells the weather.","parameters":{"type":"object"}}}`
	pack     = `{"type":"function","function":{"name":"pack","description":"Packs."}}`
)

func body(members string, messages ...string) string {
	return `{"model":"small",` + members + `"messages":[` + strings.Join(messages, ",") + `]}`
}

func choice(message, finish string) string {
	return `{"body":{"choices":[{"index":0,"message":` + message + `,"finish_reason":"` + finish + `"}],"usage":{"prompt_tokens":21,"completion_tokens":5}}}`
}

func event(data string) string { return `{"data":` + data + `}` }

// The transcript of exchanges with a model is a golden file, so that a person can read it. Of each
// request it shows what is new since the one before it.
func TestAsksOfModels(t *testing.T) {
	with := func(tools ...string) string {
		return `"temperature":0.2,"tools":[` + strings.Join(tools, ",") + `],`
	}
	delta := func(delta, rest string) string {
		return event(`{"choices":[{"index":0,"delta":` + delta + rest + `}]}`)
	}
	recorded := askedOf(t,
		exchange{of: "model", body: body(with(forecast), system, question), lasts: time.Second,
			pieces: []string{okHead, choice(calling, "tool_calls")}},
		exchange{of: "model", body: body(with(forecast), system, question, calling, result),
			pieces: []string{`{"status":429,"headers":{"retry-after":"2"}}`, `{"body":{"error":{"message":"too many requests"}}}`}},
		exchange{of: "model", body: body(with(forecast), system, question, calling, result), pieces: []string{okHead,
			delta(`{"role":"assistant","content":""}`, ""), delta(`{"content":"4 "}`, ""), delta(`{"content":"°C."}`, ""),
			delta(`{}`, `,"finish_reason":"stop"`), event(`{"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":4}}`), event(`"[DONE]"`)}},
		exchange{of: "other", body: body("", question), pieces: []string{okHead, choice(`{"role":"assistant","content":null,"refusal":"No."}`, "stop")}},
		exchange{of: "model", body: body(with(pack, forecast), system, result, `{"role":"user","content":[{"type":"text","text":"And here?"},{"type":"image_url","image_url":{"url":"data:x"}}],"name":"ada"}`),
			pieces: []string{okHead,
				delta(`{"tool_calls":[{"index":0,"id":"call_2","function":{"name":"pack","arguments":"{\"what\":"}}]}`, ""),
				delta(`{"tool_calls":[{"index":1,"id":"call_3","function":{"name":"forecast","arguments":""}}]}`, ""),
				delta(`{"tool_calls":[{"index":0,"function":{"arguments":"\"all\"}"}}]}`, ""), `{"text":"data: {\"cho"}`}, open: true, err: errors.New("connection reset")},
		exchange{of: "model", body: body(with(pack), question, result, system)},
		exchange{of: "model", body: body(`"temperature":0.3,`, system), err: errors.New("no such host")},
		exchange{of: "model", body: body(`"temperature":0.3,`, system)},
		exchange{of: "model", body: body(`"temperature":0.3,`, system), pieces: []string{okHead,
			`{"body":{"choices":[{"index":1,"message":{"content":"b"}},{"index":0,"message":{"content":"a"},"finish_reason":"length"}]}}`}},
	)
	goldie.New(t, goldie.WithFixtureDir("testdata/transcripts"), goldie.WithNameSuffix(".txt")).Assert(t, "asks-of-models", []byte(linesWithin(t, recorded)))
	var kept []string
	for x, err := range transcript.Expand(bytes.NewReader(recorded)) {
		require.NoError(t, err)
		kept = append(kept, string(x.Fields))
	}
	all := strings.Join(kept, "\n")
	assert.Equal(t, 5, strings.Count(all, `"content":"How warm is it in Oslo?"`), "JSON has the whole of each")
	assert.Contains(t, all, `{"index":0,"delta":{"content":"4 "}}`, "and each piece")
}

// Exchanges in the forms of other providers, over HTTP or not, are just as readable. Nothing in a
// request is left out: whatever is no text, call or result is shown as JSON.
func TestAsksInOtherForms(t *testing.T) {
	post := func(path, body string) string { return `{"method":"POST","path":"` + path + `","body":` + body + `}` }
	// Messages
	const (
		hello  = `{"role":"user","content":"How warm is it in Oslo?"}`
		called = `{"role":"assistant","content":[{"type":"thinking","thinking":"I have to look.","signature":"EqQB"},{"type":"text","text":"Let me see."},
			{"type":"tool_use","id":"toolu_1","name":"forecast","input":{"city":"Oslo"}},{"type":"tool_use","id":"toolu_2","name":"forecast","input":{"city":"Bergen"}}]}`
		gave = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"4 °C"},
			{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"no such city"}],"is_error":true,"cache_control":{"type":"ephemeral"}},
			{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]}`
	)
	messages := func(more string, said ...string) string {
		return post("/v1/messages", `{"model":"medium","max_tokens":64,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
			"tools":[{"name":"forecast","input_schema":{"type":"object"}}`+more+`],"messages":[`+strings.Join(said, ",")+`]}`)
	}
	streamed := []string{okHead,
		event(`{"type":"message_start","message":{"id":"m1","model":"medium","content":[],"usage":{"input_tokens":20,"output_tokens":1}}}`), event(`{"type":"ping"}`),
		event(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`),
		event(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I have to look."}}`),
		event(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}`), event(`{"type":"content_block_stop","index":0}`),
		event(`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`),
		event(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Let me "}}`),
		event(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"see."}}`),
		event(`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"forecast","input":{}}}`),
		event(`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}`),
		event(`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"Oslo\"}"}}`),
		event(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`), event(`{"type":"message_stop"}`)}
	overloaded := []string{`{"status":529}`, `{"body":{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}}`}
	whole := []string{okHead, `{"body":{"type":"message","id":"m2","content":[{"type":"text","text":"4 °C."},{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"Oslo"}}],"stop_reason":"end_turn","usage":{"input_tokens":40,"output_tokens":4}}}`}
	// Responses
	responses := func(input string) string {
		return post("/v1/responses", `{"model":"large","instructions":"Be brief.","stream":true,"tools":[{"type":"function","name":"forecast","parameters":{"type":"object"}},{"type":"web_search"}],"input":`+input+`}`)
	}
	answered := []string{okHead,
		event(`{"type":"response.created","response":{"id":"r1","status":"in_progress"}}`),
		event(`{"type":"response.reasoning_summary_text.delta","delta":"I have to look."}`),
		event(`{"type":"response.output_text.delta","delta":"Let me see."}`),
		event(`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"forecast","arguments":""}}`),
		event(`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"city\":\"Oslo\"}"}`),
		event(`{"type":"response.completed","response":{"id":"r1","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Let me see."}]}],"usage":{"input_tokens":12,"output_tokens":7}}}`)}
	failed := []string{okHead, `{"body":{"object":"response","id":"r2","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]},{"type":"message","content":[{"type":"output_text","text":"4"}]}]}}`}
	// Gemini
	gemini := func(contents string) string {
		return post("/v1beta/models/flash:generateContent", `{"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"forecast"},{"name":"pack"}]}],"contents":[`+contents+`]}`)
	}
	said := linesWithin(t, askedOf(t,
		exchange{of: "a", body: messages("", hello), pieces: streamed, err: &adk.Error{Code: adk.E_ASK_STOPPED, Message: "the body was closed before its end"}},
		exchange{of: "a", body: messages("", hello, called, gave), pieces: overloaded},
		exchange{of: "a", body: messages(`,{"name":"pack","input_schema":{"type":"object"}}`, hello, called, gave), pieces: whole},
		exchange{of: "b", body: responses(`"How warm is it in Oslo?"`), pieces: answered},
		exchange{of: "b", body: responses(`[{"role":"user","content":[{"type":"input_text","text":"How warm is it in Oslo?"}]},{"type":"reasoning","id":"rs_1","summary":[]},
			{"type":"function_call","id":"fc_1","call_id":"call_1","name":"forecast","arguments":"{\"city\":\"Oslo\"}"},{"type":"function_call_output","call_id":"call_1","output":"4 °C"},{"type":"item_reference","id":"x"}]`), pieces: failed},
		exchange{of: "c", body: gemini(`{"role":"user","parts":[{"text":"How warm is it in Oslo?"}]}`),
			pieces: []string{okHead, `{"body":{"candidates":[{"content":{"role":"model","parts":[{"text":"Hm.","thought":true},{"functionCall":{"name":"forecast","args":{"city":"Oslo"}},"thoughtSignature":"abc"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":3,"thoughtsTokenCount":1}}}`}},
		exchange{of: "c", body: gemini(`{"role":"user","parts":[{"text":"How warm is it in Oslo?"}]},{"role":"model","parts":[{"functionCall":{"name":"forecast","args":{"city":"Oslo"}},"thoughtSignature":"abc"}]},
			{"role":"user","parts":[{"functionResponse":{"name":"forecast","response":{"result":"4 °C"}}},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}`),
			pieces: []string{okHead, `{"body":{"promptFeedback":{"blockReason":"SAFETY"}}}`}},
		exchange{of: "d", body: post("/api/chat", `{"model":"llama","messages":[`+hello+`]}`),
			pieces: []string{okHead, `{"line":{"message":{"role":"assistant","content":"It is "},"done":false}}`, `{"line":{"message":{"content":"","tool_calls":[{"function":{"name":"forecast","arguments":{"city":"Oslo"}}},{"function":{"name":"forecast","arguments":{"city":"Bergen"}}}]},"done":true,"done_reason":"stop"}}`}},
		exchange{of: "e", body: `{"method":"","path":"","Model":"own","Messages":[{"role":"user","content":"Hello"}]}`},
		exchange{of: "e", body: `{"method":"","path":"","Model":"own","Messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hello you"}]}`},
	))
	goldie.New(t, goldie.WithFixtureDir("testdata/transcripts"), goldie.WithNameSuffix(".txt")).Assert(t, "asks-in-other-forms", []byte(said))
}

// However deeply results are nested, results in a provider's form are shown in words, and the cost
// of showing them is linear in their length.
func TestResultsWithinResults(t *testing.T) {
	allocs.Countable(t)
	asked := func(depth int) []byte {
		const open, end = `[{"type":"tool_result","tool_use_id":"a","content":`, `}]`
		return askedOf(t, exchange{of: "a", body: `{"method":"POST","path":"/v1/messages","body":{"messages":[{"role":"user","content":` +
			strings.Repeat(open, depth) + `"4 °C"` + strings.Repeat(end, depth) + `}]}}`})
	}
	assert.Contains(t, linesWithin(t, asked(1)), `user result "4 °C" for a`)
	shown := func(depth int) float64 {
		recorded := asked(depth)
		return float64(allocs.Bytes(func() { assert.Less(t, len(linesWithin(t, recorded)), 600) }))
	}
	assert.Less(t, shown(2000)/shown(1000), 2.5)
}

// The arguments that a model gives for a tool are shown unchanged, whether they come as an object or as a text.
func TestArgumentsAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	text := linesWithin(t, askedOf(t, exchange{of: "a", body: `{"method":"POST","path":"/v1/messages","body":{"messages":[` + question + `]}}`,
		pieces: []string{okHead, `{"body":{"type":"message","content":[{"type":"tool_use","id":"t1","name":"find","input":{"html":"<b> & more"}}]}}`}}))
	assert.Contains(t, text, `→ calls find {"html":"<b> & more"} as t1`)
}

// A client that stops reading after [DONE] has read everything; one that stops before it has not.
func TestAskReadToItsEnd(t *testing.T) {
	said, done := event(`{"choices":[{"delta":{"content":"4 °C."}}]}`), event(`"[DONE]"`)
	stopped := &adk.Error{Code: adk.E_ASK_STOPPED, Message: "the body was closed before its end"}
	for end, pieces := range map[string][]string{
		"→ \"4 °C.\"\n": {okHead, said, done},
		"→ \"4 °C.\", then E_ASK_STOPPED: the body was closed before its end\n": {okHead, said},
	} {
		text := linesWithin(t, askedOf(t, exchange{of: "model", body: body("", question), pieces: pieces, err: stopped}))
		assert.True(t, strings.HasSuffix(text, end), text)
	}
}

// White space in a server's JSON, and its formatting of events, makes no difference.
func TestAnswersWithWhiteSpace(t *testing.T) {
	pretty := `{"text":"{\n  \"choices\": [{\"message\": {\"content\": \"4 °C.\"}, \"finish_reason\": \"stop\"}]\n}\n"}`
	spaced := `{"data":"{\"choices\": [{\"delta\": {\"content\": \"4 °C.\"}, \"finish_reason\": \"stop\"}]}","eol":"\r\n"}`
	tight := `{"text":"data:{\"choices\":[{\"delta\":{\"content\":\"4 °C.\"},\"finish_reason\":\"stop\"}]}\n\n"}`
	for _, piece := range []string{pretty, spaced, tight} {
		text := linesWithin(t, askedOf(t, exchange{of: "model", body: body("", question), pieces: []string{okHead, piece}}))
		assert.True(t, strings.HasSuffix(text, "→ \"4 °C.\", stop\n"), text)
	}
}

// Of a changed request of another form that is too long to be shown in full, the changed members
// are shown.
func TestAsksOfOthers(t *testing.T) {
	of := func(path, days string) string {
		return fmt.Sprintf(`{"method":"POST","path":%q,"body":{"days":%s,"text":%q}}`, path, days, strings.Repeat("long ", 100))
	}
	for _, c := range []struct {
		what, first, second string
		want                []string
	}{
		{"a member", of("/a", "1"), of("/a", "2"), []string{"body.days: now 2, before 1"}},
		{"what is alike", of("/a", `[{"n":1},{"n":1},{"n":1},{"n":5}]`), of("/a", `[{"n":2},{"n":2},{"n":2},{"n":6}]`),
			[]string{"body.days[0].n: now 2, before 1, and so in 2 more elements", "body.days[3].n: now 6, before 5"}},
		{"nothing", of("/a", "1"), of("/a", "1"), nil},
		{"another path", of("/a", "1"), of("/b", "2"), nil},
		{"shown whole", of("/a", "1"), `{"method":"POST","path":"/a","body":{"days":2}}`, nil},
		{"a path that is none", `{"method":"POST","path":{}}`, of("/a", "1"), nil},
		{"messages of nobody", `{"method":"POST","path":"/x","body":{"messages":[{"to":"ada"}]}}`, of("/a", "1"), nil},
	} {
		text := linesWithin(t, askedOf(t, exchange{of: "service", body: c.first}, exchange{of: "service", body: c.second}))
		var below []string
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			if !strings.HasPrefix(line, "ask service ") {
				below = append(below, strings.TrimSpace(line))
			}
		}
		assert.Equal(t, c.want, below, c.what)
	}
}

// A history that is sent again with each ask is not shown again: the transcript grows only with
// what is new.
func TestAsksAreShownByWhatIsNew(t *testing.T) {
	size := func(asks int) float64 {
		messages, all := []string{system}, []exchange(nil)
		for range asks {
			messages = append(messages, question, calling, result)
			all = append(all, exchange{of: "model", body: body("", messages...)})
		}
		return float64(len(linesWithin(t, askedOf(t, all...))))
	}
	assert.Less(t, size(40)/size(20), 2.1)
}

// However long a request and an answer are, what is shown of them is bounded.
func TestAsksAreBounded(t *testing.T) {
	long := strings.Repeat("long ", 10_000)
	messages, members := []string{}, ""
	var pieces []string
	for i := range 500 {
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":%q}`, long[:i*10]))
		members += fmt.Sprintf(`"member-%d":%q,`, i, long[:i*10])
		pieces = append(pieces, choice(fmt.Sprintf(`{"content":%q,"tool_calls":[{"index":%d,"id":"c","function":{"name":"f","arguments":%q}}]}`, long[:i*10], i, long[:i*10]), "stop"),
			event(fmt.Sprintf(`{"error":%q}`, long[:i*10])))
	}
	text := linesWithin(t, askedOf(t, exchange{of: "model", body: body(members, messages...), pieces: append([]string{okHead}, pieces...)},
		exchange{of: "model", body: body("", messages[:200]...)}))
	assert.Less(t, len(text), 20_000)
	assert.Contains(t, text, "… 484 messages\n")
	assert.Contains(t, text, "… 492 pieces")
}

// A part of a transcript begins with the whole first request, as nothing was shown before. If the
// trace breaks off, the pieces that had arrived are shown.
func TestAsksOfAStretch(t *testing.T) {
	hello := exchange{of: "model", body: body("", question), pieces: []string{okHead, event(`{"choices":[{"index":0,"delta":{"content":"It "}}]}`)}}
	recorded := askedOf(t, hello, hello)
	var begins []int
	for x, err := range transcript.Expand(bytes.NewReader(recorded)) {
		require.NoError(t, err)
		if x.Kind == "ask" && x.Phase == "begin" {
			begins = append(begins, x.Crossing)
		}
	}
	require.Len(t, begins, 2)
	var text bytes.Buffer
	require.NoError(t, transcript.WriteRange(&text, bytes.NewReader(recorded), begins[1], begins[1]+3))
	assert.Equal(t, []string{"ask model POST /v1/chat/completions small, 1 message", `user "How warm is it in Oslo?"`, `→ "It "`}, trimmed(text.String()))

	lines := bytes.SplitAfter(recorded, []byte("\n"))
	text.Reset()
	assert.Error(t, transcript.Write(&text, bytes.NewReader(tracetest.Join(lines[:begins[1]+3]))))
	assert.Contains(t, text.String(), "small, 1 message, as before\n")
	assert.Contains(t, text.String(), "        → \"It \", and no end\n!! ends here")
}

func trimmed(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// A request or an answer that does not have the form that it seems to have is shown unchanged, and
// no control sequence in it reaches the terminal.
func TestOddAsks(t *testing.T) {
	odd := []string{`null`, `1`, `""`, `[]`, `{}`, `[null]`, `[{}]`, `[[1]]`, `{"a":null}`, `"\u001b[2J\u202e"`, `[{"role":"\u001b","content":[{"type":"text"}]}]`,
		`[{"function":{"name":"\u001b[2J"}}]`, `[{"role":"user","tool_calls":[null,{"function":{"name":1}}]}]`}
	var asks []exchange
	for _, v := range odd {
		for _, message := range []string{v, `{"role":` + v + `}`, `{"role":"user","content":` + v + `,"tool_calls":` + v + `,"tool_call_id":` + v + `}`} {
			asks = append(asks, exchange{of: "model", body: body(`"tools":`+v+`,"\u001b":`+v+`,`, message), pieces: []string{v, `{"status":` + v + `}`, event(v),
				event(`{"choices":` + v + `,"usage":` + v + `}`), event(`{"choices":[{"index":0,"delta":` + v + `,"finish_reason":` + v + `}]}`),
				event(`{"choices":[{"delta":{"content":` + v + `,"tool_calls":` + v + `,"\u001b":` + v + `}}],"usage":{"prompt_tokens":` + v + `}}`)}})
		}
		asks = append(asks, exchange{of: "model", body: `{"method":` + v + `,"path":"/chat/completions","headers":` + v + `,"body":{"messages":` + v + `}}`})
	}
	text := linesWithin(t, askedOf(t, asks...))
	tracetest.RequirePrintable(t, text)
	assert.Equal(t, len(asks), strings.Count("\n"+text, "\nask model "))
}
