package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// racingForAGate is an agent whose two strands wait for the same gate, and store the answer. The
// functions in around run before and after it, unseen by the engine.
func racingForAGate(around map[string]func()) adk.Config {
	unseen := func(when string) {
		if f := around[when]; f != nil {
			f()
		}
	}
	ask := func(name string) func(context.Context, *adk.DispatchContext) error {
		return func(ctx context.Context, dc *adk.DispatchContext) error {
			unseen("before " + name)
			answer, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may I?"})
			unseen("after " + name)
			return dc.Stash().Set(name, fmt.Sprint(answer, " ", err))
		}
	}
	return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		first := tracetest.Must(dc.Fork(ctx, "first", ask("first")))
		second := tracetest.Must(dc.Fork(ctx, "second", ask("second")))
		return errors.Join(first.Wait(), second.Wait(), dc.Ack())
	})
}

// recordGateRace records a turn in which the second strand asks while the gate of the first is
// open, or after it has been settled.
func recordGateRace(t *testing.T, whileOpen bool) []byte {
	var gate *adk.TurnGate
	asks := make(chan bool)
	around := map[string]func(){"before second": func() { <-asks }}
	opened := func(e adk.TurnGateOpen) {
		_, _ = e.Gate.Resolve("ann", true)
		if gate == nil {
			gate = e.Gate
			close(asks)
		}
	}
	if whileOpen {
		opened = func(e adk.TurnGateOpen) { gate = e.Gate; close(asks) }
		around["after second"] = func() { _, _ = gate.Resolve("ann", true) }
	}
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	config := racingForAGate(around)
	config.Probe = recorder
	raw := adk.RawTurn{SystemPrompt: "Go.", Observability: adk.Observability{TurnGateOpen: opened}}
	require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(t.Context(), raw))
	require.NoError(t, recorder.Err())
	assert.Equal(t, whileOpen, bytes.Contains(trace.Bytes(), []byte(adk.E_INVALID_INITIAL_TURN_GATE_VALUE)), "a wait was refused")
	return trace.Bytes()
}

// Which of two strands gets the id of a gate, and whether the id was free again when the other
// asked, is as recorded, whichever strand is faster today. (GAT-5, DET-7)
func TestStrandsRaceForAGate(t *testing.T) {
	t.Parallel()
	for _, whileOpen := range []bool{true, false} {
		recorded := recordGateRace(t, whileOpen)
		for _, slow := range []string{"first", "second"} {
			t.Run(fmt.Sprintf("while open %t, %s is slow", whileOpen, slow), func(t *testing.T) {
				config := racingForAGate(map[string]func(){"before " + slow: func() {
					for range 1000 { // enough for a strand that is not held back to pass
						runtime.Gosched()
					}
				}})
				assert.Nil(t, divergenceOf(t, recorded, replay.Live{Config: config, Seams: []string{replay.Executor}}))
			})
		}
	}
}
