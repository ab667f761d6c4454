package explore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/internal/oracle"
	"github.com/adkreplay/adkreplay/property/turn"
)

// asksModel asks a model, with these words as the request.
func asksModel(ctx context.Context, words any) error {
	_, err := adk.Ask(ctx, "model", words, func(context.Context, any) (string, error) { return "Yes.", nil })
	return err
}

// The traces that misused formatting leaves in a text, such as %!d(MISSING), are reported if the agent says
// them, except if they came to the agent in that form.
func TestWhatIsSaidIsAsItWasMeant(t *testing.T) {
	const named = "what is said is as it was meant"
	form := template.Must(template.New("").Parse("The weather is {{.weather}}. <&>"))
	filled := func(values map[string]any) string {
		var b strings.Builder
		_ = form.Execute(&b, values)
		return b.String()
	}
	for name, c := range map[string]struct {
		size   int // number of messages in the conversation
		prompt string
		run    func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error
		says   string // the oracle's text, or empty if it finds nothing
	}{
		"a prompt taken for a format": {0, "You help.", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return asksModel(ctx, fmt.Sprintf(dc.SystemPrompt().String()+" In %s.", "Oslo"))
		}, "a text was taken for a format of package fmt: ask says"},
		"a prompt beside a format": {0, "You help.", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return asksModel(ctx, dc.SystemPrompt().String()+fmt.Sprintf(" In %s.", "Oslo"))
		}, ""},
		"a prompt that has it": {0, "Never say %!d(MISSING), nor <no value>.", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return asksModel(ctx, dc.SystemPrompt().String()+filled(map[string]any{}))
		}, ""},
		"a template that is given too little": {0, "Help.", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			values := map[string]any{}
			if _, err := dc.Memories().Fetch(ctx); err == nil {
				values["weather"] = "fine"
			}
			h.Log(adk.LevelInfo, "", "answering", nil)
			_, err := h.ReportMessage("m0", filled(values), true)
			return err
		}, "or a template was given too little: report-message says"},
		"a template that is given too little, for a model": {0, "Help.", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			values := map[string]any{}
			if _, err := dc.Memories().Fetch(ctx); err == nil {
				values["weather"] = "fine"
			}
			request, err := json.Marshal(filled(values)) // contains \u003c
			if err != nil {
				return err
			}
			return asksModel(context.WithoutCancel(ctx), json.RawMessage(request))
		}, "or a template was given too little: ask says"},
		"a text cut within a letter": {2, "Help.", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return titled(ctx, dc, func(text string) string { return text[:min(len(text), 3)] })
		}, "a text was cut within a letter: ask says"},
		"a text cut between letters": {2, "Help.", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return titled(ctx, dc, func(text string) string { return string([]rune(text)[:min(len([]rune(text)), 3)]) })
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := remembering(name, c.size, nil)
			build := s.Build
			s.Build = func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
				config, raw := build(cancel)
				config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
					return errors.Join(c.run(ctx, dc, h), dc.Ack())
				}
				raw.SystemPrompt = c.prompt
				return config, raw
			}
			var found []explore.Breach
			for _, v := range explored(t, s, explore.Options{}).Violations {
				if v.Invariant == named {
					found = append(found, v)
				}
			}
			if c.says == "" {
				assert.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			assert.Contains(t, found[0].Text, c.says)
		})
	}
}

// If a text already came to the agent in this form, from wherever, saying it again is not reported.
func TestWhatCameInIsSaidAgain(t *testing.T) {
	said := adk.Crossing{Kind: adk.KindReportMessage, Text: "It is <no value>."}
	m, err := adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleUser, Content: "What is <no value>?", CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
	require.NoError(t, err)
	for name, before := range map[string]adk.Crossing{
		"":              {Kind: adk.KindNow},
		"a prompt":      {Kind: adk.KindCall, Text: "Never say <no value>."},
		"a piece":       {Kind: adk.KindPiece, JSON: json.RawMessage(`{"text":"\u003cno value\u003e"}`)},
		"a message":     {Kind: adk.KindFetch, Records: []adk.Record{m}},
		"a result":      {Kind: adk.KindReturn, Result: adk.Text("<no value>")},
		"a text's half": {Kind: adk.KindCall, Text: "Never say <no"},
		"arguments":     {Kind: adk.KindCall, Args: map[string]any{"text": "<no value>"}},
		"an error":      {Kind: adk.KindReturn, Err: errors.New("template: <no value>")},
		"a value":       {Kind: adk.KindStash, Value: []any{"<no value>"}},
	} {
		crossings := []adk.Crossing{before, said}
		for i := range crossings {
			crossings[i].Seq = i + 1
		}
		var first, second oracle.Reader
		found, _ := first.Read(oracle.Run{Crossings: crossings}).Behold(second.Read(oracle.Run{}))
		assert.Equal(t, name == "" || name == "a text's half", len(found) == 1, name)
	}
}

// titled asks a model for a title for the beginning of each message, as cut returns it.
func titled(ctx context.Context, dc *adk.DispatchContext, cut func(string) string) error {
	given, err := dc.Messages().Fetch(ctx)
	for _, m := range given {
		err = errors.Join(err, asksModel(ctx, "It began: "+cut(m.Content().String())))
	}
	return err
}

// Cut arguments are not valid arguments: a tool that runs with what is left of them does something else. Calls
// that the engine refuses do not count, and neither does a call after the model has answered again.
func TestAToolIsGivenWhatTheModelWanted(t *testing.T) {
	const named = "a tool is given what the model wanted"
	for name, c := range map[string]struct {
		call    func(ctx context.Context, dc *adk.DispatchContext, tool *adk.Tool, text string) error
		accused bool
	}{
		"taken for none": {func(ctx context.Context, dc *adk.DispatchContext, tool *adk.Tool, text string) error {
			args := map[string]any{}
			_ = json.Unmarshal([]byte(text), &args)
			_, err := dc.Execute(ctx, tool, args)
			return err
		}, true},
		"refused": {func(ctx context.Context, dc *adk.DispatchContext, tool *adk.Tool, text string) error {
			args := map[string]any{}
			if err := json.Unmarshal([]byte(text), &args); err != nil {
				return err
			}
			_, err := dc.Execute(ctx, tool, args)
			return err
		}, false},
		"refused by the engine": {func(ctx context.Context, dc *adk.DispatchContext, tool *adk.Tool, text string) error {
			_, err := dc.Execute(ctx, tool, text)
			return err
		}, false},
		"asked again": {func(ctx context.Context, dc *adk.DispatchContext, tool *adk.Tool, text string) error {
			args := map[string]any{}
			if err := json.Unmarshal([]byte(text), &args); err != nil {
				if err := asksModel(ctx, "again"); err != nil {
					return err
				}
				args["city"] = "Rome"
			}
			_, err := dc.Execute(ctx, tool, args)
			return err
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tool := fakes.NewTool("weather", "Tells the weather.", "4 °C").Tool()
			reply := fakes.Reply{ContentType: "application/json", Body: `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"c0","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}`}
			s := turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
				client := &http.Client{Transport: adkhttp.NewTransport(fakes.NewTransport(fakes.Converse(reply)), adkhttp.Name(func(*http.Request) string { return "model" }))}
				run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					said, err := post(ctx, client)
					if err != nil {
						return err
					}
					var answer struct {
						Choices []struct {
							Message struct {
								Calls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
							}
						}
					}
					_, body, _ := strings.Cut(said, " ")
					if err := json.Unmarshal([]byte(body), &answer); err != nil {
						return err
					}
					for _, choice := range answer.Choices {
						for _, call := range choice.Message.Calls {
							if err := c.call(ctx, dc, tool, call.Function.Arguments); err != nil {
								return err
							}
						}
					}
					return dc.Ack()
				}
				return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{tool}, Executor: adk.Executor{Name: "model", Run: run}}, adk.RawTurn{SystemPrompt: "Help."}
			}}
			accused := false
			for _, v := range explored(t, s, explore.Options{}).Violations {
				if accused = v.Invariant == named; accused {
					assert.Contains(t, v.Text, `what model wanted was cut, and tool/weather ran with "{}"`)
					break
				}
			}
			assert.Equal(t, c.accused, accused)
		})
	}
}
