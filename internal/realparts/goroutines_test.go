package realparts_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// pipeline returns an agent with goroutines and channels of its own: one hands out work, two do it, and the
// executor collects the results. The careless one returns if the first result is an error, and nobody
// receives the others.
func pipeline(careless bool) turn.Subject {
	return turn.Subject{Name: "pipeline", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return adk.Config{Storage: fakes.NewStorage(noted("a", "tea"), noted("b", "milk")).Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			kept, err := dc.Memories().Fetch(ctx)
			if err != nil {
				return err
			}
			work, results := make(chan *adk.Memory), make(chan error)
			var workers sync.WaitGroup
			for range 2 {
				workers.Go(func() {
					for m := range work {
						results <- ctx.Err()
						_ = m.Content().String()
					}
				})
			}
			go func() {
				for _, m := range append(kept, kept...) {
					work <- m
				}
				close(work)
				workers.Wait()
				close(results)
			}()
			var all []error
			for err := range results {
				if err != nil && careless {
					return err
				}
				all = append(all, err)
			}
			if err := errors.Join(all...); err != nil {
				return err
			}
			if _, err := h.ReportMessage("m0", fmt.Sprint(len(all), " done"), true); err != nil {
				return err
			}
			return dc.Ack()
		}}}, adk.RawTurn{SystemPrompt: "Work."}
	}}
}

// The explorer waits for an agent's own goroutines, and reports where they stay.
func TestGoroutinesAndChannels(t *testing.T) {
	careless, err := explore.Explore(t.Context(), pipeline(true), explore.Options{})
	require.NoError(t, err)
	require.NotEmpty(t, careless.Violations)
	assert.Contains(t, careless.Violations[0].Text, "had not ended when the turn had")
	careful, err := explore.Explore(t.Context(), pipeline(false), explore.Options{Bound: 2, Schedules: 3000})
	require.NoError(t, err)
	assert.Empty(t, careful.Violations, careful)
}
