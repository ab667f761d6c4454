package chat_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
)

// SSE-2, SSE-5, SSE-8, ANS-3, ANS-4, CAL-7: forms of answers that differ from provider to provider.
func TestProviders(t *testing.T) {
	for name, c := range map[string]struct {
		reply   reply
		texts   []string // ID stands for the answer's id
		results []string // ID is a new id
	}{
		"OpenAI": {events(
			`{"id":"r","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"usage":null,"obfuscation":"kLg"}`,
			`{"id":"r","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}],"usage":null,"obfuscation":"x"}`,
			`{"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`,
			`{"id":"r","choices":[],"usage":{"total_tokens":3},"obfuscation":"y"}`), []string{"said Hi"}, nil},
		"Azure": {events(
			`{"id":"","model":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}`,
			`{"id":"r","choices":[{"index":0,"content_filter_offsets":{},"content_filter_results":{},"delta":{"content":"Hi"}}]}`,
			`{"id":"","choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{"check_offset":35}}]}`), []string{"said Hi"}, nil},
		"Mistral": {events(
			`{"id":"r","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"p":"ab"}`,
			`{"id":"r","choices":[{"index":0,"delta":{"tool_calls":[{"id":"D681PevKs","function":{"name":"weather","arguments":"{\"city\": \"Oslo\"}"},"index":0}]},"finish_reason":"tool_calls"}],"usage":{"total_tokens":9},"p":"abc"}`),
			nil, []string{`D681PevKs weather{"city":"Oslo"}: artifact 4 °C in Oslo`}},
		"Ollama, all at 0": {events(
			`{"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Two."}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"","tool_calls":[{"id":"call_a","index":0,"type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"","tool_calls":[{"id":"call_b","index":0,"type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]}}]}`),
			[]string{"thought ID Two."}, []string{`call_a weather{"city":"Oslo"}: artifact 4 °C in Oslo`, `call_b weather{"city":"Rome"}: artifact 4 °C in Rome`}},
		"Ollama, without an index": {events(
			`{"choices":[{"delta":{"tool_calls":[{"id":"c1","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"id":"c2","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]}}]}`),
			nil, []string{`c1 weather{"city":"Oslo"}: artifact 4 °C in Oslo`, `c2 weather{"city":"Rome"}: artifact 4 °C in Rome`}},
		"arguments as an object": {events(
			`{"choices":[{"delta":{"tool_calls":[{"id":"c1","function":{"name":"weather","arguments":{"city":"Oslo"}}}]}}]}`),
			nil, []string{`c1 weather{"city":"Oslo"}: artifact 4 °C in Oslo`}},
		"vLLM":     {events(`{"choices":[{"index":0,"delta":{"reasoning":"Hm."}}]}`, `{"choices":[{"index":0,"delta":{"content":"Hi"}}]}`), []string{"said Hi", "thought ID Hm."}, nil},
		"DeepSeek": {events(`{"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"Hm."}}]}`, `{"choices":[{"index":0,"delta":{"content":"Hi","reasoning_content":null}}]}`), []string{"said Hi", "thought ID Hm."}, nil},
		"OpenRouter": {stream(": x\n\n: OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\ndata: " +
			`{"id":"gen-1","provider":"Venice","choices":[{"index":0,"delta":{"content":"Hi","reasoning":"Hm.","reasoning_details":[{"type":"reasoning.text","text":"Hm."}]},"native_finish_reason":null}]}` +
			"\n\ndata: [DONE]"), []string{"said Hi", "thought ID Hm."}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			replies := []reply{c.reply}
			if c.results != nil {
				replies = append(replies, reply{kind: "text/event-stream"})
			}
			p := play(t, scene{options: streaming(), replies: replies, tools: []*adk.Tool{weather(t)}}).acked(t)
			var texts []string
			for _, text := range p.texts() {
				id := strings.Fields(text)[1]
				if len(p.storage.Thoughts()) > 0 && id == p.storage.Thoughts()[0].ID() {
					text = strings.Replace(text, id, "ID", 1)
				}
				texts = append(texts, text)
			}
			assert.Equal(t, c.texts, texts)
			assert.Equal(t, c.results, p.results(t))
		})
	}
}

// RUN-5, DET-2, ABT-13: the executor passes the suite for executors, in a turn with a tool, a stream and
// a retry.
func TestExecutorSuite(t *testing.T) {
	require.NoError(t, fakes.TestExecutor(func() adk.Config {
		options := streaming()
		options.Model, options.Retry.MaxAttempts = "m", new(2)
		options.Transport = &server{replies: []reply{
			refusing(503, "busy", "Retry-After", "2"),
			stream(`{"choices":[{"delta":{"reasoning":"hm","content":"A","tool_calls":[{"index":0,"id":"c","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}}]}` + "\n\ndata: [DONE]"),
			saying("4 °C.")}}
		adapter, err := chat.New(options)
		require.NoError(t, err)
		return adk.Config{Executor: adapter.Executor("model"), Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{weather(t)}}
	}, adk.RawTurn{SystemPrompt: "You help."}))
}

// OPT-2: one adapter serves turns that run concurrently, each with its own stash, and none of them sees
// another's.
func TestTurnsAtOnce(t *testing.T) {
	adapter, err := chat.New(chat.Options{Model: "m", AutoAck: new(true), Transport: echo{}})
	require.NoError(t, err)
	executor := adapter.Executor("model")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			user, storage := fmt.Sprint("user-", i), fakes.NewStorage()
			runner, err := adk.NewRunner(adk.Config{Executor: executor, Storage: storage.Storage()})
			if !assert.NoError(t, err) {
				return
			}
			for range 3 {
				assert.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "x", Stash: map[string]any{chat.StashKey: map[string]any{"user": user}}}))
			}
			assert.Len(t, storage.Messages(), 3)
			for _, m := range storage.Messages() {
				assert.Equal(t, user, m.Content().String())
			}
		})
	}
	all.Wait()
}

// fuzzed plays an answer and checks what is true for every answer.
func fuzzed(t *testing.T, options chat.Options, kind string, body string) {
	t.Helper()
	p := play(t, scene{options: options, tools: []*adk.Tool{weather(t)}, bare: true, replies: []reply{{kind: kind, body: body}, saying("end")}})
	if len(p.failures) > 0 {
		require.ErrorIs(t, p.failures[0], adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR)
		assert.Empty(t, p.texts())
		assert.Empty(t, p.storage.ToolCalls())
		return
	}
	assert.Equal(t, adk.StatusAck, p.end.Status)
	ids := map[string]bool{}
	for _, call := range p.storage.ToolCalls() {
		assert.False(t, ids[call.ID()])
		ids[call.ID()] = true
	}
	for _, sent := range p.bodies {
		assert.True(t, utf8.ValidString(sent))
	}
}

// SSE-1 to SSE-9, CAL-2, CAL-7: no stream causes a panic, a hang or a partly stored answer.
func FuzzStream(f *testing.F) {
	for _, r := range []reply{events(delta("A")), events(`{"choices":[{"delta":{"tool_calls":[{"index":-1,"id":"","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"id":"x"}]}}]}`),
		stream("[DONE]"), stream("{\"error\":{}}"), stream("x\r\ndata: y\r\rdata")} {
		f.Add([]byte(r.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { fuzzed(t, streaming(), "text/event-stream", string(body)) })
}

// ANS-1, CAL-2, CAL-7: no plain answer does so either.
func FuzzAnswer(f *testing.F) {
	for _, r := range []reply{saying("A"), calling("c", "weather", `{"city":"Oslo"}`), wanting([3]string{"", "", ""}, [3]string{"", "weather", "[]"}),
		plain(`{"choices":[{"index":1},{"message":{"content":[{"type":"text","text":"x"}],"reasoning":4}}],"usage":[]}`)} {
		f.Add([]byte(r.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { fuzzed(t, whole(), "application/json", string(body)) })
}
