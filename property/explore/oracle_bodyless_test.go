package explore

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// retrying makes a request once more if it fails.
type retrying struct {
	base http.RoundTripper
	keep bool // the body for the second attempt
}

func (r retrying) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	text, body := []byte(nil), req.Body
	if r.keep {
		if text, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	for range 2 {
		this := req.Clone(req.Context())
		this.Body = body
		if r.keep {
			this.Body = io.NopCloser(strings.NewReader(string(text)))
		}
		if resp, err = r.base.RoundTrip(this); err != nil || resp.StatusCode == http.StatusOK {
			break
		}
		_ = resp.Body.Close()
	}
	return resp, err
}

// A body that the first attempt has read to its end is not there for the second one, and net/http
// refuses to send that. Who keeps it is accused of nothing, nor is who makes a first request without it.
func TestRequestsMadeAgainWithoutTheirBodies(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(server.Close)
	for name, c := range map[string]struct {
		keep, empty, accused bool
	}{
		"without":       {false, false, true},
		"kept":          {true, false, false},
		"never with it": {false, true, false},
	} {
		result, err := Explore(t.Context(), turn.Subject{Name: name, Open: func(context.CancelCauseFunc) turn.Instance {
			client := &http.Client{Transport: retrying{adkhttp.NewTransport(server.Client().Transport), c.keep}}
			run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				if c.empty {
					if err := adk.FaultPoint(ctx, "before it is written"); err == nil {
						return dc.Ack()
					}
				}
				body := io.Reader(strings.NewReader("a lamp"))
				if c.empty {
					body = strings.NewReader("")
				}
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/search", io.NopCloser(body))
				if err != nil {
					return err
				}
				req.ContentLength = int64(len("a lamp"))
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				return errors.Join(resp.Body.Close(), dc.Ack())
			}
			return turn.Instance{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, Raw: adk.RawTurn{SystemPrompt: "Help."}, Close: func() {}}
		}}, Options{Faults: []turn.FaultKind{turn.Fail, turn.AskUnavailable}, UsualInput: true})
		assert.NoError(t, err)
		found := breaches(result.Violations, "a request that is made again has its body")
		assert.Equal(t, c.accused, len(found) == 1, "%s: %s", name, result)
		if len(found) == 1 {
			assert.Contains(t, found[0], "the request to localhost is made again, and its body was read to its end the first time")
		}
	}
}
