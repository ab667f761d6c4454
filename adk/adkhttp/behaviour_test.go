package adkhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// get makes a request with a context.
func get(ctx context.Context, url string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		panic(err)
	}
	return req
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// WLD-1: without the handle of a seam call the transport only calls its base, which is
// http.DefaultTransport if none is given.
func TestWithoutHandle(t *testing.T) {
	given := get(context.Background(), "http://example.com/x")
	base := roundTrip(func(req *http.Request) (*http.Response, error) {
		assert.Same(t, given, req)
		return &http.Response{StatusCode: 418, Body: http.NoBody}, nil
	})
	resp, err := adkhttp.NewTransport(base).RoundTrip(given)
	require.NoError(t, err)
	assert.Equal(t, 418, resp.StatusCode)
	server := httptest.NewServer(world())
	t.Cleanup(server.Close)
	client := &http.Client{Transport: adkhttp.NewTransport(nil)}
	assert.Equal(t, 200, look(client, get(context.Background(), server.URL+"/json")).Status)
	client.CloseIdleConnections()
	(&http.Client{Transport: adkhttp.NewTransport(base)}).CloseIdleConnections()
}

// WLD-6: options set the name of who is asked, the effect, and how much of a body is held.
func TestOptions(t *testing.T) {
	server := httptest.NewServer(world())
	t.Cleanup(server.Close)
	written := recorded(t, func(ctx context.Context) {
		client := &http.Client{Transport: adkhttp.NewTransport(nil, adkhttp.MaxBody(10),
			adkhttp.Name(func(req *http.Request) string {
				if req.URL.Path == "/echo" {
					return "echoes"
				}
				return ""
			}), adkhttp.Effect(func(*http.Request) adk.Effect { return adk.EffectWrites }))}
		long := exchange{method: "POST", path: "/echo", body: text("0123456789x")}
		assert.Equal(t, "POST 11 0123456789x", look(client, long.request(ctx, server.URL)).Body)
		once := exchange{method: "POST", path: "/echo", body: func() io.Reader { return onlyReader{strings.NewReader("0123456789x")} }}
		req := once.request(ctx, server.URL)
		req.ContentLength = 11
		assert.Equal(t, "POST 11 0123456789x", look(client, req).Body)
	})
	read := must(trace.Read(bytes.NewReader(written)))
	var lines []string
	for _, line := range read.Lines() {
		if x := line.Crossing; x.Kind == adk.KindAsk && x.Phase == adk.Begin || x.Kind == adk.KindPiece {
			lines = append(lines, strings.TrimSpace(x.Name+" "+string(x.JSON)+" "+x.Status))
		}
	}
	assert.Equal(t, []string{
		`echoes {"method":"POST","path":"/echo","headers":{"content-type":"application/json"},"body":{"$unheld":"11 bytes with the SHA-256 8e1815874d1236c2d83236b1d0b450cc00980744a906259dd28de5bfb4bfbbe7, which are more than 10"}} writes`,
		`{"status":200,"headers":{"content-length":"19","content-type":"text/plain; charset=utf-8"}}`,
		`{"$unheld":"19 bytes with the SHA-256 7ee3de236c8b914499c8aefa3795a8d4f766b4a372eb150a100a104cdacbaae7, which are more than 10"}`,
		`echoes {"method":"POST","path":"/echo","headers":{"content-type":"application/json"},"body":{"$unheld":"11 bytes, which are more than 10"}} writes`,
		`{"status":200,"headers":{"content-length":"19","content-type":"text/plain; charset=utf-8"}}`,
		`{"$unheld":"19 bytes with the SHA-256 7ee3de236c8b914499c8aefa3795a8d4f766b4a372eb150a100a104cdacbaae7, which are more than 10"}`,
	}, lines)
}

// WLD-6: the effect of a request follows from its method, or from its idempotency key.
func TestEffects(t *testing.T) {
	server := httptest.NewServer(world())
	t.Cleanup(server.Close)
	written := recorded(t, func(ctx context.Context) {
		client := &http.Client{Transport: adkhttp.NewTransport(nil)}
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "DELETE"} {
			for _, key := range []string{"", "Idempotency-Key", "X-Idempotency-Key"} {
				req := exchange{method: method, path: "/echo"}.request(ctx, server.URL)
				if key != "" {
					req.Header.Set(key, "k")
				}
				look(client, req)
			}
		}
	})
	var effects []string
	for _, line := range must(trace.Read(bytes.NewReader(written))).Lines() {
		if x := line.Crossing; x.Kind == adk.KindAsk && x.Phase == adk.Begin {
			effects = append(effects, x.Status)
		}
	}
	assert.Equal(t, []string{"reads", "reads", "reads", "reads", "reads", "reads", "reads", "reads", "reads",
		"", "writes", "writes", "", "writes", "writes"}, effects)
}

// WLD-4: an exchange over HTTP/2 is recorded like one over HTTP/1.
func TestHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(world())
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	for _, e := range exchanges {
		if e.path == "/resets" || e.path == "/lies" || e.path == "/breaks" {
			continue // a stream of HTTP/2 breaks with another error
		}
		t.Run(e.name, func(t *testing.T) {
			want := look(server.Client(), e.request(context.Background(), server.URL))
			recorded(t, func(ctx context.Context) {
				got := look(&http.Client{Transport: adkhttp.NewTransport(server.Client().Transport)}, e.request(ctx, server.URL))
				assert.Equal(t, want, got)
			})
		})
	}
}

// WLD-4: the part of a body that was read is recorded, and no more. A body that is never read, or
// never closed, is recorded as ended when its call ends.
func TestBodiesReadInPart(t *testing.T) {
	server := httptest.NewServer(world())
	t.Cleanup(server.Close)
	ask := func(read func(body io.ReadCloser)) []string {
		written := recorded(t, func(ctx context.Context) {
			resp, err := adkhttp.NewTransport(server.Client().Transport).RoundTrip(get(ctx, server.URL+"/events"))
			require.NoError(t, err)
			t.Cleanup(func() { _ = resp.Body.Close() })
			read(resp.Body)
		})
		return told(t, written)[2:]
	}
	assert.Equal(t, []string{"done E_ASK_STOPPED: the body was closed before its end"}, ask(func(b io.ReadCloser) { _ = b.Close(); _ = b.Close() }))
	assert.Equal(t, []string{`piece {"text":": hello\n\n"}`, `piece {"text":"event"} open`, "done E_ASK_STOPPED: the body was closed before its end"},
		ask(func(b io.ReadCloser) {
			_, err := io.ReadFull(b, make([]byte, 14))
			assert.NoError(t, err)
			_ = b.Close()
		}))
	unread := ask(func(io.ReadCloser) {})
	require.Len(t, unread, 1)
	assert.Contains(t, unread[0], "E_CONTEXT_ENDED")
}

// WLD-4: what code does between two events of a body is recorded between the pieces of these
// events, and a replay repeats that order, however the network cut the body.
func TestWhatHappensBetweenEvents(t *testing.T) {
	const events = "data: {\"n\":1}\n\ndata: {\"n\":2}\n\ndata: {\"n\":3}\n\n"
	const inBlankLine = 14 // a reader of lines has all of the first event before its closing blank line
	cuts := [][]int{{}, {5}, {15}, {12, 16}, {1, 2, 3, 40}, {inBlankLine, 16}}
	var first []string
	for _, cut := range cuts {
		base := http.RoundTripper(roundTrip(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, ContentLength: -1, Request: req, Body: io.NopCloser(portions(events, cut)),
				Header: http.Header{"Content-Type": {"text/event-stream"}}}, nil
		}))
		run := func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			resp, err := adkhttp.NewTransport(base).RoundTrip(get(ctx, "http://model.example/"))
			if err != nil {
				return err
			}
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				if lines.Text() != "" {
					must(h.ReportMessage("m", lines.Text(), false))
				}
			}
			return errors.Join(resp.Body.Close(), dc.Ack())
		}
		var written bytes.Buffer
		config := adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: run}}
		runner := must(adk.NewRunner(fakes.Deterministic(config, replay.Record(&written))))
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
		var kinds []string
		for _, line := range must(trace.Read(bytes.NewReader(written.Bytes()))).Lines() {
			kinds = append(kinds, line.Crossing.Kind.String()+string(line.Crossing.JSON))
		}
		if first == nil {
			first = kinds
		}
		if !slices.Contains(cut, inBlankLine) {
			assert.Equal(t, first, kinds, "cut at %v", cut)
		}
		base = never(t)
		report, err := replay.Verify(t.Context(), &written, replay.LiveExecutor(run))
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%s", report)
	}
}

// portions returns a reader that gives the text in portions that end at these offsets.
func portions(text string, ends []int) io.Reader {
	from, all := 0, []io.Reader{}
	for _, end := range append(ends, len(text)) {
		all = append(all, strings.NewReader(text[from:end]))
		from = end
	}
	return io.MultiReader(all...)
}

// WLD-5: nothing is held back: an event that has arrived is handed out while the server is still
// sending, and so is a part of an event.
func TestNothingIsHeldBack(t *testing.T) {
	parts, sent := make(chan string), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for part := range parts {
			_, _ = io.WriteString(w, part)
			w.(http.Flusher).Flush()
			sent <- struct{}{}
		}
	}))
	t.Cleanup(server.Close)
	recorded(t, func(ctx context.Context) {
		go func() { parts <- ": go\n\n" }()
		resp, err := adkhttp.NewTransport(nil).RoundTrip(get(ctx, server.URL))
		require.NoError(t, err)
		<-sent
		for _, part := range []string{": go\n\n", "data: {\"a\"", ":1}\n", "\n"} {
			if part[0] != ':' || part[1] != ' ' {
				parts <- part
				<-sent
			}
			got := make([]byte, len(part))
			_, err := io.ReadFull(resp.Body, got)
			require.NoError(t, err)
			assert.Equal(t, part, string(got))
		}
		close(parts)
		assert.NoError(t, resp.Body.Close())
	})
}

// WLD-6, WLD-5: an exchange that no trace can hold is carried out, recorded as passed by, and
// refused in a replay.
func TestPassedBy(t *testing.T) {
	pipe := func() io.Reader {
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, "no end is known"); _ = w.Close() }()
		return r
	}
	cases := map[string]struct {
		e      exchange
		change func(*http.Request)
		why    string
	}{
		"upgrade": {exchange{path: "/json"}, func(r *http.Request) { r.Header.Set("Upgrade", "websocket") }, "GET /json: the connection is another protocol's from here on"},
		"gRPC":    {exchange{method: "POST", path: "/echo"}, func(r *http.Request) { r.Header.Set("Content-Type", "application/grpc+proto") }, "POST /echo: it is gRPC"},
		"endless": {exchange{method: "POST", path: "/echo", body: pipe}, func(*http.Request) {}, "POST /echo: its body says no length, and may have no end"},
	}
	server := httptest.NewServer(world())
	t.Cleanup(server.Close)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			base, want := server.Client().Transport, 200
			run := func(ctx context.Context) {
				req := c.e.request(ctx, server.URL)
				c.change(req)
				got := look(&http.Client{Transport: adkhttp.NewTransport(base)}, req)
				assert.Equal(t, want, got.Status)
			}
			written := recorded(t, run)
			assert.Equal(t, []string{"contained passed by localhost: " + c.why}, told(t, written))
			base, want = never(t), 0
			_, err := replay.Verify(t.Context(), bytes.NewReader(written), replay.LiveExecutor(turn(run).Executor.Run))
			require.NoError(t, err)
		})
	}
}

// WLD-5: in an aborted turn a request whose own context is still alive is made, and recorded with its
// answer; this is how code undoes what it did. After its call has ended the request is made too, and
// recorded as passed by. A request whose context has ended is not made.
func TestLateRequests(t *testing.T) {
	server := httptest.NewServer(world())
	t.Cleanup(server.Close)
	client := &http.Client{Transport: adkhttp.NewTransport(server.Client().Transport)}
	var kept context.Context
	var written bytes.Buffer
	config := turn(func(ctx context.Context) { kept = ctx })
	config.TurnOutput = []adk.TurnMiddleware{{Name: "after", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		assert.Equal(t, 200, look(client, get(context.WithoutCancel(kept), server.URL+"/json")).Status)
		boom := errors.New("enough")
		require.NoError(t, tc.Abort(boom))
		assert.Equal(t, 200, look(client, get(context.WithoutCancel(ctx), server.URL+"/json")).Status)
		_, err := client.Do(get(ctx, server.URL+"/json"))
		assert.ErrorIs(t, err, boom)
		undo := must(http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, server.URL+"/echo", io.MultiReader(strings.NewReader("undo")))) // a body that cannot be read twice
		undo.ContentLength = 4
		assert.Equal(t, "POST 4 undo", look(client, undo).Body)
		return nil
	}}}
	require.NoError(t, must(adk.NewRunner(fakes.Deterministic(config, replay.Record(&written)))).Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	lines := told(t, written.Bytes())
	ask := `ask {"method":"GET","path":"/json"} reads`
	require.Len(t, lines, 12)
	assert.Contains(t, lines[0], "contained late ask")
	assert.Contains(t, lines[1], "contained passed by localhost: GET /json: E_CONTEXT_ENDED")
	assert.Equal(t, ask+" after the abort", lines[2])
	assert.Contains(t, lines[3], `piece {"status":200`)
	assert.Equal(t, []string{"done", ask, "done enough"}, lines[5:8])
	assert.Equal(t, `ask {"method":"POST","path":"/echo","text":"undo"} after the abort`, lines[8])
	assert.Equal(t, `piece {"text":"POST 4 undo"}`, lines[10])
}

// WLD-3, WLD-8: limits end a request that takes too long, and a body that stalls.
func TestLimits(t *testing.T) {
	stall := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
		}
		select {
		case <-stall:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(stall) })
	written := recorded(t, func(ctx context.Context) {
		limited := &http.Client{Transport: adkhttp.NewTransport(nil, adkhttp.Limits(adk.AskLimits{Headers: time.Millisecond}))}
		_, err := limited.Do(get(ctx, server.URL+"/head"))
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		assert.True(t, timeout.Timeout())
		assert.ErrorIs(t, err, adk.E_ASK_TIMEOUT)
		patient := &http.Client{Transport: adkhttp.NewTransport(nil, adkhttp.Limits(adk.AskLimits{Idle: time.Millisecond}))}
		resp, err := patient.Do(get(ctx, server.URL+"/body"))
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		assert.ErrorIs(t, err, adk.E_ASK_TIMEOUT)
		assert.Equal(t, "half", string(body))
		assert.NoError(t, resp.Body.Close())
	})
	lines := told(t, written)
	assert.Contains(t, lines[1], "E_ASK_TIMEOUT")
	assert.Equal(t, `piece {"text":"half"} open`, lines[4])
	assert.Contains(t, lines[5], "E_ASK_TIMEOUT")
}

// WLD-8: for an answer without a 2xx status the limit of the head bounds everything: its body keeps
// no caller waiting, however often another byte of it arrives. The body of a 2xx answer has no bound.
func TestLimitOfARefusal(t *testing.T) {
	for status, bounded := range map[int]bool{200: false, 206: false, 302: true, 404: true, 503: true} {
		base := roundTrip(func(req *http.Request) (*http.Response, error) {
			body := io.MultiReader(strings.NewReader("half"), untilDone{req.Context(), bounded})
			return &http.Response{StatusCode: status, ContentLength: -1, Request: req, Header: http.Header{}, Body: io.NopCloser(body)}, nil
		})
		run := func(base http.RoundTripper) func(context.Context) {
			return func(ctx context.Context) {
				resp, err := adkhttp.NewTransport(base, adkhttp.Limits(adk.AskLimits{Headers: 20 * time.Millisecond})).RoundTrip(get(ctx, "http://a.example/"))
				require.NoError(t, err)
				body, err := io.ReadAll(resp.Body)
				assert.Equal(t, "half", string(body))
				assert.Equal(t, bounded, errors.Is(err, adk.E_ASK_TIMEOUT), "%d: %v", status, err)
				assert.NoError(t, resp.Body.Close())
			}
		}
		written := recorded(t, run(base))
		report, err := replay.Verify(t.Context(), bytes.NewReader(written), replay.LiveExecutor(turn(run(never(t))).Executor.Run))
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%d: %s", status, report)
	}
}

// untilDone is a body without data: if endless, it blocks until the context ends; otherwise it is
// at its end.
type untilDone struct {
	ctx     context.Context
	endless bool
}

func (u untilDone) Read([]byte) (int, error) {
	if !u.endless {
		return 0, io.EOF
	}
	<-u.ctx.Done()
	return 0, context.Cause(u.ctx)
}

// WLD-4, RUN-11: a client that many goroutines share records each exchange as a whole.
func TestManyGoroutines(t *testing.T) {
	server := httptest.NewServer(world())
	t.Cleanup(server.Close)
	written := recorded(t, func(ctx context.Context) {
		client := &http.Client{Transport: adkhttp.NewTransport(server.Client().Transport)}
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				said := fmt.Sprintf(`{"n":%d}`, i)
				e := exchange{method: "POST", path: "/echo", body: text(said)}
				assert.Equal(t, fmt.Sprintf("POST %d %s", len(said), said), look(client, e.request(ctx, server.URL)).Body)
			})
		}
		all.Wait()
	})
	asked, answered := map[int]string{}, map[int]string{}
	for _, line := range must(trace.Read(bytes.NewReader(written))).Lines() {
		var held struct{ Body, Text json.RawMessage }
		if x := line.Crossing; x.Kind == adk.KindAsk && x.Phase == adk.Begin {
			require.NoError(t, json.Unmarshal(x.JSON, &held))
			asked[x.Op] = string(held.Body)
		} else if x.Kind == adk.KindPiece && json.Unmarshal(x.JSON, &held) == nil && held.Text != nil {
			answered[x.Op] = string(held.Text)
		}
	}
	require.Len(t, asked, 16)
	for op, said := range asked {
		assert.Contains(t, strings.ReplaceAll(answered[op], `\"`, `"`), said)
	}
}

// A multipart body has a new random boundary each time. It is recorded with a fixed boundary, so
// that a replay finds the same request.
func TestMultipart(t *testing.T) {
	server := httptest.NewServer(world())
	t.Cleanup(server.Close)
	ask := func() []string {
		return told(t, recorded(t, func(ctx context.Context) {
			var body bytes.Buffer
			form := multipart.NewWriter(&body)
			_ = form.WriteField("model", "whisper")
			_ = form.Close()
			req := must(http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/echo", &body))
			req.Header.Set("Content-Type", form.FormDataContentType())
			look(&http.Client{Transport: adkhttp.NewTransport(nil)}, req)
		}))[:1]
	}
	first := ask()
	assert.Equal(t, first, ask())
	assert.Contains(t, first[0], `"content-type":"multipart/form-data; boundary=boundary"`)
	assert.Contains(t, first[0], `name=\"model\"\r\n\r\nwhisper`)
}

// WLD-7: only the server receives the secrets of a form; they may differ in each run. The other fields
// of the form are compared with the recorded ones.
func TestForms(t *testing.T) {
	var came []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		came = append(came, string(must(io.ReadAll(r.Body))))
	}))
	t.Cleanup(server.Close)
	ask := func(scope, secret string) func(context.Context) {
		return func(ctx context.Context) {
			form := url.Values{"grant_type": {"client_credentials"}, "scope": {scope}, "client_secret": {secret}, "assertion": {secret + ".signed"}}
			req := must(http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(form.Encode())))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
			_, _ = (&http.Client{Transport: adkhttp.NewTransport(nil)}).Do(req)
		}
	}
	written := recorded(t, ask("read", "hush/=+"))
	assert.Equal(t, []string{"assertion=hush%2F%3D%2B.signed&client_secret=hush%2F%3D%2B&grant_type=client_credentials&scope=read"}, came)
	assert.NotContains(t, string(written), "hush")
	for scope, red := range map[string]bool{"read": false, "write": true} {
		report, err := replay.Verify(t.Context(), bytes.NewReader(written), replay.Live{Config: turn(ask(scope, "another")), Seams: []string{replay.Executor}})
		require.NoError(t, err)
		assert.Equal(t, red, report.Divergence != nil, "%s", report)
	}
	assert.Len(t, came, 1)

	var redacted bytes.Buffer
	runner := must(adk.NewRunner(fakes.Deterministic(turn(ask("read", "hush")), replay.Record(&redacted, replay.RecordOptions{Redact: redact.UsualSecrets()}))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	report, err := replay.Verify(t.Context(), &redacted, replay.Live{Config: turn(ask("read", "another")), Seams: []string{replay.Executor}})
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "what was left out is not redacted: %s", report)
}

// WLD-4: a replay sets Retry-After to 0 in an answer after which the client asked again, so that the
// client does not wait; the trace keeps the recorded value, and the last answer is served with it.
func TestServedRetriesAreQuick(t *testing.T) {
	server := httptest.NewServer(world())
	t.Cleanup(server.Close)
	for _, path := range []string{"/busy", "/busy-in-silence"} {
		t.Run(path, func(t *testing.T) {
			base := server.Client().Transport
			var first, last http.Header
			run := func(ctx context.Context) {
				client := &http.Client{Transport: adkhttp.NewTransport(base)}
				first = look(client, get(ctx, server.URL+path)).Headers
				last = look(client, get(ctx, server.URL+path)).Headers
			}
			written := recorded(t, run)
			assert.Equal(t, "3600", first.Get("Retry-After"))
			base = never(t)
			report, err := replay.Verify(t.Context(), bytes.NewReader(written), replay.LiveExecutor(turn(run).Executor.Run))
			require.NoError(t, err)
			assert.Nil(t, report.Divergence, "%s", report)
			assert.Equal(t, []string{"0", "0"}, []string{first.Get("Retry-After-Ms"), first.Get("Retry-After")})
			assert.Equal(t, []string{"", "3600"}, []string{last.Get("Retry-After-Ms"), last.Get("Retry-After")})
		})
	}
}

// WLD-4, WLD-8: a body that has stalled past its limit stays ended for a caller that reads on, and
// what the answer would have sent later is not taken for its end.
func TestSilentBodiesStaySilent(t *testing.T) {
	pieces := []adk.Piece{
		{Value: json.RawMessage(`{"status":200,"headers":{"content-type":"text/event-stream"}}`)},
		{Value: json.RawMessage(`{"text":"data: half\n\n"}`)},
		{Value: json.RawMessage(`{"text":"data: late\n\n"}`), After: time.Minute},
	}
	config := turn(func(ctx context.Context) {
		client := &http.Client{Transport: adkhttp.NewTransport(never(t), adkhttp.Limits(adk.AskLimits{Idle: time.Second}))}
		resp, err := client.Do(get(ctx, "http://example.com/"))
		require.NoError(t, err)
		for _, want := range []string{"data: half\n\n", "", ""} {
			read, err := io.ReadAll(resp.Body)
			assert.ErrorIs(t, err, adk.E_ASK_TIMEOUT)
			assert.Equal(t, want, string(read))
		}
		assert.NoError(t, resp.Body.Close())
	})
	config.Outside = func(context.Context, adk.Question) *adk.Answer {
		return &adk.Answer{Next: func() (one adk.Piece, ok bool) {
			if ok = len(pieces) > 0; ok {
				one, pieces = pieces[0], pieces[1:]
			}
			return one, ok
		}}
	}
	runner, err := adk.NewRunner(fakes.Deterministic(config))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
}

// A body that is nested as deeply as a line of a trace can hold, or deeper, is recorded byte for
// byte, and the trace can be read (WLD-2).
func TestDeeplyNestedBodies(t *testing.T) {
	for _, depth := range []int{100, 4080, 4088, 4094, 4095, 4096, 4097, 4098, 10_000} {
		body := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		for _, kind := range []string{"application/json", "application/jsonl", "text/event-stream"} {
			answer := map[string]string{"application/jsonl": body + "\n", "text/event-stream": "data: " + body + "\n\n"}[kind] + body
			base := roundTrip(func(req *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, ContentLength: -1, Request: req, Header: http.Header{"Content-Type": {kind}},
					Body: io.NopCloser(strings.NewReader(answer))}, nil
			})
			run := func(base http.RoundTripper) func(context.Context) {
				return func(ctx context.Context) {
					req := must(http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example", strings.NewReader(body)))
					resp, err := (&http.Client{Transport: adkhttp.NewTransport(base)}).Do(req)
					require.NoError(t, err)
					all, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					require.Equal(t, answer, string(all))
				}
			}
			written := recorded(t, run(base))
			assert.NotContains(t, string(written), "$unheld", "%d %s", depth, kind)
			report, err := replay.Verify(t.Context(), bytes.NewReader(written), replay.LiveExecutor(turn(run(never(t))).Executor.Run))
			require.NoError(t, err, "%d %s", depth, kind)
			assert.Nil(t, report.Divergence, "%d %s", depth, kind)
		}
	}
}

// WLD-5, WLD-9: data that has arrived is handed out after its context has ended, as without the
// transport, except in a run with FaultPoints, in which reading fails with the context's cause.
func TestReadingBehindTheEnd(t *testing.T) {
	for broken, want := range map[bool]string{false: "data: 1\n\n", true: ""} {
		base := roundTrip(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, ContentLength: -1, Request: req, Body: io.NopCloser(strings.NewReader("data: 1\n\n")),
				Header: http.Header{"Content-Type": {"text/event-stream"}}}, nil
		})
		config := fakes.Deterministic(turn(func(ctx context.Context) {
			ctx, cancel := context.WithCancelCause(ctx)
			resp, err := adkhttp.NewTransport(base).RoundTrip(get(ctx, "http://model.example/"))
			require.NoError(t, err)
			enough := errors.New("enough")
			cancel(enough)
			all, err := io.ReadAll(resp.Body)
			assert.Equal(t, want, string(all))
			assert.Equal(t, broken, errors.Is(err, enough))
			assert.NoError(t, resp.Body.Close())
		}), nil)
		config.FaultPoints = broken
		runner, err := adk.NewRunner(config)
		require.NoError(t, err)
		require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	}
}

// WLD-1: a RoundTripper in a test often builds its response by hand and leaves out the ContentLength,
// which is 0 then, and the protocol. The body of such a response is recorded and replayed all the same,
// also where it is read in portions. A response whose Content-Length header is 0 has no body.
func TestResponsesMadeByHand(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		proto  int
		want   string
	}{
		"no length":           {nil, 0, "It rains."},
		"a type":              {http.Header{"Content-Type": {"text/plain"}}, 1, "It rains."},
		"events":              {http.Header{"Content-Type": {"text/event-stream"}}, 1, "It rains."},
		"a length of nothing": {http.Header{"Content-Length": {"0"}}, 1, ""},
		"ended with its head": {nil, 2, ""},
	} {
		run := func(base http.RoundTripper) func(context.Context) {
			return func(ctx context.Context) {
				resp, err := (&http.Client{Transport: adkhttp.NewTransport(base)}).Do(get(ctx, "http://weather.example/"))
				require.NoError(t, err)
				all, err := io.ReadAll(iotest.OneByteReader(resp.Body))
				require.NoError(t, err)
				assert.Equal(t, c.want, string(all), name)
				assert.NoError(t, resp.Body.Close())
			}
		}
		written := recorded(t, run(roundTrip(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, ProtoMajor: c.proto, Header: c.header, Request: req, Body: io.NopCloser(strings.NewReader(c.want))}, nil
		})))
		assert.Equal(t, c.want != "", strings.Contains(string(written), c.want) && c.want != "", name)
		report, err := replay.Verify(t.Context(), bytes.NewReader(written), replay.LiveExecutor(turn(run(never(t))).Executor.Run))
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%s: %s", name, report)
	}
}

// WLD-8: a request with limits does not keep the context of an answer that has ended, although the turn
// goes on. An answer that is still being read keeps its context.
func TestLimitsLetGo(t *testing.T) {
	for name, answer := range map[string]func() (*http.Response, error){
		"read":    func() (*http.Response, error) { return answerOf(http.StatusOK, "all"), nil },
		"no body": func() (*http.Response, error) { return answerOf(http.StatusNoContent, ""), nil },
		"failed":  func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
	} {
		recorded(t, func(ctx context.Context) {
			var asked context.Context
			base := roundTrip(func(req *http.Request) (*http.Response, error) {
				asked = req.Context()
				resp, err := answer()
				if resp != nil {
					resp.Request = req
				}
				return resp, err
			})
			resp, err := adkhttp.NewTransport(base, adkhttp.Limits(adk.AskLimits{Whole: time.Hour})).RoundTrip(get(ctx, "http://a.example/"))
			if name == "read" {
				require.NoError(t, asked.Err(), "it is read yet")
				said, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				assert.Equal(t, "all", string(said))
			}
			if err == nil {
				assert.NoError(t, resp.Body.Close())
			}
			assert.ErrorIs(t, asked.Err(), context.Canceled, name)
			assert.NoError(t, ctx.Err())
		})
	}
}

func answerOf(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}
}
