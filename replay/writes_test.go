package replay_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
)

// A tool gets the same arguments as in the recorded run, but writes something else, or nothing.
// This is reported on its own, whatever else has changed in the turn before, and whatever cause it
// might seem to follow from. So is a changed request with text that occurs nowhere before it. If
// the tool's arguments have changed, everything that it does follows from that.
func TestWritesThatChangeAreTold(t *testing.T) {
	type booking struct {
		Seat string `json:"seat"`
	}
	agent := func(language, wanted, seat string, effect adk.Effect) adk.Config {
		book, err := adk.NewTool(adk.ToolInit{Name: "book", Description: "Books.", InputSchema: []byte(`{"type":"object"}`),
			Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				if seat == "" {
					return adk.Text("booked"), nil
				}
				said, err := adk.Ask(ctx, "airline", booking{seat}, func(context.Context, booking) (string, error) { return "booked", nil }, adk.AskOptions{Effect: effect})
				return adk.Text(said), err
			}})
		require.NoError(t, err)
		return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{book},
			Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if language != "" {
					dc.Stash().Set("language", language)
				}
				_, _ = dc.Execute(ctx, book, map[string]any{"flight": wanted})
				return dc.Ack()
			}}}
	}
	for name, c := range map[string]struct {
		wanted, seat string
		effect       adk.Effect
		own          int
	}{
		"another seat":                {"LH12", "2A", adk.EffectWrites, 1},
		"no seat":                     {"LH12", "", adk.EffectWrites, 1},
		"another question":            {"LH12", "2A", adk.EffectReads, 1},
		"another seat, of other args": {"AZ77", "2A", adk.EffectWrites, 0},
	} {
		var b bytes.Buffer
		runner, err := adk.NewRunner(fakes.Deterministic(agent("", "LH12", "1A", c.effect), replay.Record(&b)))
		require.NoError(t, err)
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
		report, err := replay.Verify(t.Context(), &b, replay.Live{Config: agent("en", c.wanted, c.seat, c.effect), Seams: []string{replay.Executor, replay.ToolCode}, Writes: true})
		require.NoError(t, err)
		require.NotNil(t, report.Divergence, name)
		assert.Len(t, report.Divergence.After.Apart, c.own, "%s: %s", name, report)
	}
}
