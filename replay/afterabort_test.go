package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay"
)

var errStopped = errors.New("stop")

// afterAbort is a turn that abort aborts in its executor. The executor, and later its turn input,
// then try every operation that an aborted turn refuses.
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

// ABT-7, ABT-12: the operations that an aborted turn refuses are in its trace. The trace replays
// with scripted seams and with live seams, and holds the invariants.
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

// WLD-5, ABT-7: a tool undoes its work after the caller has left, over HTTP and with adk.Ask. The
// request and its answer are recorded. A replay, with scripted seams or with the tool live,
// answers from the recording and sends no request.
func TestUndoingAfterTheAbortReplays(t *testing.T) {
	asked, mayAsk := []string{}, true
	see := func(what string) {
		assert.True(t, mayAsk, what)
		asked = append(asked, what)
	}
	client := &http.Client{Transport: adkhttp.NewTransport(answering(func(r *http.Request) *http.Response {
		see(r.Method + " " + r.URL.Path)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("cancelled")), Request: r}
	}))}
	config := func(leave func()) adk.Config {
		book := adk.ToolInit{Name: "book", Description: "Books.", Effect: adk.EffectWrites, InputSchema: json.RawMessage(`{"type":"object"}`), Handler: func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
			leave()
			after := context.WithoutCancel(ctx)
			request, err := http.NewRequestWithContext(after, http.MethodDelete, "https://air.example/flight", nil)
			if err != nil {
				return nil, err
			}
			var told []byte
			response, err := client.Do(request)
			if err == nil {
				told, err = io.ReadAll(response.Body)
				err = errors.Join(err, response.Body.Close())
			}
			desk, asks := adk.Ask(after, "desk", "room", func(context.Context, string) (string, error) { see("desk"); return "free", nil },
				adk.AskOptions{Effect: adk.EffectWrites, AfterAbort: true})
			dc.Log(adk.LevelWarn, "trip", string(told)+", "+desk, nil)
			return nil, errors.Join(err, asks, context.Cause(ctx))
		}}
		return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{tracetest.Must(adk.NewTool(book))},
			Executor: fakes.Script{{fakes.Call("book", `{}`)}, {fakes.Ack()}}.Executor("model")}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config(func() { cancel(errStopped) }), replay.Record(&trace))))
	require.NoError(t, runner.Run(ctx, adk.RawTurn{SystemPrompt: "Help."}))
	assert.Equal(t, []string{"DELETE /flight", "desk"}, asked)
	assert.Contains(t, trace.String(), `"message":"cancelled, free"`)
	assert.Equal(t, 2, strings.Count(trace.String(), `"afterAbort":true`))
	property.Check(t, bytes.NewReader(trace.Bytes()))

	mayAsk = false
	for _, live := range []replay.Live{{}, {Config: config(func() {}), Writes: true, Seams: []string{replay.ToolCode, replay.Executor}}} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(trace.Bytes()), live)
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, report)
	}
}

// answering is an HTTP transport that answers every request.
type answering func(*http.Request) *http.Response

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }
