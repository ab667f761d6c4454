package zoo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// overlooked are the families of bugs in code that looks right when read by itself: it appends to a slice,
// takes a lock only to read, compares an error, or cuts a text.
var overlooked = []family{
	{"two prompts in one array", false, func(broken bool) turn.Instance {
		answers := map[string]string{}
		var mu sync.Mutex
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			base := append(make([]string, 0, 8), "You help.", "Be brief.")
			if !broken {
				base = slices.Clip(base)
			}
			err := parallel(ctx, dc, 2, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				topic := []string{"tea", "milk"}[n]
				prompt := append(base, topic)
				if _, err := dc.Memories().Fetch(ctx); err != nil {
					return err
				}
				said, err := adk.Ask(ctx, "model", strings.Join(prompt, "\n"), func(_ context.Context, p string) (string, error) {
					return "about " + p[strings.LastIndex(p, "\n")+1:], nil
				})
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				answers[topic] = prompt[2] + ": " + said
				return nil
			})
			if err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			for topic, a := range answers {
				if !strings.HasPrefix(a, topic+":") {
					return fmt.Errorf("asked about %q, answered %q", topic, a)
				}
			}
			return nil
		}
		return i
	}},
	{"a reader that reads again while a writer waits", true, func(broken bool) turn.Instance {
		return agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var mu sync.RWMutex
			names := map[string]string{"a": "Ada"}
			name := func() string {
				mu.RLock()
				defer mu.RUnlock()
				return names["a"]
			}
			err := parallel(ctx, dc, 2, func(ctx context.Context, dc *adk.DispatchContext, n int) error {
				if n == 0 {
					mu.RLock()
					_, err := dc.Memories().Fetch(ctx)
					who := ""
					if broken {
						who = name()
					} else {
						who = names["a"]
					}
					mu.RUnlock()
					h.Log(adk.LevelInfo, "who", who, nil)
					return err
				}
				got, err := adk.Ask(ctx, "names", "a", func(context.Context, string) (string, error) { return "Ada L.", nil })
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				names["a"] = got
				return nil
			})
			if err != nil {
				return err
			}
			return dc.Ack()
		})
	}},
	{"a lock held over a gate", true, func(broken bool) turn.Instance {
		var mu sync.Mutex
		draft := ""
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			text, err := adk.Ask(ctx, "model", "a letter", func(context.Context, string) (string, error) { return "Dear Ada", nil })
			mu.Lock()
			draft = text
			if err != nil && broken {
				defer mu.Unlock() // runs only when the executor returns, after the gate
			} else {
				mu.Unlock()
			}
			if _, err := dc.WaitFor(ctx, adk.Gate{ID: "send", Reason: "may I?", Timeout: time.Minute}); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
			mu.Lock()
			text := draft
			mu.Unlock()
			_, _ = e.Gate.Resolve("boss", text != "")
		}
		return i
	}},
	{"a cancel that was wrapped", true, func(broken bool) turn.Instance {
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var err error
			for range 4 {
				_, err = dc.Memories().Fetch(ctx)
				if err == nil || err == context.Canceled || !broken && (errors.Is(err, context.Canceled) || ctx.Err() != nil) {
					break
				}
			}
			if err != nil {
				return err
			}
			return dc.Ack()
		})
		return i
	}},
	{"an outbox emptied before it is sent", false, func(broken bool) turn.Instance {
		storage := fakes.NewStorage(memory("mail", "Hello"))
		sent := 0
		config := func() (adk.Config, adk.RawTurn) {
			i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				all, err := dc.Memories().Fetch(ctx)
				if err != nil {
					return err
				}
				for _, m := range all {
					empty := func() error { return dc.Memories().Delete(ctx, m.ID()) }
					send := func() error {
						_, err := adk.Ask(ctx, "mail", m.Content().String(), func(context.Context, string) (string, error) { sent++; return "sent", nil }, adk.AskOptions{Effect: adk.EffectWrites})
						return err
					}
					steps := []func() error{send, empty}
					if broken {
						steps = []func() error{empty, send}
					}
					for _, step := range steps {
						if err := step(); err != nil {
							return err
						}
					}
				}
				return dc.Ack()
			})
			return i.Config, i.Raw
		}
		i := turn.Instance{Next: config}
		i.Config, i.Raw = config()
		i.Check = func(turn.Run) error {
			if sent == 0 && len(storage.Memories()) == 0 {
				return errors.New("the mail is gone, and was never sent")
			}
			return nil
		}
		return i
	}},
	{"a result cut into no JSON", false, func(broken bool) turn.Instance {
		said := ""
		list := tool("list", adk.EffectReads, func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text(`["tea","milk"]`), nil
		})
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			r, err := dc.Execute(ctx, list, map[string]any{})
			if err != nil {
				return err
			}
			text := r.(*adk.Tokenizable).String()
			if len(text) > 2000 {
				text = text[:2000]
			}
			var items []string
			if err := json.Unmarshal([]byte(text), &items); err != nil && !broken {
				return dc.Nack(err)
			}
			said = fmt.Sprintf("You have %d orders.", len(items))
			if err := say(ctx, dc, h, "m0", said); err != nil {
				return err
			}
			return dc.Ack()
		}, list)
		i.Check = func(r turn.Run) error {
			if said == "You have 0 orders." {
				return errors.New("there are orders, and the user is told that there are none")
			}
			return nil
		}
		return i
	}},
	{"a guard that lets through what it could not check", false, func(broken bool) turn.Instance {
		checked, shown := false, false
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			text, err := adk.Ask(ctx, "model", "?", func(context.Context, string) (string, error) { return "Tea.", nil })
			if err != nil {
				return err
			}
			verdict, err := adk.Ask(ctx, "guard", text, func(context.Context, string) (string, error) { checked = true; return "harmless", nil })
			if err != nil {
				if !broken || ctx.Err() != nil {
					return err
				}
				h.Log(adk.LevelWarn, "guard", err.Error(), nil)
			}
			if verdict == "harmful" {
				return dc.Nack(errors.New("harmful"))
			}
			shown = true
			if err := say(ctx, dc, h, "m0", text); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if shown && !checked {
				return errors.New("shown, and nobody has checked it")
			}
			return nil
		}
		return i
	}},
	{"a refusal told as an empty answer", true, func(broken bool) turn.Instance {
		storage := conversation()
		client := clientOf(jsonOf(finalReply))
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			said, err := completed(ctx, client, []map[string]any{{"role": "user", "content": "Weather?"}})
			if err != nil {
				return err
			}
			if !broken && said.Refusal != "" {
				said.Content = said.Refusal
			}
			if !broken && said.Content == "" {
				return dc.Nack(errors.New("no answer"))
			}
			if err := say(ctx, dc, h, "m0", "The weather: "+said.Content); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			for _, m := range storage.Messages() {
				if m.ID() == "m0" && m.Content().String() == "The weather: " {
					return errors.New("an empty answer is kept")
				}
			}
			return nil
		}
		return i
	}},
	{"a panic taken for success", true, func(broken bool) turn.Instance {
		storage := conversation()
		safely := func(do func() error) (err error) {
			defer func() {
				if p := recover(); p != nil && !broken {
					err = fmt.Errorf("panic: %v", p)
				}
			}()
			return do()
		}
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			err := safely(func() error {
				said, err := adk.Ask(ctx, "model", "what to keep?", func(context.Context, string) (string, error) { return "tea", nil })
				if err != nil {
					return err
				}
				first := strings.Fields(said)[0] // panics if the answer is empty
				return dc.Memories().Store(ctx, memory("likes", first))
			})
			if err != nil {
				return err
			}
			if err := say(ctx, dc, h, "m0", "I shall remember."); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			if acked(r) && !kept(storage, "likes") {
				return errors.New("it says that it remembers, and does not")
			}
			return nil
		}
		return i
	}},
	{"a tool's panic taken for an empty result", true, func(broken bool) turn.Instance {
		guarded := func(own handles) handles {
			return func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (result adk.ToolResult, err error) {
				defer func() {
					if p := recover(); p != nil {
						result = adk.Text("")
						if !broken {
							result, err = nil, fmt.Errorf("panic: %v", p)
						}
					}
				}()
				return own(ctx, dc, args)
			}
		}
		search := tool("search", adk.EffectReads, guarded(func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			found, err := adk.Ask(ctx, "index", "tea", func(context.Context, string) ([]string, error) { return []string{"green tea"}, nil })
			if err != nil {
				return nil, err
			}
			return adk.Text(found[0]), nil
		}))
		said := ""
		i := agent(conversation(), func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			result, err := dc.Execute(ctx, search, map[string]any{"for": "tea"})
			if err != nil {
				return err
			}
			said = "Found: " + result.(*adk.Tokenizable).String()
			if err := say(ctx, dc, h, "m0", said); err != nil {
				return err
			}
			return dc.Ack()
		}, search)
		i.Check = func(turn.Run) error {
			if said == "Found: " {
				return errors.New("nothing is told as what was found")
			}
			return nil
		}
		return i
	}},
}
