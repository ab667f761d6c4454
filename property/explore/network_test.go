package explore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// network is the body of an event stream. Some of its events have arrived before the client notices that
// its context has ended, and can still be read.
type network struct {
	ctx    context.Context
	events []string
	behind int // how many events can still be read after the end of the context
}

func (n *network) Read(p []byte) (int, error) {
	if n.ctx.Err() != nil {
		if n.behind--; n.behind < 0 {
			return 0, context.Cause(n.ctx)
		}
	}
	if len(n.events) == 0 {
		return 0, io.EOF
	}
	next := n.events[0]
	n.events = n.events[1:]
	return copy(p, next), nil
}

func (n *network) Close() error { return nil }

// listening returns a subject whose model logs, event by event, what it reads over HTTP. answer returns
// the body for its n-th request.
func listening(name string, answer func(ctx context.Context, n int) *network) turn.Subject {
	var requests atomic.Int64
	client := &http.Client{Transport: adkhttp.NewTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1,
			Body: answer(r.Context(), int(requests.Add(1))), Request: r}, nil
	}))}
	return executing(name, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://model.example/", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if lines.Text() != "" {
				h.Log(adk.LevelInfo, "heard", lines.Text(), nil)
			}
		}
		if lines.Err() != nil {
			return lines.Err()
		}
		return dc.Ack()
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// DET-2: how much of an answer had arrived when its reader was cancelled is up to the network, and two
// runs do not count as different because of it. They do if the answers have different contents.
func TestWhatCameBehindACancelIsTheNetworks(t *testing.T) {
	events := []string{"data: 1\n\n", "data: 2\n\n", "data: 3\n\n", "data: 4\n\n"}
	options := explore.Options{Workers: 1, Faults: []turn.FaultKind{turn.Cancel, turn.CancelAfter, turn.Deadline}}
	result := explored(t, listening("racing", func(ctx context.Context, n int) *network { return &network{ctx, events, n % 3} }), options)
	assert.Empty(t, result.Violations, "%s", result)
	assert.Empty(t, result.Hints, "%s", result)
	result = explored(t, listening("rolling", func(ctx context.Context, n int) *network {
		return &network{ctx, append(events[:1:1], fmt.Sprintf("data: rolled %d\n\n", n)), 0}
	}), options)
	require.NotEmpty(t, result.Violations)
	assert.Equal(t, "a run is the same every time", result.Violations[0].Invariant)
}

// DET-2: if each run makes a server of its own, the system chooses its port. This makes no difference, even if
// the port is told to the user, stored and logged; for example because a client's error names the address.
func TestTheAddressOfAServerIsToldAndKept(t *testing.T) {
	result := explored(t, turn.Subject{Name: "tells", Open: func(context.CancelCauseFunc) turn.Instance {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "sun") }))
		base := &http.Transport{}
		client := &http.Client{Transport: adkhttp.NewTransport(base)}
		look := func(ctx context.Context) (string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
			if err != nil {
				return "", err
			}
			resp, err := client.Do(req)
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			return string(text), err
		}
		run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			text, err := look(ctx)
			if err != nil {
				dc.Log(adk.LevelError, "look", err.Error(), nil)
				text = "I could not look it up: " + err.Error()
			}
			said, err := h.ReportMessage(dc.NewID(), text, true)
			if err != nil {
				return err
			}
			m, err := adk.NewMessage(adk.MessageInit{ID: said.ID, Role: adk.RoleAssistant, Content: said.Full, CreatedAt: said.CreatedAt, UpdatedAt: said.UpdatedAt})
			if err != nil {
				return err
			}
			if err := dc.Messages().Store(ctx, m); err != nil {
				return err
			}
			return dc.Ack()
		}
		return turn.Instance{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, Raw: adk.RawTurn{SystemPrompt: "Help."},
			Close: func() { base.CloseIdleConnections(); server.Close() }}
	}}, explore.Options{UsualInput: true})
	assert.Empty(t, result.Violations, result)
}
