package replay_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay"
)

var errStopped = errors.New("stop")

// afterAbort is a turn that is aborted in its executor, which then asks for all
// that an aborted turn begins no more; so does its turn input.
func afterAbort(abort func(dc *adk.DispatchContext)) adk.Config {
	tool := fakes.NewTool("drop", "Drops the table.", "dropped").Tool()
	media := tracetest.Must(adk.NewToolGenerated(adk.MediaInit{ID: "p", Kind: adk.MediaImage, MIMEType: "image/png", Filename: "p",
		Reader: adk.MediaFunc(func(context.Context) (io.ReadCloser, error) { panic("is read") })}))
	return adk.Config{
		Storage: fakes.NewStorage().Storage(),
		Tools:   []*adk.Tool{tool},
		TurnInput: []adk.TurnMiddleware{{Name: "plans", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			below, end := context.WithCancelCause(ctx)
			end(errStopped)
			if _, err := adk.Dispatch(below, adk.DispatchInput{Name: "planner", Source: tc, Executor: fakes.Script{{fakes.Ack()}}.Executor("planner")}); err != nil {
				return err
			}
			next(ctx)
			return nil
		}}},
		Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			abort(dc)
			ctx = context.WithoutCancel(ctx)
			_, forks := dc.Fork(ctx, "s", func(context.Context, *adk.DispatchContext) error { panic("runs") })
			offered, _ := dc.Tools().Get("drop")
			_, executes := dc.Execute(ctx, offered, `{}`)
			_, waits := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "r", Timeout: time.Minute})
			_, opens := dc.OpenMedia(ctx, media)
			stores := dc.Messages().Store(ctx, tracetest.Must(adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleUser, Content: "Kept.", CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})))
			return errors.Join(forks, executes, waits, opens, dc.Sleep(ctx, time.Hour), stores)
		}},
	}
}

// ABT-7, ABT-12: what an aborted turn refuses is in its trace and replays, with
// scripted seams and with live ones, and holds the invariants.
func TestAfterTheAbortReplays(t *testing.T) {
	for name, abort := range map[string]func(cancel context.CancelCauseFunc, dc *adk.DispatchContext){
		"abort":  func(_ context.CancelCauseFunc, dc *adk.DispatchContext) { _ = dc.Abort(errStopped) },
		"cancel": func(cancel context.CancelCauseFunc, _ *adk.DispatchContext) { cancel(errStopped) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var trace bytes.Buffer
			runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(afterAbort(func(dc *adk.DispatchContext) { abort(cancel, dc) }), replay.Record(&trace))))
			require.NoError(t, runner.Run(ctx, adk.RawTurn{SystemPrompt: "Help."}))
			for _, refused := range []string{`"kind":"fork"`, `"kind":"execute"`, `"kind":"wait-for"`, `"kind":"open-media"`, `"ended":{`} {
				assert.Contains(t, trace.String(), refused)
			}
			assert.NotContains(t, trace.String(), `"seam":"tool/`)
			property.Check(t, bytes.NewReader(trace.Bytes()))

			scripted, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.Live{})
			require.NoError(t, err)
			assert.Nil(t, scripted.Divergence)

			config := afterAbort(func(dc *adk.DispatchContext) {
				if name == "abort" {
					_ = dc.Abort(errStopped)
				}
			})
			live, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), replay.Live{Config: config, Seams: []string{replay.Executor}})
			require.NoError(t, err)
			assert.Nil(t, live.Divergence)
		})
	}
}
