package spans_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/spans"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// kept keeps the spans that have ended.
type kept struct {
	begun int
	ended []*spans.Span
	// events are the events besides the spans, and within has the span in which each happened.
	events []spans.Event
	within []*spans.Span
}

func (k *kept) Start(*spans.Span) { k.begun++ }

func (k *kept) End(s *spans.Span) { k.ended = append(k.ended, s) }

func (k *kept) Emit(within *spans.Span, e spans.Event) {
	k.events, k.within = append(k.events, e), append(k.within, within)
}

// of returns the spans of these crossings, which are a second apart.
func of(o spans.Options, crossings ...adk.Crossing) *kept {
	k := &kept{}
	b := spans.NewBuilder(k, o)
	for i := range crossings {
		crossings[i].At = time.Unix(int64(i), 0).UTC()
		b.Take(&crossings[i])
	}
	b.Close()
	return k
}

func (k *kept) named(t *testing.T, name string) *spans.Span {
	t.Helper()
	for _, s := range k.ended {
		if s.Name == name {
			return s
		}
	}
	require.Fail(t, "there is no span", name)
	return nil
}

func attribute(s *spans.Span, key string) any {
	for _, one := range s.Attributes {
		if one.Key == key {
			return one.Value
		}
	}
	return nil
}

func call(id, in int, label, name string) adk.Crossing {
	return adk.Crossing{Kind: adk.KindCall, ID: id, Call: in, Seam: adk.Seam{Label: label, Name: name}}
}

func returned(id, in int) adk.Crossing {
	return adk.Crossing{Kind: adk.KindReturn, ID: id, Call: in, Outcome: adk.OutcomeOK}
}

func ask(op, in int, phase adk.Phase, name, text string) adk.Crossing {
	return adk.Crossing{Kind: adk.KindAsk, Phase: phase, Op: op, Call: in, Name: name, JSON: json.RawMessage(text)}
}

// begun is the beginning of a turn, up to its executor as call 3.
var begun = []adk.Crossing{call(1, 0, adk.LabelRun, ""), call(2, 1, adk.LabelDispatch, ""), call(3, 2, adk.LabelExecutor, "model")}

func after(crossings ...adk.Crossing) []adk.Crossing {
	return append(append([]adk.Crossing{}, begun...), crossings...)
}

// The provider's name is the one that the conventions know, and the operation follows from the request. A request
// that is no conversation has no span.
func TestProviders(t *testing.T) {
	for _, c := range []struct{ of, request, name, provider string }{
		{"api.openai.com", `{"path":"/v1/chat/completions","body":{"model":"m","messages":[]}}`, "chat m", "openai"},
		{"my.openai.azure.com", `{"path":"/openai/deployments/x/chat/completions","body":{"model":"m","messages":[]}}`, "chat m", "azure.ai.openai"},
		{"generativelanguage.googleapis.com", `{"path":"/v1beta/models/flash:streamGenerateContent","body":{"contents":[]}}`, "generate_content flash", "gcp.gemini"},
		{"europe-west4-aiplatform.googleapis.com", `{"path":"/v1/x/models/flash:generateContent","body":{"contents":[]}}`, "generate_content flash", "gcp.vertex_ai"},
		{"bedrock-runtime.eu-central-1.amazonaws.com", `{"path":"/model/x/converse","body":{"messages":[]}}`, "chat", "aws.bedrock"},
		{"api.openai.com", `{"path":"/v1/embeddings","body":{"model":"e","input":["a"]}}`, "embeddings e", "openai"},
		{"notapi.openai.com.example", `{"path":"/v1/messages","body":{"model":"m","messages":[]}}`, "chat m", "notapi.openai.com.example"},
		{"localhost:8080", `{"path":"/v1/messages","body":{"model":"m","messages":[]}}`, "chat m", "localhost:8080"},
		{"a function", `{"model":"m","messages":[]}`, "chat m", "a function"},
	} {
		s := of(spans.Options{}, after(ask(1, 3, adk.Begin, c.of, c.request), ask(1, 3, adk.Done, "", `{}`))...).named(t, c.name)
		assert.Equal(t, c.provider, attribute(s, "gen_ai.provider.name"))
		assert.Equal(t, spans.Client, s.Kind)
	}
	k := of(spans.Options{}, after(ask(1, 3, adk.Begin, "weather.example", `{"city":"Oslo"}`), ask(1, 3, adk.Done, "", `{}`), returned(3, 2))...)
	for _, s := range k.ended {
		assert.NotEqual(t, spans.Client, s.Kind, s.Name)
	}
}

// If no crossing shows how an executor asks its model, the executor itself is the chat span, until it executes a
// tool. If its asks are visible, it is not, and an ask of a tool belongs to the tool.
func TestUnseen(t *testing.T) {
	look, err := adk.NewTool(adk.ToolInit{Name: "look", Description: "Looks.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) { return nil, nil }})
	require.NoError(t, err)
	k := of(spans.Options{}, after(
		adk.Crossing{Kind: adk.KindReportLog, Call: 3},
		adk.Crossing{Kind: adk.KindExecute, Phase: adk.Begin, Call: 3, Op: 1, Record: look},
		call(4, 3, adk.LabelTool, "look"),
		ask(2, 4, adk.Begin, "x", `{"model":"m","messages":[]}`), ask(2, 4, adk.Done, "", `{}`),
		returned(4, 3),
		adk.Crossing{Kind: adk.KindExecute, Phase: adk.Done, Call: 3, Op: 1},
		returned(3, 2), returned(2, 1), returned(1, 0))...)
	unseen, tool := k.named(t, "chat"), k.named(t, "execute_tool look")
	assert.Equal(t, 2*time.Second, unseen.End.Sub(unseen.Begin))
	assert.Equal(t, tool.Begin, unseen.End)
	assert.Equal(t, tool.Number, k.named(t, "chat m").Parent)
	assert.Nil(t, attribute(k.named(t, "chat m"), "adkreplay.executor"))
	assert.Equal(t, 1, k.named(t, "invoke_agent").Number)

	seen := of(spans.Options{}, after(ask(1, 3, adk.Begin, "x", `{"model":"m","messages":[]}`), ask(1, 3, adk.Done, "", `{}`), returned(3, 2))...)
	for _, s := range seen.ended {
		assert.NotEqual(t, "chat", s.Name)
	}
}

// A dispatch that is called in a turn is an agent with its own name, below the tool that called it.
func TestNested(t *testing.T) {
	read, err := trace.Read(bytes.NewReader(tracetest.FixtureNamed(t, "sub-agents-side-by-side").Bytes))
	require.NoError(t, err)
	k := &kept{}
	b := spans.NewBuilder(k, spans.Options{Agent: "outer"})
	for i := range read.Lines() {
		b.Take(&read.Lines()[i].Crossing)
	}
	names := map[int]string{}
	for _, s := range k.ended {
		names[s.Number] = s.Name
	}
	for name, parent := range map[string]string{
		"invoke_agent outer": "", "execute_tool researcher": "invoke_agent outer", "invoke_agent researcher": "execute_tool researcher",
		"execute_tool reader": "invoke_agent researcher", "invoke_agent reader": "execute_tool reader",
		"execute_tool critic": "invoke_agent outer", "invoke_agent critic": "execute_tool critic",
	} {
		assert.Equal(t, parent, names[k.named(t, name).Parent], name)
	}
}

// An ask over HTTP of anything but a model has the span of an HTTP client, without the content. An ask
// without HTTP has none.
func TestHTTP(t *testing.T) {
	ask := func(op int, of, request string) adk.Crossing {
		return adk.Crossing{Kind: adk.KindAsk, Phase: adk.Begin, Call: 1, Op: op, Name: of, JSON: json.RawMessage(request)}
	}
	done := func(op int, answer string, err error) adk.Crossing {
		x := adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Call: 1, Op: op, Err: err}
		if answer != "" {
			x.JSON = json.RawMessage(answer)
		}
		return x
	}
	const forecast = `{"method":"GET","path":"/v1/oslo","query":{"key":"secret"}}`
	crossings := func() []adk.Crossing {
		return []adk.Crossing{{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}},
			ask(1, "weather.example:8080", forecast), done(1, `{"status":503,"headers":{},"body":{"id":"no id of a model","model":"none"}}`, nil),
			ask(2, "weather.example:8080", forecast), done(2, `{"status":200,"headers":{},"body":{}}`, nil),
			ask(3, "cache.example", `{"method":"PURGE","path":"/"}`), done(3, "", &adk.Error{Code: adk.E_ASK_STOPPED}),
			ask(4, "cache.example", `{"method":"PUT","path":"/a"}`), done(4, "", context.DeadlineExceeded),
			ask(5, "ci", `{"build":7}`), done(5, `{"state":"green"}`, nil),
			{Kind: adk.KindReturn, ID: 1, Outcome: adk.OutcomeOK}}
	}
	type said = map[string]any
	var names []string
	var all []said
	for _, s := range of(spans.Options{}, crossings()...).ended {
		if s.Kind != spans.Client {
			continue
		}
		one := said{"failed": s.Failed}
		for _, a := range s.Attributes {
			one[a.Key] = a.Value
		}
		names, all = append(names, s.Name), append(all, one)
	}
	assert.Equal(t, []string{"GET", "GET", "HTTP", "PUT"}, names)
	assert.Equal(t, []said{
		{"failed": true, "http.request.method": "GET", "server.address": "weather.example", "server.port": int64(8080), "url.path": "/v1/oslo", "http.response.status_code": int64(503), "error.type": "503"},
		{"failed": false, "http.request.method": "GET", "server.address": "weather.example", "server.port": int64(8080), "url.path": "/v1/oslo", "http.response.status_code": int64(200), "http.request.resend_count": int64(1)},
		{"failed": false, "http.request.method": "_OTHER", "http.request.method_original": "PURGE", "server.address": "cache.example", "url.path": "/"},
		{"failed": true, "http.request.method": "PUT", "server.address": "cache.example", "url.path": "/a", "error.type": "timeout"},
	}, all)
	assert.Len(t, of(spans.Options{WithoutHTTP: true}, crossings()...).ended, 1)
}

// If many tools are executed concurrently, each on its own strand, each span contains what happens in its tool.
func TestToolsAtOnce(t *testing.T) {
	tool := fakes.NewTool("look", "Looks.").Tool()
	const many = 20_000
	crossings := []adk.Crossing{{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}}
	for i := 1; i <= many; i++ {
		crossings = append(crossings, adk.Crossing{Kind: adk.KindExecute, Phase: adk.Begin, Call: 1, Strand: i, Op: i, Record: tool})
	}
	for i := 1; i <= many; i++ {
		crossings = append(crossings, adk.Crossing{Kind: adk.KindToolExecutionStart, Call: 1, Strand: i, Key: fmt.Sprint("call ", i)})
	}
	for i := many; i >= 1; i-- {
		crossings = append(crossings, adk.Crossing{Kind: adk.KindExecute, Phase: adk.Done, Call: 1, Strand: i, Op: i})
	}
	ended := of(spans.Options{}, crossings...).ended
	require.Len(t, ended, many+1)
	for i, s := range ended[:many] {
		require.Equal(t, fmt.Sprint("call ", many-i), attribute(s, "gen_ai.tool.call.id"))
	}
}

// A repeated request is a span with the number of repetitions, until the request succeeds.
func TestRetries(t *testing.T) {
	const request = `{"model":"m","messages":[]}`
	failed := ask(1, 3, adk.Done, "", "")
	failed.JSON, failed.Err = nil, errors.New("cut off")
	k := of(spans.Options{}, after(ask(1, 3, adk.Begin, "x", request), failed, ask(1, 3, adk.Begin, "x", request), failed,
		ask(1, 3, adk.Begin, "x", request), ask(1, 3, adk.Done, "", `{}`), ask(1, 3, adk.Begin, "x", request), ask(1, 3, adk.Done, "", `{}`))...)
	var often []any
	for _, s := range k.ended {
		if s.Kind == spans.Client {
			often = append(often, attribute(s, "http.request.resend_count"))
		}
	}
	assert.Equal(t, []any{nil, int64(1), int64(2), nil}, often)
}

// Messages have the same form in spans, whatever the provider's form is.
func TestMessages(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		pieces  []string
		in, out string
		system  any
	}{
		"Messages": {`{"path":"/v1/messages","body":{"model":"m","system":"Be short.","messages":[{"role":"user","content":[{"type":"text","text":"Oslo?"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"look","input":{"at":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"rain"}]}]}}`,
			[]string{`{"data":{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}}`, `{"data":{"type":"content_block_delta","index":0,"delta":{"thinking":"Hm."}}}`,
				`{"data":{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t2","name":"go","input":{}}}}`, `{"data":{"type":"content_block_delta","index":1,"delta":{"partial_json":"{\"to\":2}"}}}`, `{"data":{"type":"message_delta","delta":{"stop_reason":"tool_use"}}}`},
			`[{"role":"user","parts":[{"type":"text","content":"Oslo?"}]},{"role":"assistant","parts":[{"type":"tool_call","id":"t1","name":"look","arguments":{"at":1}}]},{"role":"user","parts":[{"type":"tool_call_response","id":"t1","response":"rain"}]}]`,
			`[{"role":"assistant","parts":[{"type":"reasoning","content":"Hm."},{"type":"tool_call","id":"t2","name":"go","arguments":{"to":2}}],"finish_reason":"tool_use"}]`,
			`[{"content":"Be short.","type":"text"}]`},
		"Gemini": {`{"path":"/v1/models/m:generateContent","body":{"contents":[{"role":"user","parts":[{"text":"Oslo?"}]},{"role":"model","parts":[{"functionCall":{"name":"look","args":{"at":1}}}]}]}}`,
			[]string{`{"body":{"candidates":[{"content":{"parts":[{"text":"Rain."}]},"finishReason":"STOP"}]}}`},
			`[{"role":"user","parts":[{"type":"text","content":"Oslo?"}]},{"role":"assistant","parts":[{"type":"tool_call","name":"look","arguments":{"at":1}}]}]`,
			`[{"role":"assistant","parts":[{"type":"text","content":"Rain."}],"finish_reason":"STOP"}]`, nil},
		"Responses": {`{"path":"/v1/responses","body":{"model":"m","input":[{"role":"user","content":"Oslo?"},{"type":"function_call","call_id":"c1","name":"look","arguments":"{\"at\":1}"},{"type":"function_call_output","call_id":"c1","output":"rain"}]}}`,
			[]string{`{"data":{"type":"response.output_text.delta","delta":"Rain."}}`, `{"data":{"type":"response.completed","response":{"status":"completed"}}}`},
			`[{"role":"user","parts":[{"type":"text","content":"Oslo?"}]},{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"look","arguments":{"at":1}}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"rain"}]}]`,
			`[{"role":"assistant","parts":[{"type":"text","content":"Rain."}],"finish_reason":"completed"}]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			crossings := after(ask(1, 3, adk.Begin, "x", c.request))
			for _, piece := range c.pieces {
				crossings = append(crossings, adk.Crossing{Kind: adk.KindPiece, Call: 3, Op: 1, JSON: json.RawMessage(piece)})
			}
			k := of(spans.Options{Content: true}, append(crossings, adk.Crossing{Kind: adk.KindAsk, Phase: adk.Done, Call: 3, Op: 1})...)
			for _, s := range of(spans.Options{}, crossings...).ended {
				for _, one := range s.Attributes {
					assert.NotContains(t, fmt.Sprint(one.Value), "Oslo", "%s: nobody asked for content", one.Key)
				}
			}
			for _, s := range k.ended {
				if s.Kind == spans.Client {
					assert.JSONEq(t, c.in, attribute(s, "gen_ai.input.messages").(string))
					assert.JSONEq(t, c.out, attribute(s, "gen_ai.output.messages").(string))
					assert.Equal(t, c.system, attribute(s, "gen_ai.system_instructions"))
				}
			}
		})
	}
}

// A conversation also has an event, when it ends and before its span does, whatever its result is. It has the span's
// attributes of the model, and the messages as values. Other asks have no event, and without Options.Events there are
// none.
func TestEvents(t *testing.T) {
	failed := ask(2, 3, adk.Done, "", "")
	failed.JSON, failed.Err = nil, context.DeadlineExceeded
	crossings := func() []adk.Crossing {
		return after(
			ask(1, 3, adk.Begin, "api.openai.com:443", `{"method":"POST","path":"/v1/chat/completions","body":{"model":"m","temperature":0.5,"messages":[{"role":"user","content":"Oslo?"}]}}`),
			ask(1, 3, adk.Done, "", `{"status":200,"body":{"id":"c1","choices":[{"message":{"tool_calls":[{"id":"t1","function":{"name":"go","arguments":"{\"to\":9007199254740993,\"by\":1.5,\"at\":null}"}}]},"finish_reason":"stop"}]}}`),
			ask(2, 3, adk.Begin, "x", `{"model":"m","messages":[]}`), failed,
			ask(3, 3, adk.Begin, "api.openai.com", `{"path":"/v1/embeddings","body":{"model":"e","input":["a"]}}`), ask(3, 3, adk.Done, "", `{}`),
			ask(4, 3, adk.Begin, "weather.example", `{"method":"GET","path":"/"}`), ask(4, 3, adk.Done, "", `{"status":200}`),
			returned(3, 2))
	}
	k := of(spans.Options{Events: true, Content: true}, crossings()...)
	require.Len(t, k.events, 2)
	said := map[string]any{}
	for _, one := range k.events[0].Attributes {
		said[one.Key] = one.Value
	}
	assert.Equal(t, map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m", "gen_ai.request.temperature": 0.5,
		"server.address": "api.openai.com", "server.port": int64(443), "gen_ai.response.id": "c1", "gen_ai.response.finish_reasons": []string{"stop"},
		"gen_ai.input.messages": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"type": "text", "content": "Oslo?"}}}},
		"gen_ai.output.messages": []any{map[string]any{"role": "assistant", "finish_reason": "stop", "parts": []any{
			map[string]any{"type": "tool_call", "id": "t1", "name": "go", "arguments": map[string]any{"to": int64(9007199254740992), "by": 1.5, "at": nil}}}}},
	}, said, "numbers are as far as the answer's reader holds them")
	for i, e := range k.events {
		assert.Equal(t, "gen_ai.client.inference.operation.details", e.Name)
		assert.Equal(t, k.within[i].End, e.At)
	}
	assert.Contains(t, k.events[1].Attributes, spans.Attribute{Key: "error.type", Value: "timeout"})
	assert.Empty(t, of(spans.Options{Content: true}, crossings()...).events)
}

// Whatever is missing from a trace, each span that begins also ends, exactly once.
func TestDamagedTraces(t *testing.T) {
	for _, name := range []string{"sub-agents-side-by-side", "asks-again", "gates-aborted", "tool-failure"} {
		read, err := trace.Read(bytes.NewReader(tracetest.FixtureNamed(t, name).Bytes))
		require.NoError(t, err)
		for drop := range read.Lines() {
			k := &kept{}
			b := spans.NewBuilder(k, spans.Options{Content: true})
			for i := range read.Lines() {
				if i != drop {
					b.Take(&read.Lines()[i].Crossing)
				}
			}
			b.Close()
			ids := map[int]bool{}
			for _, s := range k.ended {
				assert.False(t, ids[s.Number], "%s without %d: %s ends twice", name, drop+1, s.Name)
				ids[s.Number] = true
				assert.Less(t, s.Parent, s.Number)
			}
			assert.Len(t, k.ended, k.begun, "%s without %d", name, drop+1)
		}
	}
}
