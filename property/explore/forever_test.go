package explore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// asksUntil returns a subject that asks until the answer says that it is done, or at most most times.
func asksUntil(most int, ask func(ctx context.Context, n int) (string, error)) turn.Subject {
	return executing("asks until it is done", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for n := range most {
			said, err := ask(ctx, n)
			if err != nil {
				return err
			}
			if said == "done" {
				return dc.Ack()
			}
		}
		return errors.New("there is no end to it")
	})
}

// told is the n-th answer: "done" for n = 3, and another text for any other n.
func told(n int) string {
	if n == 3 {
		return "done"
	}
	return fmt.Sprint("more ", n)
}

// Code that asks until the answer changes needs a bound, whatever it asks for: a model's answer or the
// state of a job. Asking for the next page is a different request each time, and a world that answers all
// pages alike does not exist, so that is not accused.
func TestWhoAsksForEver(t *testing.T) {
	overHTTP := func(method string, url func(n int) string) func(ctx context.Context, n int) (string, error) {
		return func(ctx context.Context, n int) (string, error) {
			client := &http.Client{Transport: adkhttp.NewTransport(fakes.NewTransport(fakes.Converse(fakes.Reply{ContentType: "text/plain", Body: told(n)})))}
			var body io.Reader
			if method == http.MethodPost {
				body = strings.NewReader(fmt.Sprint(n))
			}
			req, err := http.NewRequestWithContext(ctx, method, url(n), body)
			require.NoError(t, err)
			resp, err := client.Do(req)
			if err != nil {
				return "", err
			}
			defer resp.Body.Close()
			said, err := io.ReadAll(resp.Body)
			return string(said), err
		}
	}
	fixed := func(int) string { return "https://world.example/it" }
	for name, test := range map[string]struct {
		ask   func(ctx context.Context, n int) (string, error)
		loops bool
	}{
		"a function": {func(ctx context.Context, n int) (string, error) {
			return adk.Ask(ctx, "model", n, func(_ context.Context, n int) (string, error) {
				assert.LessOrEqual(t, n, 3, "what comes again is asked of nobody")
				return told(n), nil
			})
		}, true},
		"a model": {overHTTP(http.MethodPost, fixed), true},
		"a job":   {overHTTP(http.MethodGet, fixed), true},
		"a page":  {overHTTP(http.MethodGet, func(n int) string { return fmt.Sprint("https://world.example/it?page=", n) }), false},
	} {
		for most, found := range map[int]bool{1_000: test.loops, 100: false} {
			result := explored(t, asksUntil(most, test.ask), explore.Options{Faults: []turn.FaultKind{turn.AskAgain}})
			if !found {
				assert.Empty(t, result.Violations, "%s, %d times: %s", name, most, result)
				continue
			}
			require.Len(t, result.Violations, 1, "%s: %s", name, result)
			assert.Zero(t, result.Waited, "it does not stand still")
			assert.Equal(t, "a loop has a bound", result.Violations[0].Invariant)
			assert.Contains(t, result.Violations[0].Text, "the same answer came 150 times, and the turn went on until its caller cancelled: in explore_test.")
			assert.Regexp(t, `^ask-again@\d+$`, result.Violations[0].Schedule)
		}
	}
}

// The explorer replaces good answers by empty ones of the same shape.
func TestAnswersOfNothing(t *testing.T) {
	answers := []json.RawMessage{json.RawMessage(`{"city":"Oslo"}`), json.RawMessage(`["Oslo"]`), json.RawMessage(`{}`), json.RawMessage(`"Oslo"`)}
	s := checked(executing("asks", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		for i, answer := range answers {
			said, err := adk.Ask(ctx, fmt.Sprint("service ", i), i, func(context.Context, int) (json.RawMessage, error) { return answer, nil })
			h.Log(adk.LevelInfo, "service", fmt.Sprintf("%d: %s, %v", i, said, err), nil)
		}
		client := &http.Client{Transport: adkhttp.NewTransport(fakes.NewTransport(fakes.Converse(fakes.Reply{Status: http.StatusNotFound, ContentType: "application/json", Body: `{"error":"no such city"}`})))}
		said, err := post(ctx, client)
		h.Log(adk.LevelInfo, "service", fmt.Sprint(said, err), nil)
		return dc.Ack()
	}), saying())
	explored(t, s, explore.Options{Faults: []turn.FaultKind{}})
	result := explored(t, s, explore.Options{Faults: []turn.FaultKind{turn.AskBare}})
	assert.Empty(t, result.Violations, "an agent cannot know")
	var said []string
	for _, h := range result.Hints {
		said = append(said, h.Text)
	}
	assert.Equal(t, []string{"0: {}, <nil>", "1: [], <nil>"}, said)
	once := explored(t, s, explore.Options{Faults: []turn.FaultKind{turn.AskAgain}, UsualInput: true, Free: -1})
	assert.Equal(t, 1, once.Schedules, "nobody is asked again")
}

// errUnavailable and errNothing are errors of a client's own, like the status codes of gRPC.
var (
	errUnavailable = errors.New("unavailable")
	errNothing     = errors.New("nil")
)

// Clients other than HTTP have their own errors, which code distinguishes. If the subject lists them, code that
// retries for ever when the service is unavailable, or that takes a missing object for a failure, is found. If an
// answer comes in pieces, the pieces before the error have arrived.
func TestErrorsOfClients(t *testing.T) {
	asks := func(most int) turn.Subject {
		return executing("asks on", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			for range most {
				_, err := adk.Ask(ctx, "grpc: model", "q", func(context.Context, string) (string, error) { return "a", nil })
				if err == nil {
					return dc.Ack()
				}
				if !errors.Is(err, errUnavailable) {
					return err
				}
			}
			return errUnavailable
		})
	}
	own := func(_ string, kind turn.FaultKind) error {
		switch kind {
		case turn.AskRefused, turn.AskDown, turn.AskUnavailable:
			return errUnavailable
		case turn.AskEmpty:
			return errNothing
		}
		return nil
	}
	forEver, bounded := asks(1<<30), asks(3)
	assert.Empty(t, explored(t, forEver, explore.Options{}).Violations, "no error of net is this one")
	forEver.Errors, bounded.Errors = own, own
	found := explored(t, forEver, explore.Options{}).Violations
	require.NotEmpty(t, found)
	assert.Equal(t, "a loop has a bound", found[0].Invariant)
	assert.Contains(t, found[0].Schedule.String(), "ask-down@")
	result := explored(t, bounded, explore.Options{})
	assert.Empty(t, result.Violations)

	got := map[string]string{}
	tells := executing("tells what it is told", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		var said string
		for piece, err := range adk.AskStream(ctx, "ws", "q", func(_ context.Context, _ string, hand func(string) error) error {
			return errors.Join(hand("a"), hand("b"))
		}) {
			if said += piece; err != nil {
				h.Log(adk.LevelError, "ws", said+": "+err.Error(), nil)
				return err
			}
		}
		return dc.Ack()
	})
	tells.Errors = func(_ string, kind turn.FaultKind) error { return errors.New(kind.String() + " of ws") }
	tells.Check = func(r turn.Run) error {
		for x := range r.Crossings {
			if x.Kind == adk.KindReportLog && len(r.Schedule.Faults) == 1 {
				got[r.Schedule.Faults[0].Kind.String()] = x.Text
			}
		}
		return nil
	}
	_ = explored(t, tells, explore.Options{Workers: 1})
	for kind, said := range map[string]string{"ask-429": "", "ask-503": "", "ask-refused": "", "ask-empty": "", "ask-cut": "a", "ask-stalled": "a"} {
		assert.Equal(t, said+": "+kind+" of ws", got[kind])
	}
	assert.NotContains(t, got, "ask-cut-within")
}
