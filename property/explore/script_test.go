package explore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// diligent is an agent whose model wants to look three times before it is done; the
// careless one says that it has kept its answer where it has not.
func diligent(careless bool) turn.Subject {
	return turn.Subject{Name: "diligent", Open: func(context.CancelCauseFunc) turn.Instance {
		storage := fakes.NewStorage()
		wants := []string{"look", "look", "look", "done"}
		run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for n, said := 0, ""; said != "done"; n++ {
				var err error
				if said, err = adk.Ask(ctx, "model", n, func(_ context.Context, n int) (string, error) { return wants[n], nil }); err != nil {
					return err
				}
				if said == "look" {
					if _, err := dc.Retrievables().Fetch(ctx); err != nil {
						return err
					}
				}
			}
			if err := dc.Messages().Store(ctx, uttered("m0", adk.RoleAssistant, "Done.")); err != nil && !careless {
				return err
			} else if err != nil {
				h.Log(adk.LevelInfo, "store", "never mind", nil)
			}
			return dc.Ack()
		}
		return turn.Instance{Raw: adk.RawTurn{SystemPrompt: "Help."}, Config: adk.Config{Storage: storage.Storage(), Executor: adk.Executor{Name: "model", Run: run}},
			Check: func(r turn.Run) error {
				for x := range r.Crossings {
					if x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusAck && len(storage.Messages()) == 0 {
						return assert.AnError
					}
				}
				return nil
			}}
	}}
}

// What the world said and does not matter is left out of what shows a violation, with the
// faults where they are then; the line reproduces it, and not with the agent mended.
func TestScriptsAreShortened(t *testing.T) {
	result := explored(t, diligent(true), explore.Options{})
	require.Len(t, result.Violations, 1, result)
	b := result.Violations[0]
	assert.Regexp(t, `^without@1,without@2,without@3,storage-before@\d+$`, b.Schedule.String())
	assert.Contains(t, b.Where[0], "there is left out what model said to its question 1, and what model said to its question 2")
	asks := 0
	for _, line := range b.Run.Lines {
		if line.Crossing.Kind == adk.KindAsk && line.Crossing.Phase == adk.Begin {
			asks++
		}
	}
	assert.Equal(t, 1, asks, "one question is left")
	for careless, want := range map[bool]int{true: 1, false: 0} {
		again, err := explore.RunSchedule(t.Context(), diligent(careless), b.Schedule, explore.Options{})
		require.NoError(t, err)
		assert.Len(t, again.Violations, want)
	}
	_, err := explore.RunSchedule(t.Context(), diligent(true), turn.MustSchedule("without@9"), explore.Options{})
	assert.ErrorContains(t, err, "without@9 cannot happen: the undisturbed turn is given 4 answers")
}
