package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// loudKinds are the events at which a listener can be loud.
var loudKinds = []adk.Kind{adk.KindMessageEvent, adk.KindThoughtEvent, adk.KindToolCallEvent, adk.KindTurnStart, adk.KindTurnEnd,
	adk.KindDispatchStart, adk.KindDispatchEnd, adk.KindIterationStart, adk.KindIterationEnd, adk.KindTurnGateOpen, adk.KindTurnGateClosed,
	adk.KindToolExecutionStart, adk.KindToolExecutionEnd, adk.KindLogEvent, adk.KindErrorEvent}

// loud is a turn, or a standalone dispatch, in which a listener misbehaves at the n-th event of a
// kind. The turn emits a message, calls a tool, and waits for two gates: one is settled by its
// listener, the other from outside.
type loud struct {
	kind adk.Kind
	n    int
	do   func()

	heard   int
	reached bool
}

func (l *loud) hear(kind adk.Kind) {
	if kind != l.kind {
		return
	}
	if l.heard++; l.heard-1 == l.n {
		l.reached = true
		l.do()
	}
}

// listeners settle the gate "now" before anything else.
func (l *loud) listeners() (adk.Functional, adk.Observability) {
	return adk.Functional{
			Message:  func(adk.MessageEvent) { l.hear(adk.KindMessageEvent) },
			Thought:  func(adk.ThoughtEvent) { l.hear(adk.KindThoughtEvent) },
			ToolCall: func(adk.ToolCallEvent) { l.hear(adk.KindToolCallEvent) },
		}, adk.Observability{
			TurnStart:      func(adk.TurnStart) { l.hear(adk.KindTurnStart) },
			TurnEnd:        func(adk.TurnEnd) { l.hear(adk.KindTurnEnd) },
			DispatchStart:  func(adk.DispatchStart) { l.hear(adk.KindDispatchStart) },
			DispatchEnd:    func(adk.DispatchEnd) { l.hear(adk.KindDispatchEnd) },
			IterationStart: func(adk.IterationStart) { l.hear(adk.KindIterationStart) },
			IterationEnd:   func(adk.IterationEnd) { l.hear(adk.KindIterationEnd) },
			TurnGateOpen: func(e adk.TurnGateOpen) {
				if e.Gate.ID() == "now" {
					_, _ = e.Gate.Resolve("ann", true)
				}
				l.hear(adk.KindTurnGateOpen)
			},
			TurnGateClosed:     func(adk.TurnGateClosed) { l.hear(adk.KindTurnGateClosed) },
			ToolExecutionStart: func(adk.ToolExecutionStart) { l.hear(adk.KindToolExecutionStart) },
			ToolExecutionEnd:   func(adk.ToolExecutionEnd) { l.hear(adk.KindToolExecutionEnd) },
			Log:                func(adk.LogEvent) { l.hear(adk.KindLogEvent) },
			Error:              func(adk.ErrorEvent) { l.hear(adk.KindErrorEvent) },
		}
}

// loudExecutor uses every kind of operation; in its second call it fails.
func loudExecutor(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	if dc.Iteration() == 1 {
		return fmt.Errorf("the model is gone")
	}
	strand, err := dc.Fork(ctx, "beside", func(ctx context.Context, dc *adk.DispatchContext) error {
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "now", Reason: "may I?"})
		return err
	})
	if err != nil {
		return err
	}
	h.Log(adk.LevelInfo, "", "on my way", nil)
	_, _ = h.ReportMessage("m1", "Hel", false)
	_ = dc.EmitMessage(adk.MessageEvent{ID: "m2", Delta: "as given"})
	_ = dc.EmitThought(adk.ThoughtEvent{ID: "t2", Delta: "as given"})
	_ = dc.EmitToolCall(adk.ToolCallEvent{ID: "c2"})
	tool, _ := dc.Tools().Get("count")
	_, _ = dc.Execute(ctx, tool, "{}")
	_ = strand.Wait()
	_, _ = dc.WaitFor(ctx, adk.Gate{ID: "timed", Reason: "anybody?", Timeout: 1})
	_, _ = dc.WaitFor(ctx, adk.Gate{ID: "now", Reason: "may I again?"})
	_, err = h.ReportMessage("m1", "lo", true)
	return err
}

// record runs the turn and returns the trace.
func (l *loud) record(t *testing.T, alone bool) []byte {
	t.Helper()
	var trace bytes.Buffer
	functional, observability := l.listeners()
	scheduler := fakes.NewScheduler(nil)
	probe := adk.MultiProbe(scheduler, replay.Record(&trace))
	executor := adk.Executor{Name: "model", Run: loudExecutor}
	tools := []*adk.Tool{fakes.NewTool("count", "Counts.", "42").Tool()}
	onItsOwn(func() {
		if alone {
			_, _ = adk.Dispatch(context.Background(), adk.DispatchInput{Name: "planner", Executor: executor, Raw: &adk.RawDispatch{
				SystemPrompt: "p", Storage: fakes.NewStorage().Storage(), Tools: tools, Functional: functional, Observability: observability,
				Gates: true, Clock: scheduler.Clock(), IDs: fakes.NewIDs(), Probe: probe}})
			return
		}
		runner := tracetest.Must(adk.NewRunner(adk.Config{Executor: executor, Storage: fakes.NewStorage().Storage(), Tools: tools,
			Clock: scheduler.Clock(), IDs: fakes.NewIDs(), Probe: probe}))
		_ = runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "p", Functional: functional, Observability: observability})
	})
	return trace.Bytes()
}

// onItsOwn runs a function on a new goroutine, which the function may end.
func onItsOwn(run func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	<-done
}

// A listener that panics, or that ends its goroutine, does so again in a replay, by position and
// by cause: at every event of a turn or a standalone dispatch, and also behind a gate that it
// settled. (EVT-3, PIP-11, GAT-6)
func TestLoudListenersAreLoudAgain(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(){"panic": func() { panic("the listener fell over") }, "goexit": runtime.Goexit} {
		for _, alone := range []bool{false, true} {
			for _, kind := range loudKinds {
				for n := range 3 {
					t.Run(fmt.Sprintf("%s alone=%t %s %d", name, alone, kind, n), func(t *testing.T) {
						l := &loud{kind: kind, n: n, do: do}
						trace := l.record(t, alone)
						if !l.reached {
							return // fewer events of that kind
						}
						playsAgain(t, trace)
					})
				}
			}
		}
	}
}

// playsAgain compares a trace with its replay,
// and with the replay that is made by cause.
func playsAgain(t *testing.T, trace []byte) {
	t.Helper()
	report, err := replay.Verify(t.Context(), bytes.NewReader(trace), replay.Live{})
	require.NoError(t, err)
	require.Nil(t, report.Divergence, "%v", report.Divergence)
	var again bytes.Buffer
	_, err = replay.Rerecord(t.Context(), bytes.NewReader(trace), &again, replay.Live{})
	require.NoError(t, err)
	assert.Equal(t, string(trace), again.String())
}
