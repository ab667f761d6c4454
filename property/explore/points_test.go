package explore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// torn returns a subject whose storage writes a memory as two rows, with a fault point between them. With
// mends set, it takes the first row back after a failure.
func torn(mends bool) turn.Subject {
	return turn.Subject{Name: "torn", Open: func(context.CancelCauseFunc) turn.Instance {
		rows := 0
		storage := fakes.NewStorage().Storage()
		storage.Memories = rowed{storage.Memories, func(ctx context.Context) error {
			rows++
			err := adk.FaultPoint(ctx, "between the rows")
			switch {
			case err == nil:
				rows++
			case mends:
				rows--
			}
			return err
		}}
		return turn.Instance{
			Config: adk.Config{Storage: storage, Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if err := dc.Memories().Store(ctx, noted("a", "a")); err != nil {
					return err
				}
				return dc.Ack()
			}}},
			Raw: adk.RawTurn{SystemPrompt: "Help."},
			Check: func(turn.Run) error {
				if rows == 1 {
					return errors.New("half a memory")
				}
				return nil
			},
		}
	}}
}

// rowed is a collection whose Store writes two rows.
type rowed struct {
	adk.Collection[*adk.Memory]
	write func(ctx context.Context) error
}

func (r rowed) Store(ctx context.Context, _ adk.Scope, _ *adk.Memory) error { return r.write(ctx) }

// A fault point fails where the code names it. No other fault of the world is tried there, since it is not
// a question to anybody.
func TestFaultPoints(t *testing.T) {
	result := explored(t, torn(false), explore.Options{})
	found := says(result, "half a memory")
	require.Len(t, found, 1, result)
	assert.Contains(t, found[0].Where[0], `user code fails at "fault point between the rows", in storage/memories.store`)
	assert.True(t, strings.HasPrefix(found[0].Schedule.String(), "error@"), found[0].Schedule)
	assert.Empty(t, explored(t, torn(true), explore.Options{Bound: 2}).Violations)
	for _, row := range result.Table.Rows {
		for i, c := range row.Cells {
			assert.False(t, c.Tried > 0 && result.Table.Faults[i].OfWorld(), "%s at %s", result.Table.Faults[i], row.Crossing)
		}
	}
}

// A run that is cancelled at a fault point goes on as if the fault point were not there, and is not accused
// of what was refused there.
func TestCancelAtAFaultPoint(t *testing.T) {
	s := executing("passes", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if err := adk.FaultPoint(ctx, "here"); err != nil {
			return err
		}
		return dc.Ack()
	})
	result := explored(t, s, explore.Options{Bound: 2})
	assert.Empty(t, result.Violations, result)
	again, err := explore.RunSchedule(t.Context(), s, turn.MustSchedule(pointSchedule(t, s)), explore.Options{})
	require.NoError(t, err)
	assert.Empty(t, again.Violations, again)
}

// pointSchedule returns a schedule that cancels at the first fault point of s.
func pointSchedule(t *testing.T, s turn.Subject) string {
	t.Helper()
	at := 0
	s.Check = func(r turn.Run) error {
		n := 0
		for x := range r.Crossings {
			if n++; at == 0 && x.Kind == adk.KindAsk {
				at = n
			}
		}
		return nil
	}
	_, err := explore.RunSchedule(t.Context(), s, turn.Schedule{}, explore.Options{})
	require.NoError(t, err)
	return turn.Schedule{Faults: []turn.Fault{{Kind: turn.Cancel, At: at}}}.String()
}
