package budget_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// words counts each text by its words: every record of these tests has its own number.
func words(text string, _ adk.Encoding) (int, bool, bool) {
	return len(strings.Fields(text)), true, true
}

// loaded is a config whose turns hold the records of a view, and shed. The executor acks
// unless it is given another.
func loaded(t testing.TB, view prompt.View, options budget.ShedOptions, executor adk.Executor) adk.Config {
	load := adk.TurnMiddleware{Name: "load", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		for _, r := range view.Retrievables {
			_, err := tc.Retrievables().Add(r)
			require.NoError(t, err)
		}
		for _, m := range view.Memories {
			_, err := tc.Memories().Add(m)
			require.NoError(t, err)
		}
		for _, m := range view.Messages {
			_, err := tc.Messages().Add(m)
			require.NoError(t, err)
		}
		next(ctx)
		return nil
	}}
	if executor.Run == nil {
		executor = fakes.Script{{fakes.Ack()}}.Executor("model")
	}
	return adk.Config{Executor: executor, Storage: fakes.NewStorage().Storage(), TurnInput: []adk.TurnMiddleware{load, budget.Shed(options)}}
}

// run runs a turn and gives its trace and the failures that it told.
func run(t testing.TB, config adk.Config) (recorded []byte, failures []error) {
	var out bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&out)))
	require.NoError(t, err)
	heard := adk.Observability{Error: func(e adk.ErrorEvent) { failures = append(failures, e.Error) }}
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "One", Observability: heard}))
	return out.Bytes(), failures
}

// crossings are the lines of a trace of one kind, by the key of each.
func crossings(t testing.TB, recorded []byte, kind adk.Kind) (keys []string) {
	read, err := trace.Read(bytes.NewReader(recorded))
	require.NoError(t, err)
	for _, line := range read.Lines {
		if line.Crossing.Kind == kind {
			keys = append(keys, line.Crossing.Key)
		}
	}
	return keys
}

// BUD-10: what goes first, and no more than is needed; out of the sets alone.
func TestShed(t *testing.T) {
	k := kit{t}
	text := func(n int) string { return strings.Repeat("word ", n) }
	view := prompt.View{ // 1 with the prompt
		Retrievables: []*adk.Retrievable{k.retrievable("r1", text(1)), k.retrievable("r2", text(2))},
		Memories: []*adk.Memory{
			k.memory("m-same", text(1), 0.5, 0.5), k.memory("m-worst", text(2), 0, 0.25), k.memory("m-best", text(4), 1, 1), k.memory("m-same-2", text(8), 0.25, 0.75),
		},
		Messages: []*adk.Message{k.message("newest", text(10), 9), k.message("oldest", text(20), 1), k.message("middle", text(30), 5)},
	} // 79 in all
	for name, c := range map[string]struct {
		window, reserve, keep int
		want                  budget.Shedding // but for the figures
		after                 int
	}{
		"all fits":            {79, 0, 0, budget.Shedding{Fits: true}, 79},
		"a retrievable":       {78, 0, 0, budget.Shedding{Retrievables: []string{"r2"}, Fits: true}, 77},
		"for the reserve":     {79, 1, 0, budget.Shedding{Retrievables: []string{"r2"}, Fits: true}, 77},
		"both retrievables":   {76, 0, 0, budget.Shedding{Retrievables: []string{"r2", "r1"}, Fits: true}, 76},
		"the worst memory":    {75, 0, 0, budget.Shedding{Retrievables: []string{"r2", "r1"}, Memories: []string{"m-worst"}, Fits: true}, 74},
		"the last of equals":  {73, 0, 0, budget.Shedding{Retrievables: []string{"r2", "r1"}, Memories: []string{"m-worst", "m-same-2"}, Fits: true}, 66},
		"the oldest message":  {60, 0, 0, budget.Shedding{Retrievables: []string{"r2", "r1"}, Memories: []string{"m-worst", "m-same-2", "m-same", "m-best"}, Messages: []string{"oldest"}, Fits: true}, 41},
		"all but the newest":  {11, 0, -1, budget.Shedding{Retrievables: []string{"r2", "r1"}, Memories: []string{"m-worst", "m-same-2", "m-same", "m-best"}, Messages: []string{"oldest", "middle"}, Fits: true}, 11},
		"nothing is enough":   {10, 0, 1, budget.Shedding{Retrievables: []string{"r2", "r1"}, Memories: []string{"m-worst", "m-same-2", "m-same", "m-best"}, Messages: []string{"oldest", "middle"}}, 11},
		"two messages stay":   {10, 0, 2, budget.Shedding{Retrievables: []string{"r2", "r1"}, Memories: []string{"m-worst", "m-same-2", "m-same", "m-best"}, Messages: []string{"oldest"}}, 41},
		"more stay than were": {10, 0, 9, budget.Shedding{Retrievables: []string{"r2", "r1"}, Memories: []string{"m-worst", "m-same-2", "m-same", "m-best"}}, 61},
	} {
		t.Run(name, func(t *testing.T) {
			var told []budget.Shedding
			options := budget.ShedOptions{Limits: budget.Limits{Encoding: "words", Window: c.window, Counter: words}, Reserve: c.reserve, KeepMessages: c.keep,
				Report: func(_ context.Context, s budget.Shedding) { told = append(told, s) }}
			recorded, failures := run(t, loaded(t, view, options, adk.Executor{}))
			assert.Empty(t, failures)
			if c.after == 79 {
				assert.Empty(t, told, "nothing went")
				assert.Empty(t, crossings(t, recorded, adk.KindRemove))
				return
			}
			require.Len(t, told, 1)
			assert.Equal(t, []int{79, c.after}, []int{told[0].Before.Total(), told[0].After.Total()})
			gone := append(append(append([]string(nil), c.want.Retrievables...), c.want.Memories...), c.want.Messages...)
			assert.Equal(t, gone, crossings(t, recorded, adk.KindRemove), "out of the sets")
			assert.Empty(t, crossings(t, recorded, adk.KindDelete), "and not of the storage")
			told[0].Before, told[0].After = budget.Usage{}, budget.Usage{}
			assert.Equal(t, c.want, told[0])
		})
	}
}

// BUD-1, BUD-10: without limits nothing is measured, and wrong ones fail the turn.
func TestShedNeedsLimits(t *testing.T) {
	k := kit{t}
	view := prompt.View{Messages: []*adk.Message{k.message("u", strings.Repeat("word ", 100), 0)}, Memories: []*adk.Memory{k.memory("m", "x", 0, 0)}}
	recorded, failures := run(t, loaded(t, view, budget.ShedOptions{Limits: budget.Limits{Window: 1}}, adk.Executor{}))
	assert.Empty(t, failures)
	assert.Empty(t, crossings(t, recorded, adk.KindRemove))
	for _, options := range []budget.ShedOptions{
		{Limits: budget.Limits{Encoding: "o200k_base"}},
		{Limits: budget.Limits{Encoding: "o200k_base", Window: 10}, Prompt: prompt.Options{Surfacing: "some"}},
	} {
		_, failures = run(t, loaded(t, view, options, adk.Executor{}))
		require.Len(t, failures, 1)
		assert.ErrorIs(t, failures[0], adk.E_INPUT_PIPELINE_ERROR)
		assert.ErrorIs(t, failures[0], adk.E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS)
	}
}

// enforcing is an executor that does of its work no more than the budget.
func enforcing(limits budget.Limits) adk.Executor {
	return adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		view := prompt.ViewOf(dc.Handle)
		a, err := prompt.New(view, prompt.Options{Opener: dc})
		if err != nil {
			return err
		}
		results, err := a.Results(ctx)
		if err != nil {
			return err
		}
		if err := limits.Enforce(h, view, results); err != nil {
			return err
		}
		return dc.Ack()
	}}
}

// BUD-4, BUD-6, BUD-7: what the middleware counts the executor counts; an overflow is one
// error event, whose figures an observer reads in the turn, and in a replay of its trace.
func TestOverflowInATurn(t *testing.T) {
	k := kit{t}
	view := prompt.View{Messages: []*adk.Message{k.message("old", strings.Repeat("word ", 50), 0), k.message("new", strings.Repeat("word ", 9), 1)}}
	limits := budget.Limits{Encoding: adk.EncodingO200kBase, Window: 20}
	_, failures := run(t, loaded(t, view, budget.ShedOptions{Limits: limits}, enforcing(limits)))
	assert.Empty(t, failures, "what was shed fits")

	recorded, failures := run(t, loaded(t, view, budget.ShedOptions{}, enforcing(limits)))
	require.Len(t, failures, 1)
	assert.ErrorIs(t, failures[0], adk.E_LLM_EXECUTION_EXECUTOR_ERROR)
	assert.ErrorIs(t, failures[0], adk.E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW)
	live, found := budget.OverflowOf(failures[0])
	require.True(t, found)
	assert.Greater(t, live.Timeline, 50)

	read, err := trace.Read(bytes.NewReader(recorded))
	require.NoError(t, err)
	seen := 0
	for _, line := range read.Lines {
		if replayed, found := budget.OverflowOf(line.Crossing.Err); found {
			assert.Equal(t, live, replayed)
			seen++
		}
	}
	assert.Positive(t, seen, "the trace has it")
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)
}
