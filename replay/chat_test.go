package replay_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// If the user left in the middle of a stream, the replayed turn ends at the same place, although
// the provider that the live executor asks has more to say.
func TestLiveExecutorIsCancelledWhereItWas(t *testing.T) {
	for _, recording := range recordings {
		t.Run(recording.name, func(t *testing.T) {
			conversation := fakes.Converse(fakes.StreamReply("one", " two", " three", " four"))
			ctx, leave := context.WithCancelCause(t.Context())
			raw := adk.RawTurn{SystemPrompt: "Count."}
			raw.Functional.Message = func(e adk.MessageEvent) {
				if e.Full == "one two" {
					leave(errors.New("the user has left"))
				}
			}
			trace := recordChat(t, ctx, recording.config, conversation, raw)
			assert.Contains(t, string(trace), `"status":"aborted"`)
			assert.NotContains(t, string(trace), "three")

			for range 20 {
				report := verifyChat(t, trace, conversation)
				require.Nil(t, report.Divergence)
			}
		})
	}
}

// recordChat records a turn of the example executor.
func recordChat(t *testing.T, ctx context.Context, finish func(adk.Config, adk.Probe) adk.Config, c fakes.Conversation, raw adk.RawTurn) []byte {
	t.Helper()
	provider := fakes.NewProvider(c)
	defer provider.Close()
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	runner, err := adk.NewRunner(finish(adk.Config{
		Executor: adk.Executor{Name: "chat", Run: chat{provider.URL(), "model"}.run},
		Storage:  fakes.NewStorage().Storage(),
		Tools:    []*adk.Tool{fakes.NewTool("weather", "Tells the weather of a city.", "rain, 8 °C").Tool()},
	}, recorder))
	require.NoError(t, err)
	require.NoError(t, runner.Run(ctx, raw))
	require.NoError(t, recorder.Err())
	return trace.Bytes()
}

// verifyChat replays a trace with the example executor live.
func verifyChat(t *testing.T, trace []byte, c fakes.Conversation) *replay.Report {
	t.Helper()
	provider := fakes.NewProvider(c)
	defer provider.Close()
	report, err := replay.Verify(t.Context(), bytes.NewReader(trace), replay.LiveExecutor(chat{provider.URL(), "model"}.run))
	require.NoError(t, err)
	return report
}

// An extra, shorter or changed delta of a provider is reported at the crossing where it is said
// (design: "live seams are compared by their effects").
func TestLiveExecutorDiverges(t *testing.T) {
	call := func(city string) fakes.Reply { return fakes.StreamToolCall("call_1", "weather", `{"city":`, city, `}`) }
	recorded := fakes.Converse(call(`"Oslo"`), fakes.StreamReply("It rains", " in Oslo."))
	for _, test := range []struct {
		name  string
		live  fakes.Conversation
		class replay.Class
		seam  string
		got   string
	}{
		{"another argument", fakes.Converse(call(`"Rome"`)), replay.ChangedInput, "executor/chat#0", `report-tool-call call1 weather {"city":"Rome"}`},
		{"another text", fakes.Converse(call(`"Oslo"`), fakes.StreamReply("It pours", " in Oslo.")), replay.ChangedInput, "executor/chat#1", `report-message m1 "It pours"`},
		{"one text more", fakes.Converse(call(`"Oslo"`), fakes.StreamReply("It rains", " in Oslo.", " Still.")), replay.Extra, "executor/chat#1", `report-message m1 " Still."`},
		{"one text less", fakes.Converse(call(`"Oslo"`), fakes.StreamReply("It rains")), replay.Missing, "executor/chat#1", ""},
		{"no call", fakes.Converse(fakes.StreamReply("No idea.")), replay.Missing, "executor/chat#0", "report-message"},
		{"one call more", fakes.Converse(call(`"Oslo"`), call(`"Oslo"`)), replay.Extra, "executor/chat#1", "report-tool-call call1 weather"},
	} {
		for _, recording := range recordings {
			t.Run(test.name+"/"+recording.name, func(t *testing.T) {
				trace := recordChat(t, t.Context(), recording.config, recorded, adk.RawTurn{SystemPrompt: "Be brief."})
				d := verifyChat(t, trace, test.live).Divergence
				require.NotNil(t, d)
				assert.Equal(t, test.class, d.Class)
				assert.Equal(t, test.seam, d.Seam)
				assert.Contains(t, d.Got, test.got)
			})
		}
	}
}
