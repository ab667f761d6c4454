package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
)

// Unchanged code is green, however its strands raced in the recorded run and in the new one. Each
// step gets the time of its own recorded counterpart, even if another strand has advanced further
// meanwhile. In this test the times that operations return are stored in records. (DET-6, DET-7,
// EVT-6)
func TestStepsHaveTheirOwnTimes(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	for range 20 {
		var trace bytes.Buffer
		recorder := replay.Record(&trace)
		config := timekeeper()
		config.Probe = recorder
		require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(context.Background(), adk.RawTurn{SystemPrompt: "Race."}))
		require.NoError(t, recorder.Err())
		for range 5 {
			report, err := replay.Verify(context.Background(), bytes.NewReader(trace.Bytes()),
				replay.Live{Config: timekeeper(), Turn: adk.RawTurn{SystemPrompt: "Race."}, Seams: []string{replay.Everything}, Writes: true})
			require.NoError(t, err)
			require.Nil(t, report.Divergence, "%v", report.Divergence)
		}
	}
}

// timekeeper is an agent that runs tools in strands, on the machine's clock, and stores when each
// began and ended.
func timekeeper() adk.Config {
	tool := tracetest.Must(adk.NewTool(adk.ToolInit{
		Name: "look", Description: "Looks.", InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectReads,
		Handler: func(_ context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			dc.Helpers().Log(adk.LevelInfo, "look", "looks", args)
			return adk.Text(fmt.Sprint(args["n"])), nil
		},
	}))
	executor := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		var strands []*adk.Strand
		for n := range 4 {
			id := fmt.Sprint("call-", n)
			args := map[string]any{"n": n}
			begun, err := h.ReportToolCall(id, adk.ToolCallReport{Tool: "look", Args: args})
			if err != nil {
				return err
			}
			strands = append(strands, tracetest.Must(dc.Fork(ctx, "look", func(ctx context.Context, dc *adk.DispatchContext) error {
				result, err := dc.Execute(ctx, tool, args)
				if err != nil {
					return err
				}
				done, err := dc.Helpers().ReportToolCall(id, adk.ToolCallReport{Results: result, Complete: true})
				if err != nil {
					return err
				}
				return dc.ToolCalls().Store(ctx, tracetest.Must(adk.NewToolCall(adk.ToolCallInit{ID: id, Tool: "look", Args: args, Results: result,
					CreatedAt: begun.CreatedAt, UpdatedAt: dc.Now(), CompletedAt: done.CompletedAt})))
			})))
		}
		var failed []error
		for _, strand := range strands {
			failed = append(failed, strand.Wait())
		}
		at := dc.Now()
		failed = append(failed, dc.Messages().Store(ctx, tracetest.Must(adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleAssistant, Content: "Done.", CreatedAt: at, UpdatedAt: at}))))
		if err := errors.Join(failed...); err != nil {
			return err
		}
		return dc.Ack()
	}
	return adk.Config{Executor: adk.Executor{Name: "timekeeper", Run: executor}, Tools: []*adk.Tool{tool}, Storage: fakes.NewStorage().Storage()}
}

// DET-6: after an answer in pieces a strand reads the recorded times, whichever answer comes first
// this time. So does code that runs after goroutines which ran tools.
func TestTimesBehindWhatComesInAnyOrder(t *testing.T) {
	t.Parallel()
	inPieces := func(ctx context.Context, before, answered chan bool) error {
		for _, err := range adk.AskStream(ctx, "model", "hello", func(_ context.Context, _ string, piece func(string) error) error {
			<-before // the one before it is answered; a replay never gets here
			defer close(answered)
			return errors.Join(piece("Hello"), piece(" there."))
		}) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for name, agent := range map[string]func() adk.Config{
		"pieces": func() adk.Config {
			answered := []chan bool{make(chan bool), make(chan bool), make(chan bool), make(chan bool)}
			close(answered[3])
			var strands []func(context.Context, *adk.DispatchContext) error
			for i := range 3 { // the last is answered first
				strands = append(strands, func(ctx context.Context, dc *adk.DispatchContext) error {
					err := inPieces(ctx, answered[i+1], answered[i])
					return errors.Join(err, dc.Stash().Set(fmt.Sprint("at", i), dc.Now().String()))
				})
			}
			return strandsOf(strands...)
		},
		"tools": func() adk.Config {
			return executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				var all started
				for i, name := range []string{"read", "search", "list"} {
					all.Go(func() error { _, err := askedFor(ctx, dc, name, i); return err })
				}
				err := all.Wait()
				said, failed := h.ReportMessage("m", "Done.", true)
				return errors.Join(err, failed, notes(ctx, dc, "m", said.CreatedAt.String()), dc.Ack())
			}, working("read", "search", "list")...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				var recorded bytes.Buffer
				config := agent()
				config.Probe = replay.Record(&recorded) // on the machine's clock
				require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go."}))
				d := inTime(t, recorded.Bytes(), replay.Live{Config: agent(), Seams: []string{replay.Executor, replay.ToolCode}, Writes: true})
				require.Nil(t, d, "%s", d)
			}
		})
	}
}

// DET-6: a strand that reads the clock between two pieces of an answer gets the recorded time,
// even if another strand has already done its later steps.
func TestTheTimeBetweenPieces(t *testing.T) {
	t.Parallel()
	agent := func(asks, reads func(), logs chan bool, logged func()) adk.Config {
		return strandsOf(func(ctx context.Context, dc *adk.DispatchContext) error {
			asks()
			var at []string
			for _, err := range adk.AskStream(ctx, "model", "hello", func(_ context.Context, _ string, piece func(string) error) error {
				return errors.Join(piece("Hello"), piece(" there."))
			}) {
				if err != nil {
					return err
				}
				if at = append(at, dc.Now().String()); len(at) == 1 {
					reads()
				}
			}
			return notes(ctx, dc, "m", fmt.Sprint(at))
		}, func(_ context.Context, dc *adk.DispatchContext) error {
			<-logs
			dc.Helpers().Log(adk.LevelInfo, "other", "goes on", nil)
			logged()
			return nil
		})
	}
	logs, logged, atOnce := make(chan bool), make(chan bool), func() {}
	recorded := byTheMachine(t, agent(atOnce, func() {
		close(logs)
		<-logged
	}, logs, func() { close(logged) }))
	logged = make(chan bool)
	live := replay.Live{Config: agent(func() { <-logged }, atOnce, logs, func() { close(logged) }), Seams: []string{replay.Executor}}
	d := inTime(t, recorded, live)
	require.Nil(t, d, "%s\n%s", d, recorded)
}
