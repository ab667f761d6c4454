package zoo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// assistant returns an agent of package chat. Its model calls the tool once and then says that it is done.
// Package chat logs at the end of each turn, and stores the tool's result as a media.
func assistant(effect adk.Effect, handler handles) turn.Instance {
	model := must(chat.New(chat.Options{BaseURL: "https://model.example/v1", APIKey: "key", Model: "small",
		Transport: fakes.NewTransport(fakes.Converse(fakes.StreamToolCall("call_1", "work", "{}"), fakes.StreamReply("It is ", "done.")))}))
	finish := func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		if next(ctx); dc.Iteration() == 0 {
			return nil
		}
		return dc.Ack()
	}
	return turn.Instance{
		Config: adk.Config{TurnInput: []adk.TurnMiddleware{{Name: "load", Run: load}}, Executor: model.Executor("model"),
			DispatchOutput: []adk.DispatchMiddleware{{Name: "finish", Run: finish}}, Storage: conversation().Storage(), Tools: []*adk.Tool{tool("work", effect, handler)}},
		Raw: adk.RawTurn{SystemPrompt: "You help."},
	}
}

// gave returns the last result of the tool as text, or an empty text if the tool failed.
func gave(r turn.Run) (text string) {
	for x := range r.Crossings {
		if result, ok := x.Result.(*adk.Tokenizable); ok && x.Kind == adk.KindReturn {
			text = result.String()
		}
	}
	return text
}

// talking are agents written with package chat. What the package does in every turn, such as logging, must
// not hide the bugs in their tools from explore.
var talking = []family{
	{"a booking whose error the tool keeps to itself", true, func(broken bool) turn.Instance {
		booked := false
		i := assistant(adk.EffectWrites, func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			_, err := adk.Ask(ctx, "bookings", map[string]string{"room": "12", "key": dc.NewID()}, func(context.Context, map[string]string) (string, error) {
				booked = true
				return "booked", nil
			}, adk.AskOptions{Effect: adk.EffectWrites})
			if err != nil && (!broken || ctx.Err() != nil) {
				return nil, err
			}
			return adk.Text("room 12 is booked"), nil
		})
		i.Check = func(r turn.Run) error {
			if strings.Contains(gave(r), "is booked") && !booked {
				return errors.New("the room is said to be booked, and is not")
			}
			return nil
		}
		return i
	}},
	{"a sum without the page that failed", true, func(broken bool) turn.Instance {
		short := false
		i := assistant(adk.EffectReads, func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			sum, missing := 0, false
			for page := range 3 {
				n, err := adk.Ask(ctx, "invoices", page, func(context.Context, int) (int, error) { return 10, nil })
				missing = missing || err != nil
				if err != nil && (!broken || ctx.Err() != nil) {
					return nil, err
				}
				sum += n
			}
			short = short || missing
			return adk.Text(fmt.Sprintf("the invoices are %d in sum", sum)), nil
		})
		i.Check = func(turn.Run) error {
			if short {
				return errors.New("a page has failed, and the sum is told as one of all")
			}
			return nil
		}
		return i
	}},
	{"no answer taken for a yes", false, func(broken bool) turn.Instance {
		i := assistant(adk.EffectWrites, func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			yes, err := adk.WaitFor[bool](ctx, dc, adk.Gate{ID: dc.NewID(), Reason: "delete the folder?", Timeout: time.Hour})
			if errors.Is(err, adk.E_TURN_GATE_TIMEOUT) {
				yes, err = broken, nil
			}
			if err != nil {
				return nil, err
			}
			if !yes {
				return adk.Text("it stays"), nil
			}
			_, err = adk.Ask(ctx, "files", "delete the folder", func(context.Context, string) (string, error) { return "deleted", nil }, adk.AskOptions{Effect: adk.EffectWrites})
			return adk.Text("it is deleted"), err
		})
		i.Raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("ada", true) }
		i.Check = func(r turn.Run) error {
			yes := false
			for x := range r.Crossings {
				yes = yes || x.Status == adk.GateResolved && x.Value == true
				if x.Kind == adk.KindAsk && x.Phase == adk.Begin && x.Name == "files" && !yes {
					return errors.New("the folder is deleted, and nobody has said yes")
				}
			}
			return nil
		}
		return i
	}},
}
