package cassette_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/fakes/cassette"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// inTrace writes a conversation as a trace, checks the trace, and reads it again.
func inTrace(t require.TestingT, c fakes.Conversation) *cassette.Recording {
	var written bytes.Buffer
	require.NoError(t, cassette.WriteTrace(&written, c))
	report, err := replay.Verify(context.Background(), bytes.NewReader(written.Bytes()), replay.Live{})
	require.NoError(t, err)
	require.Nil(t, report.Divergence)
	rec, err := cassette.ReadTrace(&written, trace.Options{File: c.Source})
	require.NoError(t, err)
	return rec
}

// CAS-4: recorded conversations are the same after being written to a trace and read again.
func TestRecordingsInTraces(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(cassettes, "*.json"))
	if len(files) == 0 {
		t.Skip("there are no recorded conversations in " + cassettes)
	}
	for _, file := range files {
		rec, err := cassette.Open(file)
		require.NoError(t, err)
		assert.Equal(t, rec.Conversation, inTrace(t, rec.Conversation).Conversation, file)
	}
}

// asked is an interaction with the given body of the request, and type and body of the answer.
func asked(body, kind, answer string) fakes.Interaction {
	return fakes.Interaction{Request: fakes.ProviderRequest{Method: "POST", URL: url, Headers: http.Header{"Content-Type": {"application/json"}}, Body: body},
		Response: fakes.Reply{Status: 200, ContentType: kind, Body: answer}}
}

// CAS-4: a trace keeps everything in a conversation: status, headers, and bodies byte by byte,
// in whatever form they are.
func TestConversationsInTraces(t *testing.T) {
	many := asked("{}", "application/json", "{}")
	many.Request.Headers.Add("X-Team", "weather")
	many.Request.Headers.Add("X-Team", "sea")
	many.Response.Headers = http.Header{"X-Part": {"a", "b"}}
	busy := asked("{}", "text/plain", "busy")
	busy.Response.Status, busy.Response.Headers = 429, http.Header{"Retry-After": {"2"}}
	nothing := asked("", "", "")
	nothing.Request = fakes.ProviderRequest{Method: "GET", URL: "https://example.com/a%2Fb?limit=2&n=%26&n=1"}
	nothing.Response.Status = 204
	local := asked("{}", "application/json", "{}")
	local.Request.URL = "/v1/chat/completions"
	for name, one := range map[string]fakes.Interaction{
		"a stream": asked(sent, "text/event-stream", comes), "with CR and LF": asked(sent, "text/event-stream", "event: a\r\ndata: {}\r\n\r\n:\r\n\r\n"),
		"without an end": asked(sent, "text/event-stream", "data: {}\n\ndata: {\"a"), "lines": asked("[1, 2]", "application/x-ndjson", "{}\n[ ]\nx"),
		"bytes": asked("\xff\x00", "audio/wav", "\xff\x00"), "white space": asked(" {} ", "application/json", "{ \"a\": 1e400 }\n"),
		"headers": many, "a refusal": busy, "nothing": nothing, "a path": local,
	} {
		t.Run(name, func(t *testing.T) {
			c := fakes.Conversation{Source: "x", Interactions: []fakes.Interaction{one, one}}
			if name == "a path" {
				c.Interactions[0].Request.URL, c.Interactions[1].Request.URL = "/v1/chat/completions", "/v1/models"
			}
			assert.Equal(t, c, inTrace(t, c).Conversation)
		})
	}
}

// CAS-4: the same holds for any bodies.
func TestAnyBodyInTraces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SampledFrom([]string{"text/event-stream", "application/json", "application/jsonl", ""})
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{"data: ", "{}", "\n", "\r\n", "\n\n", ": c", "[DONE]"})), func(all []string) string { return strings.Join(all, "") }))
		c := fakes.Conversation{Source: "x", Interactions: []fakes.Interaction{asked(text.Draw(t, "sent"), kinds.Draw(t, "kind"), text.Draw(t, "came"))}}
		assert.Equal(t, c, inTrace(t, c).Conversation)
	})
}

// turnOf records a turn whose executor calls a function with its context.
func turnOf(t *testing.T, do func(context.Context) error, options ...replay.RecordOptions) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "e",
		Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return errors.Join(do(ctx), dc.Ack())
		}}}, replay.Record(&out, options...)))
	require.NoError(t, err)
	require.NoError(t, runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "Ask."}))
	return &out
}

// get makes a request and reads at most that many bytes of the answer; -1 reads all of it.
func get(ctx context.Context, to string, most int64, world fakes.Conversation, options ...adkhttp.Option) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(`{"password":"hunter22"}`))
	if err != nil {
		return err
	}
	resp, err := adkhttp.NewTransport(fakes.NewTransport(world), options...).RoundTrip(req)
	if err != nil {
		return nil // the trace holds the error
	}
	defer resp.Body.Close()
	if most < 0 {
		most = 1 << 20
	}
	_, err = io.CopyN(io.Discard, resp.Body, most)
	if err == io.EOF {
		return nil
	}
	return err
}

// CAS-4: if the client did not read all of an answer, the conversation holds what it read. Such answers are
// common, for example errors whose text no caller reads, and no reason to refuse the whole trace.
func TestAnAnswerThatWasNotReadToItsEnd(t *testing.T) {
	refused := fakes.Converse(fakes.Reply{Status: 503, ContentType: "text/plain", Body: "come back later"})
	answered := fakes.Converse(fakes.Reply{ContentType: "text/plain", Body: "here you are"})
	out := turnOf(t, func(ctx context.Context) error {
		return errors.Join(get(ctx, url, 0, refused), get(ctx, url, 4, refused), get(ctx, url, -1, answered))
	})
	rec, err := cassette.ReadTrace(out, trace.Options{File: "turn.jsonl"})
	require.NoError(t, err)
	require.Len(t, rec.Interactions, 3)
	for i, want := range []fakes.Reply{{Status: 503}, {Status: 503, Body: "come"}, {Status: 200, Body: "here you are"}} {
		assert.Equal(t, want.Status, rec.Interactions[i].Response.Status)
		assert.Equal(t, want.Body, rec.Interactions[i].Response.Body)
	}
	require.Len(t, rec.Left, 2)
	assert.Regexp(t, `^crossing \d+: what follows 0 bytes of the answer of api.openai.com, with status 503: its client read no further$`, rec.Left[0])
	assert.Contains(t, rec.Left[1], "what follows 4 bytes")
}

// CAS-4: what a trace does not hold gives an error with its crossing, and is never invented.
func TestNotInATrace(t *testing.T) {
	stream := fakes.Converse(fakes.StreamReply("Hello"))
	long := fakes.Converse(fakes.Reply{ContentType: "application/json", Body: `{"a":"` + strings.Repeat("x", 100) + `"}`})
	for name, c := range map[string]struct {
		do   func(context.Context) error
		says string
	}{
		"nobody answered": {func(ctx context.Context) error { return get(ctx, url, -1, fakes.Conversation{}) }, "crossing 9: the answer of api.openai.com is not whole: "},
		"a long answer":   {func(ctx context.Context) error { return get(ctx, url, -1, long, adkhttp.MaxBody(50)) }, "crossing 10: a part of the answer of api.openai.com is not held"},
		"a long request":  {func(ctx context.Context) error { return get(ctx, url, -1, long, adkhttp.MaxBody(10)) }, "crossing 8: the request to api.openai.com is not held"},
		"passed by": {func(ctx context.Context) error { return adk.PassBy(ctx, "api.openai.com", "GET /: gRPC") },
			"crossing 8: what was asked is not held: api.openai.com: GET /: gRPC"},
		"nothing": {func(context.Context) error { return nil }, "no exchanges over HTTP"},
		"another ask": {func(ctx context.Context) error {
			_, err := adk.Ask(ctx, "weather", "Oslo", func(context.Context, string) (string, error) { return "4 °C", nil })
			return err
		}, "no exchanges over HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cassette.ReadTrace(turnOf(t, c.do), trace.Options{File: "turn.jsonl"})
			assert.ErrorContains(t, err, "cassette: turn.jsonl: "+c.says)
		})
	}
	t.Run("another name", func(t *testing.T) {
		out := turnOf(t, func(ctx context.Context) error { return get(ctx, url, -1, stream) })
		_, err := cassette.ReadTrace(out, trace.Options{File: "turn.jsonl"}, "api.openai.org")
		assert.ErrorIs(t, err, cassette.ErrNoExchanges)
		assert.EqualError(t, err, `cassette: turn.jsonl: no exchanges over HTTP with "api.openai.org" in this trace: it asked api.openai.com`)
	})
	t.Run("redacted", func(t *testing.T) {
		out := turnOf(t, func(ctx context.Context) error { return get(ctx, url, -1, stream) }, replay.RecordOptions{Redact: redact.UsualSecrets()})
		_, err := cassette.ReadTrace(out, trace.Options{File: "turn.jsonl"})
		assert.ErrorContains(t, err, "cassette: turn.jsonl: crossing 8: a part of what api.openai.com said was redacted")
	})
	t.Run("cut short", func(t *testing.T) {
		out := turnOf(t, func(ctx context.Context) error { return get(ctx, url, -1, stream) })
		out.Truncate(out.Len() / 2)
		_, err := cassette.ReadTrace(out, trace.Options{File: "turn.jsonl"})
		format := new(trace.FormatError)
		require.ErrorAs(t, err, &format)
		assert.Equal(t, trace.FaultTruncated, format.Fault)
		assert.ErrorContains(t, err, "turn.jsonl:"+strconv.Itoa(format.Line)+": truncated trace")
	})
	t.Run("beyond a limit", func(t *testing.T) {
		out := turnOf(t, func(ctx context.Context) error { return get(ctx, url, -1, stream) })
		_, err := cassette.ReadTrace(out, trace.Options{File: "turn.jsonl", MaxCrossings: 10})
		assert.ErrorContains(t, err, "--limit crossings=N or Options.MaxCrossings can allow more")
	})
}

// Text that looks like a placeholder of redaction is ordinary text in a trace that was not redacted.
func TestSaidPlaceholder(t *testing.T) {
	c := fakes.Conversation{Source: "x", Interactions: []fakes.Interaction{asked(`{"a":"[redacted:key:1]"}`, "application/json", "{}")}}
	assert.Equal(t, c, inTrace(t, c).Conversation)
}

// CAS-4: a conversation that no turn can repeat is refused, with the place.
func TestNotForATrace(t *testing.T) {
	matched := asked("{}", "", "")
	matched.When = &fakes.Matcher{Method: "POST"}
	for says, one := range map[string]fakes.Interaction{
		"interaction 2 has a matcher":                         matched,
		"interaction 2 has no request that could be made aga": {Response: fakes.StreamReply("Hello")},
	} {
		err := cassette.WriteTrace(io.Discard, fakes.Conversation{Source: "x", Interactions: []fakes.Interaction{asked("{}", "", ""), one}})
		assert.ErrorContains(t, err, "cassette: x: "+says)
	}
}

// CAS-4: the exchanges with certain services can be selected from a turn, and no exchange holds a secret.
func TestTraceOfSome(t *testing.T) {
	out := turnOf(t, func(ctx context.Context) error {
		answer := fakes.Converse(fakes.Reply{Body: "{}"})
		return errors.Join(get(ctx, "https://a.example/x?key=sk-1&b=2&a=1", -1, answer), get(ctx, "https://b.example/y", 1, answer))
	}).Bytes()
	rec, err := cassette.ReadTrace(bytes.NewReader(out), trace.Options{File: "t"}, "a.example")
	require.NoError(t, err)
	require.Len(t, rec.Interactions, 1)
	assert.Equal(t, "/x?a=1&b=2", rec.Interactions[0].Request.URL)
	assert.Equal(t, 1, rec.Secrets)
	provider := fakes.NewTransport(rec.Conversation)
	req, err := http.NewRequest(http.MethodPost, "https://c.example/x?b=2&key=other&a=1", strings.NewReader(`{"password":"hunter22"}`))
	require.NoError(t, err)
	_, err = provider.RoundTrip(req)
	require.NoError(t, err)
	assert.Empty(t, provider.Differences(), "neither the order of what is asked, nor a secret")
}

// CAS-4: when the answers that an agent on adk/chat got in a recorded turn are served again, the agent
// makes the same requests.
func TestChatOverItsTrace(t *testing.T) {
	ask := func(world http.RoundTripper) ([]byte, string) {
		var out bytes.Buffer
		model, err := chat.New(chat.Options{Model: "m", AutoAck: new(true), Transport: world, Retry: chat.Retry{MaxAttempts: new(2)}})
		require.NoError(t, err)
		storage := fakes.NewStorage()
		runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Executor: model.Executor("model"), Storage: storage.Storage(),
			Tools: []*adk.Tool{fakes.NewTool("weather", "Tells the weather.", "4 °C").Tool()}}, replay.Record(&out)))
		require.NoError(t, err)
		require.NoError(t, runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "How is the weather?"}))
		return out.Bytes(), fmt.Sprint(storage.Messages()[0].Content())
	}
	recorded, said := ask(fakes.NewTransport(fakes.Converse(fakes.Reply{Status: 503, Body: "busy"},
		fakes.StreamToolCall("c1", "weather", `{}`), fakes.StreamReply("Cold."))))
	rec, err := cassette.ReadTrace(bytes.NewReader(recorded), trace.Options{File: "t"})
	require.NoError(t, err)
	require.Len(t, rec.Interactions, 3)
	provider := fakes.NewTransport(rec.Conversation)
	again, saidAgain := ask(provider)
	assert.Equal(t, said, saidAgain)
	assert.Empty(t, provider.Differences())
	assert.Equal(t, string(recorded), string(again))
}
