package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Telling a list without the items that failed is a violation, for an agent and for a tool, whatever
// punctuation surrounds the items and however they are counted. It is none if the text says that an item is
// missing, if the item comes from another service, or if less is said for another reason.
func TestLessTold(t *testing.T) {
	list := func(names []string) string {
		return fmt.Sprintf("You have %d: %s.", len(names), strings.Join(names, ", "))
	}
	for name, c := range map[string]struct {
		says    func(names []string, missing int) string
		instead string // asked for an item that is missing
		accused bool
	}{
		"the rest of a list":      {func(names []string, _ int) string { return list(names) }, "", true},
		"that some are missing":   {func(names []string, n int) string { return list(names) + strings.Repeat(" One is missing.", n) }, "", false},
		"the list, from a mirror": {func(names []string, _ int) string { return list(names) }, "mirror", false},
		"something else":          {func(names []string, n int) string { return []string{list(names), "Sorry.", "Sorry."}[min(n, 2)] }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			all := func(ctx context.Context) (string, error) {
				var names []string
				missing := 0
				for _, one := range []string{"lamp", "desk", "chair"} {
					found, err := adk.Ask(ctx, "shop", one, func(_ context.Context, what string) (string, error) { return what, nil })
					if err != nil && c.instead != "" {
						found, err = adk.Ask(ctx, c.instead, one, func(_ context.Context, what string) (string, error) { return what, nil })
					}
					if missing++; err == nil {
						names, missing = append(names, found), missing-1
					}
				}
				return c.says(names, missing), ctx.Err()
			}
			agent := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				text, err := all(ctx)
				if err != nil {
					return err
				}
				return saysAndAcks(ctx, dc, text)
			}
			const oracle = "what failed is not told as done"
			assert.Equal(t, c.accused, finds(t, oracle, agent), "the agent")

			tool, err := adk.NewTool(adk.ToolInit{Name: "list", Description: "Lists.", Effect: adk.EffectReads, InputSchema: json.RawMessage(`{"type":"object"}`),
				Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
					text, err := all(ctx)
					return adk.Text(text), err
				}})
			require.NoError(t, err)
			found := breaches(exploredAll(t, turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
				return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{tool}, Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					if _, err := dc.Execute(ctx, tool, map[string]any{}); err != nil {
						return err
					}
					return dc.Ack()
				}}}, adk.RawTurn{SystemPrompt: "List."}
			}}).Violations, oracle)
			assert.Equal(t, c.accused, len(found) > 0, "the tool: %v", found)
		})
	}
}

// request is an HTTP request in the form that package adkhttp records.
type request struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body"`
}

// Requests that are safe to repeat, because of their method or a condition, do not count as done twice.
func TestWritesThatRepeatSafely(t *testing.T) {
	for name, c := range map[string]struct {
		request request
		twice   bool
	}{
		"POST":               {request{Method: "POST"}, true},
		"PUT":                {request{Method: "PUT"}, false},
		"DELETE":             {request{Method: "DELETE"}, false},
		"POST, of a version": {request{Method: "POST", Headers: map[string]string{"if-match": `"3"`}}, false},
		"PATCH, from a byte": {request{Method: "PATCH", Headers: map[string]string{"upload-offset": "7"}}, false},
		"PATCH":              {request{Method: "PATCH", Headers: map[string]string{"content-type": "text/plain"}}, true},
	} {
		c.request.Path, c.request.Body = "/notes/1", "Call Ada."
		found := breaches(exploredAll(t, executor("writes", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) (err error) {
			for range 2 {
				_, err = adk.Ask(ctx, "notes", c.request, func(context.Context, request) (string, error) { return "kept", nil }, adk.AskOptions{Effect: adk.EffectWrites})
				if err == nil || ctx.Err() != nil {
					break
				}
			}
			return errors.Join(err, dc.Ack())
		})).Violations, "what writes is done once")
		assert.Equal(t, c.twice, len(found) > 0, "%s: %v", name, found)
	}
}

// A turn that fails without any fault, for example because the world is set up wrongly, is a hint, since little
// else can be learned from it. A turn that is acked, or that its caller leaves, gets no hint.
func TestAnUndisturbedTurnThatFails(t *testing.T) {
	const oracle = "a turn in which nothing goes wrong succeeds"
	of := func(run func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error) []string {
		return breaches(exploredAll(t, executor("fails", run)).Hints, oracle)
	}
	failing := of(func(context.Context, *adk.DispatchContext, *adk.Helpers) error {
		return errors.New("404 page not found")
	})
	require.Len(t, failing, 1)
	assert.Contains(t, failing[0], `with nothing gone wrong the turn ends in an error: "404 page not found"`)
	assert.Empty(t, of(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }))
	assert.Empty(t, of(func(ctx context.Context, _ *adk.DispatchContext, _ *adk.Helpers) error {
		<-ctx.Done()
		return ctx.Err()
	}))
}

// An ask that fails by itself while its answer is slow gets the undisturbed turn's answer. An agent that
// believes it is deceived: what the check says is a hint. An agent that does not check for failure is at fault.
func TestASlowAnswerOfWhatHasFailed(t *testing.T) {
	checked := func(careless bool) *Exploration {
		subject := turn.Subject{Name: "orders", Open: func(context.CancelCauseFunc) turn.Instance {
			ordered, told := false, false
			return turn.Instance{
				Raw: adk.RawTurn{SystemPrompt: "Help."},
				Config: adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					_, err := adk.Ask(ctx, "shop", "lamp", func(context.Context, string) (string, error) {
						if err := adk.FaultPoint(ctx, "between the rows"); err != nil {
							return "", err
						}
						ordered = true
						return "ordered", nil
					})
					if err != nil && !careless {
						return err
					}
					told = true
					return dc.Ack()
				}}},
				Check: func(turn.Run) error {
					if told && !ordered {
						return errors.New("said that it is ordered, and it is not")
					}
					return nil
				},
			}
		}}
		result, err := Explore(t.Context(), subject, Options{Bound: 2, Faults: []turn.FaultKind{turn.Fail, turn.AskSlow}})
		require.NoError(t, err)
		return result
	}
	const oracle = "the check given"
	deceived := checked(false)
	assert.Empty(t, breaches(deceived.Violations, oracle), "%s", deceived)
	assert.NotEmpty(t, breaches(deceived.Hints, oracle), "%s", deceived)
	assert.NotEmpty(t, breaches(checked(true).Violations, oracle))
}
