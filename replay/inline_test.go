package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// resolves settles every gate as it opens.
func resolves(value any) adk.Observability {
	return adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("ann", value) }}
}

// strandsOf is an agent that does all of this at once.
func strandsOf(all ...func(context.Context, *adk.DispatchContext) error) adk.Config {
	return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var strands []*adk.Strand
		for i, do := range all {
			strands = append(strands, tracetest.Must(dc.Fork(ctx, fmt.Sprint("s", i), do)))
		}
		var failed error
		for _, s := range strands {
			failed = errors.Join(failed, s.Wait())
		}
		return errors.Join(failed, dc.Ack())
	})
}

// A live listener that settles a gate at once does so where the recorded one did, which
// thought for a while: what another strand did meanwhile was done before. (GAT-1, DET-2)
func TestAListenerThatThoughtLonger(t *testing.T) {
	t.Parallel()
	agent := func(note string) adk.Config {
		return strandsOf(func(ctx context.Context, dc *adk.DispatchContext) error {
			answer, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may I?"})
			return errors.Join(err, dc.Stash().Set("answer", fmt.Sprint(answer, dc.Stash().Get("work", "none"), dc.Now().Sub(fakes.Epoch))))
		}, func(ctx context.Context, dc *adk.DispatchContext) error {
			return errors.Join(dc.Sleep(ctx, 4*time.Second), dc.Stash().Set("work", note))
		})
	}
	var trace bytes.Buffer
	config := fakes.Deterministic(agent("done"), replay.Record(&trace))
	thinks := adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) {
		config.Clock.AfterFunc(10*time.Second, func() { _, _ = e.Gate.Resolve("ann", true) })
	}}
	require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go.", Observability: thinks}))
	for _, seams := range [][]string{{replay.Gates}, {replay.Executor}, {replay.Gates, replay.Executor}, {replay.Everything}} {
		live := replay.Live{Config: agent("done"), Seams: seams, Writes: true, Turn: adk.RawTurn{Observability: resolves(true)}}
		assert.Nil(t, divergenceOf(t, trace.Bytes(), live), "%s", seams)
	}
	live := replay.Live{Config: agent("done"), Seams: []string{replay.Gates, replay.Executor}, Turn: adk.RawTurn{Observability: resolves(false)}}
	if d := divergenceOf(t, trace.Bytes(), live); assert.NotNil(t, d, "another answer") {
		assert.Contains(t, d.String(), "value: expected true, got false")
	}
	live.Config, live.Turn.Observability = agent("undone"), resolves(true)
	if d := divergenceOf(t, trace.Bytes(), live); assert.NotNil(t, d, "other work meanwhile") {
		assert.Contains(t, d.String(), `value: expected "done", got "undone"`)
	}
}

// A live listener that answers at once may look at what the agent's code keeps for itself: it finds
// there what the recorded one found, which thought for a while. (GAT-1, DET-2)
func TestAListenerThatLooksAtTheWork(t *testing.T) {
	t.Parallel()
	var isAsked, isDone atomic.Bool
	agent := strandsOf(func(ctx context.Context, dc *adk.DispatchContext) error {
		answer, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may I?"})
		return errors.Join(err, notes(ctx, dc, "m", fmt.Sprint("it was done: ", answer)))
	}, func(_ context.Context, dc *adk.DispatchContext) error {
		for step := 0; step < 10_000 && !isAsked.Load(); step++ { // long enough to be asked meanwhile
			runtime.Gosched()
		}
		isDone.Store(true)
		dc.Helpers().Log(adk.LevelInfo, "work", "is done", nil)
		return nil
	})
	answer := func(e adk.TurnGateOpen) {
		isAsked.Store(true)
		_, _ = e.Gate.Resolve("ann", isDone.Load())
	}
	var trace bytes.Buffer
	config := fakes.Deterministic(agent, replay.Record(&trace))
	thinks := adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) {
		config.Clock.AfterFunc(10*time.Second, func() { answer(e) })
	}}
	require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go.", Observability: thinks}))
	isAsked.Store(false)
	isDone.Store(false)
	d := divergenceOf(t, trace.Bytes(), replay.Live{Config: agent, Seams: []string{replay.Gates, replay.Executor}, Turn: adk.RawTurn{Observability: adk.Observability{TurnGateOpen: answer}}})
	assert.Nil(t, d, "%s", d)
}

// inTime verifies a trace, which may not wait for ever.
func inTime(t *testing.T, trace []byte, live replay.Live) *replay.Divergence {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Long)
	defer cancel()
	live.Turn.SystemPrompt = "Go."
	report, err := replay.Verify(ctx, bytes.NewReader(trace), live)
	require.NoError(t, err, "the replay did not end")
	return report.Divergence
}

// Gates that are waited for one after the other, by strands that share a lock, are
// settled as they were: who waits for the lock holds nobody back. (GAT-1, DET-7)
func TestGatesBehindALock(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asks := func(ctx context.Context, dc *adk.DispatchContext) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may I?"})
		return err
	}
	config := strandsOf(asks, asks, asks)
	var trace bytes.Buffer
	recorded := config
	recorded.Probe = replay.Record(&trace)
	require.NoError(t, tracetest.Must(adk.NewRunner(recorded)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go.", Observability: resolves(true)}))
	for _, seams := range [][]string{nil, {replay.Gates}, {replay.Executor}, {replay.Gates, replay.Executor}, {replay.Everything}} {
		live := replay.Live{Config: config, Seams: seams, Writes: true, Turn: adk.RawTurn{Observability: resolves(true)}}
		assert.Nil(t, inTime(t, trace.Bytes(), live), "%s", seams)
	}
}

// A strand that waits at a lock for one that was recorded behind it ends the replay
// with what differs. (DET-7)
func TestALockAgainstTheOrder(t *testing.T) {
	t.Parallel()
	stores := func(ctx context.Context, dc *adk.DispatchContext, id string) error {
		return dc.Messages().Store(ctx, tracetest.Must(adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: id, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})))
	}
	agent := func(turned bool) adk.Config {
		var mu sync.Mutex
		if turned {
			mu.Lock()
		}
		return strandsOf(func(ctx context.Context, dc *adk.DispatchContext) error {
			mu.Lock()
			defer mu.Unlock()
			return stores(ctx, dc, "first")
		}, func(ctx context.Context, dc *adk.DispatchContext) error {
			err := stores(ctx, dc, "second")
			if turned {
				mu.Unlock()
			}
			return err
		})
	}
	trace := turnOf(t, agent(false), adk.RawTurn{})
	assert.Nil(t, inTime(t, trace, replay.Live{Config: agent(false), Seams: []string{replay.Executor}}))
	assert.NotNil(t, inTime(t, trace, replay.Live{Config: agent(true), Seams: []string{replay.Executor}}))
}

// Live code that ends before its time is told where it ends, and not by what it did not
// come to do; one that panics is told as that. (DSP-6)
func TestLiveCodeEndsOtherwise(t *testing.T) {
	t.Parallel()
	agent := func(end func() error) adk.Config {
		return executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			h.Log(adk.LevelInfo, "note", "works", nil)
			if err := end(); err != nil {
				return err
			}
			return errors.Join(dc.Stash().Set("a", 1), dc.Ack())
		})
	}
	trace := turnOf(t, agent(func() error { return nil }), adk.RawTurn{})
	for class, end := range map[replay.Class]func() error{replay.ChangedError: func() error { return errors.New("no") }, replay.Panicked: func() error { panic("no") }} {
		d := divergenceOf(t, trace, replay.Live{Config: agent(end), Seams: []string{replay.Executor}})
		if assert.NotNil(t, d, class) {
			assert.Equal(t, class, d.Class, "%s", d)
			assert.Contains(t, d.String(), fmt.Sprintf("executor/e#0 returns → %s: no", class))
		}
	}
}
