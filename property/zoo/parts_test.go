package zoo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/turn"
)

// parts are the families of bugs in results that are put together from several answers.
var parts = []family{
	{"a sum without a page", true, func(broken bool) turn.Instance {
		said := ""
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			sum := 0
			for page := 1; page <= 3; page++ {
				n, err := adk.Ask(ctx, "orders", page, func(context.Context, int) (int, error) { return page * 10, nil }, adk.AskOptions{})
				if err != nil {
					if broken && ctx.Err() == nil {
						continue
					}
					return err
				}
				sum += n
			}
			said = fmt.Sprintf("You have ordered for %d.", sum)
			if err := say(ctx, dc, h, "m0", said); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			for x := range r.Crossings {
				if x.Kind == adk.KindAsk && x.Phase == adk.Done && x.Err != nil && acked(r) {
					return fmt.Errorf("told %q without a page", said)
				}
			}
			return nil
		}
		return i
	}},
	{"a Once that has failed once", true, func(broken bool) turn.Instance {
		type client struct{ token string }
		var once sync.Once
		var c *client
		connect := func(ctx context.Context) error {
			token, err := adk.Ask(ctx, "login", "ada", func(context.Context, string) (string, error) { return "t0", nil }, adk.AskOptions{})
			if err != nil {
				return err
			}
			c = &client{token}
			return nil
		}
		get := func(ctx context.Context) (*client, error) {
			if broken {
				var err error
				once.Do(func() { err = connect(ctx) })
				return c, err
			}
			if c != nil {
				return c, nil
			}
			if err := connect(ctx); err != nil {
				return nil, err
			}
			return c, nil
		}
		missing := false
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			answer := "I could not look it up."
			for range 2 {
				one, err := get(ctx)
				if err != nil {
					continue
				}
				missing = one == nil
				answer = "Looked up with " + one.token
				break
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := say(ctx, dc, h, "m0", answer); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if missing {
				return errors.New("no client")
			}
			return nil
		}
		return i
	}},
	{"the failure of one taken for the abort of all", true, func(broken bool) turn.Instance {
		said := ""
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			all, cancel := context.WithCancel(ctx)
			defer cancel()
			got := make([]string, 3)
			err := parallel(all, dc, 3, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				text, err := adk.Ask(ctx, "source", n, func(ctx context.Context, n int) (string, error) { return fmt.Sprint("fact ", n), ctx.Err() }, adk.AskOptions{})
				if err != nil {
					cancel()
					return err
				}
				got[n] = text
				return nil
			})
			gone := ctx.Err() != nil
			if broken {
				gone = errors.Is(err, context.Canceled)
			}
			if gone {
				if broken && ctx.Err() == nil {
					return dc.Ack() // wrongly assumes that the caller has left
				}
				return err
			}
			if err != nil {
				return err
			}
			said = strings.Join(got, ", ")
			if err := say(ctx, dc, h, "m0", said); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			if acked(r) && !aborted(r) && said == "" {
				return errors.New("acked without an answer")
			}
			return nil
		}
		return i
	}},
	{"two calls of tools read as one", true, func(broken bool) turn.Instance {
		const answer = `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"note","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}`
		type whole struct {
			Choices []struct {
				Message struct {
					Content   string `json:"content"`
					ToolCalls []struct {
						ID       string `json:"id"`
						Function struct {
							Name      string `json:"name"`
							Arguments string `json:"arguments"`
						} `json:"function"`
					} `json:"tool_calls"`
				} `json:"message"`
				FinishReason string `json:"finish_reason"`
			} `json:"choices"`
		}
		wanted, done := 0, 0
		note := tool("note", adk.EffectReads, func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			done++
			return adk.Text("noted"), nil
		})
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			got, err := adk.Ask(ctx, "model", "what now?", func(context.Context, string) (json.RawMessage, error) { return json.RawMessage(answer), nil }, adk.AskOptions{})
			if err != nil {
				return err
			}
			var w whole
			if err := json.Unmarshal(got, &w); err != nil || len(w.Choices) == 0 {
				return fmt.Errorf("no answer: %s", got)
			}
			type one struct{ id, name, args string }
			var calls []one
			for _, c := range w.Choices[0].Message.ToolCalls {
				if broken && len(calls) > 0 {
					calls[0].args += c.Function.Arguments
					continue
				}
				calls = append(calls, one{c.ID, c.Function.Name, c.Function.Arguments})
			}
			wanted = len(w.Choices[0].Message.ToolCalls)
			for _, c := range calls {
				args := map[string]any{}
				if err := json.NewDecoder(strings.NewReader(c.args)).Decode(&args); err != nil {
					return err
				}
				for _, t := range dc.Tools().All() {
					if t.Name() == c.name {
						if _, err := dc.Execute(ctx, t, args); err != nil {
							return err
						}
					}
				}
			}
			if err := say(ctx, dc, h, "m0", "Noted."); err != nil {
				return err
			}
			return dc.Ack()
		}, note)
		i.Check = func(r turn.Run) error {
			if acked(r) && done < wanted && wanted == 2 {
				return fmt.Errorf("%d calls wanted, %d done", wanted, done)
			}
			return nil
		}
		return i
	}},
	{"one yes for all", true, func(broken bool) turn.Instance {
		deleted := map[string]bool{}
		rejected := map[string]bool{}
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			approved := false
			for _, file := range []string{"a.txt", "b.txt"} {
				answer, err := dc.WaitFor(ctx, adk.Gate{ID: file, Reason: "may I?", Timeout: time.Minute})
				if yes, _ := answer.(bool); yes && err == nil {
					approved = true
				} else {
					rejected[file] = true
					if !broken {
						approved = false
					}
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if !approved {
					continue
				}
				if _, err := adk.Ask(ctx, "disk", file, func(_ context.Context, f string) (string, error) { deleted[f] = true; return "ok", nil }, adk.AskOptions{Effect: adk.EffectWrites}); err != nil {
					return err
				}
			}
			if err := say(ctx, dc, h, "m0", "Done."); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { e.Gate.Resolve("ada", true) }
		i.Check = func(turn.Run) error {
			for file := range rejected {
				if deleted[file] {
					return fmt.Errorf("%s was deleted although nobody allowed it", file)
				}
			}
			return nil
		}
		return i
	}},
}
