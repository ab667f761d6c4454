package tracetest

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/adkreplay/adkreplay/adk"
)

// AsksTurn asks the world from every seam, and ends asks in every way.
func AsksTurn(t *SampleKit) {
	var kept context.Context
	t.Config.TurnInput = []adk.TurnMiddleware{TurnStep("load", func(ctx context.Context, tc *adk.TurnContext) error {
		kept = ctx
		_ = Must(adk.Ask(ctx, "profiles", map[string]any{"user": "u1", "n": 1.50}, echo, adk.AskOptions{Effect: adk.EffectReads}))
		strand := Must(tc.Fork(ctx, "beside", func(ctx context.Context, tc *adk.TurnContext) error {
			_ = Must(adk.Ask(ctx, "beside", map[string]any{}, echo))
			return nil
		}))
		return strand.Wait()
	})}
	look := ATool("look", "Looks.", false, func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
		_, err := adk.Ask(ctx, "search", map[string]any{"q": "<b>"}, func(context.Context, map[string]any) (map[string]any, error) {
			return nil, &adk.Error{Code: adk.E_ASK_TIMEOUT, Message: "slow", Cause: context.DeadlineExceeded}
		})
		return adk.Text(err.Error()), nil
	})
	t.Config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		_ = Must(dc.OnAck("commit", func(ctx context.Context, _ *adk.DispatchContext) {
			_ = Must(adk.Ask(ctx, "audit", map[string]any{}, echo, adk.AskOptions{Effect: adk.EffectWrites}))
		}))
		overlapping(ctx, dc)
		for n, err := range adk.AskStream(ctx, "tokens", "say", counting) {
			if err == nil && n == 2 {
				break
			}
			_ = Must(h.ReportMessage("m", "token ", false))
		}
		for range adk.AskStream(ctx, "tokens", "say", counting) {
			_ = dc.NewID()
		}
		_ = Must(dc.Execute(ctx, look, `{"city":"Oslo"}`))
		_, _ = adk.Ask(ctx, "panics", math.Inf(1), func(context.Context, float64) (string, error) { panic("boom") })
		_ = Must(adk.OpenExchange(ctx, "left open", nil))
		_ = adk.PassBy(ctx, "socket", "it is upgraded: no end is known")
		_, _ = adk.Ask(kept, "late", "x", func(context.Context, string) (string, error) { return "", nil })
		return dc.Ack()
	}
	t.Config.TurnOutput = []adk.TurnMiddleware{TurnStep("after", func(ctx context.Context, tc *adk.TurnContext) error {
		_ = tc.Abort(errors.New("enough"))
		_, _ = adk.Ask(ctx, "refused", "x", func(context.Context, string) (string, error) { return "", nil })
		return nil
	})}
}

func echo(_ context.Context, request map[string]any) (map[string]any, error) {
	return map[string]any{"got": request}, nil
}

// counting sends 1, 2 and 3, and then fails.
func counting(_ context.Context, _ string, hand func(int) error) error {
	return errors.Join(hand(1), hand(2), hand(3), errors.New("cut off"))
}

// overlapping reads two answers alternately.
func overlapping(ctx context.Context, dc *adk.DispatchContext) {
	one := Must(adk.OpenExchange(ctx, "one", func() (json.RawMessage, error) { return json.RawMessage(`{"n":1}`), nil }))
	two := Must(adk.OpenExchange(ctx, "two", func() (json.RawMessage, error) { return json.RawMessage(`{"n":2}`), nil }))
	one.Piece(json.RawMessage(`{"status":200}`), false)
	two.Piece(json.RawMessage(`{"status":200}`), false)
	_ = dc.NewID()
	one.Piece(json.RawMessage(`"half`+`"`), true)
	one.Done(nil, errors.New("connection reset"))
	two.Piece(json.RawMessage(`"all"`), false)
	two.Done(nil, nil)
}
