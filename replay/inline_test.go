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

// resolves settles every gate as soon as it opens.
func resolves(value any) adk.Observability {
	return adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("ann", value) }}
}

// strandsOf is an agent that runs the functions in concurrent strands.
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

// The recorded listener settled a gate after a while; the live one settles it at once. The live settlement
// still happens at the recorded place: what another strand did in the meantime is done first. (GAT-1, DET-2)
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

// A live listener that settles a gate at once may read the state that the agent's code keeps for
// itself. It finds there what the recorded listener found, which settled the gate later. (GAT-1, DET-2)
func TestAListenerThatLooksAtTheWork(t *testing.T) {
	t.Parallel()
	var isAsked, isDone atomic.Bool
	agent := strandsOf(func(ctx context.Context, dc *adk.DispatchContext) error {
		answer, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may I?"})
		return errors.Join(err, notes(ctx, dc, "m", fmt.Sprint("it was done: ", answer)))
	}, func(_ context.Context, dc *adk.DispatchContext) error {
		for step := 0; step < 10_000 && !isAsked.Load(); step++ { // long enough for the listener to be called meanwhile
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

// inTime verifies a trace, and fails the test if that takes too long.
func inTime(t *testing.T, trace []byte, live replay.Live) *replay.Divergence {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Long)
	defer cancel()
	live.Turn.SystemPrompt = "Go."
	report, err := replay.Verify(ctx, bytes.NewReader(trace), live)
	require.NoError(t, err, "the replay did not end")
	return report.Divergence
}

// Gates that strands wait for one after the other, while they share a lock, are settled as
// recorded: a strand that waits for the lock holds no other strand back. (GAT-1, DET-7)
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

// If a strand waits at a lock for a strand that was recorded after it, the replay ends and reports
// the difference. (DET-7)
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

// Live code that ends early is reported by where it ends, not by what it did not do; a panic is
// reported as a panic. (DSP-6)
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
