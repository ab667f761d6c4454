package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

type middleware = func(context.Context, *adk.TurnContext, adk.Next) error

// loading is a turn with the given middleware as its only one.
func loading(load middleware) adk.Config {
	return adk.Config{
		TurnInput: []adk.TurnMiddleware{
			{Name: "first", Run: func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error { next(ctx); return nil }},
			{Name: "load", Run: load},
		},
		Executor: fakes.Script{{fakes.Say("Done."), fakes.Ack()}}.Executor("model"),
		Storage:  fakes.NewStorage().Storage(),
	}
}

// setting sets keys of the stash, then runs the rest.
func setting(keys string, rest middleware) middleware {
	return func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		if _, err := tc.Messages().Fetch(ctx); err != nil {
			return err
		}
		for _, key := range keys {
			if err := tc.Stash().Set(string(key), 1); err != nil {
				return err
			}
		}
		return rest(ctx, tc, next)
	}
}

func goingOn(ctx context.Context, _ *adk.TurnContext, next adk.Next) error { next(ctx); return nil }

// A report names first what the changed code did, not
// what the engine emitted while the change propagated. If
// operations changed places, it names the one that moved.
func TestReportNamesWhoBeganIt(t *testing.T) {
	turn := adk.RawTurn{SystemPrompt: "You are a test."}
	var trace bytes.Buffer
	require.NoError(t, tracetest.Must(adk.NewRunner(fakes.Deterministic(loading(setting("abcd", goingOn)), replay.Record(&trace)))).Run(t.Context(), turn))
	for _, test := range []struct {
		name   string
		load   middleware
		broken bool // the storage fails
		class  replay.Class
		seam   string
		text   string // what the recorded text is replaced with
	}{
		{"no next", setting("abcd", func(context.Context, *adk.TurnContext, adk.Next) error { return nil }), false,
			replay.Missing, "turn-input/load", "  - next\n"},
		{"an abort", setting("abcd", func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			tc.Abort(errors.New("enough"))
			next(ctx)
			return nil
		}), false, replay.Extra, "turn-input/load", "  + abort with error: enough\n"},
		{"a post-step that fails", setting("abcd", func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error {
			next(ctx)
			return errors.New("too late")
		}), false, replay.ChangedError, "turn-input/load", "  + turn-input/load returns → error: too late\n"},
		{"a fetch that fails", setting("abcd", goingOn), true,
			replay.ChangedError, "storage/messages.fetch", "  + storage/messages.fetch returns → error: down\n"},
		{"a wait", setting("abcd", func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			if _, err := tc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "sure?", Timeout: 1}); err != nil {
				return err
			}
			next(ctx)
			return nil
		}), false, replay.Extra, "turn-input/load", "  + wait-for gate1 \"sure?\" for at most 1ns\n"},
		{"the first of many is the last", setting("bcda", goingOn), false,
			replay.Order, "turn-input/load", "    stash a = 1\n    comes after stash d = 1\n"},
		{"the last of many is the first", setting("dabc", goingOn), false,
			replay.Order, "turn-input/load", "    stash d = 1\n    comes before stash a = 1\n"},
		{"two changed places", setting("abdc", goingOn), false,
			replay.Order, "turn-input/load", "    stash d = 1\n    comes before stash c = 1\n"},
		{"all the other way round", setting("dcba", goingOn), false,
			replay.Order, "turn-input/load", "    stash d = 1\n    comes before stash a = 1\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			live := replay.Live{Config: loading(test.load), Seams: []string{replay.Middleware}}
			if test.broken {
				storage := fakes.NewStorage()
				storage.Fail(fakes.Fault{Err: errors.New("down")})
				live.Config.Storage = storage.Storage()
				live.Seams = append(live.Seams, "storage/*.fetch")
			}
			report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), live)
			require.NoError(t, err)
			require.NotNil(t, report.Divergence)
			assert.Equal(t, test.class, report.Divergence.Class)
			assert.Equal(t, test.seam, report.Divergence.Seam)
			_, below, _ := strings.Cut(report.String(), "\n")
			assert.Contains(t, below, test.text)
			t.Log("\n" + report.String())
		})
	}
}

// A cause names short values as they are, even if they are not words: a placeholder would not help
// a reader who looks for the change.
func TestCausesNameShortValues(t *testing.T) {
	tool := func(name, schema string) *adk.Tool {
		f := fakes.NewTool(name, "Finds it.", "there")
		f.Init.InputSchema = json.RawMessage(schema)
		return f.Tool()
	}
	const schema = `{"type":"object","properties":{"days":{"type":"integer","minimum":1,"maximum":7}}}`
	config := func(tool *adk.Tool, args any) adk.Config {
		return adk.Config{
			Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if _, err := dc.Execute(ctx, tool, args); err != nil {
					return err
				}
				return dc.Ack()
			}},
			Tools:   []*adk.Tool{tool},
			Storage: fakes.NewStorage().Storage(),
		}
	}
	turn := adk.RawTurn{SystemPrompt: "You are a test."}
	var trace bytes.Buffer
	recorded := config(tool("find", schema), `{"days":2}`)
	require.NoError(t, tracetest.Must(adk.NewRunner(fakes.Deterministic(recorded, replay.Record(&trace)))).Run(t.Context(), turn))
	for _, test := range []struct {
		name  string
		tool  *adk.Tool
		args  any
		seams string
		says  string
	}{
		{"a bound that is gone", tool("find", strings.Replace(schema, `"minimum":1,`, "", 1)), nil, replay.Tools,
			"changed input in run: tool find.inputSchema.properties.days.minimum: 1 → nothing"},
		{"a list that is new", tool("find", strings.Replace(schema, `"maximum":7`, `"maximum":7,"enum":[1,3]`, 1)), nil, replay.Tools,
			"changed input in run: tool find.inputSchema.properties.days.enum: nothing → [1,3]"},
		{"another name", tool("seek", schema), nil, replay.Tools,
			`changed input in run: tool: "find" → "seek"`},
		{"white space in arguments", tool("find", schema), `{"days": 2}`, replay.Executor,
			"changed input in executor/model: execute find, args: `{\"days\":2}` → `{\"days\": 2}`"},
	} {
		t.Run(test.name, func(t *testing.T) {
			sources := []corpus.Source{livetest.Source("a.jsonl", trace.Bytes()), livetest.Source("b.jsonl", trace.Bytes())}
			report, err := corpus.Verify(t.Context(), sources, func(string) replay.Live {
				return replay.Live{Config: config(test.tool, test.args), Seams: []string{test.seams}}
			})
			require.NoError(t, err)
			assert.Equal(t, []string{"2 " + test.says}, livetest.Texts(report))
		})
	}
}
