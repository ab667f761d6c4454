package gen_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/gen"
	"github.com/adkreplay/adkreplay/property/turn"
)

// answering returns an agent that stores what its model says, and acks. The careless one ignores a failure to
// store a long answer.
func answering(careless bool) func(words int) turn.Instance {
	return func(words int) turn.Instance {
		said := strings.Repeat("so ", words)
		storage := fakes.NewStorage()
		return turn.Instance{
			Config: adk.Config{Storage: storage.Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				m, err := adk.NewMessage(adk.MessageInit{ID: "m0", Role: adk.RoleAssistant, Content: said, CreatedAt: dc.Now(), UpdatedAt: dc.Now()})
				if err != nil {
					return dc.Nack(err)
				}
				if err := dc.Messages().Store(ctx, m); err != nil && !(careless && words > 3) {
					return err
				}
				return dc.Ack()
			}}},
			Raw: adk.RawTurn{SystemPrompt: "Help."},
			Check: func(r turn.Run) error {
				for x := range r.Crossings {
					if x.Kind == adk.KindDispatchEnd && x.Status == adk.StatusAck && len(storage.Messages()) == 0 {
						return errors.New("acked, and nothing is kept")
					}
				}
				return nil
			},
		}
	}
}

// A drawn input and a fault are found together, if neither shows the bug alone, and the input is
// shrunk.
func TestExploring(t *testing.T) {
	thorough.Long(t)
	t.Chdir(t.TempDir()) // rapid writes failing cases to testdata
	inputs := rapid.IntRange(0, 12)
	all := complaintsOf(t, gen.Exploring(inputs, answering(true), explore.Options{Workers: 1, Schedules: 20}))
	assert.Contains(t, all, `explore.Reproduce(t, subject, "`, "the schedule that shows it")
	assert.Contains(t, all, "draw input: 4", "the smallest input that shows it")
	rapid.Check(t, gen.Exploring(inputs, answering(false), explore.Options{Workers: 1, Schedules: 30}))
}
