package explore

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// desk is an agent whose model calls four tools: stock, refund, a report of refunds, and stock again.
type desk struct {
	keepsFailure bool // caches 0 lamps if asking for the stock failed
	swallows     bool // hides a failed refund
	logs         bool // logs the refund that it hides
	queues       bool // stores a failed refund for later
	posts        bool // posts a failed refund to an outbox at the end of the turn
	looks        bool // asks whether a failed refund was made after all
	drops        bool // drops the errors of tools
	chats        bool // logs at its end, whatever happened
	again        bool // calls a failed tool once more
}

func (d desk) subject(t *testing.T) turn.Subject {
	return turn.Subject{Name: "desk", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		refunded, kept, failed := "nothing", map[string]string{}, false
		ask := func(ctx context.Context, of, what string, effect adk.Effect, do func() string) (string, error) {
			return adk.Ask(ctx, of, what, func(context.Context, string) (string, error) { return do(), nil }, adk.AskOptions{Effect: effect, Key: of + what})
		}
		tool := func(name string, run func(ctx context.Context, dc *adk.DispatchContext) (string, error)) *adk.Tool {
			made, err := adk.NewTool(adk.ToolInit{Name: name, Description: "Of the desk.", InputSchema: json.RawMessage(`{"type":"object"}`),
				Handler: func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
					text, err := run(ctx, dc)
					if err != nil {
						return nil, err
					}
					return adk.Text(text), nil
				}})
			require.NoError(t, err)
			return made
		}
		tools := []*adk.Tool{
			tool("stock", func(ctx context.Context, _ *adk.DispatchContext) (string, error) {
				if kept["stock"] == "" {
					n, err := ask(ctx, "stock", "lamps", adk.EffectReads, func() string { return "10" })
					if err != nil && d.keepsFailure {
						kept["stock"] = "0"
					}
					if err != nil {
						return "", err
					}
					kept["stock"] = n
				}
				return kept["stock"] + " lamps", nil
			}),
			tool("refund", func(ctx context.Context, dc *adk.DispatchContext) (string, error) {
				_, err := ask(ctx, "bank", "o1", adk.EffectWrites, func() string { refunded = "o1"; return "done" })
				if err != nil && d.swallows && ctx.Err() == nil {
					failed = true
					if err = nil; d.logs {
						dc.Log(adk.LevelWarn, "refund", "o1 was not refunded", nil)
					}
					if d.looks {
						if _, err := ask(ctx, "statement", "o1?", adk.EffectReads, func() string { return "yes" }); err != nil {
							return "", err
						}
					}
					if d.queues {
						memory, failed := adk.NewMemory(adk.MemoryInit{ID: "later", Content: "refund o1", Confidence: new(1.0), Importance: new(1.0), CreatedAt: dc.Now(), UpdatedAt: dc.Now()})
						if failed != nil {
							return "", failed
						}
						err = dc.Memories().Store(ctx, memory)
					}
				}
				return "refunded o1", err
			}),
			tool("report", func(ctx context.Context, _ *adk.DispatchContext) (string, error) {
				return ask(ctx, "bank", "report", adk.EffectReads, func() string { return "paid back: " + refunded })
			}),
		}
		return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: tools, Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var all []string
			for _, n := range []int{0, 1, 2, 0} {
				result, err := dc.Execute(ctx, tools[n], map[string]any{})
				if err != nil && d.again && ctx.Err() == nil {
					result, err = dc.Execute(ctx, tools[n], map[string]any{})
				}
				switch text, ok := result.(*adk.Tokenizable); {
				case ctx.Err() != nil:
					return ctx.Err()
				case err != nil && !d.drops:
					all = append(all, "error: "+err.Error())
				case err != nil || !ok:
					all = append(all, "")
				default:
					all = append(all, text.String())
				}
			}
			if failed && d.posts {
				if _, err := ask(ctx, "outbox", "refund o1", adk.EffectWrites, func() string { return "posted" }); err != nil {
					return err
				}
			}
			if d.chats {
				dc.Log(adk.LevelInfo, "turn", "all is said", nil)
			}
			return saysAndAcks(ctx, dc, strings.Join(all, ". "))
		}}}, adk.RawTurn{SystemPrompt: "Help."}
	}}
}

// The oracles find a failure that a tool hides or stores like an answer, and one that the agent drops, whatever
// else the turn says. They do not accuse code that reports the failure to the user or in the log, or tries again.
func TestWhatADeskHides(t *testing.T) {
	const silence, figures, unheard = "nothing fails in silence", "what failed is not told as done", "a tool that failed is heard of"
	for name, c := range map[string]struct {
		desk  desk
		finds string
		says  string
		by    int // number of schedules that show it
	}{
		"nothing":                                 {desk{}, "", "", 0},
		"a refund that failed":                    {desk{swallows: true}, silence, "tool/refund gives what it gives when that is done", 4},
		"a failure that it keeps":                 {desk{keepsFailure: true}, figures, `"0 lamps" in the place of "10 lamps", and asks nobody`, 4},
		"what tools failed of":                    {desk{drops: true}, unheard, "a tool failed, the turn was acked", 22},
		"what they failed of, beside a usual log": {desk{drops: true, chats: true}, unheard, "a tool failed, the turn was acked", 22},
		"nothing, and tries again":                {desk{again: true}, "", "", 0},
		"nothing, since it looks":                 {desk{swallows: true, looks: true}, "", "", 0},
		"nothing, since it is kept":               {desk{swallows: true, queues: true}, "", "", 0},
		"nothing, since it is posted":             {desk{swallows: true, posts: true}, "", "", 0},
		"nothing, since it logs it":               {desk{swallows: true, logs: true}, "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			result := exploredAll(t, c.desk.subject(t))
			by := 0
			for _, b := range result.Violations {
				if b.Invariant == silence || b.Invariant == figures || b.Invariant == unheard {
					assert.Equal(t, c.finds, b.Invariant, "%s", result)
					assert.Contains(t, b.Text, c.says)
					by += b.Schedules
				}
			}
			assert.Equal(t, c.by, by, "%s", result)
		})
	}
}
