package replay_test

import (
	"bytes"
	"context"
	"testing"
	"time"

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

// A write that changes, is gone or is new behind another change of the same call does not follow
// from that change where the call was answered as recorded. It follows where it says what the change
// says, and where the code was told something else before.
func TestWritesBehindAChangeAreTold(t *testing.T) {
	type request struct {
		Prompt string `json:"prompt,omitempty"`
		Cents  int    `json:"cents,omitempty"`
		Key    string `json:"key,omitempty"`
	}
	type agent struct {
		prompt, model string
		writes        []request
		asks          []string // of people, by a gate each
		ids           int      // made before the writes
		rate          string   // what a tool returns
		effect        adk.Effect
	}
	config := func(a agent) adk.Config {
		tool, err := adk.NewTool(adk.ToolInit{Name: "rate", Description: "Tells the rate.", InputSchema: []byte(`{"type":"object"}`),
			Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
				return adk.Text(a.rate), nil
			}})
		require.NoError(t, err)
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if _, err := adk.Ask(ctx, a.model, a.prompt, func(context.Context, string) (string, error) { return "refund", nil }); err != nil {
				return err
			}
			if _, err := dc.Execute(ctx, tool, map[string]any{}); err != nil {
				return err
			}
			id := ""
			for range a.ids {
				id = dc.NewID()
			}
			for _, r := range a.writes {
				if r.Key == "made" {
					r.Key = id
				}
				if _, err := adk.Ask(ctx, "refund", r, func(context.Context, request) (bool, error) { return true, nil }, adk.AskOptions{Effect: a.effect}); err != nil {
					return err
				}
			}
			for _, question := range a.asks {
				_, _ = dc.WaitFor(ctx, adk.Gate{ID: "approve", Reason: "refund", Payload: question, Timeout: time.Minute})
			}
			return dc.Ack()
		}, tool)
	}
	was := agent{prompt: "Be brief, spend 1 coin.", model: "model", writes: []request{{Cents: 1250}}, rate: "1.0", effect: adk.EffectWrites}
	const cents = "changed input in executor/e: ask refund request.cents"
	for name, c := range map[string]struct {
		change func(was, is *agent)
		tells  []string
	}{
		"the prompt alone": {func(_, _ *agent) {}, nil},
		"another amount":   {func(_, is *agent) { is.writes = []request{{Cents: 999999}} }, []string{cents}},
		"gone":             {func(_, is *agent) { is.writes = nil }, []string{"missing in executor/e: ask refund"}},
		"one more":         {func(_, is *agent) { is.writes = append(is.writes, request{Cents: 7}) }, []string{"unanswered in executor/e: ask refund"}},
		"another effect":   {func(was, is *agent) { was.effect = adk.EffectReads; is.writes = []request{{Cents: 7}} }, []string{"changed input in executor/e: ask refund request.cents effect"}},
		"a read": {func(was, is *agent) {
			was.effect, is.effect = adk.EffectReads, adk.EffectReads
			is.writes = []request{{Cents: 7}}
		}, nil},
		"what the prompt says": {func(was, is *agent) {
			was.writes, is.writes = []request{{Prompt: was.prompt}}, []request{{Prompt: is.prompt}}
		}, nil},
		"a part of it": {func(was, is *agent) {
			was.writes, is.writes = []request{{Prompt: "so brief"}}, []request{{Prompt: "so kind"}}
		}, nil},
		"what it says, and an amount": {func(was, is *agent) {
			was.writes, is.writes = []request{{Prompt: was.prompt, Cents: 1}}, []request{{Prompt: is.prompt, Cents: 2}}
		}, []string{cents}},
		"a number that it says, too": {func(was, is *agent) {
			is.prompt = "Be brief, spend 2 coin."
			was.writes, is.writes = []request{{Cents: 1}}, []request{{Cents: 2}}
		}, []string{cents}},
		"another id": {func(was, is *agent) {
			was.ids, is.ids = 1, 2
			was.writes, is.writes = []request{{Key: "made"}}, []request{{Key: "made"}}
		}, nil},
		"another id, and another name": {func(was, is *agent) {
			was.ids, is.ids = 1, 2
			was.writes, is.writes = []request{{Key: "made", Prompt: "Ann"}}, []request{{Key: "made", Prompt: "Bob"}}
		}, []string{"changed input in executor/e: ask refund request.prompt"}},
		"behind a tool's other result":    {func(_, is *agent) { is.rate = "2.0"; is.writes = []request{{Cents: 2500}} }, []string{"changed result in tool/rate"}},
		"behind an ask without an answer": {func(_, is *agent) { is.model = "another model" }, nil},
		"another question":                {func(was, is *agent) { was.asks, is.asks = []string{"1250?"}, []string{"1251?"} }, []string{"changed input in executor/e: wait-for payload"}},
	} {
		t.Run(name, func(t *testing.T) {
			was, is := was, was
			is.prompt = "Be kind, spend 1 coin."
			c.change(&was, &is)
			var b bytes.Buffer
			runner, err := adk.NewRunner(fakes.Deterministic(config(was), replay.Record(&b)))
			require.NoError(t, err)
			require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Help."}))
			report, err := replay.Verify(t.Context(), &b, replay.Live{Config: config(is), Seams: []string{replay.Executor, replay.ToolCode}, Writes: true})
			require.NoError(t, err)
			require.NotNil(t, report.Divergence)
			var told []string
			for _, a := range report.Divergence.After.Apart {
				told = append(told, a.What)
			}
			assert.Equal(t, c.tells, told, "%s", report)
			if len(told) == 1 && told[0] == cents {
				assert.Contains(t, report.String(), "request.cents: expected ", "in which way the write has changed")
			}
		})
	}
}

// Writes that are gone together are shown together, and are not told once more. Those that the
// report does not show are told.
func TestWritesThatAreGoneTogether(t *testing.T) {
	config := func(orders int) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for n := range orders {
				if _, err := adk.Ask(ctx, "refund", n, func(context.Context, int) (bool, error) { return true, nil }, adk.AskOptions{Effect: adk.EffectWrites}); err != nil {
					return err
				}
			}
			return dc.Ack()
		})
	}
	for orders, told := range map[int]int{1: 0, 3: 0, 5: 2} {
		recorded := turnOf(t, config(orders), adk.RawTurn{SystemPrompt: "Help."})
		report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{Config: config(0), Seams: []string{replay.Executor}, Writes: true})
		require.NoError(t, err)
		require.NotNil(t, report.Divergence)
		assert.Equal(t, replay.Missing, report.Divergence.Class)
		assert.Len(t, report.Divergence.Also, orders-1)
		assert.Len(t, report.Divergence.After.Apart, told, "%s", report)
	}
}
