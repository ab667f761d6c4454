package zoo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// control are the families of bugs around aborts, gates, loops and listeners.
var control = []family{
	{"a cancel taken for an empty answer", true, func(broken bool) turn.Instance {
		storage := fakes.NewStorage(memory("m", "one"))
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			found, err := dc.Memories().Fetch(ctx)
			if err != nil && !broken {
				return err
			}
			if _, err := h.ReportMessage("m0", fmt.Sprintf("I remember %d things.", len(found)), true); err != nil {
				return err
			}
			if err := dc.Messages().Store(context.WithoutCancel(ctx), message(dc, "m0", fmt.Sprintf("I remember %d things.", len(found)))); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			for _, m := range storage.Messages() {
				if m.Content().String() == "I remember 0 things." {
					return errors.New("a failure was told as an empty memory")
				}
			}
			return nil
		}
		return i
	}},
	{"a retry deaf to the abort", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var err error
			for range 5 {
				if _, err = dc.Memories().Fetch(ctx); err == nil || !broken && ctx.Err() != nil {
					break
				}
				_ = dc.Sleep(ctx, time.Second)
			}
			if err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			asked, gone := 0, false
			for x := range r.Crossings {
				gone = gone || x.Kind == adk.KindCancel
				if gone && x.Kind == adk.KindFetch && x.Phase == adk.Begin {
					asked++
				}
			}
			if asked > 2 {
				return fmt.Errorf("asked %d times after the abort", asked)
			}
			return nil
		}
		return i
	}},
	{"an approval that fails open", true, func(broken bool) turn.Instance {
		storage := conversation()
		var done tally
		remove := tool("remove", adk.EffectWrites, func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			done.note("removed")
			return adk.Text("removed"), nil
		})
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			answer, err := dc.WaitFor(ctx, adk.Gate{ID: "remove", Reason: "may I?", Timeout: time.Minute})
			if err != nil && (!broken || !strings.Contains(err.Error(), "broken")) {
				return err
			}
			if approved, _ := answer.(bool); !approved && (err == nil || !broken) {
				return dc.Ack()
			}
			if _, err := dc.Execute(ctx, remove, map[string]any{}); err != nil {
				return err
			}
			return dc.Ack()
		}, remove)
		i.Raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
			_, _ = e.Gate.Resolve("boss", true)
		}
		i.Check = func(r turn.Run) error {
			refused := false
			for x := range r.Crossings {
				refused = refused || x.Kind == adk.KindSettle && x.Status == "rejected"
			}
			if refused && done.count("removed") > 0 {
				return errors.New("removed what nobody approved")
			}
			return nil
		}
		return i
	}},
	{"a gate that nobody settles", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			reason := "may I?"
			if _, err := dc.Memories().Fetch(ctx); err != nil {
				reason = "may I, although I remember nothing?"
			}
			gate := adk.Gate{ID: "go", Reason: reason}
			if !broken {
				gate.Timeout = time.Minute
			}
			if _, err := dc.WaitFor(ctx, gate); err != nil {
				return dc.Nack(err)
			}
			return dc.Ack()
		})
		i.Raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
			if e.Gate.Reason() == "may I?" {
				_, _ = e.Gate.Resolve("boss", true)
			}
		}
		i.Check = func(r turn.Run) error {
			for x := range r.Crossings {
				if x.Kind == adk.KindCancel && strings.Contains(x.Cause.Error(), "in vain") {
					return errors.New("nobody answers, and the turn waits")
				}
			}
			return nil
		}
		return i
	}},
	{"a loop without a bound", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for n := 0; ; n++ {
				if _, err := dc.Memories().Fetch(ctx); err == nil {
					return dc.Ack()
				} else if !broken && n == 3 || ctx.Err() != nil {
					return err
				}
				if err := dc.Sleep(ctx, time.Second); err != nil {
					return err
				}
			}
		})
		return i
	}},
	{"a loop of the model's", true, func(broken bool) turn.Instance {
		storage := conversation()
		look := tool("look", adk.EffectReads, func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			if _, err := dc.Retrievables().Fetch(ctx); err != nil {
				return nil, err
			}
			return adk.Text("found"), nil
		})
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			args := map[string]any{}
			result, err := dc.Execute(ctx, look, args)
			if err != nil {
				result = adk.Text(err.Error())
			}
			id := dc.NewID()
			if err := dc.ToolCalls().Store(ctx, call(dc, id, "look", args, result, err != nil)); err != nil {
				return err
			}
			if err == nil {
				return dc.Ack()
			}
			return nil // no ack: the model is asked again
		}, look)
		if !broken {
			i.Config.DispatchInput = []adk.DispatchMiddleware{{Name: "cap", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
				if dc.Iteration() == 5 {
					return dc.Nack(errors.New("enough"))
				}
				next(ctx)
				return nil
			}}}
		}
		return i
	}},
	{"a listener that blocks", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if _, err := dc.Memories().Fetch(ctx); err != nil {
				return err
			}
			return dc.Ack()
		})
		failures := make(chan error)
		i.Raw.Observability.Error = func(e adk.ErrorEvent) {
			if broken {
				failures <- e.Error // blocks: no goroutine receives from failures
				return
			}
			select {
			case failures <- e.Error:
			default:
			}
		}
		return i
	}},
	{"a listener that panics", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if _, err := dc.Memories().Fetch(ctx); err != nil {
				return err
			}
			return dc.Ack()
		})
		var metrics map[string]int
		if !broken {
			metrics = map[string]int{}
		}
		i.Raw.Observability.Error = func(e adk.ErrorEvent) { metrics[string(e.Error.Code)]++ }
		return i
	}},
	{"a stream that goes on behind the abort", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			text := ""
			for range 12 {
				if !broken && ctx.Err() != nil {
					break
				}
				text += "word "
				if _, err := h.ReportMessage("m0", "word ", false); err != nil {
					return err
				}
			}
			if err := dc.Messages().Store(context.WithoutCancel(ctx), message(dc, "m0", text+".")); err != nil {
				return err
			}
			if _, err := h.ReportMessage("m0", ".", true); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			return dc.Ack()
		})
		i.Check = func(r turn.Run) error {
			gone, words := false, 0
			for x := range r.Crossings {
				gone = gone || x.Kind == adk.KindCancel
				if gone && x.Kind == adk.KindReportMessage {
					words++
				}
			}
			if words > 2 {
				return fmt.Errorf("%d words for nobody", words)
			}
			return nil
		}
		return i
	}},
	{"an ignored deadline", false, func(broken bool) turn.Instance {
		storage := conversation()
		var work tally
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for n := range 4 {
				if err := ctx.Err(); err != nil && !broken {
					return err
				}
				work.note("step %d of %v", n, ctx.Err() != nil)
				h.Log(adk.LevelInfo, "step", fmt.Sprint(n), nil)
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			late := 0
			for _, note := range work.notes {
				if strings.HasSuffix(note, "of true") {
					late++
				}
			}
			if late > 1 {
				return fmt.Errorf("%d steps behind the deadline", late)
			}
			return nil
		}
		return i
	}},
}

// tools are the families of bugs around tools and around what the model is shown.
var tools = []family{
	{"a side effect repeated by a retry", true, func(broken bool) turn.Instance {
		storage := conversation()
		var paid tally
		pay := tool("pay", adk.EffectWrites, func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			paid.note("paid")
			if _, err := dc.Retrievables().Fetch(ctx); err != nil {
				return nil, err // the payment is made, but its receipt is missing
			}
			return adk.Text("paid"), nil
		})
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			_, err := dc.Execute(ctx, pay, map[string]any{"amount": 5})
			if err != nil && broken && ctx.Err() == nil {
				_, err = dc.Execute(ctx, pay, map[string]any{"amount": 5})
			}
			if err != nil {
				return err
			}
			return dc.Ack()
		}, pay)
		i.Check = func(turn.Run) error {
			if n := paid.count("paid"); n > 1 {
				return fmt.Errorf("paid %d times", n)
			}
			return nil
		}
		return i
	}},
	{"partial JSON executed", false, func(broken bool) turn.Instance {
		storage := conversation()
		var sent tally
		send := tool("send", adk.EffectWrites, func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			sent.note("to %v", args["to"])
			return adk.Text("sent"), nil
		})
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			text, whole := "", false
			for n, piece := range []string{`{"to":["ada"`, `,"bob"`, `]}`} {
				if _, err := dc.Retrievables().Fetch(ctx); err != nil { // the model's stream breaks
					h.Log(adk.LevelWarn, "stream", err.Error(), nil)
					break
				}
				text += piece
				whole = n == 2
			}
			if !whole && !broken {
				return errors.New("the call is not whole")
			}
			var args map[string]any
			if json.Unmarshal([]byte(text), &args) != nil && json.Unmarshal([]byte(text+"]}"), &args) != nil { // second try: closes the open brackets
				return errors.New("no arguments")
			}
			if _, err := dc.Execute(context.WithoutCancel(ctx), send, args); err != nil {
				return err
			}
			return dc.Ack()
		}, send)
		i.Check = func(turn.Run) error {
			if to := sent.last(); to != "" && to != "to [ada bob]" {
				return fmt.Errorf("sent %s", to)
			}
			return nil
		}
		return i
	}},
	{"an ephemeral tool in the next turn", false, func(broken bool) turn.Instance {
		storage := conversation()
		secret := must(adk.NewTool(adk.ToolInit{Name: "secret", Description: "For once.", InputSchema: json.RawMessage(`{"type":"object"}`), Ephemeral: true,
			Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
				return adk.Text("x"), nil
			}}))
		registered := map[string]bool{}
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			registered["secret"] = true
			if !broken {
				defer delete(registered, "secret")
			}
			if err := dc.Tools().Register(secret); err != nil {
				return err
			}
			if !broken {
				if _, err := dc.Tools().PruneEphemeral(); err != nil {
					return err
				}
			}
			if _, err := dc.Memories().Fetch(ctx); err != nil {
				return err
			}
			if broken {
				delete(registered, "secret")
				_, _ = dc.Tools().PruneEphemeral()
			}
			return dc.Ack()
		})
		i.Check = func(turn.Run) error {
			if registered["secret"] {
				return errors.New("the next turn can call it")
			}
			return nil
		}
		return i
	}},
	{"map order in a prompt", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			facts := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6", "g": "7", "h": "8"}
			text := ""
			if broken {
				for k, v := range facts {
					text += k + v
				}
			} else {
				for k := 'a'; k <= 'h'; k++ {
					text += string(k) + facts[string(k)]
				}
			}
			if err := say(ctx, dc, h, "m0", text); err != nil {
				return err
			}
			return dc.Ack()
		})
		return i
	}},
	{"a counter from outside in a record", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			text := "run"
			if broken {
				text = time.Now().String()
			}
			if err := say(ctx, dc, h, "m0", text); err != nil {
				return err
			}
			return dc.Ack()
		})
		return i
	}},
	{"a history cut between a call and its result", false, func(broken bool) turn.Instance {
		storage := conversation("Weather?", "call look(Oslo)", "result 4 °C", "It is cold.")
		shown := ""
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if all := dc.Messages().All(); len(all) > 0 {
				shown = all[0].Content().String()
			}
			return dc.Ack()
		})
		const most = 3
		i.Config.DispatchInput = []adk.DispatchMiddleware{{Name: "trim", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
			all := dc.Messages().All()
			cut := max(0, len(all)-most)
			for !broken && cut > 0 && cut < len(all) && strings.HasPrefix(all[cut].Content().String(), "result ") {
				cut++
			}
			for _, m := range all[:cut] {
				if _, err := dc.Messages().Remove(m.ID()); err != nil {
					return err
				}
			}
			next(ctx)
			return nil
		}}}
		i.Check = func(turn.Run) error {
			if strings.HasPrefix(shown, "result ") {
				return errors.New("the model is shown a result without its call")
			}
			return nil
		}
		return i
	}},
	{"a call without its result when the model is asked again", true, func(broken bool) turn.Instance {
		storage := conversation()
		look := tool("look", adk.EffectReads, func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			if _, err := dc.Retrievables().Fetch(ctx); err != nil {
				return nil, err
			}
			return adk.Text("found"), nil
		})
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if dc.Iteration() > 0 {
				if err := say(ctx, dc, h, "m1", "There."); err != nil {
					return err
				}
				return dc.Ack()
			}
			args := map[string]any{"n": 1}
			if _, err := h.ReportToolCall("c0", adk.ToolCallReport{Tool: "look", Args: args}); err != nil {
				return err
			}
			result, err := dc.Execute(ctx, look, args)
			if err != nil {
				if broken {
					h.Log(adk.LevelWarn, "tool", "look failed", nil)
					return nil // wrongly expects the model to see the failure
				}
				result = adk.Text(err.Error())
			}
			if _, err := h.ReportToolCall("c0", adk.ToolCallReport{Results: result, IsError: err != nil, Complete: true}); err != nil {
				return err
			}
			return dc.ToolCalls().Store(ctx, call(dc, "c0", "look", args, result, err != nil))
		}, look)
		return i
	}},
	{"a handle kept for later", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if _, err := dc.Memories().Fetch(ctx); err != nil {
				return err
			}
			return dc.Ack()
		})
		var kept *adk.TurnContext
		i.Config.TurnInput = append(i.Config.TurnInput, adk.TurnMiddleware{Name: "keep", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			kept = tc
			if !broken {
				defer func() { kept = nil }()
			}
			next(ctx)
			return nil
		}})
		i.Raw.Observability.Error = func(adk.ErrorEvent) {
			if kept != nil {
				_ = kept.Stash().Set("failed", true)
			}
		}
		return i
	}},
	{"a message stored by a post-step whatever happened", true, func(broken bool) turn.Instance {
		storage := conversation()
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			if err := say(ctx, dc, h, "m0", "Yes."); err != nil {
				return err
			}
			return dc.Ack()
		})
		guard := adk.DispatchMiddleware{Name: "guard", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
			if _, err := dc.Retrievables().Fetch(ctx); err != nil {
				return err
			}
			next(ctx)
			return nil
		}}
		note := adk.DispatchMiddleware{Name: "note", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
			note := must(adk.NewThought(adk.ThoughtInit{ID: "t", Content: "checking", CreatedAt: dc.Now(), UpdatedAt: dc.Now()}))
			if broken {
				next(ctx)
				return dc.Thoughts().Store(context.WithoutCancel(ctx), note)
			}
			if err := dc.Thoughts().Store(ctx, note); err != nil {
				return err
			}
			next(ctx)
			return nil
		}}
		i.Config.DispatchInput = []adk.DispatchMiddleware{note, guard}
		return i
	}},
	{"a seat that is not given back", false, func(broken bool) turn.Instance {
		storage := conversation()
		seats := 1
		i := agent(storage, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error { return dc.Ack() })
		i.Config.TurnInput = append(i.Config.TurnInput, adk.TurnMiddleware{Name: "seat", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			seats--
			if !broken {
				defer func() { seats++ }()
			}
			if _, err := tc.Memories().Fetch(ctx); err != nil {
				return err
			}
			next(ctx)
			if broken {
				seats++
			}
			return nil
		}})
		i.Check = func(turn.Run) error {
			if seats != 1 {
				return fmt.Errorf("%d seats are free", seats)
			}
			return nil
		}
		return i
	}},
}
