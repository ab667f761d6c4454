package zoo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// histories are the families of bugs in the part of a conversation that a model is shown, and in
// writes of several rows that the engine sees as one write.
var histories = []family{
	{"an answer stored again under another key", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var err error
			for range 2 {
				id := "m0"
				if broken {
					id = dc.NewID()
				}
				if err = dc.Messages().Mutate(ctx, message(dc, id, "It is noted.")); err == nil {
					return dc.Ack()
				}
			}
			return err
		})
		i.Next = func() (adk.Config, adk.RawTurn) {
			again := agent(storage, func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() })
			return again.Config, again.Raw
		}
		i.Check = func(turn.Run) error {
			answers := 0
			for _, m := range storage.Messages() {
				if m.Role() == adk.RoleAssistant {
					answers++
				}
			}
			if answers > 1 {
				return fmt.Errorf("the answer is there %d times", answers)
			}
			return nil
		}
		return i
	}},
	{"a request cut between a call and its result", true, func(broken bool) turn.Instance {
		const most = 5
		i := agent(conversation("Weather?", "call look", "result 4 °C", "It is cold."), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			all := dc.Messages().All()
			cut := max(0, len(all)-most)
			for !broken && cut < len(all) && strings.HasPrefix(all[cut].Content().String(), "result ") {
				cut++
			}
			request := map[string]any{"messages": chatOf(all[cut:])}
			if _, err := adk.Ask(ctx, "model.example", request, func(context.Context, map[string]any) (string, error) { return "Cold.", nil }); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			for x := range r.Crossings {
				if x.Kind == adk.KindAsk && x.Phase == adk.Begin && strings.HasPrefix(string(x.JSON), `{"messages":[{"role":"tool"`) {
					return errors.New("the model is shown a result without its call")
				}
			}
			return nil
		}
		return i
	}},
	{"six messages in the place of five", true, func(broken bool) turn.Instance {
		i := agent(conversation("One?", "One.", "Two?", "Two."), func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var lines [5]string
			for n, m := range dc.Messages().All() {
				if !broken && n >= len(lines) {
					break
				}
				lines[n] = m.Content().String()
			}
			if _, err := h.ReportMessage("m0", lines[0], true); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			for x := range r.Crossings {
				if x.Kind == adk.KindReturn && x.Outcome == adk.OutcomePanic && strings.Contains(x.Err.Error(), "index out of range") {
					return x.Err
				}
			}
			return nil
		}
		return i
	}},
	{"a write of two rows that tears", false, func(broken bool) turn.Instance {
		rows := map[string]bool{}
		storage := conversation().Storage()
		storage.Memories = rowed{storage.Memories, func(ctx context.Context, id string) error {
			rows[id] = true
			err := adk.FaultPoint(ctx, "between the row and its index")
			if err == nil {
				rows["index of "+id] = true
			} else if !broken {
				delete(rows, id)
			}
			return err
		}}
		i := agent(fakes.NewStorage(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if err := dc.Memories().Store(ctx, memory("tea", "Likes tea.")); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Config.Storage = storage
		i.Check = func(turn.Run) error {
			if rows["tea"] && !rows["index of tea"] {
				return errors.New("there is a row that no index knows")
			}
			return nil
		}
		return i
	}},
	{"a crash between the rows of one write", false, func(broken bool) turn.Instance {
		rows := map[string]bool{}
		write := func(ctx context.Context, id string) error {
			order := []string{"index of " + id, id}
			if broken {
				order = []string{id, "index of " + id}
			}
			rows[order[0]] = true
			if err := adk.FaultPoint(ctx, "between the rows"); err != nil {
				delete(rows, order[0])
				return err
			}
			rows[order[1]] = true
			return nil
		}
		config := func() (adk.Config, adk.RawTurn) {
			i := agent(fakes.NewStorage(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				if !rows["tea"] {
					if err := dc.Memories().Store(ctx, memory("tea", "Likes tea.")); err != nil {
						return err
					}
				}
				return dc.Ack()
			})
			i.Config.Storage = conversation().Storage()
			i.Config.Storage.Memories = rowed{i.Config.Storage.Memories, write}
			return i.Config, i.Raw
		}
		i := turn.Instance{Next: config}
		i.Config, i.Raw = config()
		i.Check = func(r turn.Run) error {
			if rows["tea"] && !rows["index of tea"] {
				return errors.New("a row was left for ever that no index knows")
			}
			return nil
		}
		return i
	}},
	{"the first of two calls at once", true, func(broken bool) turn.Instance {
		call := `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"c0","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
		last := `{"choices":[{"message":{"role":"assistant","content":"It is cold."},"finish_reason":"stop"}]}`
		client := clientOf(jsonOf(call), jsonOf(last))
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			sent := []map[string]any{{"role": "user", "content": "Weather?"}}
			for range 5 {
				said, err := completed(ctx, client, sent)
				if err != nil {
					return err
				}
				if len(said.ToolCalls) == 0 {
					return dc.Ack()
				}
				sent = append(sent, map[string]any{"role": "assistant", "tool_calls": said.ToolCalls})
				calls := said.ToolCalls
				if broken {
					calls = calls[:1]
				}
				for _, one := range calls {
					sent = append(sent, map[string]any{"role": "tool", "tool_call_id": one["id"], "content": "4 °C"})
				}
			}
			return errors.New("it goes round in circles")
		})
		i.Check = func(r turn.Run) error {
			for x := range r.Crossings {
				if x.Kind == adk.KindAsk && x.Phase == adk.Begin && strings.Count(string(x.JSON), `"arguments"`) > strings.Count(string(x.JSON), `"tool_call_id"`) {
					return errors.New("a call is left without its result")
				}
			}
			return nil
		}
		return i
	}},
	{"a breaker that never closes", false, func(broken bool) turn.Instance {
		var tried tally
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			failures := 0
			for n := range 4 {
				if broken && failures >= 2 {
					break // never tries again, even if the storage works again
				}
				id := fmt.Sprintf("n%d", n)
				tried.note("%s", id)
				err := dc.Memories().Store(ctx, memory(id, id))
				if dc.Aborted() {
					return context.Cause(ctx)
				}
				if err != nil {
					failures++
					h.Log(adk.LevelWarn, "store", err.Error(), nil)
				} else {
					failures = 0
				}
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			if acked(r) && tried.count("n3") == 0 {
				return errors.New("the storage has recovered, and nobody has tried")
			}
			return nil
		}
		return i
	}},
	{"one record that holds up all", false, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for _, id := range []string{"a", "b", "c"} {
				var err error
				for range 3 {
					if err = dc.Memories().Mutate(ctx, memory(id, id)); err == nil || dc.Aborted() {
						break
					}
				}
				if dc.Aborted() {
					return context.Cause(ctx)
				}
				if err == nil {
					continue
				}
				h.Log(adk.LevelWarn, "left out", id+": "+err.Error(), nil)
				if broken {
					break
				}
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			wanted := map[string]bool{}
			for x := range r.Crossings {
				if x.Kind == adk.KindCall && x.Seam.Name == "memories.mutate" {
					wanted[x.Record.Key()] = true
				}
			}
			if acked(r) && len(wanted) < 3 {
				return errors.New("one record cannot be written, and the others were not tried")
			}
			return nil
		}
		return i
	}},
}

// modelMessage is the message in a model's answer.
type modelMessage struct {
	Content   string           `json:"content"`
	Refusal   string           `json:"refusal"`
	ToolCalls []map[string]any `json:"tool_calls"`
}

// completed sends the messages to a Chat Completions model and returns the message of its answer.
func completed(ctx context.Context, client *http.Client, messages []map[string]any) (said modelMessage, err error) {
	body, err := json.Marshal(map[string]any{"messages": messages})
	if err != nil {
		return said, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return said, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return said, err
	}
	defer resp.Body.Close()
	var read struct {
		Choices []struct{ Message modelMessage }
	}
	if err := json.NewDecoder(resp.Body).Decode(&read); err != nil {
		return said, err
	}
	if resp.StatusCode != http.StatusOK || len(read.Choices) == 0 {
		return said, fmt.Errorf("it answers %s", resp.Status)
	}
	return read.Choices[0].Message, nil
}

// rowed is a collection whose Store writes the rows of a memory through write.
type rowed struct {
	adk.Collection[*adk.Memory]
	write func(ctx context.Context, id string) error
}

// Store calls write with the id of the memory.
func (r rowed) Store(ctx context.Context, _ adk.Scope, m *adk.Memory) error {
	return r.write(ctx, m.ID())
}

// chatOf converts messages to the form of Chat Completions.
func chatOf(all []*adk.Message) (shown []map[string]any) {
	for _, m := range all {
		text := m.Content().String()
		one := map[string]any{"role": string(m.Role()), "content": text}
		switch {
		case strings.HasPrefix(text, "call "):
			one["tool_calls"] = []map[string]any{{"id": "c0", "function": map[string]any{"name": "look", "arguments": "{}"}}}
		case strings.HasPrefix(text, "result "):
			one["role"], one["tool_call_id"] = "tool", "c0"
		}
		shown = append(shown, one)
	}
	return shown
}
