package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
)

// Strands that wait for a lock or a semaphore get it in a different order in each run, and store
// what they find in that order. The replay of unchanged code reports no divergence, whichever
// strand is first: each strand continues when it did in the recorded run. (DET-2)
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
				for range thorough.Of(20, 8, 2) {
					d := inTime(t, byTheMachine(t, agent), replay.Live{Config: agent, Seams: []string{replay.Executor}, Twice: true})
					require.Nil(t, d, "%s", d)
				}
			})
		}
	}
}

// The strand that reads the clock first may get the lock second, which no crossing shows. Unchanged code
// is still green, as the replay can also hold a strand back until just before its next operation. (DET-2)
func TestWhoReadsTheClockMayComeLater(t *testing.T) {
	t.Parallel()
	const first, second = 0, 1 // to read it
	agent := func(begins, reads, ends func(i int)) adk.Config {
		var mu sync.Mutex
		places := 0
		strand := func(i int) func(context.Context, *adk.DispatchContext) error {
			return func(ctx context.Context, dc *adk.DispatchContext) error {
				begins(i)
				_ = adk.Now(ctx)
				reads(i)
				mu.Lock()
				place := places
				places++
				mu.Unlock()
				err := notes(ctx, dc, fmt.Sprint("m", i), fmt.Sprint("place ", place))
				ends(i)
				return err
			}
		}
		return strandsOf(strand(first), strand(second))
	}
	read, over := make(chan bool), make(chan bool)
	recorded := byTheMachine(t, agent(func(i int) {
		if i == second {
			<-read
		}
	}, func(i int) {
		if i == first {
			close(read)
			<-over
		}
	}, func(i int) {
		if i == second {
			close(over)
		}
	}))
	atOnce := func(int) {}
	live := func() replay.Live {
		return replay.Live{Config: agent(atOnce, atOnce, atOnce), Seams: []string{replay.Executor}, Twice: true, Turn: adk.RawTurn{SystemPrompt: "Go."}}
	}
	chosen := live()
	chosen.Again = live
	d := inTime(t, recorded, chosen)
	require.Nil(t, d, "%s\n%s", d, recorded)
}

// Live code may itself replay a recording with strands. The outer replay does not make that inner
// replay wait. Other concurrent replays wait, but no longer than their own context lasts.
func TestReplaysOfStrandsTakeTurns(t *testing.T) {
	t.Parallel()
	inner := strandsOf(func(ctx context.Context, dc *adk.DispatchContext) error { return dc.Stash().Set("a", 1) })
	of := byTheMachine(t, inner)
	replays := func(ctx context.Context) error {
		report, err := replay.Verify(ctx, bytes.NewReader(of), replay.Live{Config: inner, Seams: []string{replay.Executor}})
		if err == nil && report.Divergence != nil {
			err = errors.New(report.Divergence.String())
		}
		return err
	}
	var within, beside error
	outer := strandsOf(func(ctx context.Context, dc *adk.DispatchContext) error {
		within = replays(ctx)
		over, end := context.WithCancel(t.Context())
		end()
		beside = replays(over)
		return nil
	})
	recorded := byTheMachine(t, outer)
	within, beside = errors.New("it was not run"), nil
	require.Nil(t, inTime(t, recorded, replay.Live{Config: outer, Seams: []string{replay.Executor}}))
	require.NoError(t, within)
	require.ErrorIs(t, beside, context.Canceled)
}
