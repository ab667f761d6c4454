package explore

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/property/turn"
)

// talking returns an agent of package chat that is asked for something, calls a tool, and says that it is done.
// The tool writes. Package chat logs at the end of each turn, and stores the tool's result as a media.
func talking(t *testing.T, handle func(ctx context.Context, dc *adk.DispatchContext) (string, error)) turn.Subject {
	tool := samples.Must(adk.NewTool(adk.ToolInit{Name: "page", Description: "Pages somebody.", InputSchema: json.RawMessage(`{"type":"object"}`), Effect: adk.EffectWrites,
		Handler: func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			text, err := handle(ctx, dc)
			return adk.Text(text), err
		}}))
	return turn.Subject{Name: "pages", Open: func(context.CancelCauseFunc) turn.Instance {
		model, err := chat.New(chat.Options{BaseURL: "https://model.example/v1", APIKey: "key", Model: "m",
			Transport: fakes.NewTransport(fakes.Converse(fakes.StreamToolCall("call_1", "page", "{}"), fakes.StreamReply("It is ", "done.")))})
		require.NoError(t, err)
		finish := func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
			next(ctx)
			if dc.Iteration() > 0 {
				return dc.Ack()
			}
			return nil
		}
		history := func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			messages, err := tc.Messages().Fetch(ctx)
			for _, m := range messages {
				_, failed := tc.Messages().Add(m)
				err = errors.Join(err, failed)
			}
			if err != nil {
				return err
			}
			next(ctx)
			return nil
		}
		return turn.Instance{Raw: adk.RawTurn{SystemPrompt: "Help."}, Config: adk.Config{
			TurnInput: []adk.TurnMiddleware{{Name: "history", Run: history}}, Executor: model.Executor("model"), Tools: []*adk.Tool{tool},
			DispatchOutput: []adk.DispatchMiddleware{{Name: "finish", Run: finish}},
			Storage:        fakes.NewStorage(tracetest.AMessage("q", adk.RoleUser, "Page Ada.")).Storage()}}
	}}
}

// Package chat logs at the end of each turn that all went well. This log does not count as a report of
// a failure.
func TestWhatChatLogsTellsOfNoFailure(t *testing.T) {
	thorough.Long(t)
	for name, c := range map[string]struct {
		handle func(ctx context.Context, dc *adk.DispatchContext) (string, error)
		oracle string
	}{
		"dropped": {func(ctx context.Context, _ *adk.DispatchContext) (string, error) {
			_ = pay(ctx, "k")
			return "paged", nil
		}, "nothing fails in silence"},
		"dropped after three attempts": {func(ctx context.Context, _ *adk.DispatchContext) (string, error) {
			for range 3 {
				if pay(ctx, "k") == nil || ctx.Err() != nil {
					break
				}
			}
			return "paged", nil
		}, "nothing fails in silence"},
		"nothing is found": {func(ctx context.Context, _ *adk.DispatchContext) (string, error) {
			found, _ := adk.Ask(ctx, "people", "Ada", said)
			return found, nil
		}, "what failed is not told as done"},
		"handed on": {func(ctx context.Context, _ *adk.DispatchContext) (string, error) { return "paged", pay(ctx, "k") }, ""},
		"said": {func(ctx context.Context, _ *adk.DispatchContext) (string, error) {
			if err := pay(ctx, "k"); err != nil {
				return "not paged", nil
			}
			return "paged", nil
		}, ""},
		"tried again": {func(ctx context.Context, _ *adk.DispatchContext) (string, error) {
			if pay(ctx, "k") == nil {
				return "paged", nil
			}
			return "paged", pay(ctx, "k")
		}, ""},
	} {
		result := exploredAll(t, talking(t, c.handle))
		var broken []string
		for _, b := range result.Violations {
			if b.Invariant != "what writes is done once" { // the case in which the agent asks twice without a key
				broken = append(broken, b.Invariant)
			}
		}
		if c.oracle == "" {
			assert.Empty(t, broken, "%s: %s", name, result)
		} else {
			assert.Equal(t, []string{c.oracle}, broken, "%s: %s", name, result)
		}
	}
}
