package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
)

// tries asks until it gets an answer, and gives up at random.
func tries(ctx context.Context, of, what string) error {
	for {
		err := writesTo(ctx, of, what)
		if err == nil || rand.N(3) == 0 {
			return err
		}
		time.Sleep(rand.N(time.Millisecond))
	}
}

// The replay causes an unanswered request, so it is no finding how often and how soon code retries
// it: the request is the change. Nondeterminism without an unanswered request is reported as such.
func TestTriesWithoutAnAnswerAreNoChance(t *testing.T) {
	t.Parallel()
	type asks func(ctx context.Context, to string, n int) error
	plain := func(ctx context.Context, to string, n int) error { return tries(ctx, to, fmt.Sprint("order ", n)) }
	for name, c := range map[string]struct {
		asks   asks
		chance bool
	}{
		"the same": {plain, false},
		"and then something else": {func(ctx context.Context, to string, n int) error {
			if err := plain(ctx, to, n); err != nil {
				return writesTo(ctx, "log", fmt.Sprint(rand.Int()))
			}
			return nil
		}, false},
		"something else": {func(ctx context.Context, to string, _ int) error {
			if to == "orders" {
				return tries(ctx, to, "order")
			}
			return tries(ctx, to, fmt.Sprint(rand.Int()))
		}, true},
		"something else before": {func(ctx context.Context, to string, n int) error {
			drawn := 0
			if to != "orders" {
				drawn = rand.Int()
			}
			if err := writesTo(ctx, "lots", fmt.Sprint("the lot that was drawn for this one is ", drawn)); err != nil {
				return err
			}
			return plain(ctx, to, n)
		}, true},
	} {
		for how, run := range map[string]func(do func(n int) error) error{
			"one by one": func(do func(int) error) error { return errors.Join(do(0), do(1)) },
			"goroutine":  func(do func(int) error) error { return inAGoroutine(func() error { return do(0) }) },
			"at once": func(do func(int) error) error {
				var all started
				for n := range 3 {
					all.Go(func() error { return do(n) })
				}
				return all.Wait()
			},
		} {
			agent := func(to string) adk.Config {
				return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					_ = run(func(n int) error { return c.asks(ctx, to, n) })
					return dc.Ack()
				})
			}
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				recorded := byTheMachine(t, agent("orders"))
				for range thorough.Of(20, 8, 4) {
					report, err := replay.Verify(t.Context(), bytes.NewReader(recorded), replay.Live{Config: agent("v2/orders"), Seams: []string{replay.Executor}, Twice: true})
					require.NoError(t, err)
					require.NotNil(t, report.Divergence)
					assert.Equal(t, c.chance, report.Divergence.Class == replay.NonDeterministic, "%s", report)
				}
			})
		}
	}
}
