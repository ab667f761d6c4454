package realparts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// caller returns an agent that asks a server on loopback twice over one connection, and reports the
// answers. The careless one reports whatever it gets.
func caller(server string, careless bool) turn.Subject {
	return turn.Subject{Name: "caller", Open: func(context.CancelCauseFunc) turn.Instance {
		pool := &http.Transport{}
		client := &http.Client{Transport: adkhttp.NewTransport(pool)}
		ask := func(ctx context.Context) (string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/v1/ask", strings.NewReader(`{"q":"weather"}`))
			if err != nil {
				return "", err
			}
			resp, err := client.Do(req)
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK && !careless {
				return "", fmt.Errorf("it answers %s", resp.Status)
			}
			var said struct{ Answer string }
			body, err := io.ReadAll(resp.Body)
			if err == nil {
				err = json.Unmarshal(body, &said)
			}
			if err == nil && said.Answer == "" && !careless {
				err = errors.New("it answers nothing")
			}
			return said.Answer, err
		}
		return turn.Instance{
			Config: adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
				if _, err := ask(ctx); err != nil {
					return err
				}
				answer, err := ask(ctx)
				if err != nil {
					return err
				}
				if _, err := h.ReportMessage("m0", answer, true); err != nil {
					return err
				}
				return dc.Ack()
			}}},
			Raw: adk.RawTurn{SystemPrompt: "Ask."},
			Check: func(r turn.Run) error {
				for x := range r.Crossings {
					if x.Kind == adk.KindReportMessage && x.Text == "" {
						return errors.New("it says nothing")
					}
				}
				return nil
			},
			Close: pool.CloseIdleConnections,
		}
	}}
}

// A real net/http server is asked in each run, and faults break its answers. The goroutines of its
// connections are not reported.
func TestHTTPOnLoopback(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"answer":"rain"}`, strings.Repeat(" ", 64<<10)) // more than a buffer holds
	}))
	t.Cleanup(server.Close)
	careless, err := explore.Explore(t.Context(), caller(server.URL, true), explore.Options{})
	require.NoError(t, err)
	require.NotEmpty(t, careless.Violations)
	said, note, _ := strings.Cut(careless.Violations[0].Text, "\n")
	assert.Equal(t, "it says nothing", said)
	assert.Regexp(t, "^from crossing \\d+ on (localhost|127.0.0.1) was not called", note, "the server has not seen all")
	careful, err := explore.Explore(t.Context(), caller(server.URL, false), explore.Options{})
	require.NoError(t, err)
	assert.Empty(t, careful.Violations, careful)
	assert.Empty(t, careful.NotCovered)
	assert.Greater(t, careful.Schedules, 50)
}
