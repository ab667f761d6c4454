package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sebdah/goldie/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/adk/envelope"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// indented formats a body for a reader, with the members in their order.
func indented(t *testing.T, body string) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, json.Indent(&out, []byte(body), "", "  "))
	return append(out.Bytes(), '\n')
}

// holds compares a body with a golden file.
func holds(t *testing.T, name, body string) {
	t.Helper()
	goldie.New(t, goldie.WithFixtureDir("testdata/bodies"), goldie.WithNameSuffix(".json")).Assert(t, name, indented(t, body))
}

// everyOption sets every option that is sent.
func everyOption() chat.Options {
	o := whole()
	o.Temperature, o.TopP, o.FrequencyPenalty, o.PresencePenalty = new(0.5), new(1.0), new(-2.0), new(1e-7)
	o.N, o.MaxTokens, o.MaxCompletionTokens, o.TopLogprobs, o.Logprobs = new(1), new(100), new(200), new(3), new(true)
	o.LogitBias, o.Seed, o.Stop, o.User, o.Store = map[string]int{"9": 1, "50256": -100}, new(-7), []string{"\n\n", "</end>"}, "ada", new(false)
	o.Metadata, o.SafetyIdentifier, o.PromptCacheKey = map[string]string{"z": "1", "a": "\u2028 <&> \x01"}, "s", "p"
	o.PromptCacheRetention, o.ReasoningEffort, o.ServiceTier, o.Verbosity = "24h", "low", "flex", "high"
	o.ResponseFormat = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "answer", "strict": true,
		"schema": json.RawMessage(`{"type":"object", "properties":{"why":{"type":"string"}, "answer":{"type":"number"}}, "required":["why","answer"]}`)}}
	o.ToolChoice, o.ParallelToolCalls = "auto", new(true)
	o.StreamOptions, o.Modalities = map[string]any{"include_usage": true}, []string{"text", "audio"}
	o.Audio = map[string]any{"voice": "alloy", "format": "mp3"}
	o.Prediction = map[string]any{"type": "content", "content": []any{map[string]any{"type": "text", "text": "x"}}}
	o.WebSearchOptions = map[string]any{"search_context_size": "low"}
	o.FunctionCall, o.Functions = "none", []any{map[string]any{"name": "f", "parameters": map[string]any{}}}
	o.ExtraBody = map[string]any{"top_k": 40, "chat_template_kwargs": map[string]any{"enable_thinking": false}}
	// None of these is sent.
	o.AutoAck, o.ContextWindow, o.APIKey, o.Headers = new(true), new(100000), "k", map[string]string{"X-Team": "a"}
	o.UnsupportedMediaPolicy, o.ToolCallIDs, o.SelfIdentity = prompt.MediaPolicy{Mode: prompt.DescribeMedia}, chat.IDsAlnum9, "bot"
	return o
}

// REQ-2, REQ-12, OPT-4: every option is sent, always in the same order.
func TestBodyOfEveryOption(t *testing.T) {
	p := play(t, scene{options: everyOption(), replies: []reply{saying("A")}, tools: []*adk.Tool{weather(t), bare(t)}}).acked(t)
	holds(t, "options", p.bodies[0])
	again := play(t, scene{options: everyOption(), replies: []reply{saying("A")}, tools: []*adk.Tool{weather(t), bare(t)}})
	assert.Equal(t, p.bodies, again.bodies)
	p = play(t, scene{options: streaming(), replies: []reply{saying("A")}}).acked(t)
	assert.Equal(t, `{"model":"m","messages":[{"role":"system","content":"You help."}],"stream":true}`, p.bodies[0])
}

// bare is a tool without arguments.
func bare(t *testing.T) *adk.Tool {
	return tool(t, "now", func(map[string]any) (adk.ToolResult, error) { return adk.Text("noon"), nil }, func(init *adk.ToolInit) {
		init.InputSchema = json.RawMessage(`{"type":"object"}`)
	})
}

// mediaBytes reads a media's bytes, and does not tell their number before they are read.
type mediaBytes struct{ bytes []byte }

func (m *mediaBytes) Open(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(m.bytes)), nil
}

// conversation returns records of all kinds that a timeline can hold.
func conversation(t *testing.T) []adk.Record {
	media := func(kind adk.MediaKind, mime, name string) *adk.Media {
		return must[*adk.Media](t)(adk.NewMedia(adk.MediaInit{ID: name, Kind: kind, MIMEType: mime, Filename: name, TrustTier: adk.TrustFirstParty,
			ModalityHazard: adk.HazardOpaquePerceptual, Reader: &mediaBytes{[]byte("\x00\x01bytes of " + name)}}))
	}
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	return []adk.Record{
		must[*adk.Message](t)(adk.NewMessage(adk.MessageInit{ID: "m1", Role: adk.RoleUser, Content: "What is this?\n<b>", CreatedAt: at(0), UpdatedAt: at(0),
			Attachments: []*adk.Media{media(adk.MediaImage, "image/png", "oslo.png"), media(adk.MediaAudio, "audio/x-wav", "a.wav"),
				media(adk.MediaAudio, "audio/mpeg", "b.mp3"), media(adk.MediaDocument, "application/pdf", "c.pdf"), media(adk.MediaVideo, "video/mp4", "d.mp4")}})),
		must[*adk.Thought](t)(adk.NewThought(adk.ThoughtInit{ID: "t1", Payload: map[string]any{"signature": "c2ln", "n": 1}, ReplayCompatibility: "claude/1", CreatedAt: at(1), UpdatedAt: at(1)})),
		must[*adk.ToolCall](t)(adk.NewToolCall(adk.ToolCallInit{ID: "call-1", Tool: "weather", Args: `{"city":"Oslo","a":[1,{}]}`,
			Results: media(adk.MediaImage, "image/png", "map.png"), CreatedAt: at(2), UpdatedAt: at(2), CompletedAt: at(2)})),
		must[*adk.Message](t)(adk.NewMessage(adk.MessageInit{ID: "m2", Role: adk.RoleAssistant, Content: "A map.", CreatedAt: at(3), UpdatedAt: at(3)})),
	}
}

// REQ-10, REQ-11, REQ-14, REQ-30: the request body of a whole conversation with media.
func TestBodyOfAConversation(t *testing.T) {
	options := whole()
	options.ReplayCompatibility = []string{"claude/1"}
	options.UnsupportedMediaPolicy = prompt.MediaPolicy{Mode: prompt.DescribeMedia}
	p := play(t, scene{options: options, replies: []reply{saying("A")}, records: conversation(t), tools: []*adk.Tool{weather(t)}}).acked(t)
	holds(t, "conversation", p.bodies[0])
}

// REQ-30: media without a native block are refused unless a policy says what to show instead, and
// no request is made.
func TestUnsupportedMedia(t *testing.T) {
	p := play(t, scene{options: whole(), records: conversation(t)})
	err := p.failure(t)
	assert.ErrorIs(t, err, adk.E_UNSUPPORTED_MEDIA_MODALITY)
	assert.ErrorContains(t, err, "d.mp4")
	assert.Empty(t, p.bodies)
}

// REQ-15: a tool choice that names a tool that is not offered in this request is a warning, or is refused.
func TestToolChoiceOfForgedTools(t *testing.T) {
	named := func(name string) object { return object{"type": "function", "function": object{"name": name}} }
	allowed := func(names ...string) object {
		var tools []any
		for _, name := range names {
			tools = append(tools, named(name))
		}
		return object{"type": "allowed_tools", "allowed_tools": object{"mode": "auto", "tools": tools}}
	}
	for name, c := range map[string]struct {
		choice  any
		strict  bool
		want    object // of the warning; nil for none
		refused bool
	}{
		"a forged one":         {named("artifact_head"), false, object{"toolNames": []any{"artifact_head"}, "variant": "function"}, false},
		"some forged ones":     {allowed("weather", "artifact_head", "artifact_tail"), false, object{"toolNames": []any{"artifact_head", "artifact_tail"}, "variant": "allowed_tools"}, false},
		"a forged one, strict": {named("artifact_head"), true, nil, true},
		"some, strict":         {allowed("artifact_head"), true, nil, true},
		"a tool":               {named("weather"), true, nil, false},
		"nobody's":             {named("other"), true, nil, false},
		"a word":               {"required", true, nil, false},
		"none":                 {nil, true, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			options := whole()
			options.ToolChoice, options.StrictToolChoice = c.choice, &c.strict
			made := must[adk.ToolResult](t)(artifact.Text(t.Context(), adk.Text("a body")))
			call := must[*adk.ToolCall](t)(adk.NewToolCall(adk.ToolCallInit{ID: "c", Tool: "weather", Args: `{}`, Results: made, CreatedAt: noon, UpdatedAt: noon, CompletedAt: noon}))
			p := play(t, scene{options: options, replies: []reply{saying("A")}, records: []adk.Record{call}, tools: []*adk.Tool{weather(t)}})
			if c.refused {
				assert.ErrorIs(t, p.failure(t), adk.E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS)
				assert.ErrorContains(t, p.failure(t), "artifact_head")
				assert.Empty(t, p.bodies)
				return
			}
			assert.Len(t, p.bodies, 1)
			if c.want == nil {
				assert.NotContains(t, p.kinds(), "tool-choice-forged-artifact")
				return
			}
			warning := p.log(t, "tool-choice-forged-artifact")
			assert.Equal(t, adk.LevelWarn, warning.Level)
			assert.Equal(t, c.want, warning.Payload)
		})
	}
}

// HPR-1: each helper can be replaced alone, and the helpers that depend on it use the replacement.
func TestHelpersAreReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		replace func(*chat.Helpers)
		want    string // in the request
	}{
		"untrusted content": {func(h *chat.Helpers) {
			h.Untrusted = func(_ context.Context, text string, _ envelope.Content) (string, error) {
				return "UNTRUSTED " + text, nil
			}
		}, "UNTRUSTED 4 °C"},
		"a schema": {func(h *chat.Helpers) {
			h.Schema = func(context.Context, *adk.Tool) (json.RawMessage, error) { return json.RawMessage(`{"mine":1}`), nil }
		}, `"parameters":{"mine":1}`},
		"tools, with the schema": {func(h *chat.Helpers) {
			h.Tools = func(ctx context.Context, tools []*adk.Tool, schema chat.ToolSchema) ([]json.RawMessage, error) {
				text, err := schema(ctx, tools[0])
				return []json.RawMessage{json.RawMessage(`{"one":` + string(text) + `}`)}, err
			}
		}, `"tools":[{"one":{"additionalProperties":false`},
		"the accumulator": {func(h *chat.Helpers) {
			h.Accumulator = func() chat.Accumulator { return renaming{chat.DefaultHelpers().Accumulator()} }
		}, `There is no tool \"x-weather\"`},
		"a result": {func(h *chat.Helpers) {
			h.ToolResult = func(_ context.Context, call *adk.ToolCall, tool *adk.Tool, _ prompt.Setting) (prompt.Content, error) {
				return prompt.Content{Text: "RESULT OF " + call.ID() + " " + tool.Name()}, nil
			}
		}, "RESULT OF c weather"},
	} {
		t.Run(name, func(t *testing.T) {
			options := whole()
			c.replace(&options.Helpers)
			p := play(t, scene{options: options, replies: []reply{calling("c", "weather", `{"city":"Oslo"}`), saying("A")}, tools: []*adk.Tool{weather(t)}}).acked(t)
			assert.Contains(t, p.bodies[1], c.want)
		})
	}
}

// renaming is an accumulator that renames the calls that the model wants.
type renaming struct{ chat.Accumulator }

func (r renaming) Drain() []chat.WantedCall {
	all := r.Accumulator.Drain()
	for i := range all {
		all[i].Name = "x-" + all[i].Name
	}
	return all
}

// HPR-2: when a helper fails, the executor fails with its error, and no request is made.
func TestHelperFails(t *testing.T) {
	broken := errors.New("no form")
	for name, replace := range map[string]func(*chat.Helpers){
		"a renderer": func(h *chat.Helpers) {
			h.SystemMessage = func(context.Context, prompt.SystemMessage) (string, error) { return "", broken }
		},
		"a schema": func(h *chat.Helpers) {
			h.Schema = func(context.Context, *adk.Tool) (json.RawMessage, error) { return nil, broken }
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := whole()
			replace(&options.Helpers)
			p := play(t, scene{options: options, tools: []*adk.Tool{weather(t)}, replies: []reply{saying("A")}})
			assert.ErrorIs(t, p.failure(t), broken)
			assert.ErrorIs(t, p.failure(t), adk.E_LLM_EXECUTION_EXECUTOR_ERROR)
			assert.Empty(t, p.bodies)
		})
	}
}

// PRO-8, BUD-5: exactly what is sent is counted, and logged. A result is rendered only once.
func TestBudget(t *testing.T) {
	options, rendered := whole(), 0
	options.TokenEncoding, options.ContextWindow = "o200k_base", new(1000)
	options.Helpers.ToolResult = func(context.Context, *adk.ToolCall, *adk.Tool, prompt.Setting) (prompt.Content, error) {
		rendered++
		return prompt.Content{Text: "RESULT"}, nil
	}
	p := play(t, scene{options: options, alone: true, replies: []reply{calling("c", "weather", `{"city":"Oslo"}`), saying("A")}, tools: []*adk.Tool{weather(t)}}).acked(t)
	assert.Equal(t, 1, rendered)
	assert.Contains(t, p.bodies[1], `"content":"RESULT"`)
	assert.Equal(t, 2, strings.Count(strings.Join(p.kinds(), " "), "context-window-usage"))
	assert.Contains(t, p.logs[3].Payload.(map[string]any)["perBucket"], "timeline")
}
