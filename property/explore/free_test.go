package explore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// In a free run the strands run concurrently, as the race detector needs, and nothing waits for time to
// pass. A free run is not judged, and does not count as a schedule.
func TestFreeStrands(t *testing.T) {
	var mu sync.Mutex
	together, runs := 0, 0
	s := executing("free", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		mu.Lock()
		runs++
		mu.Unlock()
		var under atomic.Int32
		var strands []*adk.Strand
		for range 2 {
			one, err := dc.Fork(ctx, "worker", func(ctx context.Context, dc *adk.DispatchContext) error {
				if err := dc.Sleep(ctx, time.Hour); err != nil {
					return err
				}
				under.Add(1)
				for range 1000 { // if one strand ran at a time, the other could not come
					dc.Now()
					if under.Load() == 2 {
						mu.Lock()
						together++
						mu.Unlock()
						return nil
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			strands = append(strands, one)
		}
		return errors.Join(strands[0].Wait(), strands[1].Wait(), dc.Ack())
	})
	only := explore.Options{Faults: []turn.FaultKind{}, Schedules: 1, Free: -1, Workers: 1}
	none := explored(t, s, only)
	assert.Zero(t, none.Free)
	without := runs
	only.Free = 30
	some := explored(t, s, only)
	assert.Equal(t, 30, some.Free)
	assert.Equal(t, 1, some.Schedules)
	assert.Equal(t, 2*without+30, runs)
	assert.Empty(t, some.Violations, some)
	assert.Positive(t, together)
}

// A turn with one strand needs no free run.
func TestNothingToBeFree(t *testing.T) {
	one := executing("one", func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() })
	assert.Zero(t, explored(t, one, explore.Options{Free: 5}).Free)
}

// A free run ends only when all events of its timers have been reported; the next run has its own observer.
func TestFreeRunsEndWithTheirTimers(t *testing.T) {
	s := executing("sleepers", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var strands []*adk.Strand
		for range 4 {
			one, err := dc.Fork(ctx, "worker", func(ctx context.Context, dc *adk.DispatchContext) error {
				return dc.Sleep(ctx, time.Second)
			})
			if err != nil {
				return err
			}
			strands = append(strands, one)
		}
		for _, one := range strands {
			if err := one.Wait(); err != nil {
				return err
			}
		}
		return dc.Ack()
	})
	some := explored(t, s, explore.Options{Faults: []turn.FaultKind{}, Schedules: 1, Free: 2000, Workers: 1})
	assert.Equal(t, 2000, some.Free)
	assert.Empty(t, some.Violations, some)
}
