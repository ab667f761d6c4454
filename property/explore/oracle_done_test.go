package explore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// finds explores a turn with this executor and one tool, and reports whether the oracle of this name finds
// a violation.
func finds(t *testing.T, oracle string, run func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error) bool {
	t.Helper()
	note, err := adk.NewTool(adk.ToolInit{Name: "note", Description: "Notes.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("noted"), nil
		}})
	require.NoError(t, err)
	result, err := Explore(t.Context(), turn.Subject{Name: oracle, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		raw := adk.RawTurn{SystemPrompt: "Help."}
		raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("ada", true) }
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{note}}, raw
	}}, Options{})
	require.NoError(t, err)
	return slices.ContainsFunc(result.Violations, func(b Breach) bool { return b.Invariant == oracle })
}

func saysAndAcks(ctx context.Context, dc *adk.DispatchContext, text string) error {
	if text != "" {
		if err := dc.Messages().Store(ctx, spoken("m0", adk.RoleAssistant, text)); err != nil {
			return err
		}
	}
	return dc.Ack()
}

// Telling the user a sum without the part that failed, or telling nothing, is a violation. It is none if the
// text or the log says that a part is missing, or if asking again succeeds.
func TestPartTold(t *testing.T) {
	for name, c := range map[string]struct {
		tries   int
		failed  func(h *adk.Helpers, sum int) string
		accused bool
	}{
		"a sum of the rest": {1, func(_ *adk.Helpers, sum int) string { return fmt.Sprintf("You paid %d.", sum) }, true},
		"nothing at all":    {1, func(*adk.Helpers, int) string { return "" }, true},
		"other words":       {1, func(_ *adk.Helpers, sum int) string { return fmt.Sprintf("You paid %d, and more.", sum) }, false},
		"a log": {1, func(h *adk.Helpers, sum int) string {
			h.Log(adk.LevelWarn, "orders", "one is missing", nil)
			return fmt.Sprintf("You paid %d.", sum)
		}, false},
		"another try, in vain":  {2, func(_ *adk.Helpers, sum int) string { return fmt.Sprintf("You paid %d.", sum) }, true},
		"another try, or words": {2, func(_ *adk.Helpers, sum int) string { return fmt.Sprintf("You paid %d, and more.", sum) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			found := finds(t, "what failed is not told as done", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				sum, failed := 0, false
				for page := range 2 {
					err := error(nil)
					for range c.tries {
						var n int
						if n, err = adk.Ask(ctx, "orders", page, func(context.Context, int) (int, error) { return 10, nil }, adk.AskOptions{}); err == nil {
							sum += n
							break
						}
					}
					failed = failed || err != nil
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
				text := fmt.Sprintf("You paid %d.", sum)
				if failed {
					text = c.failed(h, sum)
				}
				return saysAndAcks(ctx, dc, text)
			})
			assert.Equal(t, c.accused, found)
		})
	}
}

// A tool that, after a failed ask, returns the usual words with other figures hides that some are missing.
// A tool that asks another service, says that some are missing, or returns the error is not accused.
func TestToolsThatGiveOtherFigures(t *testing.T) {
	ask := func(ctx context.Context, of string, page int) (int, error) {
		return adk.Ask(ctx, of, page, func(context.Context, int) (int, error) { return 10 * page, nil })
	}
	for name, c := range map[string]struct {
		failed  func(ctx context.Context, page int, err error) (n int, says string, handedOn error)
		accused bool
	}{
		"dropped":   {func(context.Context, int, error) (int, string, error) { return 0, "", nil }, true},
		"handed on": {func(_ context.Context, _ int, err error) (int, string, error) { return 0, "", err }, false},
		"said":      {func(context.Context, int, error) (int, string, error) { return 0, ", and more", nil }, false},
		"another one": {func(ctx context.Context, page int, _ error) (int, string, error) {
			n, err := ask(ctx, "replica", page)
			return n + 1, "", err
		}, false},
	} {
		tool, err := adk.NewTool(adk.ToolInit{Name: "paid", Description: "Sums up.", Effect: adk.EffectReads, InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				sum, more := 0, ""
				for page := range 3 {
					n, err := ask(ctx, "orders", page)
					if err != nil {
						var says string
						if n, says, err = c.failed(ctx, page, err); err != nil {
							return nil, err
						}
						more += says
					}
					sum += n
				}
				return adk.Text(fmt.Sprintf("paid %d%s", sum, more)), ctx.Err()
			}})
		require.NoError(t, err)
		found := breaches(exploredAll(t, turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
			return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{tool},
				Executor: fakes.Script{{fakes.Call("paid", "{}")}, {fakes.Ack()}}.Executor("model")}, adk.RawTurn{SystemPrompt: "Help."}
		}}).Violations, "what failed is not told as done")
		if assert.Equal(t, c.accused, len(found) > 0, "%s: %s", name, found) && c.accused {
			assert.Contains(t, found[0], `gives the usual words with other figures, "paid `)
		}
	}
}

// A tool that drops failed parts is one mistake and one entry, whichever part is missing, or if all are.
func TestOneEntryForWhicheverPart(t *testing.T) {
	tool, err := adk.NewTool(adk.ToolInit{Name: "news", Description: "Reads.", Effect: adk.EffectReads, InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			all := []string{}
			for _, of := range []string{"reuters", "ap", "dpa"} {
				if text, err := adk.Ask(ctx, "feed", of, func(context.Context, string) (string, error) { return "by " + of, nil }); err == nil {
					all = append(all, text)
				}
			}
			text, err := json.Marshal(all)
			return adk.Text(string(text)), cmp.Or(err, ctx.Err())
		}})
	require.NoError(t, err)
	result := exploredAll(t, turn.Subject{Name: "news", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{tool},
			Executor: fakes.Script{{fakes.Call("news", "{}")}, {fakes.Ack()}}.Executor("model")}, adk.RawTurn{SystemPrompt: "Help."}
	}})
	assert.Len(t, breaches(result.Violations, "what failed is not told as done"), 1, result)
}

// Telling what is left of a failed sub-agent like a full answer is a violation. The agent is not accused if
// it fails too, if its text or a log says so, or if another sub-agent succeeds. Neither is an agent that
// gives the same answer without the sub-agent.
func TestSubAgentThatFailed(t *testing.T) {
	for name, c := range map[string]struct {
		tries   int
		told    func(h *adk.Helpers, found string, failed error) (string, error)
		accused bool
	}{
		"the rest as an answer": {1, func(_ *adk.Helpers, found string, _ error) (string, error) { return "Found: " + found, nil }, true},
		"no answer":             {1, func(*adk.Helpers, string, error) (string, error) { return "", nil }, true},
		"a failure":             {1, func(_ *adk.Helpers, found string, failed error) (string, error) { return "Found: " + found, failed }, false},
		"other words":           {1, func(_ *adk.Helpers, found string, _ error) (string, error) { return "Nobody knows." + found, nil }, false},
		"the same without it":   {1, func(*adk.Helpers, string, error) (string, error) { return "Found: a drink", nil }, false},
		"another try":           {2, func(_ *adk.Helpers, found string, failed error) (string, error) { return "Found: " + found, failed }, false},
		"a log": {1, func(h *adk.Helpers, found string, _ error) (string, error) {
			h.Log(adk.LevelWarn, "research", "it failed", nil)
			return "Found: " + found, nil
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			accused := finds(t, "a sub-agent that failed is heard of", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				found, failed := "", error(nil)
				for range c.tries {
					_, failed = adk.Dispatch(ctx, adk.DispatchInput{Name: "researcher", Source: dc, Executor: adk.Executor{Name: "researcher", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) (err error) {
						if found, err = adk.Ask(ctx, "model", "tea", func(context.Context, string) (string, error) { return "a drink", nil }); err != nil {
							return err
						}
						return dc.Ack()
					}}})
					if failed == nil {
						break
					}
				}
				text := "Found: " + found
				if failed != nil {
					said, err := c.told(h, found, failed)
					if err != nil {
						return dc.Nack(err)
					}
					text = said
				}
				return saysAndAcks(ctx, dc, text)
			})
			assert.Equal(t, c.accused, accused)
		})
	}
}

// A tool that returns nothing after a failed ask presents the failure as if nothing existed. A tool that
// says that it failed, or returns the error, is not accused.
func TestToolThatGivesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		gives   func(error) (string, error)
		accused bool
	}{
		"nothing":       {func(error) (string, error) { return "", nil }, true},
		"an empty list": {func(error) (string, error) { return "[]", nil }, true},
		"the failure":   {func(err error) (string, error) { return "", err }, false},
		"other words":   {func(error) (string, error) { return "It is not known.", nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			look, err := adk.NewTool(adk.ToolInit{Name: "look", Description: "Looks.", InputSchema: json.RawMessage(`{"type":"object"}`),
				Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
					found, err := adk.Ask(ctx, "index", "main", func(context.Context, string) (string, error) { return `["main.go"]`, nil })
					if err != nil {
						if found, err = c.gives(err); err != nil {
							return nil, err
						}
					}
					return adk.Text(found), nil
				}})
			require.NoError(t, err)
			accused := finds(t, "what failed is not told as done", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				found, err := dc.Execute(ctx, look, "{}")
				if err != nil {
					return dc.Nack(err)
				}
				return saysAndAcks(ctx, dc, fmt.Sprint("I have looked: ", found))
			})
			assert.Equal(t, c.accused, accused)
		})
	}
}

// GAT-2: an agent that writes although its gate was settled with a no is accused. An agent that only reads,
// or that mentions the no in its answer, is not.
func TestNoUnheeded(t *testing.T) {
	for name, c := range map[string]struct {
		effect        adk.Effect
		heeds, doubts bool
		accused       bool
	}{
		"writes all the same": {adk.EffectWrites, false, false, true},
		"heeds it":            {adk.EffectWrites, true, false, false},
		"says so":             {adk.EffectWrites, false, true, false},
		"only reads":          {adk.EffectReads, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			found := finds(t, "a no makes a difference", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				_, err := dc.WaitFor(ctx, adk.Gate{ID: "remove", Reason: "may I?", Timeout: time.Minute})
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err == nil || !c.heeds {
					if _, err := adk.Ask(ctx, "disk", "remove", func(context.Context, string) (int, error) { return 1, nil }, adk.AskOptions{Effect: c.effect}); err != nil {
						return err
					}
				}
				text := "Done."
				if err != nil && c.doubts {
					text = "Done, although you said no."
				}
				return saysAndAcks(ctx, dc, text)
			})
			assert.Equal(t, c.accused, found)
		})
	}
}

// A model may call two tools at once, and its answer may come through an ask without HTTP. An agent that runs
// only one of them drops a call. An agent that answers both calls with one run does not.
func TestCallDropped(t *testing.T) {
	const wants = `{"choices":[{"message":{"tool_calls":[{"id":"c1","function":{"name":"note","arguments":"{}"}}]}}]}`
	for name, c := range map[string]struct {
		most, answers int
		accused       bool
	}{
		"one of two":            {1, 0, true},
		"both":                  {2, 0, false},
		"one, and answers both": {1, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			found := finds(t, "a call that a model wants is done", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				said, err := adk.Ask(ctx, "model", "?", func(context.Context, string) (json.RawMessage, error) { return json.RawMessage(wants), nil }, adk.AskOptions{})
				if err != nil {
					return err
				}
				var answer struct {
					Choices []struct {
						Message struct {
							ToolCalls []struct{ ID string } `json:"tool_calls"`
						}
					}
				}
				if err := json.Unmarshal(said, &answer); err != nil || len(answer.Choices) == 0 {
					return fmt.Errorf("no answer: %s", said)
				}
				var ids []string
				for i, call := range answer.Choices[0].Message.ToolCalls {
					if i < c.most {
						for tool := range slices.Values(dc.Tools().All()) {
							if _, err := dc.Execute(ctx, tool, map[string]any{}); err != nil {
								return err
							}
						}
					}
					if i < c.answers {
						ids = append(ids, call.ID)
					}
				}
				if _, err := adk.Ask(ctx, "model", ids, func(context.Context, []string) (string, error) { return "Noted.", nil }, adk.AskOptions{}); err != nil {
					return err
				}
				return saysAndAcks(ctx, dc, "Noted.")
			})
			assert.Equal(t, c.accused, found)
		})
	}
}

// An ask with a context that user code has ended fails, as it does with a real client. This also holds
// after a fault.
func TestEndedContextsAreRefusedBehindAFault(t *testing.T) {
	refused := false
	subject := turn.Subject{Name: "two asks", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		client := &http.Client{Transport: adkhttp.NewTransport(plainAnswers{})}
		ask := func(ctx context.Context, n int) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint("http://source.example/", n), http.NoBody)
			if err != nil {
				return err
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			return resp.Body.Close() // nothing more is read from the answer
		}
		run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			own, cancel := context.WithCancel(ctx)
			defer cancel()
			first := ask(own, 1)
			if first != nil && ctx.Err() == nil {
				cancel()
				refused = refused || ask(own, 2) != nil
				return first
			}
			if err := ask(own, 2); err != nil {
				return err
			}
			return dc.Ack()
		}
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}}
	_, err := Explore(t.Context(), subject, Options{Workers: 1, Faults: []turn.FaultKind{turn.AskRefused}})
	require.NoError(t, err)
	assert.True(t, refused)
}

// Recovering from a panic is a violation if a write is lost and the agent says otherwise, or if a tool then
// returns nothing. It is none if a log, an error, other words or another result reports it, or if only
// only a read was lost.
func TestPanicHidden(t *testing.T) {
	confidence := 0.5
	tea, err := adk.NewMemory(adk.MemoryInit{ID: "tea", Content: "Tea.", Confidence: &confidence, Importance: &confidence, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
	require.NoError(t, err)
	safely := func(do func()) (failed bool) {
		defer func() { failed = recover() != nil }()
		do()
		return false
	}
	looking := func(given string) func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		look, err := adk.NewTool(adk.ToolInit{Name: "look", Description: "Looks.", InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				if safely(func() { _, _ = dc.Retrievables().Fetch(ctx) }) {
					return adk.Text(given), nil
				}
				return adk.Text("4 degrees"), nil
			}})
		require.NoError(t, err)
		return func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			_, err := dc.Execute(ctx, look, map[string]any{})
			return errors.Join(err, saysAndAcks(ctx, dc, "Done."))
		}
	}
	storing := func(failed func(h *adk.Helpers) string) func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		return func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			text := "I shall remember."
			if safely(func() { _ = dc.Memories().Store(ctx, tea) }) {
				text = failed(h)
			}
			return saysAndAcks(ctx, dc, text)
		}
	}
	for name, c := range map[string]struct {
		run     func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error
		accused bool
	}{
		"a result of nothing": {looking(""), true},
		"an empty list":       {looking("[]"), true},
		"a result that says":  {looking("it is not known"), false},
		"a lost write":        {storing(func(*adk.Helpers) string { return "I shall remember." }), true},
		"other words":         {storing(func(*adk.Helpers) string { return "I could not note it." }), false},
		"a log": {storing(func(h *adk.Helpers) string {
			h.Log(adk.LevelError, "memory", "panicked", nil)
			return "I shall remember."
		}), false},
		"what is read": {func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			safely(func() { _, _ = dc.Retrievables().Fetch(ctx) })
			return saysAndAcks(ctx, dc, "Done.")
		}, false},
		"written the second time": {func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for range 2 {
				if !safely(func() { _ = dc.Memories().Store(ctx, tea) }) {
					break
				}
			}
			return saysAndAcks(ctx, dc, "I shall remember.")
		}, false},
	} {
		assert.Equal(t, c.accused, finds(t, "a panic is no success", c.run), name)
	}
}

// A handler for an ack may use the executor's handle or its own. Neither one panics: the explorer injects no
// fault around a handler, and the executor that acked has ended.
func TestNoPanicInAHandlerForAnAck(t *testing.T) {
	for _, own := range []bool{true, false} {
		result := exploredAll(t, executor("remembers", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if _, err := dc.OnAck("remember", func(ctx context.Context, its *adk.DispatchContext) {
				if !own {
					its = dc
				}
				m, err := adk.NewMemory(adk.MemoryInit{ID: "likes", Content: "Tea.", Confidence: new(0.7), Importance: new(0.7), CreatedAt: dc.Now(), UpdatedAt: dc.Now()})
				if err == nil {
					err = its.Memories().Store(ctx, m)
				}
				if err != nil {
					its.Log(adk.LevelError, "memory", err.Error(), nil)
				}
			}); err != nil {
				return err
			}
			return saysAndAcks(ctx, dc, "You like tea.")
		}))
		assert.Empty(t, result.Violations, "%v: %s", own, result)
	}
}

// If a model makes two calls with the same id, the fault is the world's, and code that tells results apart by
// id is deceived. What the check says then is a hint.
func TestTwinsDeceiveChecks(t *testing.T) {
	const wants = `{"choices":[{"message":{"tool_calls":[{"id":"c1","function":{"name":"note","arguments":"{}"}}]}}]}`
	twice := func(answer string) bool { return strings.Count(answer, `"c1"`) > 1 }
	subject := executor("model", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		said, err := adk.Ask(ctx, "model", "?", func(context.Context, string) (json.RawMessage, error) { return json.RawMessage(wants), nil }, adk.AskOptions{})
		if err == nil && twice(string(said)) {
			dc.Log(adk.LevelWarn, "model", "two of one id", nil)
		}
		return cmp.Or(err, dc.Ack())
	})
	subject.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if twice(string(x.JSON)) {
				return errors.New("two of one id")
			}
		}
		return nil
	}
	result := exploredAll(t, subject)
	assert.Empty(t, breaches(result.Violations, checkGiven), result)
	assert.NotEmpty(t, breaches(result.Hints, checkGiven), result)
}
