package replay_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
)

// Strands that wait at a lock, or for a place among a few, get it in another order each time, and
// keep what they found in that. Unchanged code is green, whoever comes first: it does what was
// recorded where each has its turn when it had it. (DET-2)
func TestStrandsThatWaitForAPlace(t *testing.T) {
	t.Parallel()
	asks := func(ctx context.Context, what string) (string, error) {
		return adk.Ask(ctx, "model", what, func(_ context.Context, q string) (string, error) { return "all about " + q, nil })
	}
	work := func(ctx context.Context, dc *adk.DispatchContext, i int) error {
		said, err := asks(ctx, fmt.Sprint("q", i))
		return errors.Join(err, notes(ctx, dc, fmt.Sprint("m", i), said))
	}
	for name, strand := range map[string]func(places chan bool, i int) func(context.Context, *adk.DispatchContext) error{
		"at its beginning": func(places chan bool, i int) func(context.Context, *adk.DispatchContext) error {
			return func(ctx context.Context, dc *adk.DispatchContext) error {
				places <- true
				defer func() { <-places }()
				return work(ctx, dc, i)
			}
		},
		"behind an answer": func(places chan bool, i int) func(context.Context, *adk.DispatchContext) error {
			return func(ctx context.Context, dc *adk.DispatchContext) error {
				_, err := asks(ctx, fmt.Sprint("first", i))
				places <- true
				defer func() { <-places }()
				return errors.Join(err, work(ctx, dc, i))
			}
		},
	} {
		for _, places := range []int{1, 2} {
			t.Run(fmt.Sprint(name, " of ", places), func(t *testing.T) {
				free := make(chan bool, places)
				agent := strandsOf(strand(free, 0), strand(free, 1), strand(free, 2), strand(free, 3))
				for range thorough.Of(20, 4, 2) {
					d := inTime(t, byTheMachine(t, agent), replay.Live{Config: agent, Seams: []string{replay.Executor}, Twice: true})
					require.Nil(t, d, "%s", d)
				}
			})
		}
	}
}
