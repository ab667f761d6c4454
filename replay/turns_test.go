package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// Strands that read shared state before their first operation begin in the recorded order, in the
// first run too. For an executor that may not be run again, that run is the only one. (DET-2)
func TestStrandsHaveTheirTurns(t *testing.T) {
	t.Parallel()
	agent := func() adk.Config {
		var mu sync.Mutex
		known := ""
		looks := func(ctx context.Context, _ *adk.DispatchContext) error {
			mu.Lock()
			found := known != ""
			mu.Unlock()
			if found {
				return nil
			}
			name, err := adk.Ask(ctx, "profiles", "7", func(context.Context, string) (string, error) { return "Ada", nil })
			mu.Lock()
			defer mu.Unlock()
			known = name
			return err
		}
		config := strandsOf(looks, looks, looks)
		config.TurnInput = []adk.TurnMiddleware{{Name: "nothing", Run: func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error {
			next(ctx)
			return nil
		}}}
		return config
	}
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(agent(), replay.Record(&trace))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Go."}))
	for range 20 {
		d := inTime(t, trace.Bytes(), replay.Live{Config: agent(), Seams: []string{replay.Middleware, replay.Executor}, Writes: true})
		require.Nil(t, d, "%s", d)
	}
}

// A strand gets its answer only after the strands that had begun before have reached the place where
// they wait for it, even if the engine does not see that place. They therefore do not ask again. (DET-2)
func TestStrandsThatWaitForAnAnswer(t *testing.T) {
	t.Parallel()
	agent := func(slow bool) adk.Config {
		var mu sync.Mutex
		var asking chan struct{}
		var waiting sync.WaitGroup
		waiting.Add(2)
		asks := make(chan struct{})
		shares := func(ctx context.Context, _ *adk.DispatchContext) error {
			for range 1000 { // gives the other strands time before it looks
				runtime.Gosched()
			}
			mu.Lock()
			if done := asking; done != nil {
				mu.Unlock()
				waiting.Done()
				<-done
				return nil
			}
			done := make(chan struct{})
			asking = done
			mu.Unlock()
			_, err := adk.Ask(ctx, "profiles", "7", func(context.Context, string) (string, error) {
				close(asks)
				waiting.Wait()
				return "Ada", nil
			})
			mu.Lock()
			asking = nil
			mu.Unlock()
			close(done)
			return err
		}
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) (failed error) {
			var strands []*adk.Strand
			for i := range 3 {
				strands = append(strands, tracetest.Must(dc.Fork(ctx, fmt.Sprint("s", i), shares)))
				if slow && i == 0 {
					<-asks
				}
			}
			for _, s := range strands {
				failed = errors.Join(failed, s.Wait())
			}
			return errors.Join(failed, dc.Ack())
		})
	}
	recorded := byTheMachine(t, agent(true))
	for range 20 {
		d := inTime(t, recorded, replay.Live{Config: agent(false), Seams: []string{replay.Executor}})
		require.Nil(t, d, "%s", d)
	}
}

// In a bubble this costs no fake time: strands measure the recorded durations.
func TestStrandsHaveTheirTurnsInABubble(t *testing.T) {
	t.Parallel()
	run := says(func(ctx context.Context, dc *adk.DispatchContext) string {
		began, said := time.Now(), make([]time.Duration, 3)
		var all []*adk.Strand
		first := make(chan struct{})
		for i := range said {
			all = append(all, tracetest.Must(dc.Fork(ctx, fmt.Sprint("s", i), func(ctx context.Context, _ *adk.DispatchContext) error {
				if i == 0 {
					<-first // unseen by the engine, for a strand that comes later
				}
				_, err := adk.Ask(ctx, "pages", i, func(context.Context, int) (string, error) { return "a page", nil })
				if i == 2 {
					close(first)
				}
				said[i] = time.Since(began)
				time.Sleep(time.Duration(i) * time.Hour)
				return err
			})))
		}
		for _, s := range all {
			_ = s.Wait()
		}
		return fmt.Sprint(said, time.Since(began))
	})
	var recorded bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		config := executing(run)
		config.Probe = replay.Record(&recorded)
		require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(context.Background(), adk.RawTurn{SystemPrompt: "Go."}))
	})
	assert.Contains(t, recorded.String(), "[0s 0s 0s] 2h0m0s")
	synctest.Test(t, func(t *testing.T) {
		report, err := replay.Verify(context.Background(), bytes.NewReader(recorded.Bytes()), replay.Live{Config: executing(run), Seams: []string{replay.Executor}})
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%s", report)
	})
}
