package adk_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// SIG-1, SIG-2, SIG-5: the first signal wins, and can be read from the context.
func TestFirstSignalWins(t *testing.T) {
	ack := func(dc *adk.DispatchContext) error { return dc.Ack() }
	nack := func(dc *adk.DispatchContext) error { return dc.Nack(errBoom) }
	for name, c := range map[string]struct {
		first, second func(*adk.DispatchContext) error
		status        string
	}{
		"ack ack": {ack, ack, adk.StatusAck}, "ack nack": {ack, nack, adk.StatusAck},
		"nack ack": {nack, ack, adk.StatusNack}, "nack nack": {nack, nack, adk.StatusNack},
	} {
		t.Run(name, func(t *testing.T) {
			heard := &outcome{}
			runTurn(t, executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				assert.False(t, dc.IsSignalled() || dc.IsAcked() || dc.NackError() != nil)
				require.NoError(t, c.first(dc))
				assert.ErrorIs(t, c.second(dc), adk.E_LLM_EXECUTION_ALREADY_SIGNALLED)
				assert.True(t, dc.IsSignalled())
				assert.Equal(t, c.status == adk.StatusAck, dc.IsAcked())
				if c.status == adk.StatusNack {
					assert.Same(t, errBoom, dc.NackError())
				} else {
					assert.NoError(t, dc.NackError())
				}
				return nil
			}), heard.watch(hello))
			assert.Equal(t, c.status, heard.ends[0].Status)
		})
	}
}

// DSP-6, DSP-7: a nack with a nil *adk.Error counts as a nack without an error. The error event has
// a non-nil error.
func TestNackWithANilPointer(t *testing.T) {
	heard := &outcome{}
	var none *adk.Error
	runTurn(t, executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Nack(none) }), heard.watch(hello))
	require.Len(t, heard.errors, 1)
	assert.ErrorIs(t, heard.errors[0].Error, adk.E_LLM_EXECUTION_NACKED)
	assert.Same(t, heard.errors[0].Error, heard.ends[0].Error)
}

// SIG-1, RUN-11: of several concurrent signals exactly one wins.
func TestSignalsAtOnce(t *testing.T) {
	var won atomic.Int32
	runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for range 8 {
			must(dc.Fork(ctx, "signals", func(_ context.Context, dc *adk.DispatchContext) error {
				if dc.Ack() == nil {
					won.Add(1)
				}
				return nil
			}))
		}
		return nil
	}), hello)
	assert.EqualValues(t, 1, won.Load())
}

// SIG-3: the order of on-ack handlers, their handles, unsubscribing and panics; they run on the first ack only.
func TestOnAck(t *testing.T) {
	log := &notes{}
	lines := runTurn(t, executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		note := func(name string) func(context.Context, *adk.DispatchContext) {
			return func(_ context.Context, own *adk.DispatchContext) {
				log.add(name)
				assert.True(t, own.IsAcked())
				assert.NotSame(t, dc, own)
				assert.NoError(t, own.Stash().Set(name, true))
			}
		}
		must(dc.OnAck("first", note("first")))
		must(dc.OnAck("panics", func(context.Context, *adk.DispatchContext) { log.add("panics"); panic("boom") }))
		off := must(dc.OnAck("gone", note("gone")))
		var later func()
		must(dc.OnAck("takes away", func(_ context.Context, own *adk.DispatchContext) {
			later()
			assert.ErrorIs(t, own.Ack(), adk.E_LLM_EXECUTION_ALREADY_SIGNALLED)
			must(own.OnAck("too late", note("too late")))
		}))
		later = must(dc.OnAck("taken away", note("taken away")))
		must(dc.OnAck("last", note("last")))
		off()
		off() // a second call does nothing
		_, err := dc.OnAck("", note("nameless"))
		assert.Error(t, err)
		_, err = dc.OnAck("nil", nil)
		assert.Error(t, err)

		require.NoError(t, dc.Ack())
		log.add("acked")
		_ = dc.Ack()
		return nil
	}), hello)
	assert.Equal(t, []string{"first", "panics", "last", "acked"}, log.all())
	assert.Equal(t, []string{"contained on-ack handler panics"}, with(facts(lines), "contained"))
	assert.Contains(t, lines, "! dispatchEnd ack 1")
	assert.Empty(t, with(lines, "! error"))
}

// SIG-3: on-ack handlers do not run on a nack.
func TestOnAckNotOnNack(t *testing.T) {
	ran := false
	runTurn(t, executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		must(dc.OnAck("never", func(context.Context, *adk.DispatchContext) { ran = true }))
		return errors.Join(dc.Nack(errBoom))
	}), hello)
	assert.False(t, ran)
}

// SIG-3, DET-5: a registration, and the function that removes it, outlive their seam call. The
// handler's own handle ends with the handler.
func TestOnAckOutlivesItsCall(t *testing.T) {
	var log notes
	var off func()
	var kept *adk.DispatchContext
	config := executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		off()
		err := dc.Ack()
		assert.ErrorIs(t, kept.Stash().Set("k", 1), adk.E_CONTEXT_ENDED)
		return err
	})
	config.DispatchInput = []adk.DispatchMiddleware{{Name: "m", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		must(dc.OnAck("stays", func(_ context.Context, own *adk.DispatchContext) { kept = own; log.add("stays") }))
		off = must(dc.OnAck("goes", func(context.Context, *adk.DispatchContext) { log.add("goes") }))
		next(ctx)
		return nil
	}}}
	runTurn(t, config, hello)
	assert.Equal(t, []string{"stays"}, log.all())
}

// SIG-4: stored and seeded calls count, reported ones do not. Deleting and mutating do not change
// the count.
func TestToolCallCount(t *testing.T) {
	call := toolCall("seed", "x")
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		count := func() int { return dc.ToolCallCount(call.Checksum()) }
		assert.Equal(t, 1, count())
		assert.Zero(t, dc.ToolCallCount("unknown"))
		_, err := h.ReportToolCall("r", adk.ToolCallReport{Tool: "x", Args: "{}", Complete: true})
		require.NoError(t, err)
		assert.Equal(t, 1, count())
		require.NoError(t, dc.ToolCalls().Store(ctx, toolCall("two", "x")))
		require.NoError(t, dc.ToolCalls().Store(ctx, toolCall("other", "y")))
		assert.Equal(t, 2, count())
		require.NoError(t, dc.ToolCalls().Delete(ctx, "seed"))
		require.NoError(t, dc.ToolCalls().Mutate(ctx, toolCall("two", "x")))
		assert.Equal(t, 2, count())
		return dc.Ack()
	})
	config.TurnInput = []adk.TurnMiddleware{{Name: "seed", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		must(tc.ToolCalls().Add(call))
		next(ctx)
		return nil
	}}}
	runTurn(t, config, hello)
}

// SIG-4: each id counts once, under the checksum that its record has now, or had when it was removed.
// A call that failed to be stored does not count.
func TestToolCallsCountByID(t *testing.T) {
	x, y := toolCall("any", "x").Checksum(), toolCall("any", "y").Checksum()
	for name, c := range map[string]struct {
		do     func(ctx context.Context, calls adk.Records[*adk.ToolCall]) error
		xs, ys int
	}{
		"stored twice": {func(ctx context.Context, calls adk.Records[*adk.ToolCall]) error {
			return errors.Join(calls.Store(ctx, toolCall("a", "x")), calls.Store(ctx, toolCall("a", "x")))
		}, 1, 0},
		"changed by mutate": {func(ctx context.Context, calls adk.Records[*adk.ToolCall]) error {
			return errors.Join(calls.Store(ctx, toolCall("a", "x")), calls.Mutate(ctx, toolCall("a", "y")))
		}, 0, 1},
		"changed by store": {func(ctx context.Context, calls adk.Records[*adk.ToolCall]) error {
			return errors.Join(calls.Store(ctx, toolCall("a", "x")), calls.Store(ctx, toolCall("a", "y")))
		}, 0, 1},
		"changed by add": {func(ctx context.Context, calls adk.Records[*adk.ToolCall]) error {
			_, err := calls.Add(toolCall("a", "y"))
			return errors.Join(calls.Store(ctx, toolCall("a", "x")), err)
		}, 1, 0},
		"stored, then changed by add": {func(ctx context.Context, calls adk.Records[*adk.ToolCall]) error {
			err := calls.Store(ctx, toolCall("a", "x"))
			_, added := calls.Add(toolCall("a", "y"))
			return errors.Join(err, added)
		}, 0, 1},
		"only added": {func(_ context.Context, calls adk.Records[*adk.ToolCall]) error {
			_, err := calls.Add(toolCall("a", "x"))
			return err
		}, 0, 0},
		"mutated into being": {func(ctx context.Context, calls adk.Records[*adk.ToolCall]) error {
			return calls.Mutate(ctx, toolCall("a", "x"))
		}, 1, 0},
		"deleted": {func(ctx context.Context, calls adk.Records[*adk.ToolCall]) error {
			return errors.Join(calls.Store(ctx, toolCall("a", "x")), calls.Mutate(ctx, toolCall("a", "y")), calls.Delete(ctx, "a"))
		}, 0, 1},
		"two ids": {func(ctx context.Context, calls adk.Records[*adk.ToolCall]) error {
			return errors.Join(calls.Store(ctx, toolCall("a", "x")), calls.Store(ctx, toolCall("b", "x")))
		}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				require.NoError(t, c.do(ctx, dc.ToolCalls()))
				assert.Equal(t, c.xs, dc.ToolCallCount(x))
				assert.Equal(t, c.ys, dc.ToolCallCount(y))
				return dc.Ack()
			}), hello)
		})
	}
}

// SIG-1, SIG-3: an ack in a strand runs the on-ack handlers before it returns.
func TestAckIsSynchronous(t *testing.T) {
	var once sync.Once
	ran := false
	runTurn(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		must(dc.OnAck("h", func(context.Context, *adk.DispatchContext) { once.Do(func() { ran = true }) }))
		s := must(dc.Fork(ctx, "acks", func(_ context.Context, dc *adk.DispatchContext) error {
			err := dc.Ack()
			assert.True(t, ran)
			return err
		}))
		return s.Wait()
	}), hello)
}
