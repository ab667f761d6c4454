package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// counting is a turn that logs the length of its input plus more. If keeps is set, it also stores
// that number, outside of the log.
func counting(more int, keeps bool, words string) adk.Config {
	return adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		text, _ := dc.Stash().Get("given", "").(string)
		n := len(text) + more
		h.Log(adk.LevelInfo, "length", fmt.Sprint(words, n), map[string]any{"bytes": n})
		if keeps {
			return errors.Join(dc.Stash().Set("length", n), dc.Ack())
		}
		return dc.Ack()
	}}}
}

// A number in a log line that counts a redacted text is no difference, and the report says so.
// Beside any other difference the report says that live code counts placeholders, which may be the
// reason; it does not say so elsewhere.
func TestCountsOfWhatWasRedacted(t *testing.T) {
	const numbers, counts = "the numbers in lines of the log, which may count it",
		"what live code counts of a redacted text: it has the length and the tokens of its placeholder, " +
			"so that a budget, for one, may decide otherwise than it did though its code is the same"
	rules := &redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `key-[a-z-]+`}}}
	for name, c := range map[string]struct {
		given         string
		rules         *redact.Rules
		more          int
		keeps         bool
		words         string // of today's log
		differs, says bool
	}{
		"redacted, and kept":    {given: "it is key-of-the-house-and-much-longer-yet", rules: rules, keeps: true, differs: true, says: true},
		"redacted, and logged":  {given: "it is key-of-the-house-and-much-longer-yet", rules: rules, says: true},
		"logged in other words": {given: "it is key-of-the-house-and-much-longer-yet", rules: rules, words: "bytes: ", differs: true, says: true},
		"redacted and as long":  {given: "it is key-of-the-house", rules: rules, keeps: true, says: true},
		"not redacted":          {given: "it is key-of-the-house", more: 1, differs: true},
		"nothing to redact":     {given: "it is nothing", rules: rules, more: 1, differs: true},
	} {
		t.Run(name, func(t *testing.T) {
			var recorded bytes.Buffer
			runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(counting(0, c.keeps, ""), replay.Record(&recorded, replay.RecordOptions{Redact: c.rules}))))
			require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Count.", Stash: map[string]any{"given": c.given}}))
			report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.Live{Config: counting(c.more, c.keeps, c.words), Seams: []string{replay.Executor}})
			require.NoError(t, err)
			assert.Equal(t, c.differs, report.Divergence != nil, "%s", report)
			assert.Equal(t, c.says, slices.Contains(report.NotCompared, numbers), "%s", report)
			assert.Equal(t, c.says && c.differs, slices.Contains(report.NotCompared, counts), "%s", report)
		})
	}
}

// Code does not get a number that a path redacts: here it gets 0. If the recorded log line has a placeholder
// for the number, a 0 in its place is no difference. Any other number, and other words, are one.
func TestNumbersThatWereRedactedInLogs(t *testing.T) {
	agent := func(logs func(card int) string) adk.Config {
		return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			card, _ := dc.Stash().Get("card", 0).(int)
			h.Log(adk.LevelInfo, "event", logs(card), nil)
			return dc.Ack()
		}}}
	}
	rules := &redact.Rules{Paths: []string{"card"}, Patterns: []redact.Pattern{{Kind: "number", Expr: `\b[0-9]{9}\b`}}}
	var recorded bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(agent(func(card int) string { return fmt.Sprint("charging ", card) }), replay.Record(&recorded, replay.RecordOptions{Redact: rules}))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Charge.", Stash: map[string]any{"card": 492912345}}))
	require.Contains(t, recorded.String(), `"message":"charging [redacted:number:1]"`)
	for name, c := range map[string]struct {
		logs    func(card int) string
		differs bool
	}{
		"the same":       {logs: func(card int) string { return fmt.Sprint("charging ", card) }},
		"other words":    {logs: func(card int) string { return fmt.Sprint("charged ", card) }, differs: true},
		"another number": {logs: func(int) string { return "charging 7" }, differs: true},
		"no number":      {logs: func(int) string { return "charging" }, differs: true},
	} {
		for _, rules := range []*redact.Rules{rules, nil} {
			report, err := replay.Verify(t.Context(), bytes.NewReader(recorded.Bytes()), replay.Live{Config: agent(c.logs), Seams: []string{replay.Executor}, Redact: rules})
			require.NoError(t, err)
			assert.Equal(t, c.differs, report.Divergence != nil, "%s, rules %v: %s", name, rules != nil, report)
		}
	}
}
