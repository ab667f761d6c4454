package chat_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/chat"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// retrying returns options for at most n attempts.
func retrying(n int) chat.Options {
	o := whole()
	o.Retry.MaxAttempts = &n
	return o
}

// slept returns the length of each sleep in a run's trace.
func (p *played) slept(t *testing.T) (all []time.Duration) {
	t.Helper()
	recorded, err := trace.Read(strings.NewReader(string(p.trace)))
	require.NoError(t, err)
	for _, x := range recorded.Lines() {
		if x.Kind == adk.KindSleep && x.Phase == adk.Begin {
			all = append(all, x.Duration)
		}
	}
	return all
}

// RTY-1, RTY-7: which failures are retried, how often, and which error is left when retrying does not help.
func TestRetries(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		options chat.Options
		replies []reply
		asked   int
		status  int // of the failure; -1 for none
	}{
		"one attempt":                  {whole(), []reply{refusing(503, "busy")}, 1, 503},
		"the second is good":           {retrying(3), []reply{refusing(503, "busy"), saying("A")}, 2, -1},
		"all are used":                 {retrying(3), []reply{refusing(503, "busy"), refusing(429, "slow"), refusing(502, "bad")}, 3, 502},
		"a status that is not listed":  {retrying(3), []reply{refusing(400, "what?")}, 1, 400},
		"a redirect":                   {retrying(3), []reply{refusing(307, "", "Location", "http://elsewhere.example/")}, 1, 307},
		"a failing transport":          {retrying(2), []reply{{err: refused}, saying("A")}, 2, -1},
		"a failing transport, once":    {whole(), []reply{{err: refused}}, 1, 0},
		"a listed status of one's own": {func() chat.Options { o := retrying(2); o.Retry.RetriableStatuses = []int{418}; return o }(), []reply{refusing(418, "tea"), saying("A")}, 2, -1},
		"no listed status":             {func() chat.Options { o := retrying(2); o.Retry.RetriableStatuses = []int{}; return o }(), []reply{refusing(503, "busy")}, 1, 503},
		"then not listed":              {func() chat.Options { o := retrying(2); o.Retry.RetriableStatuses = []int{418}; return o }(), []reply{refusing(429, "slow")}, 1, 429},
		"a stream that says an error":  {retrying(2), []reply{events(`{"error":{"message":"x"}}`)}, 1, -2},
		"a broken stream":              {func() chat.Options { o := retrying(2); o.Stream = new(true); return o }(), []reply{{kind: "text/event-stream", from: iotest.ErrReader(errors.New("reset"))}}, 1, -2},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, scene{options: c.options, replies: c.replies, alone: c.status == -2})
			assert.Len(t, p.bodies, c.asked)
			for _, body := range p.bodies {
				assert.Equal(t, p.bodies[0], body)
			}
			assert.Len(t, p.slept(t), c.asked-1)
			if c.status == -1 {
				p.acked(t)
				return
			}
			err := p.failure(t)
			assert.Equal(t, adk.StatusNack, p.end.Status)
			if c.status == -2 {
				assert.ErrorIs(t, err, adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR)
				return
			}
			var answered *chat.HTTPFailure
			require.ErrorAs(t, err, &answered)
			assert.ErrorIs(t, err, adk.E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR)
			assert.Equal(t, c.status, answered.Status)
			if c.status == 0 {
				assert.ErrorIs(t, err, refused)
				assert.Equal(t, adk.LevelError, p.log(t, "transport-error").Level)
			} else {
				assert.Equal(t, c.replies[len(c.replies)-1].body, answered.Body)
				assert.Equal(t, adk.LevelError, p.log(t, "http-error").Level)
			}
		})
	}
}

// RTY-2, RTY-3: the trace holds how long each wait is. A replay sleeps as long.
func TestDelays(t *testing.T) {
	options := retrying(6)
	base, most := 100*time.Millisecond, time.Second
	options.Retry.BaseDelay, options.Retry.MaxDelay = &base, &most
	busy := refusing(503, "busy")
	p := play(t, scene{options: options, replies: []reply{busy, busy, busy, busy, busy, saying("A")}}).acked(t)
	slept := p.slept(t)
	require.Len(t, slept, 5)
	spread := map[time.Duration]bool{}
	for i, d := range slept {
		want := min(base<<i, most)
		assert.GreaterOrEqual(t, d, want*9/10)
		assert.LessOrEqual(t, d, min(want*11/10, most))
		spread[d*1000/want] = true
	}
	assert.Greater(t, len(spread), 1, "not all are spread alike: %v", slept)
	again := play(t, scene{options: options, replies: []reply{busy, busy, busy, busy, busy, saying("A")}})
	assert.Equal(t, slept, again.slept(t))
}

// RTY-2: how a server's Retry-After sets the wait, and when it is ignored.
func TestRetryAfter(t *testing.T) {
	at := func(d time.Duration) string { return fakes.Epoch.Add(d).UTC().Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		header []string
		ignore bool
		want   time.Duration // 0: the same wait as without the header
	}{
		"seconds":                {[]string{"Retry-After", "2"}, false, 2 * time.Second},
		"with decimals":          {[]string{"Retry-After", "1.5"}, false, 1500 * time.Millisecond},
		"a date":                 {[]string{"Retry-After", at(3 * time.Second)}, false, 3 * time.Second},
		"a date that has passed": {[]string{"Retry-After", at(-time.Hour)}, false, 0},
		"milliseconds first":     {[]string{"Retry-After", "9", "Retry-After-Ms", "1200"}, false, 1200 * time.Millisecond},
		"too long":               {[]string{"Retry-After", "86400"}, false, 10 * time.Second},
		"beyond all time":        {[]string{"Retry-After", "1e300"}, false, 10 * time.Second},
		"shorter than the wait":  {[]string{"Retry-After", "0.01"}, false, 0},
		"nothing":                {[]string{"Retry-After", "0"}, false, 0},
		"negative":               {[]string{"Retry-After", "-5"}, false, 0},
		"no number":              {[]string{"Retry-After", "soon"}, false, 0},
		"not to be followed":     {[]string{"Retry-After", "2"}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			options := retrying(2)
			most := 10 * time.Second
			options.Retry.MaxDelay = &most
			if c.ignore {
				options.Retry.HonorRetryAfter = new(false)
			}
			p := play(t, scene{options: options, replies: []reply{refusing(429, "slow", c.header...), saying("A")}}).acked(t)
			slept := p.slept(t)
			require.Len(t, slept, 1)
			if c.want == 0 {
				assert.LessOrEqual(t, slept[0], 550*time.Millisecond)
				assert.GreaterOrEqual(t, slept[0], 450*time.Millisecond)
				return
			}
			assert.Equal(t, c.want, slept[0])
			log := p.log(t, "retry-attempt")
			assert.Equal(t, adk.LevelWarn, log.Level)
			assert.Equal(t, float64(c.want/time.Millisecond), log.Payload.(map[string]any)["delayMs"])
		})
	}
}

// pieces is an answer in place of the server's: a head, then the pieces of the body, each after its
// delay.
func pieces(head string, headAfter time.Duration, of ...adk.Piece) *adk.Answer {
	all := append([]adk.Piece{{Value: json.RawMessage(head), After: headAfter}}, of...)
	return &adk.Answer{Next: func() (adk.Piece, bool) {
		if len(all) == 0 {
			return adk.Piece{}, false
		}
		one := all[0]
		all = all[1:]
		return one, true
	}}
}

func eventPiece(after time.Duration, text string) adk.Piece {
	return adk.Piece{Value: json.RawMessage(`{"text":` + quoted(text) + `}`), After: after}
}

const (
	streamHead = `{"status":200,"headers":{"content-type":"text/event-stream"}}`
	plainHead  = `{"status":200,"headers":{"content-type":"application/json"}}`
)

// RTY-4, SSE-10, RTY-1, XCH-2: limits run on the clock of the turn, whose answers come from Outside.
func TestLimits(t *testing.T) {
	second := time.Second
	streamed := func(attempts int) chat.Options {
		o := streaming()
		o.RequestTimeout, o.StreamIdleTimeout, o.Retry.MaxAttempts = new(2*second), new(second), &attempts
		return o
	}
	unstreamed := func(attempts int) chat.Options {
		o := streamed(attempts)
		o.Stream = new(false)
		return o
	}
	a, end := "data: "+delta("A")+"\n\n", "data: [DONE]\n\n"
	slow := func() *adk.Answer { return pieces(streamHead, 3*second) }
	good := func() *adk.Answer { return pieces(streamHead, 0, eventPiece(0, a), eventPiece(0, end)) }
	for name, c := range map[string]struct {
		options chat.Options
		answers []func() *adk.Answer
		code    adk.Code // empty if there is no failure
		limit   time.Duration
		kinds   []string
	}{
		"the head is late": {streamed(1), []func() *adk.Answer{slow}, adk.E_OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT, 2 * second, []string{"request-timeout"}},
		"and asked for again": {streamed(2), []func() *adk.Answer{slow, good}, "", 0,
			[]string{"request-timeout", "retry-attempt", "accumulator-finalised", "finish"}},
		"a slow body behind a quick head": {streamed(1), []func() *adk.Answer{func() *adk.Answer {
			return pieces(streamHead, second, eventPiece(second*9/10, a), eventPiece(second*9/10, ": still here\n\n"), eventPiece(second*9/10, a), eventPiece(second*9/10, end))
		}}, "", 0, []string{"accumulator-finalised", "finish"}},
		"silence": {streamed(3), []func() *adk.Answer{func() *adk.Answer {
			return pieces(streamHead, 0, eventPiece(0, a), eventPiece(2*second, end))
		}}, adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED, second, []string{"stream-idle-timeout"}},
		"silence from the beginning": {streamed(1), []func() *adk.Answer{func() *adk.Answer {
			return pieces(streamHead, 0, eventPiece(2*second, end))
		}}, adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED, second, []string{"stream-idle-timeout"}},
		"silence that nobody limits": {streaming(), []func() *adk.Answer{func() *adk.Answer {
			return pieces(streamHead, time.Hour, eventPiece(time.Hour, a), eventPiece(time.Hour, end))
		}}, "", 0, []string{"accumulator-finalised", "finish"}},
		"a refusal without an end, and asked again": {func() chat.Options { o := streamed(2); o.StreamIdleTimeout = nil; return o }(), []func() *adk.Answer{
			func() *adk.Answer {
				return pieces(`{"status":503}`, second, eventPiece(0, "busy"), eventPiece(time.Hour, "still busy"))
			}, good}, "", 0, []string{"retry-attempt", "accumulator-finalised", "finish"}},
		"a plain answer that is late": {unstreamed(1), []func() *adk.Answer{func() *adk.Answer {
			return pieces(plainHead, second, adk.Piece{Value: json.RawMessage(`{"body":{"choices":[]}}`), After: second * 11 / 10})
		}}, adk.E_OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT, 2 * second, []string{"request-timeout"}},
		"a plain answer in silence": {unstreamed(1), []func() *adk.Answer{func() *adk.Answer {
			return pieces(plainHead, 0, adk.Piece{Value: json.RawMessage(`{"body":{"choices":[]}}`), After: second * 19 / 10})
		}}, "", 0, []string{"accumulator-finalised", "empty-answer", "finish"}},
		"a plain answer that is late, again": {unstreamed(2), []func() *adk.Answer{
			func() *adk.Answer {
				return pieces(plainHead, 0, adk.Piece{Value: json.RawMessage(`{"body":{"choices":[]}}`), After: 3 * second})
			},
			func() *adk.Answer {
				return pieces(plainHead, 0, adk.Piece{Value: json.RawMessage(`{"body":{"choices":[]}}`)})
			},
		}, "", 0, []string{"request-timeout", "retry-attempt", "accumulator-finalised", "empty-answer", "finish"}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			p := play(t, scene{options: c.options, change: func(config *adk.Config) {
				config.Outside = func(_ context.Context, q adk.Question) *adk.Answer {
					asked++
					return c.answers[asked-1]()
				}
			}})
			assert.Empty(t, p.bodies, "the world is not asked")
			assert.Equal(t, c.kinds, p.kinds())
			if strings.HasPrefix(name, "a refusal") {
				assert.Less(t, p.end.Duration(), 4*second)
			}
			if c.code == "" {
				p.acked(t)
				return
			}
			err := p.failure(t)
			assert.ErrorIs(t, err, c.code)
			var limit *chat.TimeLimit
			require.ErrorAs(t, err, &limit)
			assert.Equal(t, c.limit, limit.Limit)
			assert.Empty(t, p.texts())
			assert.Equal(t, 1, asked)
		})
	}
}

// RTY-5: after an abort at any point of an exchange, nothing is asked again, signalled, stored or
// logged as a failure.
func TestAbortOfAnExchange(t *testing.T) {
	for name, place := range map[string]func(stop func(), s *server) roundTrip{
		"before the head": func(stop func(), s *server) roundTrip {
			return func(req *http.Request) (*http.Response, error) {
				s.asked = append(s.asked, req)
				stop()
				return nil, req.Context().Err()
			}
		},
		"behind the head": func(stop func(), s *server) roundTrip {
			return func(req *http.Request) (*http.Response, error) {
				resp, err := s.RoundTrip(req)
				stop()
				return resp, err
			}
		},
		"within the stream": func(stop func(), s *server) roundTrip {
			return func(req *http.Request) (*http.Response, error) {
				resp, err := s.RoundTrip(req)
				resp.Body = io.NopCloser(&stopping{from: resp.Body, stop: stop})
				return resp, err
			}
		},
		"by a refusal": func(stop func(), s *server) roundTrip {
			return func(req *http.Request) (*http.Response, error) {
				s.replies = []reply{refusing(503, "busy")}
				resp, err := s.RoundTrip(req)
				stop()
				return resp, err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := streaming()
			options.Retry.MaxAttempts = new(3)
			var current *adk.DispatchContext
			s := &server{replies: []reply{events(delta("A"), delta("B"))}}
			options.Transport = place(func() { assert.NoError(t, current.Abort(nil)) }, s)
			p := play(t, scene{options: options, alone: true, change: func(config *adk.Config) {
				run := config.Executor.Run
				config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
					current = dc
					err := run(ctx, dc, h)
					assert.NoError(t, err)
					return err
				}
			}})
			assert.Equal(t, adk.StatusAborted, p.end.Status)
			assert.Empty(t, p.failures)
			assert.Empty(t, p.texts())
			assert.Len(t, s.asked, 1)
			assert.Empty(t, p.kinds())
		})
	}
}

// stopping calls stop before its second byte is read.
type stopping struct {
	from io.Reader
	stop func()
	n    int
}

func (s *stopping) Read(p []byte) (int, error) {
	if s.n++; s.n == 2 {
		s.stop()
	}
	return s.from.Read(p[:min(len(p), 60)])
}

// RTY-3, RTY-5: an abort ends the wait for a retry, and so does the end of the caller's context.
func TestAbortOfAWait(t *testing.T) {
	options := retrying(3)
	p := play(t, scene{options: options, replies: []reply{refusing(503, "busy")}, alone: true, change: func(config *adk.Config) {
		run := config.Executor.Run
		config.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			strand, err := dc.Fork(ctx, "stop", func(ctx context.Context, dc *adk.DispatchContext) error {
				return errors.Join(dc.Sleep(ctx, 100*time.Millisecond), dc.Abort(nil))
			})
			if err != nil {
				return err
			}
			err = run(ctx, dc, h)
			assert.NoError(t, err)
			return errors.Join(err, strand.Wait())
		}
	}})
	assert.Equal(t, adk.StatusAborted, p.end.Status)
	assert.Len(t, p.bodies, 1)
	assert.Empty(t, p.failures)
	assert.Equal(t, []string{"retry-attempt"}, p.kinds())
}

// RTY-6, RTY-7, REQ-22, XCH-3: an error quotes a server's answer up to a bound. No secret is in an
// error, a log or the trace, even if the server repeats it.
func TestSecretsAreLeftOut(t *testing.T) {
	const key, header, query = "key-that-nobody-sees", "secret-of-a-header", "secret-of-a-query"
	echo := "you sent " + key + ", " + header + " and " + query + strings.Repeat(" and", 40_000)
	options := whole()
	options.APIKey, options.Headers = key, map[string]string{"X-My-Token": header, "X-Team": "weather"}
	options.BaseURL = "https://example.com/v1?code=" + query
	for name, r := range map[string]reply{
		"refused":    refusing(401, echo),
		"no JSON":    {kind: "text/plain", body: echo},
		"says so":    plain(`{"error":{"message":` + quoted(echo) + `}}`),
		"unasked":    {err: errors.New(echo)},
		"in a frame": events(echo),
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, scene{options: options, replies: []reply{r}, alone: true})
			texts := []string{}
			for _, err := range p.failures {
				texts = append(texts, err.Error())
				if answered, ok := errors.AsType[*chat.HTTPFailure](err); ok && answered.Status != 0 {
					assert.Contains(t, answered.Body, "you sent (left out), (left out) and (left out) and and")
					assert.LessOrEqual(t, len(answered.Body), 64<<10)
					assert.Less(t, len(err.Error()), 500)
				}
			}
			for _, log := range p.logs {
				texts = append(texts, fmt.Sprint(log.Payload))
			}
			require.NotEmpty(t, texts)
			for _, text := range texts {
				assert.NotContains(t, text, key)
				assert.NotContains(t, text, header)
			}
		})
	}
	p := play(t, scene{options: options, replies: []reply{saying("A")}}).acked(t)
	for _, secret := range []string{key, header, query} {
		assert.NotContains(t, string(p.trace), secret)
	}
	assert.Equal(t, "Bearer "+key, p.asked[0].Header.Get("Authorization"))
	assert.Contains(t, string(p.trace), "weather")
}

// told returns the text of all errors and logs.
func (p *played) told() string {
	var all strings.Builder
	for _, err := range p.failures {
		fmt.Fprintln(&all, err)
		if answered, ok := errors.AsType[*chat.HTTPFailure](err); ok {
			all.WriteString(answered.Body)
		}
	}
	for _, log := range p.logs {
		fmt.Fprintln(&all, log.Message, log.Payload)
	}
	return all.String()
}

// REQ-22, RTY-7: of a header with a secret, a server may repeat only the part after the scheme, or a
// cookie's value. That part is left out as well.
func TestSecretsInHeaders(t *testing.T) {
	const key = "key-that-nobody-sees"
	basic := base64.StdEncoding.EncodeToString([]byte("me:" + key))
	for name, c := range map[string]struct{ header, value, echo string }{
		"a key of its own":       {"api-key", key, key},
		"with white space":       {"api-key", " " + key + "\t", key},
		"behind a scheme":        {"Authorization", "Bearer " + key, key},
		"all of it":              {"Authorization", "Bearer " + key, "Bearer " + key},
		"of another header":      {"X-Upstream-Auth", "Token " + key, key},
		"a password":             {"Proxy-Authorization", "Basic " + basic, key},
		"a password as sent":     {"Proxy-Authorization", "Basic " + basic, basic},
		"a cookie":               {"Cookie", "theme=dark; session=" + key + "; lang=nb", key},
		"a cookie in quotes":     {"Cookie", `session="` + key + `"`, key},
		"a secret within it too": {"X-Token", key + "-and-more", key + "-and-more"},
	} {
		t.Run(name, func(t *testing.T) {
			options := whole()
			options.Headers = map[string]string{c.header: c.value, "X-Other-Token": key}
			if !strings.HasPrefix(c.echo, key+"-") {
				delete(options.Headers, "X-Other-Token")
			}
			p := play(t, scene{options: options, replies: []reply{refusing(401, "Incorrect key: "+c.echo+".")}})
			var answered *chat.HTTPFailure
			require.ErrorAs(t, p.failure(t), &answered)
			assert.Equal(t, "Incorrect key: (left out).", answered.Body)
			assert.NotContains(t, p.told(), key)
		})
	}
}

// REQ-22, RTY-6, RTY-7: a secret is left out before a text is cut, so that no part of it is quoted when
// it lies across the bound, or when the body breaks off within it.
func TestSecretsAtABound(t *testing.T) {
	const key = "key-that-nobody-sees"
	for name, c := range map[string]struct {
		options func() chat.Options
		reply   reply
	}{
		"no JSON":         {whole, reply{kind: "text/plain", body: strings.Repeat("x", 246) + key}},
		"says so":         {whole, plain(`{"error":{"message":"` + strings.Repeat("x", 246) + key + `"}}`)},
		"in a frame":      {streaming, events(strings.Repeat("x", 246) + key)},
		"refused":         {whole, refusing(400, strings.Repeat("x", 246)+key)},
		"refused at 64 K": {whole, refusing(400, strings.Repeat("x", 64<<10-10)+key)},
		"refused, broken": {whole, reply{status: 400, from: io.MultiReader(strings.NewReader("your key "+key[:15]), iotest.ErrReader(errors.New("reset")))}},
	} {
		t.Run(name, func(t *testing.T) {
			options := c.options()
			options.APIKey = key
			told := play(t, scene{options: options, replies: []reply{c.reply}, alone: true}).told()
			assert.NotEmpty(t, told)
			assert.NotContains(t, told, key[:4])
		})
	}
	options := whole()
	options.APIKey = key
	p := play(t, scene{options: options, replies: []reply{refusing(400, strings.Repeat(key+" ", 4000))}})
	var answered *chat.HTTPFailure
	require.ErrorAs(t, p.failure(t), &answered)
	assert.NotContains(t, answered.Body, key[:4])
}

// REQ-22: a short value, such as a version, is not treated as a secret, because it occurs in any text.
func TestShortSecrets(t *testing.T) {
	options := whole()
	options.APIKey, options.Headers = "ollama", map[string]string{"X-Auth-Version": "1", "X-Author": "e", "Cookie": "theme=dark"}
	const says = "The model m1 of ollama does not exist, see code 1101 in the dark."
	p := play(t, scene{options: options, replies: []reply{refusing(400, says)}})
	assert.ErrorContains(t, p.failure(t), says)
}

// REQ-1, REQ-20, REQ-21: the URL and the headers of a request.
func TestRequestLine(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*chat.Options)
		url     string
		headers map[string]string
		none    []string
	}{
		"usual": {func(*chat.Options) {}, "https://api.openai.com/v1/chat/completions",
			map[string]string{"Content-Type": "application/json"}, []string{"Accept", "Authorization"}},
		"a stream": {func(o *chat.Options) { o.Stream = nil }, "https://api.openai.com/v1/chat/completions",
			map[string]string{"Accept": "text/event-stream"}, nil},
		"a slash": {func(o *chat.Options) { o.BaseURL = "http://localhost:11434/v1/" }, "http://localhost:11434/v1/chat/completions", nil, nil},
		"two":     {func(o *chat.Options) { o.BaseURL = "http://localhost/v1//" }, "http://localhost/v1//chat/completions", nil, nil},
		"no path": {func(o *chat.Options) { o.BaseURL = "http://localhost" }, "http://localhost/chat/completions", nil, nil},
		"Azure": {func(o *chat.Options) {
			o.BaseURL, o.Headers = "https://x.openai.azure.com/openai/deployments/my%2Fown?api-version=2024-10-21", map[string]string{"api-key": "k"}
		}, "https://x.openai.azure.com/openai/deployments/my%2Fown/chat/completions?api-version=2024-10-21",
			map[string]string{"Api-Key": "k"}, []string{"Authorization"}},
		"a key": {func(o *chat.Options) { o.APIKey = "k" }, "https://api.openai.com/v1/chat/completions", map[string]string{"Authorization": "Bearer k"}, nil},
		"a header before the key": {func(o *chat.Options) {
			o.APIKey, o.Headers = "k", map[string]string{"authorization": "Basic x", "CONTENT-TYPE": "application/json; charset=utf-8"}
		}, "https://api.openai.com/v1/chat/completions", map[string]string{"Authorization": "Basic x", "Content-Type": "application/json; charset=utf-8"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			options := whole()
			c.change(&options)
			p := play(t, scene{options: options, replies: []reply{saying("A")}}).acked(t)
			assert.Equal(t, http.MethodPost, p.asked[0].Method)
			assert.Equal(t, c.url, p.asked[0].URL.String())
			for name, value := range c.headers {
				assert.Equal(t, []string{value}, p.asked[0].Header.Values(name))
			}
			for _, name := range c.none {
				assert.Empty(t, p.asked[0].Header.Values(name))
			}
		})
	}
}

// RTY-1, XCH-4: a request that the recording cannot answer is not retried.
func TestUnanswered(t *testing.T) {
	asked := 0
	p := play(t, scene{options: retrying(3), alone: true, change: func(config *adk.Config) {
		config.Outside = func(context.Context, adk.Question) *adk.Answer {
			asked++
			return &adk.Answer{Err: &adk.Error{Code: adk.E_UNANSWERED, Message: "the recording has no answer to this"}}
		}
	}})
	err := p.failure(t)
	assert.ErrorIs(t, err, adk.E_UNANSWERED)
	assert.ErrorIs(t, err, adk.E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR)
	assert.Equal(t, 1, asked)
}

// XCH-1: each attempt is an ask, whose pieces are the head and each event.
func TestAttemptsAreAsks(t *testing.T) {
	options := streaming()
	options.Retry.MaxAttempts = new(2)
	p := play(t, scene{options: options, replies: []reply{refusing(503, "busy"), stream(delta("A") + "\n\n: comment\n\ndata: [DONE]")}}).acked(t)
	recorded, err := trace.Read(strings.NewReader(string(p.trace)))
	require.NoError(t, err)
	var told []string
	for _, x := range recorded.Lines() {
		switch {
		case x.Kind == adk.KindAsk && x.Phase == adk.Begin:
			told = append(told, "ask "+x.Name)
		case x.Kind == adk.KindPiece:
			told = append(told, string(x.JSON))
		}
	}
	assert.Equal(t, []string{"ask api.openai.com", `{"status":503,"headers":{"content-type":"application/json"}}`, `{"text":"busy"}`,
		"ask api.openai.com", streamHead, `{"data":` + delta("A") + `}`, `{"text":": comment\n\n"}`, `{"data":"[DONE]"}`}, told)
}

// RTY-5, XCH-5, SSE-9: a real server whose connection breaks off within an event, and one whose request
// is cancelled.
func TestRealServer(t *testing.T) {
	gone := make(chan struct{})
	world := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+delta("A")+"\n\nda")
		w.(http.Flusher).Flush()
		if slices.Contains(r.Header["X-Hang"], "yes") {
			<-r.Context().Done()
			close(gone)
			return
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(world.Close)
	options := streaming()
	options.BaseURL, options.Transport = world.URL, http.DefaultTransport
	p := play(t, scene{options: options, alone: true})
	err := p.failure(t)
	assert.ErrorIs(t, err, adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Empty(t, p.texts())

	options.Headers = map[string]string{"X-Hang": "yes"}
	p = play(t, scene{options: options, alone: true, heard: func(dc *adk.DispatchContext) { assert.NoError(t, dc.Abort(nil)) }})
	<-gone
	assert.Equal(t, adk.StatusAborted, p.end.Status)
	assert.Empty(t, p.failures)
	assert.Empty(t, p.texts())
}

// RTY-5, XCH-5: over HTTP/1.1 one connection serves all requests, because the end of a stream's body is
// read after [DONE]. A server that keeps the body open, or sends more and more, delays no turn.
func TestConnectionIsUsedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		behind func(w http.ResponseWriter, r *http.Request)
		wants  int
	}{
		"the body ends":       {func(http.ResponseWriter, *http.Request) {}, 1},
		"a comment is behind": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, ": bye\n\n") }, 1},
		"it stays on the line": {func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, 3},
		"it sends on": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, strings.Repeat(": and on", 100))
			}
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int64
			world := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				padding := ":" + strings.Repeat(" ", 3000) + "\n\n" // the server writes this in chunks, and sends all of them at once
				_, _ = io.WriteString(w, padding+"data: "+delta("A")+"\n\ndata: [DONE]\n\n")
				c.behind(w, r)
			}))
			world.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					connections.Add(1)
				}
			}
			world.Start()
			t.Cleanup(world.Close)
			base := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				return &cutConn{Conn: conn}, err
			}}
			t.Cleanup(base.CloseIdleConnections)
			options := streaming()
			options.BaseURL, options.Transport = world.URL, base
			for range 3 {
				assert.Equal(t, []string{"said A"}, play(t, scene{options: options, alone: true}).acked(t).texts())
			}
			assert.EqualValues(t, c.wants, connections.Load())
		})
	}
}

// cutConn returns what follows [DONE] in a Read of its own, as it arrives from servers that are farther away.
type cutConn struct {
	net.Conn
	behind []byte
}

func (c *cutConn) Read(p []byte) (int, error) {
	if len(c.behind) > 0 {
		n := copy(p, c.behind)
		c.behind = c.behind[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p)
	if done := []byte("[DONE]\n\n"); bytes.Contains(p[:n], done) {
		end := bytes.Index(p[:n], done) + len(done)
		c.behind, n = bytes.Clone(p[end:n]), end
	}
	return n, err
}
