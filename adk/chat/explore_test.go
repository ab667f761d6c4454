package chat_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// CAL-1, RTY-1, RTY-5, SSE-9, ANS-5: whatever fails at one point of a turn with a retry, a tool and an answer, in
// the engine, the storage or the server, the turn ends and leaves nothing behind, and it ends well only
// if the model said something.
func TestExplored(t *testing.T) {
	for name, stream := range map[string]bool{"streamed": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			answers := []reply{refusing(503, "busy", "Retry-After", "1"), calling("c", "weather", `{"city":"Oslo"}`), saying("4 °C.")}
			if stream {
				answers = []reply{refusing(503, "busy", "Retry-After", "1"),
					events(`{"choices":[{"delta":{"reasoning":"Hm.","content":"Let me "}}]}`, delta("look."),
						`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"weather","arguments":"{\"city\":"}}]}}]}`,
						`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}`),
					events(delta("4 "), delta("°C."), `{"choices":[{"delta":{},"finish_reason":"stop"}]}`)}
			}
			result, err := explore.Explore(t.Context(), turn.Subject{Name: name, Check: endsWithWords, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
				options := chat.Options{Model: "m", Stream: &stream, AutoAck: new(true), Transport: &server{replies: answers}}
				options.Retry.MaxAttempts = new(3)
				adapter, err := chat.New(options)
				if err != nil {
					panic(err)
				}
				config := adk.Config{Executor: adapter.Executor("model"), Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{weather(t)}}
				// Without this limit a dispatch whose model asks for tools again and again never ends.
				config.DispatchInput = []adk.DispatchMiddleware{{Name: "limit", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
					if dc.Iteration() > 3 {
						return dc.Nack(errors.New("the model does not come to an end"))
					}
					next(ctx)
					return nil
				}}}
				return config, adk.RawTurn{SystemPrompt: "You help."}
			}}, explore.Options{})
			require.NoError(t, err)
			assert.Greater(t, result.Schedules, 200)
			assert.Empty(t, result.Violations, "%s", result)
		})
	}
}

// endsWithWords checks that every message that was begun is complete when a turn ends well.
func endsWithWords(r turn.Run) error {
	open := map[string]bool{}
	for x := range r.Crossings {
		switch {
		case x.Kind == adk.KindReportMessage && x.Err == nil && x.Phase == adk.Begin:
			open[x.Key] = !x.Flag
		case x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusAck:
			for id, left := range open {
				if left {
					return fmt.Errorf("the turn ended well, and message %q is not complete", id)
				}
			}
		}
	}
	return nil
}
