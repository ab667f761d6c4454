package property_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay"
)

// secondHeld is a probe that holds back the second execution between its begin and its start.
type secondHeld struct {
	seen      int
	come, let chan struct{}
}

func (h *secondHeld) Observe(adk.RunInfo) adk.Observer { return h }
func (h *secondHeld) Begin(step adk.Step) {
	if step.Kind == adk.KindToolExecutionStart {
		if h.seen++; h.seen == 2 {
			close(h.come)
			<-h.let
		}
	}
}
func (*secondHeld) Park(int, func() bool) {}
func (*secondHeld) Resume(int)            {}
func (*secondHeld) Tell(*adk.Crossing)    {}

// An execution that is refused because the run is aborted is not mistaken for another one that was running
// and ended earlier. (ABT-7, RUN-11)
func TestARefusedExecutionBesideOthers(t *testing.T) {
	held := &secondHeld{come: make(chan struct{}), let: make(chan struct{})}
	ctx, leave := context.WithCancel(t.Context())
	running := make(chan struct{})
	tool := func(name string, run func(context.Context) error) *adk.Tool {
		return tracetest.Must(adk.NewTool(adk.ToolInit{Name: name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				return adk.Text("done"), run(ctx)
			}}))
	}
	slow := tool("slow", func(ctx context.Context) error { close(running); <-ctx.Done(); return ctx.Err() })
	quick := tool("quick", func(context.Context) error { return nil })
	var recorded bytes.Buffer
	config := adk.Config{Storage: fakes.NoOpStorage(), Tools: []*adk.Tool{slow, quick}, Probe: adk.MultiProbe(replay.Record(&recorded), held),
		Executor: adk.Executor{Name: "e", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var both sync.WaitGroup
			var errs [2]error
			both.Go(func() {
				_, errs[0] = dc.Execute(ctx, slow, map[string]any{})
				close(held.let)
			})
			<-running
			both.Go(func() { _, errs[1] = dc.Execute(ctx, quick, map[string]any{}) })
			<-held.come
			leave()
			both.Wait()
			return errors.Join(errs[:]...)
		}}}
	_ = tracetest.Must(adk.NewRunner(config)).Run(ctx, adk.RawTurn{SystemPrompt: "Go."})
	property.Check(t, &recorded)
}

// If two equal calls run concurrently, neither has the other's answer yet: the model does not go in circles.
func TestEqualCallsAtOnceAreNoCircle(t *testing.T) {
	for _, atOnce := range []bool{true, false} {
		var running sync.WaitGroup
		running.Add(2)
		look := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "look", Description: "Looks.", Effect: adk.EffectReads, InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
				if running.Done(); atOnce {
					running.Wait()
				}
				return adk.Text("seen"), nil
			}}))
		hints := strings.Join(hintsOf(t, adk.Config{Storage: fakes.NoOpStorage(), Tools: []*adk.Tool{look},
			Executor: adk.Executor{Name: "e", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				var all sync.WaitGroup
				for range 2 {
					all.Go(func() { _, _ = dc.Execute(ctx, look, map[string]any{}) })
					if !atOnce {
						all.Wait()
					}
				}
				all.Wait()
				return dc.Ack()
			}}}), "\n")
		assert.Equal(t, !atOnce, strings.Contains(hints, "gives again what it gave"), hints)
	}
}
