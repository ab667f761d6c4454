package zoo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// providers are the families of agents that use the APIs of providers other than Chat Completions. A
// mistake in handling what the model answers is a mistake in these forms as well.
var providers = []family{
	{"a call of Messages that ran out of tokens", true, func(broken bool) turn.Instance {
		client := clientOf(
			fakes.StreamToolCalls("Let me see.", fakes.StreamedCall{ID: "toolu_1", Name: "remove", ArgumentFragments: []string{`{"folder":"/tmp/cache"}`}}),
			fakes.StreamReply("It is gone."))
		remove := tool("remove", adk.EffectWrites, func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("removed"), nil
		})
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			sent := []any{map[string]any{"role": "user", "content": "Clean up."}}
			for range 5 {
				var said struct {
					Content []struct {
						Type, Text, ID, Name string
						Input                map[string]any
					}
					Stop string `json:"stop_reason"`
				}
				if err := posted(ctx, client, "https://model.example/v1/messages", map[string]any{"max_tokens": 64, "messages": sent}, &said); err != nil {
					return err
				}
				if !broken && said.Stop != "tool_use" && said.Stop != "end_turn" {
					return fmt.Errorf("the model stopped at %q", said.Stop)
				}
				var text string
				var calls, results []any
				for _, block := range said.Content {
					if text += block.Text; block.Type != "tool_use" {
						continue
					}
					given, err := run(ctx, dc, block.Name, block.Input)
					if err != nil {
						return err
					}
					calls = append(calls, map[string]any{"type": "tool_use", "id": block.ID, "name": block.Name, "input": block.Input})
					results = append(results, map[string]any{"type": "tool_result", "tool_use_id": block.ID, "content": given})
				}
				if len(calls) == 0 {
					if text == "" {
						return errors.New("the model says nothing")
					}
					if err := say(ctx, dc, h, "m0", text); err != nil {
						return err
					}
					return dc.Ack()
				}
				sent = append(sent, map[string]any{"role": "assistant", "content": calls}, map[string]any{"role": "user", "content": results})
			}
			return errors.New("the model comes to no end")
		}, remove)
		i.Check = func(r turn.Run) error {
			for x := range r.Crossings {
				if args, ok := x.Args.(map[string]any); ok && x.Kind == adk.KindExecute && x.Phase == adk.Begin && args["folder"] == nil {
					return errors.New("no folder is removed, whichever that is")
				}
			}
			return nil
		}
		return i
	}},
	{"results of Messages by the ids of their calls", true, func(broken bool) turn.Instance {
		client := clientOf(fakes.StreamToolCalls("", fakes.StreamedCall{ID: "toolu_1", Name: "look", ArgumentFragments: []string{`{"city":"Oslo"}`}},
			fakes.StreamedCall{ID: "toolu_2", Name: "look", ArgumentFragments: []string{`{"city":"Rome"}`}}), fakes.StreamReply("It is cold."))
		look := tool("look", adk.EffectReads, func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			return adk.Text(fmt.Sprint("4 °C in ", args["city"])), nil
		})
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			type block struct {
				Type  string         `json:"type"`
				ID    string         `json:"id,omitempty"`
				Of    string         `json:"tool_use_id,omitempty"`
				Name  string         `json:"name,omitempty"`
				Input map[string]any `json:"input,omitempty"`
				Text  string         `json:"text,omitempty"`
				Said  string         `json:"content,omitempty"`
			}
			sent := []any{map[string]any{"role": "user", "content": "Weather?"}}
			for range 5 {
				var said struct {
					Content []block
					Stop    string `json:"stop_reason"`
				}
				if err := posted(ctx, client, "https://model.example/v1/messages", map[string]any{"max_tokens": 64, "messages": sent}, &said); err != nil {
					return err
				}
				if said.Stop != "tool_use" && said.Stop != "end_turn" {
					return fmt.Errorf("the model stopped at %q", said.Stop)
				}
				var text string
				results, known := []block{}, map[string]bool{}
				for _, one := range said.Content {
					if text += one.Text; one.Type != "tool_use" {
						continue
					}
					if known[one.ID] && broken { // wrongly assumes that the result is already there
						continue
					} else if known[one.ID] {
						return fmt.Errorf("the model has two calls of %s", one.ID)
					}
					known[one.ID] = true
					given, err := run(ctx, dc, one.Name, one.Input)
					if err != nil {
						return err
					}
					results = append(results, block{Type: "tool_result", Of: one.ID, Said: given})
				}
				if len(results) == 0 {
					if text == "" {
						return errors.New("the model says nothing")
					}
					if err := say(ctx, dc, h, "m0", text); err != nil {
						return err
					}
					return dc.Ack()
				}
				sent = append(sent, map[string]any{"role": "assistant", "content": said.Content}, map[string]any{"role": "user", "content": results})
			}
			return errors.New("the model comes to no end")
		}, look)
		i.Check = asksAtMost(10)
		return i
	}},
	{"half an answer of Responses", false, func(broken bool) turn.Instance {
		const whole = "Take the tram to the harbour, and not the bus."
		client := clientOf(fakes.StreamReply(whole))
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var said struct {
				Status string
				Output []struct{ Content []struct{ Text string } }
			}
			if err := posted(ctx, client, "https://model.example/v1/responses", map[string]any{"input": "How do I get there?"}, &said); err != nil {
				return err
			}
			if !broken && said.Status != "completed" {
				return fmt.Errorf("the answer is %q", said.Status)
			}
			var text string
			for _, item := range said.Output {
				for _, part := range item.Content {
					text += part.Text
				}
			}
			if text == "" {
				return errors.New("the model says nothing")
			}
			if err := say(ctx, dc, h, "m0", text); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			for x := range r.Crossings {
				if m, ok := x.Record.(*adk.Message); ok && x.Kind == adk.KindStore && x.Phase == adk.Begin && m.Content().String() != whole {
					return fmt.Errorf("%q is kept for the answer", m.Content())
				}
			}
			return nil
		}
		return i
	}},
	{"the first part of a candidate of Gemini that was refused", true, func(broken bool) turn.Instance {
		client := clientOf(fakes.StreamReply("It is cold."))
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var said struct {
				Candidates []struct {
					Content struct{ Parts []struct{ Text string } }
					Finish  string `json:"finishReason"`
				}
			}
			if err := posted(ctx, client, "https://model.example/v1beta/models/flash:generateContent", map[string]any{"contents": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": "Weather?"}}}}}, &said); err != nil {
				return err
			}
			if len(said.Candidates) == 0 {
				return errors.New("the model has no answer")
			}
			first := said.Candidates[0]
			if !broken && (len(first.Content.Parts) == 0 || first.Finish != "STOP") {
				return fmt.Errorf("the model stopped at %q", first.Finish)
			}
			if err := say(ctx, dc, h, "m0", first.Content.Parts[0].Text); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = panicsNever
		return i
	}},
}

// run executes the dispatch's tool of this name and returns its result as text.
func run(ctx context.Context, dc *adk.DispatchContext, name string, args map[string]any) (string, error) {
	t, known := dc.Tools().Get(name)
	if !known {
		return "there is no tool " + name, nil
	}
	result, err := dc.Execute(ctx, t, args)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(result), nil
}

// posted posts body as JSON and decodes the JSON answer into the value that into points to.
func posted(ctx context.Context, client *http.Client, url string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
