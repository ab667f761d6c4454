package adkhttp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

const secret = "sk-very/secret+key"

// seen is all that a client sees of one exchange.
type seen struct {
	Status   int
	Headers  http.Header
	Length   int64
	Body     string
	Trailers http.Header
	Err      string
}

// look makes a request and reads all of the answer.
func look(client *http.Client, req *http.Request) seen {
	resp, err := client.Do(req)
	if err != nil {
		return seen{Err: plainError(err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	s := seen{Status: resp.StatusCode, Headers: resp.Header.Clone(), Length: resp.ContentLength, Body: string(body), Trailers: resp.Trailer}
	s.Headers.Del("Date")
	if err != nil {
		s.Err = plainError(err)
	}
	return s
}

// plainError is the text of an error without the ports in it.
func plainError(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op + ": " + op.Err.Error()
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

// world is a server that gives every kind of answer.
func world() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session="+secret)
		w.Header().Set("X-Ratelimit-Remaining-Requests", "7")
		_, _ = w.Write([]byte(`{"n":1.50,"text":"<é>","unknown":null}`))
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "%s %d %s", r.Method, len(body), body)
	})
	mux.HandleFunc("/broken-json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{\"a\": \xff\n"))
	})
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0, 1, 0xfe, 0xff}) })
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/nothing", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		zip := gzip.NewWriter(w)
		_, _ = zip.Write([]byte(`{"zipped":true}`))
		_ = zip.Close()
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/json?token="+url.QueryEscape(secret), http.StatusFound)
	})
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = w.Write([]byte("all"))
		w.Header().Set("X-Sum", "42")
	})
	mux.HandleFunc("/early", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = w.Write([]byte("after the hints"))
	})
	mux.HandleFunc("/events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, part := range []string{": hello\n\n", "event: delta\ndata: {\"a\"", ":1.0}\n\ndata: {\"a\":2}\n", "\ndata: x\nid: 7\n\n\r\n", "data: \xc3", "\xa9\r\n\r\n", "data: [DONE]\n\n"} {
			_, _ = w.Write([]byte(part))
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/lines", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = w.Write([]byte("{\"a\":1}\n{ \"a\":2 }\n\n{\"a\":3}"))
	})
	mux.HandleFunc("/breaks", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: {\"a\":1}\n\ndata: {\"a\""))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/lies", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("not a hundred"))
	})
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"error":"slow down"}`))
	})
	mux.HandleFunc("/busy-in-silence", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	mux.HandleFunc("/resets", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	return mux
}

// exchange is one of the exchanges that the tests make: how the client asks, and what is recorded
// of it.
type exchange struct {
	name, method, path string
	body               func() io.Reader
	told               []string
}

var exchanges = []exchange{
	{name: "json", path: "/json", told: []string{
		`ask {"method":"GET","path":"/json","query":{"api_key":"left out","q":["1","2"]}} reads`,
		`piece {"status":200,"headers":{"content-length":"39","content-type":"application/json"}}`,
		`piece {"body":{"n":1.50,"text":"<é>","unknown":null}}`, "done"}},
	{name: "head", method: "HEAD", path: "/json", told: []string{`ask {"method":"HEAD","path":"/json"} reads`,
		`piece {"status":200,"headers":{"content-length":"39","content-type":"application/json"}}`, "done"}},
	{name: "posted JSON", method: "POST", path: "/echo", body: text(`{"b":1e3,"a":"\u003c"}`), told: []string{
		`ask {"method":"POST","path":"/echo","headers":{"content-type":"application/json"},"body":{"b":1e3,"a":"\u003c"}}`,
		`piece {"status":200,"headers":{"content-length":"30","content-type":"text/plain; charset=utf-8"}}`,
		`piece {"text":"POST 22 {\"b\":1e3,\"a\":\"\\u003c\"}"}`, "done"}},
	{name: "posted text", method: "POST", path: "/echo", body: text("{ \"a\": 1 }\n")},
	{name: "posted bytes", method: "POST", path: "/echo", body: text("\xff\x00")},
	{name: "posted without a copy", method: "POST", path: "/echo", body: func() io.Reader { return onlyReader{strings.NewReader("once")} }},
	{name: "broken JSON", path: "/broken-json", told: []string{`ask {"method":"GET","path":"/broken-json"} reads`,
		`piece {"status":200,"headers":{"content-length":"8","content-type":"application/json"}}`, `piece {"base64":"eyJhIjog/wo="}`, "done"}},
	{name: "bytes", path: "/bytes"},
	{name: "no content", path: "/empty", told: []string{`ask {"method":"GET","path":"/empty"} reads`, `piece {"status":204}`, "done"}},
	{name: "nothing", path: "/nothing"},
	{name: "gzip", path: "/gzip", told: []string{`ask {"method":"GET","path":"/gzip"} reads`, `piece {"status":200,"headers":{"content-type":"application/json"}}`, `piece {"body":{"zipped":true}}`, "done"}},
	{name: "redirect", path: "/redirect", told: []string{`ask {"method":"GET","path":"/redirect"} reads`,
		`piece {"status":302,"headers":{"content-length":"57","content-type":"text/html; charset=utf-8","location":"/json?token=left+out"}}`,
		`piece {"text":"<a href=\"/json?token=sk-very%2Fsecret%2Bkey\">Found</a>.\n\n"}`, "done",
		`ask {"method":"GET","path":"/json","query":{"token":"left out"},"headers":{"referer":"http://localhost/redirect"}} reads`,
		`piece {"status":200,"headers":{"content-length":"39","content-type":"application/json"}}`, `piece {"body":{"n":1.50,"text":"<é>","unknown":null}}`, "done"}},
	{name: "trailers", path: "/trailers", told: []string{`ask {"method":"GET","path":"/trailers"} reads`,
		`piece {"status":200,"headers":{"content-type":"text/plain; charset=utf-8","trailer":"X-Sum"}}`, `piece {"text":"all"}`, `piece {"trailers":{"x-sum":"42"}}`, "done"}},
	{name: "early hints", path: "/early"},
	{name: "events", path: "/events", told: []string{`ask {"method":"GET","path":"/events"} reads`,
		`piece {"status":200,"headers":{"content-type":"text/event-stream; charset=utf-8"}}`,
		`piece {"text":": hello\n\n"}`, `piece {"event":"delta","data":{"a":1.0}}`, `piece {"data":{"a":2}}`, `piece {"text":"data: x\nid: 7\n\n"}`,
		`piece {"text":"\r\n"}`, `piece {"data":"é","eol":"\r\n"}`, `piece {"data":"[DONE]"}`, "done"}},
	{name: "lines", path: "/lines", told: []string{`ask {"method":"GET","path":"/lines"} reads`,
		`piece {"status":200,"headers":{"content-length":"26","content-type":"application/x-ndjson"}}`,
		`piece {"line":{"a":1}}`, `piece {"text":"{ \"a\":2 }\n"}`, `piece {"text":"\n"}`, `piece {"body":{"a":3}}`, "done"}},
	{name: "cut off", path: "/breaks", told: []string{`ask {"method":"GET","path":"/breaks"} reads`, `piece {"status":200,"headers":{"content-type":"text/event-stream"}}`,
		`piece {"data":{"a":1}}`, `piece {"text":"data: {\"a\""} open`, "done unexpected EOF"}},
	{name: "lies about its length", path: "/lies", told: []string{`ask {"method":"GET","path":"/lies"} reads`,
		`piece {"status":200,"headers":{"content-length":"100","content-type":"text/plain; charset=utf-8"}}`, `piece {"text":"not a hundred"} open`, "done unexpected EOF"}},
	{name: "busy", path: "/busy", told: []string{`ask {"method":"GET","path":"/busy"} reads`,
		`piece {"status":429,"headers":{"content-length":"21","content-type":"text/plain; charset=utf-8","retry-after":"3600"}}`, `piece {"body":{"error":"slow down"}}`, "done"}},
	{name: "reset", path: "/resets", told: []string{`ask {"method":"GET","path":"/resets"} reads`, "done EOF"}},
}

type onlyReader struct{ io.Reader }

func text(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }

// request builds the request of an exchange.
func (e exchange) request(ctx context.Context, base string) *http.Request {
	var body io.Reader
	if e.body != nil {
		body = e.body()
	}
	req, err := http.NewRequestWithContext(ctx, e.method, base+e.path, body)
	if err != nil {
		panic(err)
	}
	if e.name == "json" {
		req.URL.RawQuery = "q=1&q=2&api_key=" + url.QueryEscape(secret)
	}
	if _, once := body.(onlyReader); once {
		req.ContentLength = 4
	}
	if e.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("X-Api-Key", secret)
	req.Header.Set("User-Agent", "test/1.0")
	req.Header.Set("X-Stainless-Os", "Linux")
	return req
}

// turn is the config of a turn whose executor calls run with its context, and then acks.
func turn(run func(ctx context.Context)) adk.Config {
	return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		run(ctx)
		return dc.Ack()
	}}}
}

// recorded runs a turn and returns its trace.
func recorded(t *testing.T, run func(ctx context.Context)) []byte {
	t.Helper()
	var written bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(turn(run), replay.Record(&written)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))
	return written.Bytes()
}

// told returns the lines of a trace that belong to asks, as text.
func told(t *testing.T, written []byte) (lines []string) {
	t.Helper()
	read, err := trace.Read(bytes.NewReader(written))
	require.NoError(t, err)
	for _, line := range read.Lines() {
		x := line.Crossing
		text := func(parts ...string) {
			lines = append(lines, strings.Join(strings.Fields(strings.Join(parts, " ")), " "))
		}
		switch {
		case x.Kind == adk.KindAsk && x.Phase == adk.Begin:
			assert.Equal(t, "localhost", x.Name)
			if text("ask", ports(string(x.JSON)), x.Status); x.Flag {
				lines[len(lines)-1] += " after the abort"
			}
		case x.Kind == adk.KindAsk && x.Err != nil:
			text("done", plainError(x.Err))
		case x.Kind == adk.KindAsk:
			text("done")
		case x.Kind == adk.KindPiece && x.Flag:
			text("piece", string(x.JSON), "open")
		case x.Kind == adk.KindPiece:
			text("piece", string(x.JSON))
		case x.Kind == adk.KindContained:
			text("contained", x.Name, ports(x.Text))
		}
	}
	return lines
}

// ports replaces the ports of this run in a text.
func ports(text string) string { return loopback.ReplaceAllString(text, "localhost") }

var loopback = regexp.MustCompile(`(127\.0\.0\.1|localhost):[0-9]+`)

// holdsNoSecret fails if the secret is in what was written, in any spelling.
func holdsNoSecret(t *testing.T, written []byte, but ...string) {
	t.Helper()
	spellings := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	for before := range 3 { // of base64: the part that is the same whatever surrounds it
		for _, form := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			all := form.EncodeToString(append(make([]byte, before), secret...))
			spellings = append(spellings, all[(before*4+2)/3:len(all)-2])
		}
	}
	for _, spelling := range spellings {
		text := string(written)
		for _, known := range but {
			text = strings.ReplaceAll(text, known, "")
		}
		assert.NotContains(t, text, spelling)
	}
}

// WLD-1, WLD-2, WLD-4, WLD-7: whatever a server does, the client sees byte for byte what it sees
// without the transport. The trace holds the pieces of the answer, and a replay gives them back
// without a request.
func TestExchanges(t *testing.T) {
	server := httptest.NewServer(world())
	t.Cleanup(server.Close)
	for _, e := range exchanges {
		t.Run(e.name, func(t *testing.T) {
			plain := &http.Client{Transport: server.Client().Transport}
			want := look(plain, e.request(context.Background(), server.URL))
			base := plain.Transport
			var got seen
			run := func(ctx context.Context) {
				got = look(&http.Client{Transport: adkhttp.NewTransport(base)}, e.request(ctx, server.URL))
			}
			written := recorded(t, run)
			assert.Equal(t, want, got)
			if e.told != nil {
				assert.Equal(t, e.told, told(t, written))
			}
			holdsNoSecret(t, written, `<a href=\"/json?token=sk-very%2Fsecret%2Bkey\">`)

			base = never(t)
			report, err := replay.Verify(t.Context(), bytes.NewReader(written), replay.LiveExecutor(turn(run).Executor.Run))
			require.NoError(t, err)
			assert.Nil(t, report.Divergence, "%s", report)
			assert.Equal(t, want.Status, got.Status)
			assert.Equal(t, want.Body, got.Body)
			assert.Equal(t, want.Err, got.Err)
			assert.Equal(t, want.Trailers, got.Trailers)
		})
	}
}

// never is a transport that fails the test when it is used.
func never(t *testing.T) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		assert.Fail(t, "the world was asked", req.URL.String())
		return nil, errors.New("nobody is there")
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answering is a server in memory.
var answering = roundTrip(func(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	return &http.Response{StatusCode: 200, ContentLength: -1, Request: req, Body: io.NopCloser(strings.NewReader(said)),
		Header: http.Header{"Content-Type": {"application/json"}}}, nil
})

var said = `{"choices":[{"message":{"role":"assistant","content":"` + strings.Repeat("It rains. ", 60) + `"}}]}`

// The transport of an httptest server's own client reaches that server under a fixed name, example.com.
func TestATestsServerHasAName(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	resp, err := (&http.Client{Transport: adkhttp.NewTransport(server.Client().Transport)}).Get("http://example.com/x")
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, http.StatusNotFound, resp.StatusCode)
}
