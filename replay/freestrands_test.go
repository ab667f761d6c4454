package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// A recording from production has the order of what really happened: its strands ran freely, on
// the machine's clock, and anything could go wrong between them. It replays exactly. (DET-6,
// DET-7)
func TestFreeStrandsPlayAgain(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{false, true} {
		t.Run(fmt.Sprintf("cancelled=%v", cancelled), func(t *testing.T) {
			for range 20 {
				trace := recordFreely(t, cancelled)
				report, err := replay.Verify(context.Background(), bytes.NewReader(trace), replay.Live{})
				require.NoError(t, err)
				if !assert.Nil(t, report.Divergence) {
					t.Fatalf("%s\n%s", report.Divergence, trace)
				}
			}
		})
	}
}

// recordFreely records a turn with racing strands: tools that sleep, a gate that times out
// meanwhile, a panic, a failing storage, listeners that panic, and, if cancelled is set, a cancel
// from outside in the middle.
func recordFreely(t *testing.T, cancelled bool) []byte {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	slow := tracetest.Must(adk.NewTool(adk.ToolInit{
		Name: "slow", Description: "Takes a while.", InputSchema: []byte(`{"type":"object"}`), Ephemeral: true,
		Handler: func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			return adk.Text("done"), dc.Sleep(ctx, 200*time.Microsecond)
		},
	}))
	question := tracetest.Must(adk.NewMessage(adk.MessageInit{ID: "q1", Role: adk.RoleUser, Content: "Go!", CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch}))
	executor := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if _, err := dc.Tools().Bind(); err != nil {
			return err
		}
		for i := range 3 {
			if _, err := dc.Fork(ctx, fmt.Sprint("worker-", i), worker(slow, i)); err != nil {
				return err
			}
		}
		_, _ = dc.WaitFor(ctx, adk.Gate{ID: "approval", Reason: "nobody will answer", Timeout: 200 * time.Microsecond})
		_ = dc.Messages().Mutate(ctx, question) // the storage fails
		if dc.Iteration() == 0 {
			return nil
		}
		if cancelled {
			cancel(errors.New("the caller has left"))
		}
		return dc.Ack()
	}
	storage := fakes.NewStorage(question)
	storage.Fail(fakes.Fault{Op: fakes.OpMutate, Err: errors.New("disk full")})
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	runner := tracetest.Must(adk.NewRunner(adk.Config{
		Executor: adk.Executor{Name: "racer", Run: executor},
		Storage:  storage.Storage(),
		Tools:    []*adk.Tool{slow},
		Probe:    recorder,
	}))
	runner.Observe(adk.Observability{Log: func(adk.LogEvent) { panic("the log is gone") }})
	require.NoError(t, runner.Run(ctx, adk.RawTurn{SystemPrompt: "Race."}))
	require.NoError(t, recorder.Err())
	return trace.Bytes()
}

// worker is a strand that runs a tool, reports, logs, and may panic.
func worker(tool *adk.Tool, i int) func(context.Context, *adk.DispatchContext) error {
	return func(ctx context.Context, dc *adk.DispatchContext) error {
		args := map[string]any{"worker": i}
		given, err := dc.Execute(ctx, tool, args)
		_, _ = dc.Helpers().ReportToolCall(fmt.Sprint("call-", i), adk.ToolCallReport{Tool: "slow", Args: args, Results: given, Complete: true})
		dc.Helpers().Log(adk.LevelInfo, "worker", "through", map[string]any{"worker": i})
		if i == 2 {
			panic("worker 2 falls over")
		}
		return err
	}
}
