package turn_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/turn"
)

// counter answers over HTTP with a status that depends on the path.
type counter struct{}

func (counter) RoundTrip(r *http.Request) (*http.Response, error) {
	status := map[string]int{"/paid": 200, "/refused": 401, "/broken": 500, "/busy": 429, "/away": 503, "/late": 408, "/cut": 201}[r.URL.Path]
	if status == 0 {
		return nil, &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}
	}
	body := io.NopCloser(strings.NewReader("no"))
	if status == 201 {
		body = io.NopCloser(io.MultiReader(strings.NewReader("no"), broken{}))
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"text/plain"}}, Body: body, ContentLength: -1}, nil
}

// broken is a reader that breaks off.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Run.Asks says of each ask whom it went to, what it asked, and what became of it, as far as the asker can know.
func TestAsks(t *testing.T) {
	client := &http.Client{Transport: adkhttp.NewTransport(counter{})}
	var abort context.CancelCauseFunc
	run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for _, path := range []string{"/paid", "/refused", "/broken", "/busy", "/away", "/late", "/cut", "/nowhere"} {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://bank.example"+path, strings.NewReader("{}"))
			if err != nil {
				return err
			}
			if answer, err := client.Do(request); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		}
		for _, err := range []error{nil, errors.New("no"), syscall.ECONNREFUSED} {
			_, _ = adk.Ask(ctx, "db", "book", func(context.Context, string) (int, error) { return 1, err }, adk.AskOptions{Effect: adk.EffectWrites})
		}
		_ = adk.FaultPoint(ctx, "between")
		abort(errors.New("enough"))
		for _, late := range []bool{false, true} {
			_, _ = adk.Ask(context.WithoutCancel(ctx), "undo", late, func(context.Context, bool) (int, error) { return 1, nil }, adk.AskOptions{AfterAbort: late})
		}
		return dc.Ack()
	}
	var said []string
	s := turn.Subject{Name: "asks", Build: func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		abort = cancel
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}, Check: func(r turn.Run) error {
		said = nil
		for _, a := range r.Asks() {
			assert.Positive(t, a.Crossing)
			assert.Equal(t, a.Answered, a.Err == nil)
			word := strings.Join([]string{a.Of, a.Method, a.Path, string(a.Effect), http.StatusText(a.Status), string(a.Fate)}, " ")
			if a.Answered {
				word += ", answered"
			}
			said = append(said, strings.Join(strings.Fields(word), " "))
		}
		return nil
	}}
	require.Empty(t, turn.CheckSubject(s))
	assert.Equal(t, []string{
		"bank.example POST /paid OK done, answered",
		"bank.example POST /refused Unauthorized not done, answered",
		"bank.example POST /broken Internal Server Error unknown, answered",
		"bank.example POST /busy Too Many Requests not done, answered",
		"bank.example POST /away Service Unavailable not done, answered",
		"bank.example POST /late Request Timeout unknown, answered",
		"bank.example POST /cut Created done",
		"bank.example POST /nowhere not done",
		"db writes done, answered",
		"db writes unknown",
		"db writes not done",
		"undo not done",
		"undo done, answered",
	}, said)
	assert.Empty(t, turn.Run{}.Asks())
}
