package explore

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// RTY-5: text shown while an answer arrives may be dropped if a cancel cuts that answer. Text that was
// reported as complete may not, nor text that the agent had before.
func TestShownAndLost(t *testing.T) {
	words := []string{"It ", "is ", "cold."}
	for name, c := range map[string]struct {
		asIt, complete bool // asIt: the text comes from the answer; complete: it is reported as complete
		accused        bool
	}{
		"as it comes":             {true, false, false},
		"as it comes, to its end": {true, true, true},
		"from its own hands":      {false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			tell := func(ctx context.Context, h *adk.Helpers, some ...string) error {
				for _, word := range some {
					if err := ctx.Err(); err != nil {
						return err
					}
					if _, err := h.ReportMessage("m0", word, c.complete && word == words[2]); err != nil {
						return err
					}
				}
				return nil
			}
			run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				answer := adk.AskStream(ctx, "model", "?", func(ctx context.Context, _ string, hand func(string) error) error {
					for _, word := range words {
						if err := errors.Join(ctx.Err(), hand(word)); err != nil {
							return err
						}
					}
					return nil
				})
				var came []string
				for word, err := range answer {

					if err == nil && c.asIt {
						err = tell(ctx, h, word)

					}
					if err != nil {
						return err
					}
					came = append(came, word)
				}
				if !c.asIt {
					if err := tell(ctx, h, came...); err != nil {
						return err
					}
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := dc.Messages().Store(ctx, spoken("m0", adk.RoleAssistant, "It is cold.")); err != nil {
					return err
				}
				return dc.Ack()
			}
			result, err := Explore(t.Context(), turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
				return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
			}}, Options{})
			require.NoError(t, err)
			found := slices.ContainsFunc(result.Violations, func(b Breach) bool { return b.Invariant == "what was shown is kept" })
			assert.Equal(t, c.accused, found, "%s", result)
		})
	}
}
