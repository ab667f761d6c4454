package zoo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// wellFormed are the families of answers that are well-formed but that the author did not expect: an
// answer that never changes, or one with nothing in it.
var wellFormed = []family{
	{"a model that wants its tool for ever", true, func(broken bool) turn.Instance {
		client := clientOf(fakes.StreamToolCall("c0", "look", "{}"), fakes.StreamReply("It is cold."))
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			sent := []map[string]any{{"role": "user", "content": "Weather?"}}
			for round := 0; broken || round < 10; round++ {
				said, err := completed(ctx, client, sent)
				if err != nil {
					return err
				}
				if len(said.ToolCalls) == 0 {
					if err := say(ctx, dc, h, "m0", said.Content); err != nil {
						return err
					}
					return dc.Ack()
				}
				sent = append(sent, map[string]any{"role": "assistant", "tool_calls": said.ToolCalls})
				for _, one := range said.ToolCalls {
					sent = append(sent, map[string]any{"role": "tool", "tool_call_id": one["id"], "content": "4 °C"})
				}
			}
			return errors.New("the model comes to no end")
		})
		i.Check = asksAtMost(100)
		return i
	}},
	{"a job that is waited for until it is done", true, func(broken bool) turn.Instance {
		client := clientOf(jsonOf(`{"state":"running"}`), jsonOf(`{"state":"running"}`), jsonOf(`{"state":"done"}`))
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for polls := 0; broken || polls < 30; polls++ {
				var job struct{ State string }
				if err := got(ctx, client, "https://jobs.example/jobs/7", &job); err != nil {
					return err
				}
				if job.State == "done" {
					return dc.Ack()
				}
				if err := dc.Sleep(ctx, time.Second); err != nil {
					return err
				}
			}
			return errors.New("the job has taken too long")
		})
		i.Check = asksAtMost(100)
		return i
	}},
	{"the first choice of none", true, func(broken bool) turn.Instance {
		client := clientOf(jsonOf(`{"choices":[{"message":{"role":"assistant","content":"It is cold."}}]}`))
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var said struct {
				Choices []struct{ Message struct{ Content string } }
			}
			if err := got(ctx, client, "https://model.example/v1/answer", &said); err != nil {
				return err
			}
			if !broken && len(said.Choices) == 0 {
				return errors.New("the model has no answer")
			}
			text := said.Choices[0].Message.Content
			if text == "" {
				return errors.New("the model says nothing")
			}
			if err := say(ctx, dc, h, "m0", text); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = panicsNever
		return i
	}},
}

// panicsNever fails if an index is out of range. It is the check of agents that take a list's first element.
func panicsNever(r turn.Run) error {
	for x := range r.Crossings {
		if x.Outcome == adk.OutcomePanic && strings.Contains(x.Err.Error(), "out of range") {
			return x.Err
		}
	}
	return nil
}

// asksAtMost returns a check that fails if a run asks the world more than most times.
func asksAtMost(most int) func(turn.Run) error {
	return func(r turn.Run) error {
		if asks := len(r.Asks()); asks > most {
			return fmt.Errorf("the world was asked %d times", asks)
		}
		return nil
	}
}

// got fetches url and decodes the JSON answer into the value that into points to.
func got(ctx context.Context, client *http.Client, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s", resp.Status)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}
