package modelapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/modelapi"
)

// An answer says its model, status and usage, whether it comes as a whole or in pieces.
func TestAnswers(t *testing.T) {
	cases := map[string]struct {
		pieces []string
		want   modelapi.Answer
		usage  modelapi.Usage
	}{
		"Chat Completions": {
			[]string{`{"status":200}`, `{"data":{"id":"c1","model":"small-1","choices":[{"delta":{"content":"4"}}]}}`,
				`{"data":{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}}`},
			modelapi.Answer{Status: 200, Finish: "stop", ID: "c1", Model: "small-1"}, modelapi.Usage{In: 9, Cached: 4, Out: 5, Thought: 3},
		},
		"Messages": {
			[]string{`{"data":{"type":"message_start","message":{"id":"m1","model":"medium","usage":{"input_tokens":3,"cache_read_input_tokens":5,"cache_creation_input_tokens":2}}}}`,
				`{"data":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}}`},
			modelapi.Answer{Finish: "end_turn", ID: "m1", Model: "medium"}, modelapi.Usage{In: 10, Cached: 5, Created: 2, Out: 7},
		},
		"Responses": {
			[]string{`{"data":{"type":"response.completed","response":{"id":"r1","model":"large","status":"completed","usage":{"input_tokens":1,"output_tokens":2,"output_tokens_details":{"reasoning_tokens":1}}}}}`},
			modelapi.Answer{Finish: "completed", ID: "r1", Model: "large"}, modelapi.Usage{In: 1, Out: 2, Thought: 1},
		},
		"Chat Completions with white space": {
			[]string{`{"status":200}`, `{"text":"{\n  \"id\": \"c2\", \"model\": \"small\",\n  \"choices\": [{\"finish_reason\": \"stop\"}],\n  \"usage\": {\"prompt_tokens\": 2, \"completion_tokens\": 1}\n}\n"}`},
			modelapi.Answer{Status: 200, Finish: "stop", ID: "c2", Model: "small"}, modelapi.Usage{In: 2, Out: 1},
		},
		"Gemini with white space": {
			[]string{`{"data":"{\"responseId\": \"g2\", \"modelVersion\": \"flash\"}","eol":"\r\n"}`,
				`{"text":"id: 2\ndata:{\"candidates\": [{\"finishReason\": \"STOP\"}], \"usageMetadata\": {\"promptTokenCount\": 4, \"candidatesTokenCount\": 2}}\n\n"}`},
			modelapi.Answer{Finish: "STOP", ID: "g2", Model: "flash"}, modelapi.Usage{In: 4, Out: 2},
		},
		"Ollama": {
			[]string{`{"line":{"model":"small","message":{"role":"assistant","content":"4"},"done":false}}`,
				`{"line":{"model":"small","message":{"role":"assistant","content":""},"done_reason":"length","done":true,"prompt_eval_count":6,"eval_count":2}}`},
			modelapi.Answer{Finish: "length", Model: "small"}, modelapi.Usage{In: 6, Out: 2},
		},
		"a stream of no HTTP": {
			[]string{`{"text":"4","usage":{"input_tokens":2,"output_tokens":1}}`},
			modelapi.Answer{}, modelapi.Usage{In: 2, Out: 1},
		},
		"Gemini": {
			[]string{`{"body":{"responseId":"g1","modelVersion":"flash","candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2,"thoughtsTokenCount":3}}}`},
			modelapi.Answer{Finish: "STOP", ID: "g1", Model: "flash"}, modelapi.Usage{In: 4, Out: 5, Thought: 3},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var a modelapi.Answer
			for _, piece := range c.pieces {
				a.Take(json.RawMessage(piece))
			}
			if assert.NotNil(t, a.Usage) {
				assert.Equal(t, c.usage, *a.Usage)
			}
			assert.Equal(t, []any{c.want.Status, c.want.Finish, c.want.ID, c.want.Model}, []any{a.Status, a.Finish, a.ID, a.Model})
		})
	}
}

// FuzzAnswers reads any request and any answer, which must not panic.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"method":"POST","path":"/v1/chat/completions","body":{"model":"small","messages":[{"role":"user","content":"2+2?"}]}}`, `{"data":{"choices":[{"delta":{"content":"4"}}]}}`)
	f.Add(`{"body":{"input":[[[[1]]]]}}`, `{"body":{"usage":7,"message":null,"choices":[1,{"finish_reason":2}]}}`)
	f.Fuzz(func(t *testing.T, asked, answered string) {
		r := modelapi.ReadRequest("x", json.RawMessage(asked))
		_ = r.Words()
		if talk := modelapi.ReadTalk(json.RawMessage(asked)); talk != nil && len(talk.Messages) == 0 {
			t.Fatal("a conversation in which nothing is said")
		}
		a := modelapi.Answer{Keep: true}
		a.Take(json.RawMessage(answered))
		_, _ = a.Choices(), a.Message()
		if a.Usage != nil && (a.Usage.In < 0 || a.Usage.Out < 0 || a.Usage.Cached < 0) {
			t.Fatal(fmt.Sprint(*a.Usage))
		}
	})
}

// An answer of which the caller read enough has not failed, except if a model's answer was left before it said
// why it stopped. An answer with a status that refuses has failed, whatever follows.
func TestFailed(t *testing.T) {
	stopped := fmt.Errorf("closed: %w", &adk.Error{Code: adk.E_ASK_STOPPED})
	done := modelapi.Answer{Status: 200}
	done.Take(json.RawMessage(`{"data":{"choices":[{"delta":{"content":"4 °C."}}]}}`))
	assert.True(t, done.Failed(&modelapi.Request{IsTalk: true}, stopped))
	done.Take(json.RawMessage(`{"data":"[DONE]"}`))
	old := modelapi.Answer{Status: 200} // old versions of Ollama give no reason
	old.Take(json.RawMessage(`{"line":{"message":{"role":"assistant","content":"4 °C."},"done":true}}`))
	for _, c := range []struct {
		answer modelapi.Answer
		isTalk bool
		err    error
		want   bool
	}{
		{modelapi.Answer{Status: 200, Finish: "stop"}, true, nil, false},
		{modelapi.Answer{Status: 200, Finish: "stop"}, true, stopped, false},
		{modelapi.Answer{Status: 200}, true, stopped, true},
		{done, true, stopped, false},
		{old, true, stopped, false},
		{modelapi.Answer{Status: 200}, false, stopped, false},
		{modelapi.Answer{Status: 429}, false, stopped, true},
		{modelapi.Answer{Status: 429}, true, nil, true},
		{modelapi.Answer{Finish: "stop"}, true, errors.New("cut off"), true},
	} {
		assert.Equal(t, c.want, c.answer.Failed(&modelapi.Request{IsTalk: c.isTalk}, c.err), "%+v %v", c.isTalk, c.err)
	}
}

// Tools have the same form for all providers; a tool that is no function is kept as it is.
func TestTools(t *testing.T) {
	const want = `[{"type":"function","name":"look","description":"Looks.","parameters":{"type":"object"}}]`
	for name, c := range map[string]struct{ tools, want string }{
		"Completions":          {`[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"},"strict":true}}]`, want},
		"Responses":            {`[{"type":"function","name":"look","description":"Looks.","parameters":{"type":"object"},"strict":true}]`, want},
		"Messages":             {`[{"name":"look","description":"Looks.","input_schema":{"type":"object"}}]`, want},
		"Gemini":               {`[{"functionDeclarations":[{"name":"look","description":"Looks.","parameters":{"type":"object"}}]}]`, want},
		"Gemini's other names": {`[{"function_declarations":[{"name":"look","description":"Looks.","parametersJsonSchema":{"type":"object"}}]}]`, want},
		"a name alone":         {`[{"type":"function","function":{"name":"look"}}]`, `[{"type":"function","name":"look"}]`},
		"no functions":         {`[{"type":"web_search_20250305","name":"web_search"},{"googleSearch":{}},7,null]`, `[{"type":"web_search_20250305","name":"web_search"},{"googleSearch":{}},7,null]`},
		"no list":              {`{}`, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			r := modelapi.ReadRequest("x", json.RawMessage(`{"model":"m","messages":[],"tools":`+c.tools+`}`))
			got, err := json.Marshal(r.Tools())
			require.NoError(t, err)
			assert.JSONEq(t, c.want, string(got))
		})
	}
}
