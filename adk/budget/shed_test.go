package budget_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/budget"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// words counts the words of a text, so that each record of these tests has a count of its own.
func words(text string, _ adk.Encoding) (int, bool, bool) {
	return len(strings.Fields(text)), true, true
}

// loaded is a config whose turns hold the records of a view and then shed. The executor acks
// unless another executor is given.
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

// run runs a turn and returns its trace and the failures that were emitted.
func run(t testing.TB, config adk.Config) (recorded []byte, failures []error) {
	var out bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(config, replay.Record(&out)))
	require.NoError(t, err)
	heard := adk.Observability{Error: func(e adk.ErrorEvent) { failures = append(failures, e.Error) }}
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "One", Observability: heard}))
	return out.Bytes(), failures
}

// crossings returns the crossings of one kind in a trace.
func crossings(t testing.TB, recorded []byte, kind adk.Kind) (all []adk.Crossing) {
	read, err := trace.Read(bytes.NewReader(recorded))
	require.NoError(t, err)
	for _, line := range read.Lines() {
		if line.Kind == kind {
			all = append(all, line.Crossing)
		}
	}
	return all
}

// keys returns the keys of the crossings of one kind, such as removals or deletions, in a trace.
func keys(t testing.TB, recorded []byte, kind adk.Kind) (all []string) {
	for _, x := range crossings(t, recorded, kind) {
		all = append(all, x.Key)
	}
	return all
}

// BUD-10: in which order records are shed, and that no more of them are than necessary. They are
// removed from the turn's sets only. One log says what was shed.
func TestShed(t *testing.T) {
	k := kit{t}
	text := func(n int) string { return strings.Repeat("word ", n) }
	view := prompt.View{ // 1 with the prompt
		Retrievables: []*adk.Retrievable{k.retrievable("r1", text(1)), k.retrievable("r2", text(2))},
		Memories: []*adk.Memory{
			k.memory("m-same", text(1), 0.5, 0.5), k.memory("m-worst", text(2), 0, 0.25), k.memory("m-best", text(4), 1, 1), k.memory("m-same-2", text(8), 0.25, 0.75),
		},
		Messages: []*adk.Message{k.message("newest", text(10), 9), k.message("oldest", text(20), 1), k.message("middle", text(30), 5)},
	} // 79 words in all
	retrievables, memories := []string{"r2", "r1"}, []string{"m-worst", "m-same-2", "m-same", "m-best"}
	for name, c := range map[string]struct {
		window, reserve, keep            int
		retrievables, memories, messages []string
		after                            int
		fits                             bool
	}{
		"all fits":            {79, 0, 0, nil, nil, nil, 79, true},
		"a retrievable":       {78, 0, 0, retrievables[:1], nil, nil, 77, true},
		"for the reserve":     {79, 1, 0, retrievables[:1], nil, nil, 77, true},
		"both retrievables":   {76, 0, 0, retrievables, nil, nil, 76, true},
		"the worst memory":    {75, 0, 0, retrievables, memories[:1], nil, 74, true},
		"the last of equals":  {73, 0, 0, retrievables, memories[:2], nil, 66, true},
		"the oldest message":  {60, 0, 0, retrievables, memories, []string{"oldest"}, 41, true},
		"all but the newest":  {11, 0, -1, retrievables, memories, []string{"oldest", "middle"}, 11, true},
		"nothing is enough":   {10, 0, 1, retrievables, memories, []string{"oldest", "middle"}, 11, false},
		"two messages stay":   {10, 0, 2, retrievables, memories, []string{"oldest"}, 41, false},
		"more stay than were": {10, 0, 9, retrievables, memories, nil, 61, false},
	} {
		t.Run(name, func(t *testing.T) {
			options := budget.ShedOptions{Limits: budget.Limits{Encoding: "words", Window: c.window, Counter: words}, Reserve: c.reserve, KeepMessages: c.keep}
			recorded, failures := run(t, loaded(t, view, options, adk.Executor{}))
			assert.Empty(t, failures)
			gone := slices.Concat(c.retrievables, c.memories, c.messages)
			assert.Equal(t, gone, keys(t, recorded, adk.KindRemove), "out of the sets")
			assert.Empty(t, keys(t, recorded, adk.KindDelete), "and not of the storage")
			logs := crossings(t, recorded, adk.KindReportLog)
			if c.after == 79 {
				assert.Empty(t, logs, "there is nothing to tell")
				return
			}
			require.Len(t, logs, 1)
			assert.Equal(t, "budget-shed", logs[0].Name)
			assert.Equal(t, c.fits, logs[0].Key == "info")
			assert.Equal(t, map[string]any{
				"retrievables": c.retrievables, "memories": c.memories, "messages": c.messages, "fits": c.fits,
				"before": 79, "after": c.after, "limit": c.window, "reserve": c.reserve, "encoding": "words",
			}, logs[0].Value)
			property.Check(t, bytes.NewReader(recorded))
			report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{})
			require.NoError(t, err)
			assert.Nil(t, report.Divergence)
		})
	}
}

// BUD-4, BUD-10, ART-5: a result that Handles will hide counts as the handle that is shown, so that no
// message is shed because of it, and the executor counts the same. Without Shown its body counts,
// messages are shed, and the log says that Shown would help.
func TestShedBeforeHandles(t *testing.T) {
	k := kit{t}
	view, text := prompt.View{}, strings.Repeat("word ", 10)
	for i := range 20 {
		view.Messages = append(view.Messages, k.message(fmt.Sprint("m", i), text, i))
	}
	body, err := artifact.Text(t.Context(), adk.Text(strings.Repeat("word ", 5000)))
	require.NoError(t, err)
	earlier, handles := k.call("earlier", body, true), artifact.HandleOptions{From: 1000}
	for name, c := range map[string]struct {
		shown    func(*adk.ToolCall) (*adk.ToolCall, error)
		messages int
		logs     []string
	}{
		"what is shown counts": {handles.Shown, 20, nil},
		"the body counts":      {nil, 2, []string{"the turn does not fit all the same: 18 of its records went; documents that tools gave counted with their bodies: ShedOptions.Shown says for which a handle stands"}},
		"another is shown":     {artifact.HandleOptions{From: 1 << 20}.Shown, 2, []string{"the turn does not fit all the same: 18 of its records went"}},
	} {
		t.Run(name, func(t *testing.T) {
			limits, counted := budget.Limits{Encoding: "words", Window: 1000, Counter: words}, 0
			executor := adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				shown := prompt.ViewOf(dc.Handle)
				counted = budget.Measure(shown, results(t, shown), "words", words).Total()
				assert.Len(t, shown.Messages, c.messages)
				return dc.Ack()
			}}
			config := loaded(t, view, budget.ShedOptions{Limits: limits, KeepMessages: 2, Shown: c.shown}, executor)
			config.DispatchInput = []adk.DispatchMiddleware{artifact.Handles(handles)}
			config.TurnInput = slices.Insert(config.TurnInput, 0, adk.TurnMiddleware{Name: "earlier", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
				_, err := tc.ToolCalls().Add(earlier)
				next(ctx)
				return err
			}})
			recorded, failures := run(t, config)
			assert.Empty(t, failures)
			assert.Less(t, counted, limits.Window, "what the model is asked with fits")
			var logs []string
			for _, x := range crossings(t, recorded, adk.KindReportLog) {
				logs = append(logs, x.Text)
			}
			assert.Equal(t, c.logs, logs)
			property.Check(t, bytes.NewReader(recorded))
		})
	}
}

// ART-6, BUD-10: when Shown fails, the turn fails with its error, and nothing is shed.
func TestShedWithoutWhatIsShown(t *testing.T) {
	k := kit{t}
	view := prompt.View{Messages: []*adk.Message{k.message("a", "one two", 0), k.message("b", "three", 1)}}
	config := loaded(t, view, budget.ShedOptions{Limits: budget.Limits{Encoding: "words", Window: 1, Counter: words}, Shown: artifact.HandleOptions{From: -1}.Shown}, adk.Executor{})
	config.TurnInput = slices.Insert(config.TurnInput, 0, adk.TurnMiddleware{Name: "earlier", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		_, err := tc.ToolCalls().Add(k.call("c", adk.Text("word"), true))
		next(ctx)
		return err
	}})
	recorded, failures := run(t, config)
	require.Len(t, failures, 1)
	assert.ErrorIs(t, failures[0], adk.E_INVALID_ARTIFACT_CONFIG)
	assert.Empty(t, keys(t, recorded, adk.KindRemove))
}

// BUD-1, BUD-10: without limits nothing is measured, and invalid limits fail the turn.
func TestShedNeedsLimits(t *testing.T) {
	k := kit{t}
	view := prompt.View{Messages: []*adk.Message{k.message("u", strings.Repeat("word ", 100), 0)}, Memories: []*adk.Memory{k.memory("m", "x", 0, 0)}}
	recorded, failures := run(t, loaded(t, view, budget.ShedOptions{Limits: budget.Limits{Window: 1}}, adk.Executor{}))
	assert.Empty(t, failures)
	assert.Empty(t, keys(t, recorded, adk.KindRemove))
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

// enforcing is an executor that only enforces the budget and acks.
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

// BUD-4, BUD-6, BUD-7: the middleware and the executor count the same. An overflow is one error
// event, whose figures an observer can read in the turn and in a replay of its trace.
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
	for _, line := range read.Lines() {
		if replayed, found := budget.OverflowOf(line.Err); found {
			assert.Equal(t, live, replayed)
			seen++
		}
	}
	assert.Positive(t, seen, "the trace has it")
	report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence)
}

// BUD-10: a negative reserve, or one larger than the window, is reported together with all other
// faults, and nothing is shed.
func TestReserve(t *testing.T) {
	k := kit{t}
	view := prompt.View{Memories: []*adk.Memory{k.memory("m", "x", 0, 0)}}
	const code = "E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS: "
	for want, options := range map[string]budget.ShedOptions{
		"": {Limits: budget.Limits{Encoding: "o200k_base", Window: 10}, Reserve: 8},
		code + "Reserve is -50, want 0 or more tokens":                                              {Limits: budget.Limits{Encoding: "o200k_base", Window: 10}, Reserve: -50},
		code + "Reserve is -1, want 0 or more tokens":                                               {Reserve: -1},
		code + "Reserve is 11, want at most the contextWindow, which is 10: nothing would ever fit": {Limits: budget.Limits{Encoding: "o200k_base", Window: 10}, Reserve: 11},
	} {
		recorded, failures := run(t, loaded(t, view, options, adk.Executor{}))
		assert.Empty(t, keys(t, recorded, adk.KindRemove))
		if want == "" {
			assert.Empty(t, failures)
			continue
		}
		require.Len(t, failures, 1)
		assert.ErrorContains(t, failures[0], want)
	}
	assert.Len(t, budget.ShedOptions{Limits: budget.Limits{Encoding: "nope", Window: -5}, Reserve: -1}.Faults(), 3)
	assert.Empty(t, budget.ShedOptions{Limits: budget.Limits{Encoding: "o200k_base", Window: 10}, Reserve: 10}.Faults())
}
