package sdks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
)

// known returns a request as the SDK writes it after reading it, without the members that the SDK does not know.
func known(t *testing.T, body []byte) any {
	t.Helper()
	var params openai.ChatCompletionNewParams
	require.NoError(t, json.Unmarshal(body, &params))
	raw, err := json.Marshal(params)
	require.NoError(t, err)
	return tree(t, raw)
}

func tree(t *testing.T, raw []byte) any {
	t.Helper()
	var data any
	require.NoError(t, json.Unmarshal(raw, &data))
	return data
}

// withoutOurs returns a request without what the provider's own library does not write: members that it
// does not have; stream, which it adds itself; a null content beside calls, which it leaves out; and media
// in the results of tools. There it writes only texts, although servers that accept media accept them
// there too (REQ-30).
func withoutOurs(data any) any {
	object := data.(map[string]any)
	for _, name := range []string{"stream", "top_k", "chat_template_kwargs", "_adk_reasoning_payloads"} {
		delete(object, name)
	}
	for _, message := range object["messages"].([]any) {
		message := message.(map[string]any)
		if message["content"] == nil {
			delete(message, "content")
		}
		if blocks, isList := message["content"].([]any); isList && message["role"] == "tool" {
			message["content"] = slices.DeleteFunc(blocks, func(block any) bool { return block.(map[string]any)["type"] != "text" })
		}
	}
	return object
}

// REQ-2, REQ-10, REQ-12, REQ-30: the provider's own library knows every member of the adapter's requests
// by that name.
func TestBodiesAreTheProviders(t *testing.T) {
	files, err := filepath.Glob("../../adk/chat/testdata/bodies/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			require.NoError(t, err)
			want := withoutOurs(tree(t, body))
			body, err = json.Marshal(want)
			require.NoError(t, err)
			assert.Equal(t, want, known(t, body))
		})
	}
	strange := []byte(`{"model":"m","messages":[{"role":"user","content":"x","strange":1}],"tempo":1}`)
	assert.NotEqual(t, tree(t, strange), known(t, strange), "what nobody knows is seen")
}

// SSE-5, SSE-7, SSE-8, ANS-1: the adapter and the provider's own library read the same answers from the streams
// of real servers.
func TestAccumulatorsAgree(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(cassettes, "*.json"))
	if len(files) == 0 {
		t.Skip("there are no recorded conversations in " + cassettes)
	}
	compared := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		conversation, err := fakes.ReadConversation(bytes.NewReader(text))
		require.NoError(t, err)
		for i, one := range conversation.Interactions {
			if one.Response.Status != 200 || !strings.HasPrefix(one.Response.ContentType, ofEvents) {
				continue
			}
			t.Run(fmt.Sprint(filepath.Base(file), i), func(t *testing.T) {
				compared++
				assert.Equal(t, theirs(t, one.Response.Body), made(t, one.Response))
			})
		}
	}
	assert.GreaterOrEqual(t, compared, 5)
}

// theirs returns what the library reads from a stream.
func theirs(t *testing.T, body string) (all []string) {
	t.Helper()
	var whole openai.ChatCompletionAccumulator
	for event := range strings.SplitSeq(body, "\n\n") {
		if data, isData := strings.CutPrefix(event, "data: "); isData && strings.TrimSpace(data) != "[DONE]" {
			var chunk openai.ChatCompletionChunk
			require.NoError(t, json.Unmarshal([]byte(data), &chunk))
			require.True(t, whole.AddChunk(chunk))
		}
	}
	message := whole.Choices[0].Message
	if message.Content != "" {
		all = append(all, message.Content)
	}
	for _, call := range message.ToolCalls {
		all = append(all, call.ID+" "+call.Function.Name+" "+call.Function.Arguments)
	}
	return append(all, fmt.Sprint(whole.Usage.TotalTokens)) // there, a null finish reason in the last chunk deletes the reason
}

// noting is an accumulator that notes the calls it returns.
type noting struct {
	chat.Accumulator
	note func(chat.WantedCall)
}

func (n noting) Drain() []chat.WantedCall {
	all := n.Accumulator.Drain()
	for _, call := range all {
		n.note(call)
	}
	return nil
}

// made returns what the adapter's executor makes of an answer.
func made(t *testing.T, reply fakes.Reply) (all []string) {
	t.Helper()
	var calls []string
	options := chat.Options{Model: "m", AutoAck: new(true), Transport: fakes.NewTransport(fakes.Converse(reply))}
	options.Helpers.Accumulator = func() chat.Accumulator {
		return noting{chat.DefaultHelpers().Accumulator(), func(call chat.WantedCall) { calls = append(calls, call.ID+" "+call.Name+" "+call.Arguments) }}
	}
	adapter, err := chat.New(options)
	require.NoError(t, err)
	storage := fakes.NewStorage()
	runner, err := adk.NewRunner(adk.Config{Executor: adapter.Executor("model"), Storage: storage.Storage()})
	require.NoError(t, err)
	var finish map[string]any
	runner.Observe(adk.Observability{
		Log: func(e adk.LogEvent) {
			if e.Kind == "finish" {
				finish = e.Payload.(map[string]any)
			}
		},
		Error: func(e adk.ErrorEvent) { assert.NoError(t, e.Error) },
	})
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "x"}))
	for _, m := range storage.Messages() {
		all = append(all, m.Content().String())
	}
	usage, _ := finish["usage"].(map[string]any)
	total, _ := usage["total_tokens"].(float64)
	return append(append(all, calls...), fmt.Sprint(int64(total)))
}
