package adk_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// waiting is a config whose executor waits for a gate, keeps the resolution and
// acks.
func waiting(gate adk.Gate, value *any, err *error) adk.Config {
	return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		*value, *err = dc.WaitFor(ctx, gate)
		return dc.Ack()
	})
}

// GAT-1, GAT-2, GAT-4: each way to settle a gate from the listener of its open event, what the
// waiter gets, and how the gate closes. A second settlement has no
// effect.
func TestSettlements(t *testing.T) {
	gate := adk.Gate{ID: "g", Reason: "r", Payload: "p", Schema: []byte(`{"type":["null","integer"]}`)}
	for name, c := range map[string]struct {
		settle func(g *adk.TurnGate, clock *handClock) bool
		closed string
		value  any
		err    error
	}{
		"resolved":           {func(g *adk.TurnGate, _ *handClock) bool { return must(g.Resolve("ann", 1)) }, "g resolved ann", 1.0, nil},
		"resolved with nil":  {func(g *adk.TurnGate, _ *handClock) bool { return must(g.Resolve("", nil)) }, "g resolved", nil, nil},
		"rejected":           {func(g *adk.TurnGate, _ *handClock) bool { return g.Reject("bob", errBoom) }, "g rejected bob", nil, errBoom},
		"rejected with code": {func(g *adk.TurnGate, _ *handClock) bool { return g.Reject("", adk.E_TURN_GATE_TIMEOUT) }, "g rejected", nil, adk.E_TURN_GATE_TIMEOUT},
		"aborted alone":      {func(g *adk.TurnGate, _ *handClock) bool { return g.Abort("cat") }, "g aborted cat", nil, adk.E_TURN_GATE_ABORTED},
		// GAT-8
		"timeout": {func(_ *adk.TurnGate, clock *handClock) bool { clock.advance(time.Minute); return true }, "g timeout", nil, adk.E_TURN_GATE_TIMEOUT},
	} {
		t.Run(name, func(t *testing.T) {
			var value any
			var err error
			gate.Timeout = time.Minute
			config, clock := waiting(gate, &value, &err), &handClock{}
			config.Clock = clock
			raw := hello
			raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
				assert.Equal(t, "p", e.Gate.Payload())
				assert.False(t, e.Gate.IsSettled())
				assert.True(t, c.settle(e.Gate, clock))
				settled, err := e.Gate.Resolve("late", "refused by the schema, were it open")
				assert.NoError(t, err)
				assert.False(t, settled || e.Gate.Reject("late", errBoom) || e.Gate.Abort("late"), "GAT-2")
				assert.True(t, e.Gate.IsSettled())
			}
			lines := runTurn(t, config, raw)
			assert.Equal(t, c.value, value)
			if c.err != nil {
				assert.ErrorIs(t, err, c.err)
			} else {
				assert.NoError(t, err)
			}
			assert.Equal(t, []string{"! turnGateClosed " + c.closed}, with(lines, "! turnGateClosed"))
			assert.Contains(t, lines, "! dispatchEnd ack 1", "the turn is not aborted")
			assert.Zero(t, clock.running(), "no timer is left")
		})
	}
}

// GAT-1: rejecting with a nil error is a rejection too.
func TestRejectedWithNil(t *testing.T) {
	var value any
	var err error
	raw := hello
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { e.Gate.Reject("", nil) }
	runTurn(t, waiting(adk.Gate{ID: "g", Reason: "r"}, &value, &err), raw)
	assert.ErrorContains(t, err, `"g"`)
}

// GAT-3: the schema validates a resolution first and applies its defaults. A resolution that it
// refuses leaves the gate open.
func TestGateSchema(t *testing.T) {
	var value any
	var err error
	gate := adk.Gate{ID: "g", Reason: "r", Schema: []byte(`{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"},"by":{"default":"us"}}}`)}
	raw := hello
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
		for _, bad := range []any{nil, 1, map[string]any{"ok": "secret"}, make(chan int)} {
			settled, err := e.Gate.Resolve("ann", bad)
			assert.False(t, settled)
			assert.ErrorIs(t, err, adk.E_INVALID_TURN_GATE_RESOLUTION)
			assert.NotContains(t, err.Error(), "secret", "ERR-3")
			assert.False(t, e.Gate.IsSettled())
		}
		assert.True(t, must(e.Gate.Resolve("ann", map[string]any{"ok": true})))
	}
	lines := runTurn(t, waiting(gate, &value, &err), raw)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"ok": true, "by": "us"}, value)
	assert.Equal(t, []string{"settle g refused ann", "settle g refused ann", "settle g refused ann", "settle g refused ann", "settle g resolved ann"}, with(facts(lines), "settle"))
}

// GAT-4: the order is the wait, the open event, the settlement, the close event, and the waiter's return.
func TestOrderOfAGate(t *testing.T) {
	var value any
	var err error
	raw := hello
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { must(e.Gate.Resolve("ann", 1)) }
	lines := runTurn(t, waiting(adk.Gate{ID: "g", Reason: "r"}, &value, &err), raw)
	at := 0
	for i, line := range lines {
		if line == "wait-for(" {
			at = i
		}
	}
	assert.Equal(t, []string{"wait-for(", "! turnGateOpen g", "= settle g resolved ann", "! turnGateClosed g resolved ann", ")wait-for", "ack("}, lines[at:at+6])
}

// GAT-5: a malformed gate is refused and no event is emitted.
func TestMalformedGates(t *testing.T) {
	var none context.Context
	lines := runTurn(t, executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, err := dc.WaitFor(none, adk.Gate{ID: "g", Reason: "r"})
		assert.ErrorIs(t, err, adk.E_INVALID_INITIAL_TURN_GATE_VALUE)
		return dc.Ack()
	}), hello)
	assert.Empty(t, with(lines, "! turnGate"), "no context")
	for name, c := range map[string]struct {
		gate adk.Gate
		want []string
	}{
		"nothing":     {adk.Gate{}, []string{"ID", "Reason"}},
		"no reason":   {adk.Gate{ID: "g"}, []string{"Reason"}},
		"negative":    {adk.Gate{ID: "g", Reason: "r", Timeout: -1}, []string{"Timeout"}},
		"bad schema":  {adk.Gate{ID: "g", Reason: "r", Schema: []byte(`{"type":4}`)}, []string{"Schema"}},
		"no schema":   {adk.Gate{ID: "g", Reason: "r", Schema: []byte(`{`)}, []string{"Schema"}},
		"all at once": {adk.Gate{Timeout: -1, Schema: []byte(`{`)}, []string{"ID", "Reason", "Timeout", "Schema"}},
	} {
		t.Run(name, func(t *testing.T) {
			var value any
			var err error
			lines := runTurn(t, waiting(c.gate, &value, &err), hello)
			require.ErrorIs(t, err, adk.E_INVALID_INITIAL_TURN_GATE_VALUE)
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
			assert.Empty(t, with(lines, "! turnGate"))
		})
	}
}

// GAT-5, decided: two gates that are open at the same time cannot have the same id, since a settler
// could not tell them apart. Two gates one after the other can.
func TestGateIDsAreApartWhileOpen(t *testing.T) {
	gate := adk.Gate{ID: "g", Reason: "r"}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		strand := must(dc.Fork(ctx, "waits", func(ctx context.Context, dc *adk.DispatchContext) error {
			_, err := dc.WaitFor(ctx, gate)
			return err
		}))
		open := <-gates
		_, err := dc.WaitFor(ctx, gate)
		assert.ErrorIs(t, err, adk.E_INVALID_INITIAL_TURN_GATE_VALUE)
		must(open.Resolve("", nil))
		require.NoError(t, strand.Wait())
		go func() { must((<-gates).Resolve("", nil)) }()
		must(dc.WaitFor(ctx, gate))
		return dc.Ack()
	})
	raw := hello
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { gates <- e.Gate }
	lines := runTurn(t, config, raw)
	assert.Len(t, with(lines, "wait-for("), 3, "the refused one is told too: strands may take turns at it")
	assert.Len(t, with(lines, ")wait-for E_INVALID_INITIAL_TURN_GATE_VALUE"), 1)
	assert.Len(t, with(lines, "! turnGateOpen"), 2)
}

// gates passes open gates from a listener to the code that settles them. Each test receives all
// gates that it sends.
var gates = make(chan *adk.TurnGate, 8)

// GAT-1: when the waiter's own context ends, the wait returns an error with its cause, and nothing is aborted.
func TestWaiterGivesUp(t *testing.T) {
	for _, before := range []bool{true, false} {
		config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			own, cancel := context.WithCancelCause(ctx)
			if before {
				cancel(errBoom)
			} else {
				defer cancel(nil)
				go func() { <-gates; cancel(errBoom) }()
			}
			_, err := dc.WaitFor(own, adk.Gate{ID: "g", Reason: "r"})
			assert.ErrorIs(t, err, adk.E_TURN_GATE_ABORTED)
			assert.ErrorIs(t, err, errBoom)
			assert.False(t, dc.Aborted())
			return dc.Ack()
		})
		raw := hello
		raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
			if !before {
				gates <- e.Gate
			}
		}
		lines := runTurn(t, config, raw)
		assert.Contains(t, lines, "! turnGateClosed g aborted")
		assert.Contains(t, lines, "! dispatchEnd ack 1")
	}
}

// GAT-4, GAT-7, ABT-10: one abort closes several gates of several strands in the order in which
// they were opened. The waiters' errors belong to the abort.
func TestAbortClosesGatesInOrder(t *testing.T) {
	ids := []string{"a", "b", "c", "d"}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var all []*adk.Strand
		for _, id := range ids {
			all = append(all, must(dc.Fork(ctx, id, func(ctx context.Context, dc *adk.DispatchContext) error {
				_, err := dc.WaitFor(ctx, adk.Gate{ID: id, Reason: "r"})
				return err
			})))
			<-gates
		}
		require.NoError(t, dc.Abort(errBoom))
		var errs []error
		for _, s := range all {
			err := s.Wait()
			assert.ErrorIs(t, err, adk.E_TURN_GATE_ABORTED)
			assert.ErrorIs(t, err, errBoom)
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	raw := hello
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { gates <- e.Gate }
	lines := runTurn(t, config, raw)
	assert.Equal(t, []string{"! turnGateClosed a aborted", "! turnGateClosed b aborted", "! turnGateClosed c aborted", "! turnGateClosed d aborted"}, with(lines, "! turnGateClosed"))
	assert.Empty(t, with(lines, "! error"))
	assert.Contains(t, with(lines, "! dispatchEnd")[0], "aborted")
}

// GAT-4, GAT-7: a listener waits for a gate while another gate opens. The inner gate has to
// close first, or the abort would wait for itself.
func TestAbortClosesAGateInsideAGate(t *testing.T) {
	var inner error
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		first := must(dc.Fork(ctx, "first", func(ctx context.Context, dc *adk.DispatchContext) error {
			_, err := dc.WaitFor(ctx, adk.Gate{ID: "first", Reason: "r"})
			return err
		}))
		<-gates
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "outer", Reason: "r", Payload: dc})
		assert.ErrorIs(t, first.Wait(), adk.E_TURN_GATE_ABORTED)
		return err
	})
	raw := hello
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
		switch dc, _ := e.Gate.Payload().(*adk.DispatchContext); e.Gate.ID() {
		case "first":
			gates <- e.Gate
		case "outer":
			_, inner = dc.WaitFor(t.Context(), adk.Gate{ID: "inner", Reason: "r", Payload: dc})
		case "inner":
			require.NoError(t, dc.Abort(errBoom))
		}
	}
	lines := runTurn(t, config, raw)
	assert.ErrorIs(t, inner, errBoom)
	assert.Equal(t, []string{"! turnGateClosed first aborted", "! turnGateClosed inner aborted", "! turnGateClosed outer aborted"}, with(lines, "! turnGateClosed"))
}

// GAT-7, GAT-6: gates that are open at the same time are settled independently. When the turn is
// over they cannot be settled any more.
func TestGatesSettleAlone(t *testing.T) {
	var second *adk.TurnGate
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		wait := func(id string) *adk.Strand {
			return must(dc.Fork(ctx, id, func(ctx context.Context, dc *adk.DispatchContext) error {
				value, err := dc.WaitFor(ctx, adk.Gate{ID: id, Reason: "r"})
				if err == nil {
					assert.Equal(t, id, value)
				}
				return err
			}))
		}
		a := wait("a")
		firstGate := <-gates
		b := wait("b")
		second = <-gates
		must(second.Resolve("", "b"))
		require.NoError(t, b.Wait())
		assert.False(t, firstGate.IsSettled())
		firstGate.Reject("", errBoom)
		assert.ErrorIs(t, a.Wait(), errBoom)
		return dc.Ack()
	})
	raw := hello
	raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { gates <- e.Gate }
	lines := runTurn(t, config, raw)
	assert.Equal(t, []string{"! turnGateClosed b resolved", "! turnGateClosed a rejected"}, with(lines, "! turnGateClosed"))
	assert.False(t, second.Abort("after the turn"), "GAT-6")
}

// GAT-6: however a turn ends, none of its gates is open afterwards, and none can be
// settled.
func TestGatesEndWithTheirTurn(t *testing.T) {
	waiting := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "r", Schema: []byte(`{"type":"string"}`)})
		return errors.Join(err, dc.Ack())
	})
	for name, end := range map[string]func(adk.TurnGateOpen, context.CancelFunc){
		"cancelled": func(_ adk.TurnGateOpen, cancel context.CancelFunc) { cancel() },
		"resolved":  func(e adk.TurnGateOpen, _ context.CancelFunc) { must(e.Gate.Resolve("", "yes")) },
		"goexit":    func(adk.TurnGateOpen, context.CancelFunc) { runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var gate *adk.TurnGate
			raw, ended := hello, make(chan bool)
			raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { gate = e.Gate; end(e, cancel) }
			runner := newRunner(t, waiting)
			go func() {
				defer close(ended)
				_ = runner.Run(ctx, raw)
			}()
			<-ended
			assert.True(t, gate.IsSettled())
			settled, err := gate.Resolve("late", "yes")
			assert.NoError(t, err)
			assert.False(t, settled || gate.Reject("late", errBoom) || gate.Abort("late"))
		})
	}
}

// ABT-10, GAT-2: after the turn is aborted no gate can be resolved, even if its waiter is slow
// to wake up.
func TestNoResolutionAfterAbort(t *testing.T) {
	for range 50 { // the waiter and the resolver run at the same time
		config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			strand := must(dc.Fork(ctx, "waits", func(ctx context.Context, dc *adk.DispatchContext) error {
				_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "r"})
				return err
			}))
			gate := <-gates
			require.NoError(t, dc.Abort(nil))
			assert.False(t, must(gate.Resolve("late", 1)))
			return strand.Wait()
		})
		raw := hello
		raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { gates <- e.Gate }
		assert.Contains(t, runTurn(t, config, raw), "! turnGateClosed g aborted")
	}
}

// ABT-7, GAT-1: a gate in a turn that is already aborted does not open.
func TestGateAfterAbort(t *testing.T) {
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		require.NoError(t, dc.Abort(nil))
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "r", Timeout: time.Second})
		assert.ErrorIs(t, err, adk.E_TURN_GATE_ABORTED)
		assert.ErrorIs(t, err, adk.E_TURN_ABORTED)
		return err
	})
	lines := runTurn(t, config, hello)
	assert.Empty(t, with(lines, "! turnGate"))
	assert.Equal(t, []string{"wait-for(", ")wait-for E_TURN_GATE_ABORTED"}, []string{with(lines, "wait-for")[0], with(lines, ")wait-for")[0]})
	assert.Empty(t, with(lines, "! error"))
}

// GAT-8: without a timeout no timer runs, and the gate waits however late it gets. With a timeout it
// waits that long on the config's clock, and no longer.
func TestTimeoutOfAGate(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		timers  int
		closed  string
	}{
		"none":      {0, 0, "g resolved late"},
		"a minute":  {time.Minute, 1, "g timeout"},
		"an hour":   {time.Hour, 1, "g timeout"},
		"two hours": {2 * time.Hour, 1, "g resolved late"},
	} {
		t.Run(name, func(t *testing.T) {
			var value any
			var err error
			config, clock := waiting(adk.Gate{ID: "g", Reason: "r", Timeout: c.timeout}, &value, &err), &handClock{}
			config.Clock = clock
			raw := hello
			raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) {
				assert.Equal(t, c.timers, clock.running())
				clock.advance(time.Hour)
				_, _ = e.Gate.Resolve("late", nil)
			}
			assert.Equal(t, []string{"! turnGateClosed " + c.closed}, with(runTurn(t, config, raw), "! turnGateClosed"))
			assert.Zero(t, clock.running())
		})
	}
}

// GAT-8, GAT-5: a negative timeout is the caller's error, and no gate opens.
func TestNegativeTimeoutOfAGate(t *testing.T) {
	var value any
	var err error
	lines := runTurn(t, waiting(adk.Gate{ID: "g", Reason: "r", Timeout: -1}, &value, &err), hello)
	assert.ErrorIs(t, err, adk.E_INVALID_INITIAL_TURN_GATE_VALUE)
	assert.ErrorContains(t, err, "Timeout")
	assert.Empty(t, with(lines, "! turnGate"))
}

// GAT-8, DET-1: Sleep runs on the config's clock too, and ends with its context or
// the turn.
func TestSleep(t *testing.T) {
	clock := &handClock{}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		require.NoError(t, dc.Sleep(ctx, time.Hour))
		assert.Equal(t, noon.Add(time.Hour), dc.Now())
		own, cancel := context.WithCancelCause(ctx)
		cancel(errBoom)
		assert.ErrorIs(t, dc.Sleep(own, time.Hour), errBoom)
		return dc.Ack()
	})
	config.Clock = clock
	config.Probe = &recorder{park: func(_ int, ready func() bool) {
		if !ready() {
			clock.advance(time.Hour)
			assert.True(t, ready())
		}
	}}
	lines := runTurn(t, config, hello)
	assert.Len(t, with(lines, "= timer"), 1)
	assert.Zero(t, clock.running())
}
