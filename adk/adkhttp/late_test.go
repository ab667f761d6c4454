package adkhttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/replay"
)

// lateReader fails with the error that late returns.
type lateReader struct{ late func() error }

func (r lateReader) Read([]byte) (int, error) { return 0, r.late() }

// WLD-3: a replay gives the error text of a client whose Timeout has passed, although no time
// passes in a replay. The text does not mention a Timeout where the caller's deadline passed.
func TestTextsOfTimeouts(t *testing.T) {
	canceled := func(req *http.Request) error {
		<-req.Cancel
		<-req.Context().Done()
		return errors.New("net/http: request canceled")
	}
	exceeded := func(req *http.Request) error {
		_ = canceled(req)
		return req.Context().Err()
	}
	callers := func(req *http.Request) error {
		<-req.Context().Done()
		return req.Context().Err()
	}
	for name, c := range map[string]struct {
		late    func(*http.Request) error
		body    bool
		callers bool
		want    string
	}{
		"a head that is cancelled": {canceled, false, false, "net/http: request canceled (Client.Timeout exceeded while awaiting headers)"},
		"a head too late":          {exceeded, false, false, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"},
		"a body that is cancelled": {canceled, true, false, "net/http: request canceled (Client.Timeout or context cancellation while reading body)"},
		"a body too late":          {exceeded, true, false, "context deadline exceeded (Client.Timeout or context cancellation while reading body)"},
		"the caller's deadline":    {callers, false, true, "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said []string
				short, long := 20*time.Millisecond, time.Hour
				base := http.RoundTripper(roundTrip(func(req *http.Request) (*http.Response, error) {
					if !c.body {
						return nil, c.late(req)
					}
					read := lateReader{func() error { return c.late(req) }}
					return &http.Response{StatusCode: 200, Body: io.NopCloser(io.MultiReader(strings.NewReader("half"), read)), ContentLength: -1, Request: req}, nil
				}))
				run := func(ctx context.Context) {
					clients, callers := short, long
					if c.callers {
						clients, callers = long, short
					}
					ctx, cancel := context.WithTimeout(ctx, callers)
					defer cancel()
					client := &http.Client{Transport: adkhttp.NewTransport(base), Timeout: clients}
					resp, err := client.Do(get(ctx, "http://api.example/"))
					if err == nil {
						_, err = io.ReadAll(resp.Body)
						_ = resp.Body.Close()
					}
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					var late net.Error
					if assert.ErrorAs(t, err, &late) {
						assert.True(t, late.Timeout())
					}
					said = append(said, plainError(err))
				}
				written := recorded(t, run)
				base, short, long = never(t), time.Hour, 2*time.Hour
				report, err := replay.Verify(t.Context(), bytes.NewReader(written), replay.LiveExecutor(turn(run).Executor.Run))
				require.NoError(t, err)
				assert.Nil(t, report.Divergence, "%s", report)
				assert.Equal(t, []string{c.want, c.want}, said)
			})
		})
	}
}
