package replay_test

import (
	"bytes"
	"context"
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
	"github.com/adkreplay/adkreplay/replay"
)

// twoEvents answers with a stream of two events.
type twoEvents struct{}

func (twoEvents) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1,
		Body: io.NopCloser(strings.NewReader("data: 1\n\ndata: 2\n\n")), Request: req}, nil
}

// A caller leaves at any time: when code has just asked whether he has, and begins what is then
// refused; or while it waits for what a server says, which comes all the same. A replay has him
// leave where the same code does the same again.
func TestTheCallerLeavesInBetween(t *testing.T) {
	ask := func(ctx context.Context) error {
		_, err := adk.Ask(ctx, "model", "?", func(context.Context, string) (string, error) { return "yes", nil })
		return err
	}
	for name, run := range map[string]func(ctx context.Context, dc *adk.DispatchContext, leave func()) error{
		"before an ask": func(ctx context.Context, _ *adk.DispatchContext, leave func()) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			leave()
			return ask(ctx)
		},
		"between two asks": func(ctx context.Context, _ *adk.DispatchContext, leave func()) error {
			err := ask(ctx)
			if ctx.Err() == nil {
				leave()
				err = errors.Join(err, ask(ctx))
			}
			return err
		},
		"before a sleep": func(ctx context.Context, dc *adk.DispatchContext, leave func()) error {
			err := ask(ctx)
			if ctx.Err() == nil {
				leave()
				err = errors.Join(err, dc.Sleep(ctx, time.Hour))
			}
			return err
		},
		"before it is asked": func(ctx context.Context, _ *adk.DispatchContext, leave func()) error {
			if err := ask(ctx); err != nil {
				return err
			}
			leave()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return ask(ctx)
		},
		"behind the head of an answer": func(ctx context.Context, _ *adk.DispatchContext, leave func()) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/", nil)
			if err != nil {
				return err
			}
			resp, err := (&http.Client{Transport: adkhttp.NewTransport(twoEvents{})}).Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			leave()
			for {
				if _, err := resp.Body.Read(make([]byte, 100)); err != nil || ctx.Err() != nil {
					return errors.Join(err, ctx.Err())
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			leave := cancel
			config := adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return run(ctx, dc, leave)
			}}}
			var trace bytes.Buffer
			runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace))))
			require.NoError(t, runner.Run(ctx, adk.RawTurn{SystemPrompt: "Ask."}))
			require.Contains(t, trace.String(), `"kind":"cancel"`)
			leave = func() {}
			report, err := replay.Verify(t.Context(), &trace, replay.Live{Config: config, Seams: []string{replay.Executor}})
			require.NoError(t, err)
			assert.Nil(t, report.Divergence, "%s", report.Divergence)
		})
	}
}
