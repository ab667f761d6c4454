package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// parallelAgent runs one tool with the given handler n times concurrently.
func parallelAgent(n int, handler adk.ToolHandler) adk.Config {
	tool := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "ask", Description: "Asks.", Effect: adk.EffectReads, Handler: handler,
		InputSchema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}))
	ask := func(n int) func(context.Context, *adk.DispatchContext) error {
		return func(ctx context.Context, dc *adk.DispatchContext) error {
			tool, _ := dc.Tools().Get("ask")
			args := map[string]any{"n": n}
			result, err := dc.Execute(ctx, tool, args)
			if err != nil {
				return err
			}
			now := dc.Now()
			call, err := adk.NewToolCall(adk.ToolCallInit{ID: fmt.Sprint("call", n), Tool: "ask", Args: args, Results: result, CreatedAt: now, UpdatedAt: now, CompletedAt: now})
			if err != nil {
				return err
			}
			return dc.ToolCalls().Store(ctx, call)
		}
	}
	return adk.Config{
		Tools: []*adk.Tool{tool}, Storage: fakes.NoOpStorage(),
		Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if dc.Iteration() > 0 {
				return dc.Ack()
			}
			for i := range n {
				if _, err := dc.Fork(ctx, fmt.Sprint("ask", i), ask(i)); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

func answer(args map[string]any) adk.ToolResult { return adk.Text(fmt.Sprintf("answer %v", args["n"])) }

// permutations calls f with every order of n things.
func permutations(n int, f func([]int)) {
	var grow func([]int)
	grow = func(order []int) {
		if len(order) == n {
			f(order)
			return
		}
	next:
		for i := range n {
			for _, taken := range order {
				if taken == i {
					continue next
				}
			}
			grow(append(order[:len(order):len(order)], i))
		}
	}
	grow(nil)
}

// A turn with parallel tools replays in whatever order the tools finish, and each call gets its
// own result (DET-7).
func TestEveryOrderOfCompletions(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	orders := 0
	for n := 1; n <= 5; n++ {
		var trace bytes.Buffer
		runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(parallelAgent(n, func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			return answer(args), nil
		}), replay.Record(&trace))))
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))

		permutations(n, func(order []int) {
			orders++
			replayInOrder(t, trace.Bytes(), n, order)
		})
	}
	assert.Equal(t, 1+2+6+24+120, orders)
}

// replayInOrder replays with live tools that finish in the given order: each waits for the one
// before it, unseen by the engine.
func replayInOrder(t *testing.T, trace []byte, n int, order []int) {
	t.Helper()
	finished := make([]chan struct{}, n)
	before := make([]int, n)
	for i, which := range order {
		finished[i] = make(chan struct{})
		before[which] = -1
		if i > 0 {
			before[which] = order[i-1]
		}
	}
	handler := func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		me := int(args["n"].(float64))
		defer close(finished[me])
		if before[me] >= 0 {
			<-finished[before[me]]
		}
		return answer(args), nil
	}
	config := parallelAgent(n, handler)
	for _, seams := range [][]string{{replay.ToolCode}, {replay.ToolCode, replay.Executor}} {
		for i := range finished {
			finished[i] = make(chan struct{})
		}
		report, err := replay.Verify(t.Context(), bytes.NewReader(trace), replay.Live{Config: config, Seams: seams})
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%v: %s", order, report)
		assert.Equal(t, bytes.Count(trace, []byte("\n"))-2, report.Crossings)
	}
}
