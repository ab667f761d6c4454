// Package sidebyside compares a turn of package adk/chat with the same turn of others that speak Chat
// Completions: eino's component, openai-agents-go, and a loop around OpenAI's own library. It also
// compares the check of values by schemas with another library. It is a module of its own, so that
// only these tests compile the other libraries.
package sidebyside

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	einoopenai "github.com/cloudwego/eino-ext/components/model/openai"
	einomodel "github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/nlpodyssey/openai-agents-go/agents"
	"github.com/nlpodyssey/openai-agents-go/tracing"
	agentsparam "github.com/openai/openai-go/v2/packages/param"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
)

const (
	prompt   = "You are a weather assistant. Be brief."
	question = "What shall I wear in Oslo?"
	answer   = "Take a coat."
	model    = "m"
	key      = "sk-x"
)

// The tools: each is called once, and then the answer comes.
var tools = []string{"weather", "clothes", "calendar"}

type place struct {
	City string `json:"city"`
}

func use(tool string, in place) string { return tool + " of " + in.City }

const toolSchema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`

// provider returns the URL of a server on this machine that answers with a call for each result that it has
// not been shown yet, and then with the final answer.
func provider(tb testing.TB) (url string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := bytes.Count(body, []byte(`"role":"tool"`))
		if bytes.Contains(body, []byte(`"stream":true`)) {
			reply := fakes.StreamReply("Take ", "a ", "coat.")
			if n < len(tools) {
				reply = fakes.StreamToolCall(fmt.Sprint("call_", n), tools[n], `{"city":`, `"Oslo"}`)
			}
			w.Header().Set("Content-Type", reply.ContentType)
			_, _ = io.WriteString(w, reply.Body)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		message := fmt.Sprintf(`{"role":"assistant","content":%q}`, answer)
		if n < len(tools) {
			message = fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":%q,"arguments":"{\"city\":\"Oslo\"}"}}]}`, n, tools[n])
		}
		_, _ = fmt.Fprintf(w, `{"id":"r","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, message)
	}))
	tb.Cleanup(server.Close)
	return server.URL + "/v1"
}

// contender makes turns: its function runs one, and returns the answer.
type contender struct {
	name string
	turn func(tb testing.TB, url string, stream bool) func(context.Context) (string, error)
}

var contenders = []contender{{"adkreplay", texts}, {"adkreplay with artifacts", artifacts}, {"openai-go", bare}, {"eino", eino}, {"openai-agents-go", agentsOf}}

// texts returns a turn whose results stay texts, as those of the other contenders do.
func texts(tb testing.TB, url string, stream bool) func(context.Context) (string, error) {
	return ours(tb, url, stream, func(_ context.Context, result adk.ToolResult) (adk.ToolResult, error) { return result, nil })
}

// artifacts returns a turn whose results are artifacts, which is the default: the model is also
// offered the tools that query them.
func artifacts(tb testing.TB, url string, stream bool) func(context.Context) (string, error) {
	return ours(tb, url, stream, nil)
}

func ours(tb testing.TB, url string, stream bool, construct adk.ArtifactConstructor) func(context.Context) (string, error) {
	adapter, err := chat.New(chat.Options{Model: model, APIKey: key, BaseURL: url, Stream: &stream, AutoAck: new(true)})
	require.NoError(tb, err)
	config := adk.Config{Executor: adapter.Executor("model"), TurnInput: []adk.TurnMiddleware{{Name: "history", Run: history}}}
	for _, name := range tools {
		tool, err := adk.NewTypedTool(adk.ToolInit{Name: name, Description: "Tells of a city.", InputSchema: []byte(toolSchema), ArtifactConstructor: construct},
			func(_ context.Context, _ *adk.DispatchContext, in place) (adk.ToolResult, error) {
				return adk.Text(use(name, in)), nil
			})
		require.NoError(tb, err)
		config.Tools = append(config.Tools, tool)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	asked, err := adk.NewMessage(adk.MessageInit{ID: "q", Role: adk.RoleUser, Content: question, CreatedAt: at, UpdatedAt: at})
	require.NoError(tb, err)
	return func(ctx context.Context) (said string, err error) {
		config := config
		config.Storage = fakes.NewStorage(asked).Storage()
		runner, err := adk.NewRunner(config)
		if err != nil {
			return "", err
		}
		raw := adk.RawTurn{SystemPrompt: prompt}
		raw.Functional.Message = func(e adk.MessageEvent) { said = e.Full }
		return said, errors.Join(runner.Run(ctx, raw))
	}
}

func history(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	messages, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if _, err := tc.Messages().Add(m); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

// bare returns the loop that one would write around the provider's own library.
func bare(_ testing.TB, url string, stream bool) func(context.Context) (string, error) {
	client := openai.NewClient(option.WithBaseURL(url), option.WithAPIKey(key))
	var offered []openai.ChatCompletionToolUnionParam
	for _, name := range tools {
		var parameters map[string]any
		_ = json.Unmarshal([]byte(toolSchema), &parameters)
		offered = append(offered, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: name, Description: openai.String("Tells of a city."), Parameters: parameters}))
	}
	return func(ctx context.Context) (string, error) {
		params := openai.ChatCompletionNewParams{Model: model, Tools: offered,
			Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(prompt), openai.UserMessage(question)}}
		for {
			said, err := complete(ctx, &client, params, stream)
			if err != nil {
				return "", err
			}
			if len(said.ToolCalls) == 0 {
				return said.Content, nil
			}
			params.Messages = append(params.Messages, said.ToParam())
			for _, call := range said.ToolCalls {
				var in place
				if err := json.Unmarshal([]byte(call.Function.Arguments), &in); err != nil {
					return "", err
				}
				params.Messages = append(params.Messages, openai.ToolMessage(use(call.Function.Name, in), call.ID))
			}
		}
	}
}

func complete(ctx context.Context, client *openai.Client, params openai.ChatCompletionNewParams, stream bool) (openai.ChatCompletionMessage, error) {
	if !stream {
		whole, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return openai.ChatCompletionMessage{}, err
		}
		return whole.Choices[0].Message, nil
	}
	events := client.Chat.Completions.NewStreaming(ctx, params)
	var all openai.ChatCompletionAccumulator
	for events.Next() {
		all.AddChunk(events.Current())
	}
	if err := events.Err(); err != nil {
		return openai.ChatCompletionMessage{}, err
	}
	return all.Choices[0].Message, nil
}

// eino returns the same loop around eino's component.
func eino(tb testing.TB, url string, stream bool) func(context.Context) (string, error) {
	plain, err := einoopenai.NewChatModel(context.Background(), &einoopenai.ChatModelConfig{BaseURL: url, APIKey: key, Model: model})
	require.NoError(tb, err)
	var offered []*schema.ToolInfo
	for _, name := range tools {
		offered = append(offered, &schema.ToolInfo{Name: name, Desc: "Tells of a city.",
			ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{"city": {Type: schema.String, Required: true}})})
	}
	asking, err := plain.WithTools(offered)
	require.NoError(tb, err)
	return func(ctx context.Context) (string, error) {
		messages := []*schema.Message{schema.SystemMessage(prompt), schema.UserMessage(question)}
		for {
			said, err := generate(ctx, asking, messages, stream)
			if err != nil {
				return "", err
			}
			if len(said.ToolCalls) == 0 {
				return said.Content, nil
			}
			messages = append(messages, said)
			for _, call := range said.ToolCalls {
				var in place
				if err := json.Unmarshal([]byte(call.Function.Arguments), &in); err != nil {
					return "", err
				}
				messages = append(messages, schema.ToolMessage(use(call.Function.Name, in), call.ID))
			}
		}
	}
}

func generate(ctx context.Context, asking einomodel.ToolCallingChatModel, messages []*schema.Message, stream bool) (*schema.Message, error) {
	if !stream {
		return asking.Generate(ctx, messages)
	}
	events, err := asking.Stream(ctx, messages)
	if err != nil {
		return nil, err
	}
	defer events.Close()
	var all []*schema.Message
	for {
		one, err := events.Recv()
		if err == io.EOF {
			return schema.ConcatMessages(all)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}

func agentsOf(_ testing.TB, url string, stream bool) func(context.Context) (string, error) {
	tracing.SetTracingDisabled(true)
	client := agents.NewOpenaiClient(agentsparam.NewOpt(url), agentsparam.NewOpt(key))
	agent := agents.New("weather").WithInstructions(prompt).WithModelInstance(agents.NewOpenAIChatCompletionsModel(model, client))
	var offered []agents.Tool
	for _, name := range tools {
		offered = append(offered, agents.NewFunctionTool(name, "Tells of a city.", func(_ context.Context, in place) (string, error) { return use(name, in), nil }))
	}
	agent.WithTools(offered...)
	return func(ctx context.Context) (string, error) {
		if !stream {
			result, err := agents.Run(ctx, agent, question)
			if err != nil {
				return "", err
			}
			return fmt.Sprint(result.FinalOutput), nil
		}
		result, err := agents.RunStreamed(ctx, agent, question)
		if err != nil {
			return "", err
		}
		err = result.StreamEvents(func(agents.StreamEvent) error { return nil })
		return fmt.Sprint(result.FinalOutput()), err
	}
}

// All contenders reach the same answer, with the same number of asks.
func TestTurns(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, c := range contenders {
			t.Run(fmt.Sprintf("%s stream=%t", c.name, stream), func(t *testing.T) {
				said, err := c.turn(t, provider(t), stream)(t.Context())
				require.NoError(t, err)
				require.Equal(t, answer, said)
			})
		}
	}
}

// BenchmarkTurn measures a turn of four asks and three tools over a local connection.
func BenchmarkTurn(b *testing.B) {
	for _, stream := range []bool{false, true} {
		for _, c := range contenders {
			b.Run(fmt.Sprintf("stream=%t/%s", stream, c.name), func(b *testing.B) {
				turn := c.turn(b, provider(b), stream)
				b.ReportAllocs()
				for b.Loop() {
					if said, err := turn(b.Context()); err != nil || said != answer {
						b.Fatal(said, err)
					}
				}
			})
		}
	}
}
