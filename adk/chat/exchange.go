package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
)

// These are the greatest numbers of bytes that are read (RTY-6).
const (
	mostOfError  = 64 << 10
	mostOfAnswer = 64 << 20
	mostOfEvent  = 16 << 20
)

// failure is why an attempt failed.
type failure struct {
	err    error
	reason string // timeout, transport or status if another attempt may help; else empty
	status int
	after  time.Duration // how long the server asks to wait; 0 if it does not say
}

// exchange makes attempts until one gets an answer or none is left (RTY-1). What arrives of an
// answer is reported but not stored.
func (it *iteration) exchange(body []byte) (*answer, error) {
	world := &reused{base: it.transport}
	client := &http.Client{
		Transport: adkhttp.NewTransport(world, adkhttp.Limits(it.askLimits()), adkhttp.KeepRetryAfter()),
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	for attempt := 1; ; attempt++ {
		a, failed := it.attempt(client, world, body, attempt)
		if failed == nil || it.stopped() {
			return a, nil
		}
		if failed.reason == "" || attempt >= it.retry.attempts {
			it.logFailure(failed, attempt)
			return nil, failed.err
		}
		delay := it.delay(attempt, failed.after)
		it.logRetry(failed, attempt, delay)
		if err := it.dc.Sleep(it.ctx, delay); err != nil {
			return nil, err
		}
	}
}

// askLimits returns the limits of an attempt (XCH-2).
func (it *iteration) askLimits() adk.AskLimits {
	if it.stream {
		return adk.AskLimits{Headers: it.limit, Idle: it.idle}
	}
	return adk.AskLimits{Whole: it.limit}
}

// attempt makes one request.
func (it *iteration) attempt(client *http.Client, world *reused, body []byte, attempt int) (*answer, *failure) {
	req, err := http.NewRequestWithContext(it.ctx, http.MethodPost, it.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &failure{err: err}
	}
	req.Header = it.headers.Clone()
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, it.unasked(err, attempt)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, it.refused(resp)
	}
	a, failed := it.read(resp, attempt)
	if a.sawDone {
		world.finish()
	}
	return a, failed
}

// unasked returns the failure of a request that got no answer.
func (it *iteration) unasked(err error, attempt int) *failure {
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err // the outer error quotes the URL
	}
	switch {
	case errors.Is(err, adk.E_ASK_TIMEOUT):
		return it.late(attempt, true)
	case errors.Is(err, adk.E_UNANSWERED):
		return &failure{err: failed(adk.E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR, "", &HTTPFailure{Cause: err})}
	}
	return &failure{reason: "transport", err: failed(adk.E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR, "", &HTTPFailure{Cause: it.blotError(err)})}
}

// late returns the failure of an answer that took too long. again says that nothing of the answer
// had arrived, so that another attempt may help.
func (it *iteration) late(attempt int, again bool) *failure {
	it.h.Log(adk.LevelWarn, "request-timeout", "the answer did not come in time", map[string]any{
		"requestTimeoutMs": it.limit.Milliseconds(), "attempt": attempt, "maxAttempts": it.retry.attempts})
	f := &failure{err: failed(adk.E_OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT, "the answer did not come in time", &TimeLimit{it.limit})}
	if again {
		f.reason = "timeout"
	}
	return f
}

// refused returns the failure of a status that is no success.
func (it *iteration) refused(resp *http.Response) *failure {
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostOfError+1)) // on an error, what has arrived
	text := it.blot(string(body))
	if err != nil || len(body) > mostOfError {
		text = it.blotCut(string(body))
	}
	f := &failure{status: resp.StatusCode}
	if slices.Contains(it.retry.statuses, resp.StatusCode) {
		f.reason = "status"
		if it.retry.honor {
			f.after = retryAfter(resp.Header, it.dc.Now())
		}
	}
	f.err = failed(adk.E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR, "", &HTTPFailure{Status: resp.StatusCode, Body: text[:min(len(text), mostOfError)]})
	return f
}

// retryAfter returns how long a server asks to wait; 0 if it does not say.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(header.Get("Retry-After-Ms")), 64); err == nil && ms > 0 {
		return milliseconds(ms)
	}
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return max(0, milliseconds(seconds*1000))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// delay returns how long to wait before the next attempt. The jitter is derived from the dispatch,
// so that a replay waits as long (RTY-2).
func (it *iteration) delay(attempt int, after time.Duration) time.Duration {
	delay := it.retry.most
	if grown := float64(it.retry.base) * float64(uint64(1)<<min(attempt-1, 62)); grown < float64(delay) {
		delay = time.Duration(grown)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", it.dc.DispatchID(), it.dc.Iteration(), attempt))
	share := float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
	delay = min(time.Duration(float64(delay)*(0.9+0.2*share)), it.retry.most)
	if after > 0 {
		delay = min(max(delay, after), it.retry.most)
	}
	return delay.Truncate(time.Microsecond)
}

func (it *iteration) logRetry(f *failure, attempt int, delay time.Duration) {
	level := adk.LevelDebug
	if f.reason == "status" {
		level = adk.LevelWarn
	}
	it.h.Log(level, "retry-attempt", "the model is asked again", map[string]any{
		"reason": f.reason, "status": f.status, "delayMs": inMilliseconds(delay), "retryAfterMs": inMilliseconds(f.after),
		"attempt": attempt, "maxAttempts": it.retry.attempts})
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// logFailure logs why there is no further attempt.
func (it *iteration) logFailure(f *failure, attempt int) {
	var answered *HTTPFailure
	switch {
	case errors.Is(f.err, adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR):
		it.h.Log(adk.LevelError, "stream-error", "the answer broke", map[string]any{"attempt": attempt, "detail": quote(it.blot(f.err.Error()))})
	case !errors.As(f.err, &answered):
	case answered.Status == 0:
		it.h.Log(adk.LevelError, "transport-error", "the server cannot be asked", map[string]any{"attempt": attempt, "detail": quote(it.blot(answered.Error()))})
	default:
		it.h.Log(adk.LevelError, "http-error", "the server refuses to answer", map[string]any{
			"status": answered.Status, "body": quote(answered.Body), "retriable": f.reason != "", "attempt": attempt})
	}
}

// broken returns the failure of an answer that broke off. again says that nothing of the answer had
// arrived.
func (it *iteration) broken(err error, attempt int, again bool) *failure {
	switch {
	case !errors.Is(err, adk.E_ASK_TIMEOUT):
		return &failure{err: errStream("the answer broke", it.blotError(err))}
	case !it.stream:
		return it.late(attempt, again)
	}
	it.h.Log(adk.LevelWarn, "stream-idle-timeout", "the stream fell silent", map[string]any{"idleMs": it.idle.Milliseconds()})
	return &failure{err: failed(adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED, "the stream fell silent", &TimeLimit{it.idle})}
}
