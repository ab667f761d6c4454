package adkhttp_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/replay"
)

// TestMain checks for leaked goroutines: the transport leaves none behind, whatever the server does
// and however the caller abandons an answer (WLD-5).
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // net/http logs its complaints about bad servers there
	before := runtime.NumGoroutine()
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if left := patience.Stragglers(before); left > 0 && code == 0 {
		stacks := make([]byte, 1<<20)
		fmt.Printf("%d goroutines were left behind:\n%s\n", left, stacks[:runtime.Stack(stacks, true)])
		code = 1
	}
	os.Exit(code)
}

// hostile is a server that misbehaves in every way that a client survives.
func hostile() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/upload", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // otherwise the server waits for the end of the request
		got := make([]byte, 1000)
		n, _ := io.ReadFull(r.Body, got)
		_, _ = fmt.Fprintf(w, "%d %x %d %v", n, sha256.Sum256(got[:n]), r.ContentLength, r.TransferEncoding)
		w.(http.Flusher).Flush()
	})
	mux.HandleFunc("/download", endless("application/octet-stream", "more and more "))
	mux.HandleFunc("/events", endless("text/event-stream", "data: {\"n\":1}\n\n"))
	mux.HandleFunc("/event", endless("text/event-stream", "no end of line "))
	mux.HandleFunc("/stalls", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/stalls-within", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			_, _ = w.Write(megabyte)
		}
	})
	mux.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) {
		conn, both, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = both.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = both.Flush()
		_, _ = io.Copy(conn, both) // it echoes what it receives
	})
	mux.HandleFunc("/grpc", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		for in := make([]byte, 5); ; {
			if _, err := io.ReadFull(r.Body, in); err != nil {
				break
			}
			_, _ = w.Write(in)
			w.(http.Flusher).Flush()
		}
		w.Header().Set("Grpc-Status", "0")
	})
	mux.HandleFunc("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusProcessing)
		_, _ = io.WriteString(w, "at last")
	})
	mux.HandleFunc("/raw", func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, r.URL.Query().Get("say"))
			_ = conn.Close()
		}
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "once"})
		http.Redirect(w, r, "/echo", http.StatusTemporaryRedirect)
	})
	mux.Handle("/", world())
	return mux
}

var megabyte = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)

// endless writes the same text until the client closes the connection.
func endless(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
}

// outcome is all that a caller sees: of the head, and of what follows it.
type outcome struct{ Head, Body string }

// read reads n bytes of an answer and closes it; -1 reads all of it.
func read(resp *http.Response, err error, n int64) outcome {
	if err != nil {
		return outcome{Body: "failed: " + plainError(err)}
	}
	defer resp.Body.Close()
	header := resp.Header.Clone()
	header.Del("Date")
	whole, said := io.Reader(resp.Body), sha256.New()
	if n >= 0 {
		whole = io.LimitReader(resp.Body, n)
	}
	length, err := io.Copy(said, whole)
	o := outcome{
		Head: fmt.Sprint(resp.Proto, header, resp.ContentLength, resp.Uncompressed, resp.TransferEncoding, resp.Trailer),
		Body: fmt.Sprintf("%d: %d bytes %x", resp.StatusCode, length, said.Sum(nil)),
	}
	if err != nil {
		o.Body += " broken: " + plainError(err)
	}
	return o
}

// ask is one way to use a client.
type ask func(ctx context.Context, client *http.Client, url string) outcome

// fetching gets n bytes of the answer for a path; -1 gets all of it.
func fetching(path string, n int64) ask {
	return func(ctx context.Context, client *http.Client, url string) outcome {
		resp, err := client.Do(get(ctx, url+path))
		return read(resp, err, n)
	}
}

// hearing makes the server send exactly these bytes and then close the connection. The client does
// not keep the connection: bytes after the answer would be read as the answer to the next request.
func hearing(bytes string) ask {
	path := "/raw?say=" + url.QueryEscape(bytes)
	return func(ctx context.Context, client *http.Client, url string) outcome {
		req := get(ctx, url+path)
		req.Close = true
		resp, err := client.Do(req)
		return read(resp, err, -1)
	}
}

// unread does not read the answer's body, and passes the body to leave.
func unread(leave func(io.Closer)) ask {
	return func(ctx context.Context, client *http.Client, url string) outcome {
		ctx, cancel := context.WithCancel(ctx)
		resp, err := client.Do(get(ctx, url+"/download"))
		if err != nil {
			cancel()
			return outcome{Body: plainError(err)}
		}
		leave(resp.Body)
		cancel() // otherwise the connection stays open
		return outcome{Body: resp.Status}
	}
}

// stalling cancels its request as soon as the server has received it.
func stalling(ctx context.Context, client *http.Client, url string) outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req := get(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { cancel() }}), url+"/stalls")
	resp, err := client.Do(req)
	return read(resp, err, -1)
}

// stallingWithin reads the half of a body that the server sends, and then cancels the request.
func stallingWithin(ctx context.Context, client *http.Client, url string) outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := client.Do(get(ctx, url+"/stalls-within"))
	if err != nil {
		return outcome{Body: plainError(err)}
	}
	defer resp.Body.Close()
	half := make([]byte, 4)
	_, err = io.ReadFull(resp.Body, half)
	cancel()
	rest, broken := io.ReadAll(resp.Body)
	return outcome{Body: fmt.Sprint(resp.StatusCode, string(half), err, string(rest), broken)}
}

// neverEnding is a body that has some bytes and then blocks until it is closed.
type neverEnding struct {
	rest   io.Reader
	closed chan struct{}
	once   sync.Once
}

func (b *neverEnding) Read(p []byte) (int, error) {
	if n, err := b.rest.Read(p); err == nil {
		return n, nil
	}
	<-b.closed
	return 0, errors.New("closed")
}

func (b *neverEnding) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

func uploading(ctx context.Context, client *http.Client, url string) outcome {
	body := &neverEnding{rest: strings.NewReader(strings.Repeat("0123456789", 2000)), closed: make(chan struct{})}
	defer body.Close() // net/http does not close it once it has its answer
	resp, err := client.Do(must(http.NewRequestWithContext(ctx, http.MethodPost, url+"/upload", body)))
	return read(resp, err, -1)
}

// socket upgrades its connection to another protocol, and then talks in both directions.
func socket(ctx context.Context, client *http.Client, url string) outcome {
	req := get(ctx, url+"/socket")
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	resp, err := client.Do(req)
	if err != nil {
		return outcome{Body: plainError(err)}
	}
	defer resp.Body.Close()
	text := resp.Status
	for _, ping := range []string{"ping", "\x00\xff"} {
		_, wrote := io.WriteString(resp.Body.(io.Writer), ping)
		pong := make([]byte, len(ping))
		_, err := io.ReadFull(resp.Body, pong)
		text += fmt.Sprintf(" %q %v %v", pong, wrote, err)
	}
	return outcome{Body: text}
}

// calling is a gRPC call that sends its next message when it has received the answer to the last.
func calling(ctx context.Context, client *http.Client, url string) outcome {
	body, say := io.Pipe()
	req := must(http.NewRequestWithContext(ctx, http.MethodPost, url+"/grpc", body))
	req.Header.Set("Content-Type", "application/grpc")
	go func() { _, _ = io.WriteString(say, "hello") }()
	resp, err := client.Do(req)
	if err != nil {
		_ = body.Close()
		return outcome{Body: plainError(err)}
	}
	defer resp.Body.Close()
	heard, _ := io.ReadFull(resp.Body, make([]byte, 5))
	_, _ = io.WriteString(say, "again")
	again, _ := io.ReadFull(resp.Body, make([]byte, 5))
	_ = say.Close()
	rest, err := io.ReadAll(resp.Body)
	return outcome{Body: fmt.Sprint(resp.StatusCode, heard, again, rest, err, resp.Trailer)}
}

// hinting records the informational (1xx) answers that come before the final answer.
func hinting(ctx context.Context, client *http.Client, url string) outcome {
	var hints []string
	got := func(code int, header textproto.MIMEHeader) error {
		hints = append(hints, fmt.Sprint(code, header))
		return nil
	}
	resp, err := client.Do(get(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: got}), url+"/hints"))
	o := read(resp, err, -1)
	o.Head += fmt.Sprint(hints)
	return o
}

// misuses are the ways to use a client, or to be treated by a server. says is the reason that the
// trace gives for not holding the exchange; a replay does not serve it then. Where says is empty the
// trace is a plain recording, and a replay's caller sees the same outcome.
var misuses = map[string]struct {
	ask  ask
	says string
}{
	"upload without end":                {ask: uploading, says: "may have no end"},
	"download without end":              {ask: fetching("/download", 100_003)},
	"events without end":                {ask: fetching("/events", 1000)},
	"an event without end":              {ask: fetching("/event", 10_000)},
	"web socket":                        {ask: socket, says: "another protocol's from here on"},
	"gRPC":                              {ask: calling, says: "it is gRPC"},
	"1xx":                               {ask: hinting},
	"trailers":                          {ask: fetching("/trailers", -1)},
	"HEAD":                              {ask: heading},
	"204":                               {ask: fetching("/empty", -1)},
	"204 with a body":                   {ask: hearing("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello")},
	"304":                               {ask: hearing("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")},
	"body half read":                    {ask: fetching("/json", 9)},
	"body never read":                   {ask: unread(func(b io.Closer) { _ = b.Close() })},
	"body never closed":                 {ask: unread(func(io.Closer) {})},
	"a server that stalls":              {ask: stalling},
	"a server that stalls in its midst": {ask: stallingWithin},
	"a reset":                           {ask: fetching("/resets", -1)},
	"a reset in its midst":              {ask: fetching("/breaks", -1)},
	"more than the length":              {ask: hearing("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef")},
	"less than the length":              {ask: fetching("/lies", -1)},
	"two lengths":                       {ask: hearing("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")},
	"a chunk that is none":              {ask: hearing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\n")},
	"no HTTP":                           {ask: hearing("what is this?\r\n\r\n")},
	"gzip that is none":                 {ask: hearing("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnone")},
	"invalid UTF-8 in events":           {ask: hearing("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: \xff\xfe\n\nevent: \xc3\ndata: {\"a\":\"\xc3\"}\n\n\x00")},
	"invalid UTF-8 in lines":            {ask: hearing("HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n{\"a\":\"\xff\"}\n\xff\n")},
	"JSON that is none":                 {ask: fetching("/broken-json", -1)},
	"JSON that is none in a request":    {ask: posting("{\"a\": \xff")},
	"100 MB":                            {ask: fetching("/large", -1), says: "$unheld"},
	"100-continue":                      {ask: sending("/echo", http.Header{"Expect": {"100-continue"}})},
	"gzip of the user's own":            {ask: sending("/gzip", http.Header{"Accept-Encoding": {"gzip"}})},
	"a redirect with a body":            {ask: sending("/moved", nil)},
	"cookies":                           {ask: withCookies},
	"a connection used again":           {ask: again},
	"wrapped twice":                     {ask: wrapped},
	"a Timeout of the client's":         {ask: timingOut},
	"extensions of chunks":              {ask: hearing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;of=\"it\"\r\nhello\r\n0;last\r\n\r\n")},
}

// sending posts a text with the given headers.
func sending(path string, headers http.Header) ask {
	return func(ctx context.Context, client *http.Client, url string) outcome {
		req := must(http.NewRequestWithContext(ctx, http.MethodPost, url+path, strings.NewReader("a text")))
		maps.Copy(req.Header, headers)
		resp, err := client.Do(req)
		return read(resp, err, -1)
	}
}

// withCookies uses a client whose jar keeps the cookies that a server sets.
func withCookies(ctx context.Context, client *http.Client, url string) outcome {
	keeping := *client
	keeping.Jar = must(cookiejar.New(nil))
	o := sending("/moved", nil)(ctx, &keeping, url)
	o.Head += fmt.Sprint(keeping.Jar.Cookies(get(ctx, url).URL))
	return o
}

// again asks twice, and records whether the second request reused the connection of the first.
func again(ctx context.Context, client *http.Client, url string) outcome {
	first := fetching("/json", -1)(ctx, client, url)
	used := ""
	got := httptrace.ClientTrace{GotConn: func(on httptrace.GotConnInfo) { used = fmt.Sprint("used before: ", on.Reused) }}
	second := fetching("/json", -1)(httptrace.WithClientTrace(ctx, &got), client, url)
	return outcome{Head: first.Head + second.Head + used, Body: first.Body + second.Body}
}

// wrapped puts a second transport around the client's transport.
func wrapped(ctx context.Context, client *http.Client, url string) outcome {
	return posting(`{"a":1}`)(ctx, &http.Client{Transport: adkhttp.NewTransport(client.Transport)}, url)
}

// timingOut waits until the client's Timeout passes. The text of the client's error then differs
// from run to run, also without this transport: the client has two timers.
func timingOut(ctx context.Context, client *http.Client, url string) outcome {
	brief := *client
	brief.Timeout = 100 * time.Millisecond
	_, err := brief.Do(get(ctx, url+"/stalls"))
	var late net.Error
	return outcome{Body: fmt.Sprint(errors.As(err, &late) && late.Timeout(), errors.Is(err, context.DeadlineExceeded))}
}

func heading(ctx context.Context, client *http.Client, url string) outcome {
	resp, err := client.Do(must(http.NewRequestWithContext(ctx, http.MethodHead, url+"/json", nil)))
	return read(resp, err, -1)
}

func posting(body string) ask {
	return func(ctx context.Context, client *http.Client, url string) outcome {
		req := must(http.NewRequestWithContext(ctx, http.MethodPost, url+"/echo", strings.NewReader(body)))
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		return read(resp, err, -1)
	}
}

// keyed adds the secret to the request as clients do: in headers.
type keyed struct{ http.RoundTripper }

func (k keyed) RoundTrip(req *http.Request) (*http.Response, error) {
	with := req.Clone(req.Context())
	with.Header.Set("Authorization", "Bearer "+secret)
	with.Header.Set("Cookie", "session="+secret)
	return k.RoundTripper.RoundTrip(with)
}

// WLD-5, WLD-7: whatever the server does and however a client is used, production sees with the
// transport what it sees without it, over HTTP/1 and HTTP/2. The trace is a plain recording, or says
// what it does not hold. No trace contains a secret. No other test runs concurrently with this one:
// a replay in another test would refuse the requests that are made here without a handle.
func TestBadInput(t *testing.T) {
	thorough.Long(t)
	one, two := httptest.NewServer(hostile()), httptest.NewUnstartedServer(hostile())
	two.EnableHTTP2 = true
	two.StartTLS()
	for _, server := range []*httptest.Server{one, two} {
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		t.Cleanup(server.Close)
		t.Cleanup(server.CloseClientConnections)
	}
	for name, c := range misuses {
		server := one
		if name == "gRPC" {
			server = two
		}
		t.Run(name, func(t *testing.T) { holdsBoth(t, c.ask, c.says, server) })
	}
	for _, name := range []string{"download without end", "events without end", "upload without end", "trailers", "HEAD", "204", "100-continue", "a redirect with a body", "a connection used again", "a server that stalls", "a server that stalls in its midst", "100 MB", "a Timeout of the client's"} {
		t.Run(name+" over HTTP/2", func(t *testing.T) { holdsBoth(t, misuses[name].ask, misuses[name].says, two) })
	}
}

// holdsBoth asks without the transport, with it, and in a replay.
func holdsBoth(t *testing.T, ask ask, says string, server *httptest.Server) {
	t.Helper()
	holdsThrough(t, ask, says, server.Client().Transport, server.URL)
}

// holdsThrough does the same with a given base transport.
func holdsThrough(t *testing.T, ask ask, says string, base http.RoundTripper, url string) {
	t.Helper()
	want := ask(context.Background(), &http.Client{Transport: keyed{base}}, url)
	var got outcome
	run := func(ctx context.Context) {
		got = ask(ctx, &http.Client{Transport: keyed{adkhttp.NewTransport(base)}}, url)
	}
	written := recorded(t, run)
	assert.Equal(t, want, got)
	holdsNoSecret(t, written)
	if says != "" {
		assert.Contains(t, string(written), says)
	} else {
		assert.NotContains(t, string(written), "$unheld")
		assert.NotContains(t, string(written), adk.PassedBy)
	}
	base = never(t)
	report, err := replay.Verify(t.Context(), bytes.NewReader(written), replay.LiveExecutor(turn(run).Executor.Run))
	require.NoError(t, err)
	if says == "" {
		assert.Nil(t, report.Divergence, "%s", report)
		assert.Equal(t, want.Body, got.Body)
	} else {
		assert.Contains(t, got.Body, "E_UNANSWERED")
	}
}
