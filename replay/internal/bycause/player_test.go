package bycause

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// If goroutines of live code begin several operations at once, a call belongs to the operation
// with its arguments; the replay observes only the calls.
func TestCallsOfAReplayAreOfTheirOwnArguments(t *testing.T) {
	t.Parallel()
	tool := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "read", Description: "Reads.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("read"), nil
		}}))
	in := &newCall{}
	for i, n := range []float64{0, 1, 1, 2} {
		began := &adk.Crossing{Kind: adk.KindExecute, Phase: adk.Begin, Record: tool, Args: map[string]any{"n": n}}
		in.open = append(in.open, &newOp{number: i, kind: began.Kind, began: began})
	}
	var by []int
	for _, n := range []float64{0, 2, 1, 1} {
		made := &adk.Crossing{Kind: adk.KindCall, Seam: adk.Seam{Label: adk.LabelTool, Name: "read"}, Args: map[string]any{"n": n}}
		by = append(by, (*player)(nil).opFor(in, made).number)
	}
	require.Equal(t, []int{0, 3, 2, 1}, by)
}

// While one goroutine of a strand takes the step that it has announced, no other goroutine of the
// strand takes a step: it would get the time and the id of another step.
func TestGoroutinesOfAStrandTakeOneStepAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayer(&calls.Tree{}, Live{Any: true}, wire.Comparer{})
		p.many, p.strands[0].several = true, true
		step := adk.Step{Kind: adk.KindReportLog, Call: 1}
		p.Begin(step)
		var announced atomic.Bool
		go func() {
			p.Begin(step)
			announced.Store(true)
			p.Tell(&adk.Crossing{Kind: step.Kind, Call: step.Call})
		}()
		synctest.Wait()
		require.False(t, announced.Load(), "before the other one has taken its step")
		p.Tell(&adk.Crossing{Kind: step.Kind, Call: step.Call})
		synctest.Wait()
		require.True(t, announced.Load(), "behind it")
	})
}
