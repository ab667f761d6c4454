package adk_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// DET-1, WLD-1: code that has only a context gets the clock, the ids and the sleep of the call that
// the context was passed to; in a strand it gets the strand's.
func TestWhatContextsGive(t *testing.T) {
	type key struct{}
	var told []string
	var ended context.Context
	var first, later time.Time
	var id string
	below := func(ctx context.Context) error { // knows nothing of agents
		ctx, cancel := context.WithCancel(context.WithValue(ctx, key{}, "derived"))
		defer cancel()
		first = adk.Now(ctx)
		id = adk.NewID(ctx)
		err := adk.Sleep(ctx, 24*time.Hour)
		later = adk.Now(ctx)
		return err
	}
	config := adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if err := below(ctx); err != nil {
			return err
		}
		strand, err := dc.Fork(ctx, "beside", func(ctx context.Context, _ *adk.DispatchContext) error {
			adk.Now(ctx)
			ended = ctx
			return nil
		})
		if err != nil {
			return err
		}
		err = strand.Wait()
		before := time.Now()
		assert.WithinRange(t, adk.Now(ended), before, time.Now(), "the machine's")
		assert.Len(t, adk.NewID(ended), len("01a2215c-f422-756b-8b94-f53ccf5ae9cb"))
		assert.NoError(t, adk.Sleep(ended, time.Nanosecond))
		return errors.Join(err, dc.Ack())
	}}}
	runner, err := adk.NewRunner(fakes.Deterministic(config, &recorder{tell: func(x *adk.Crossing) {
		switch x.Kind {
		case adk.KindNow, adk.KindNewID, adk.KindSleep, adk.KindContained:
			told = append(told, x.Kind.String()+map[bool]string{true: " on a strand"}[x.Strand > 0])
		}
	}}))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Look it up."}))
	assert.Equal(t, []string{"now", "new-id", "sleep", "sleep", "now", "now on a strand", "contained on a strand", "contained on a strand", "contained on a strand"}, told,
		"what comes behind the end of the strand is contained")
	assert.Equal(t, 24*time.Hour, later.Sub(first))
	assert.NotEmpty(t, id)
}

// Without a handle in the context they are the machine's.
func TestContextsWithoutAHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		began := time.Now()
		assert.Equal(t, began, adk.Now(ctx))
		assert.NotEqual(t, adk.NewID(ctx), adk.NewID(ctx))
		require.NoError(t, adk.Sleep(ctx, time.Hour))
		assert.Equal(t, began.Add(time.Hour), adk.Now(ctx))
		require.NoError(t, adk.Sleep(ctx, -1))
		ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("too late"))
		defer cancel()
		assert.EqualError(t, adk.Sleep(ctx, time.Hour), "too late")
		assert.Equal(t, began.Add(time.Hour+time.Minute), adk.Now(ctx))

		var none context.Context
		assert.Equal(t, time.Now(), adk.Now(none))
		assert.NotEmpty(t, adk.NewID(none))
		assert.ErrorContains(t, adk.Sleep(none, 0), "the context is nil")
	})
}
