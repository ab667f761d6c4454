package replay_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// counting is a turn that logs how long what it was given is, and a little more.
func counting(more int) adk.Config {
	return adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		text, _ := dc.Stash().Get("given", "").(string)
		h.Log(adk.LevelInfo, "length", "counted", map[string]any{"bytes": len(text) + more})
		return dc.Ack()
	}}}
}

// A report on a redacted trace says beside a difference that live code counts placeholders, which
// may be why; it says so nowhere else.
func TestCountsOfWhatWasRedacted(t *testing.T) {
	rules := &redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `key-[a-z-]+`}}}
	for name, c := range map[string]struct {
		given string
		rules *redact.Rules
		more  int
		says  bool
	}{
		"redacted":             {"it is key-of-the-house-and-much-longer-yet", rules, 0, true},
		"redacted and as long": {"it is key-of-the-house", rules, 0, false},
		"not redacted":         {"it is key-of-the-house", nil, 1, false},
		"nothing to redact":    {"it is nothing", rules, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			var recorded bytes.Buffer
			runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(counting(0), replay.Record(&recorded, replay.RecordOptions{Redact: c.rules}))))
			require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Count.", Stash: map[string]any{"given": c.given}}))
			report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.Live{Config: counting(c.more), Seams: []string{replay.Executor}})
			require.NoError(t, err)
			assert.Equal(t, c.says || c.more > 0, report.Divergence != nil, "%s", report)
			said := false
			for _, what := range report.NotCompared {
				said = said || what == "what live code counts of a redacted text: it has the length and the tokens of its placeholder, "+
					"so that a budget, for one, may decide otherwise than it did though its code is the same"
			}
			assert.Equal(t, c.says, said, "%s", report)
		})
	}
}
