package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	completions "github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/whatif"
)

// capped is a turn that loads the spooled tool calls of earlier turns, runs a tool twice, and
// gives up after the given number of iterations.
func capped(most int, storage adk.Storage, spool artifact.Spool) adk.Config {
	order := fakes.NewTool("order", "Looks an order up.", "it is lost, ask ann@example.com", "it is lost, ask ann@example.com").Tool()
	model := tracetest.Must(completions.New(completions.Options{Model: "small", BaseURL: "https://model.example/v1", AutoAck: new(true), Transport: fakes.NewTransport(fakes.Converse(
		fakes.StreamToolCall("call_1", "order", `{}`), fakes.StreamToolCall("call_2", "order", `{"pin":"tulip"}`), fakes.StreamReply("Lost.")))}))
	return adk.Config{
		Executor: model.Executor("model"),
		Tools:    []*adk.Tool{order}, Storage: artifact.Spooling(storage, spool, artifact.SpoolingOptions{}),
		TurnInput: []adk.TurnMiddleware{{Name: "history", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			known, err := tc.ToolCalls().Fetch(ctx)
			for _, call := range known {
				_, failed := tc.ToolCalls().Add(call)
				err = errors.Join(err, failed)
			}
			next(ctx)
			return err
		}}},
		DispatchInput: []adk.DispatchMiddleware{{Name: "cap", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
			if dc.Iteration() >= most {
				return dc.Nack(errors.New("the model goes round in circles"))
			}
			next(ctx)
			return nil
		}}},
	}
}

// ART-25: nothing is known of what stands for the hash of a body except its form, so other words
// of live code are shown. The name of an error is never taken for a secret, whatever else may be
// one, and an error with that name is recognized as that error again.
func TestHashesHideNoWords(t *testing.T) {
	mails := []redact.Pattern{{Kind: "mail", Expr: `[a-z]+@[a-z]+\.com`}}
	record := func(rules *redact.Rules) ([]byte, func(most int) replay.Live) {
		kept, spool := fakes.NewStorage().Storage(), artifact.NewMemorySpool()
		var recorded bytes.Buffer
		for range 2 { // the second turn fetches what the first has stored
			recorded.Reset()
			runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(capped(8, kept, spool), replay.Record(&recorded, replay.RecordOptions{Redact: rules}))))
			require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
		}
		return recorded.Bytes(), func(most int) replay.Live {
			return replay.Live{Config: capped(most, fakes.NewStorage().Storage(), artifact.NewMemorySpool()), Seams: []string{replay.Middleware, replay.Executor},
				Redact: rules, Turn: adk.RawTurn{SystemPrompt: "Help."}}
		}
	}
	recorded, live := record(&redact.Rules{Patterns: mails})
	require.True(t, bytes.Contains(recorded, []byte("[redacted:hash:1]")), "the trace has the key of an artifact")
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), live(2))
	require.NoError(t, err)
	require.NotNil(t, report.Divergence)
	assert.Contains(t, report.String(), "nack with error: the model goes round in circles")

	recorded, live = record(&redact.Rules{Patterns: mails, Paths: []string{"args.pin"}})
	for _, n := range []int{2, 20, 40} {
		_, err := whatif.Run(t.Context(), bytes.NewReader(recorded), live(8), []whatif.Override{{Path: fmt.Sprint(n, ".cancel"), Value: "gone"}})
		assert.NoError(t, err, n)
	}
}
