package adkhttp_test

import (
	"bytes"
	"context"
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
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// upload is a request with a length, and with a body that can be read only once.
func upload(ctx context.Context, to string, body io.Reader, length int64) *http.Request {
	req := must(http.NewRequestWithContext(ctx, http.MethodPost, to, io.NopCloser(body)))
	req.ContentLength = length
	return req
}

// requests returns the requests that a trace holds, in their order.
func requests(t *testing.T, written []byte) (all []string) {
	for _, line := range must(trace.Read(bytes.NewReader(written))).Lines() {
		if x := line.Crossing; x.Kind == adk.KindAsk && x.Phase == adk.Begin {
			all = append(all, string(x.JSON))
		}
	}
	return all
}

// WLD-3: a body with a length is passed on while it is read, and recorded when it ends.
func TestUploadsArePassedOnAsTheyAreWritten(t *testing.T) {
	var happened []string
	halves := []string{`{"first":1,`, `"second":2}`}
	ask := func(ctx context.Context) {
		client := &http.Client{Transport: adkhttp.NewTransport(roundTrip(func(req *http.Request) (*http.Response, error) {
			for into := make([]byte, 100); ; {
				n, err := req.Body.Read(into)
				happened = append(happened, "sent "+string(into[:n]))
				if err != nil {
					return answering(&http.Request{Body: http.NoBody})
				}
			}
		}))}
		left := halves
		body := readerFunc(func(into []byte) (int, error) {
			if len(left) == 0 {
				return 0, io.EOF
			}
			n := copy(into, left[0])
			left = left[1:]
			happened = append(happened, "wrote "+string(into[:n]))
			return n, nil
		})
		resp, err := client.Do(upload(ctx, "https://model.example/files", body, 22))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	written := recorded(t, ask)
	assert.Equal(t, []string{"wrote " + halves[0], "sent " + halves[0], "wrote " + halves[1], "sent " + halves[1], "sent "}, happened)
	assert.Equal(t, []string{`{"method":"POST","path":"/files","body":{"first":1,"second":2}}`}, requests(t, written))
	report, err := replay.Verify(t.Context(), bytes.NewReader(written), replay.LiveExecutor(turn(ask).Executor.Run))
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "%s", report)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(into []byte) (int, error) { return f(into) }

// WLD-3: a real server receives the first half before the second is written, and receives the length
// that the caller gave.
func TestServersSeeUploadsAsTheyAreWritten(t *testing.T) {
	seen := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		half := make([]byte, 5)
		_, _ = io.ReadFull(r.Body, half)
		close(seen)
		rest, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%d %s %s", r.ContentLength, half, rest)
	}))
	defer server.Close()
	written := recorded(t, func(ctx context.Context) {
		r, w := io.Pipe()
		go func() {
			_, _ = io.WriteString(w, "hello")
			<-seen
			_, _ = io.WriteString(w, "there")
			_ = w.Close()
		}()
		resp, err := (&http.Client{Transport: adkhttp.NewTransport(nil)}).Do(upload(ctx, server.URL, r, 10))
		require.NoError(t, err)
		assert.Equal(t, "10 hello there", string(must(io.ReadAll(resp.Body))))
	})
	assert.Equal(t, []string{`{"method":"POST","path":"","text":"hellothere"}`}, requests(t, written))
}

// WLD-3, WLD-5: an upload that is answered before its end, whose body fails, or during which the
// turn is aborted, is recorded as what it was, and production sees what it sees without the transport.
func TestUploadsWithoutAnEnd(t *testing.T) {
	broken := errors.New("the file is gone")
	for name, c := range map[string]struct {
		body    io.Reader
		base    roundTrip
		err     string
		request string
	}{
		"answered early": {strings.NewReader("hello"), func(*http.Request) (*http.Response, error) { return answering(&http.Request{Body: http.NoBody}) }, "",
			`{"method":"POST","path":"/files","body":{"$unheld":"the answer came before all of it was sent"}}`},
		"broken": {readerFunc(func([]byte) (int, error) { return 0, broken }), func(req *http.Request) (*http.Response, error) {
			_, err := io.ReadAll(req.Body)
			return nil, err
		}, `Post "https://model.example/files": the file is gone`, `{"$unheld":"the file is gone"}`},
		"nobody there": {strings.NewReader("hello"), func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") },
			`Post "https://model.example/files": refused`, `{"method":"POST","path":"/files","body":{"$unheld":"the answer came before all of it was sent"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			written := recorded(t, func(ctx context.Context) {
				resp, err := (&http.Client{Transport: adkhttp.NewTransport(c.base)}).Do(upload(ctx, "https://model.example/files", c.body, 5))
				if c.err != "" {
					assert.EqualError(t, err, c.err)
					return
				}
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
			})
			assert.Equal(t, []string{c.request}, requests(t, written))
		})
	}
}

// WLD-5: when a turn is aborted while a body is sent, the ask is recorded as one that an aborted
// turn refuses, and the exchange goes on as its context allows.
func TestUploadsInAnAbortedTurn(t *testing.T) {
	var out bytes.Buffer
	config := turn(nil)
	config.Probe = replay.Record(&out)
	config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		client := &http.Client{Transport: adkhttp.NewTransport(roundTrip(func(req *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, req.Body)
			return nil, context.Cause(req.Context())
		}))}
		body := readerFunc(func(into []byte) (int, error) {
			_ = dc.Abort(errors.New("enough"))
			return copy(into, "hello"), io.EOF
		})
		_, err := client.Do(upload(ctx, "https://model.example/files", body, 5))
		assert.ErrorContains(t, err, "enough")
		return err
	}
	_ = must(adk.NewRunner(config)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."})
	assert.Equal(t, []string{`{"method":"POST","path":"/files","text":"hello"}`}, requests(t, out.Bytes()))
	report, err := replay.Verify(t.Context(), bytes.NewReader(out.Bytes()), replay.LiveExecutor(config.Executor.Run))
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "%s", report)
}
