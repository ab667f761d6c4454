package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/turn"
)

// plainAnswers answers each request with the request's own content.
type plainAnswers struct{}

func (plainAnswers) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("load of " + req.URL.RequestURI())), Request: req}, nil
}

// got returns the body of the answer to a GET of url, whatever its status is.
func got(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return string(body), err
}

// After a fault, an asker that reads never gets the answer to somebody else's request. This also holds for
// a request that the undisturbed run did not make, or made less often. A request made through a function
// is answered by that function.
func TestNobodyGetsTheAnswerOfAnother(t *testing.T) {
	kinds := []turn.FaultKind{turn.AskRefused, turn.AskTimeout, turn.AskFailed, turn.AskUnavailable, turn.AskBusy, turn.AskSlow, turn.AskCut, turn.AskEmpty, turn.AskDownOne, turn.AskLost}
	for name, ask := range map[string]func(ctx context.Context, client *http.Client, path string) (string, error){
		"http": func(ctx context.Context, client *http.Client, path string) (string, error) {
			return got(ctx, client, "http://metrics.example/"+path)
		},
		"function": func(ctx context.Context, _ *http.Client, path string) (string, error) {
			return adk.Ask(ctx, "metrics", path, func(_ context.Context, path string) (string, error) { return "load of /" + path, nil })
		},
	} {
		for _, atOnce := range []bool{false, true} {
			subject := turn.Subject{Name: name, Open: func(context.CancelCauseFunc) turn.Instance {
				client := &http.Client{Transport: adkhttp.NewTransport(plainAnswers{})}
				var mu sync.Mutex
				var wrong error
				load := func(ctx context.Context, of string) {
					for _, path := range []string{of, of, of + "/replica", of} {
						text, err := ask(ctx, client, path)
						if err == nil && text != "" && text != "load of /"+path {
							mu.Lock()
							wrong = fmt.Errorf("who asked for %s was told %s", path, text)
							mu.Unlock()
						}
						if err == nil && text != "" {
							return
						}
					}
				}
				run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
					var wg sync.WaitGroup
					for _, of := range []string{"a", "b", "c"} {
						if atOnce {
							wg.Go(func() { load(ctx, of) })
						} else {
							load(ctx, of)
						}
					}
					wg.Wait()
					return dc.Ack()
				}
				return turn.Instance{Raw: adk.RawTurn{SystemPrompt: "Help."}, Check: func(turn.Run) error { return wrong },
					Config: adk.Config{Executor: adk.Executor{Name: "agent", Run: run}, Storage: fakes.NewStorage().Storage()}}
			}}
			result, err := Explore(t.Context(), subject, Options{Faults: kinds})
			require.NoError(t, err)
			for _, b := range result.Violations {
				assert.NotContains(t, b.Text, "was told", "%s, %v: %s", name, atOnce, b)
			}
		}
	}
}

// A turn that stands still without any fault until its caller cancels it never reaches its end. It may
// stand still at the service it asked last, or in user code. A turn at a gate that nobody settles is not
// meant, since it waits for a person.
func TestATurnThatStandsStill(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	never := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	asks := func(ctx context.Context) error {
		_, err := adk.Ask(ctx, "db", "SELECT 1", func(ctx context.Context, _ string) (string, error) { return "", never(ctx) })
		return err
	}
	gate := func(ctx context.Context, dc *adk.DispatchContext) error {
		_, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "may it?"})
		return err
	}
	for name, c := range map[string]struct {
		run  func(ctx context.Context, dc *adk.DispatchContext) error
		says string
	}{
		"an ask":       {func(ctx context.Context, _ *adk.DispatchContext) error { return asks(ctx) }, "the turn stood still while db was asked, and did not answer, until its caller cancelled"},
		"user code":    {func(ctx context.Context, _ *adk.DispatchContext) error { return never(ctx) }, "the turn stood still until its caller cancelled"},
		"an open gate": {gate, ""},
		"behind a gate": {func(ctx context.Context, dc *adk.DispatchContext) error {
			if err := gate(ctx, dc); err != nil {
				return err
			}
			return asks(ctx)
		}, "the turn stood still while db was asked, and did not answer, until its caller cancelled"},
		"nowhere": {func(context.Context, *adk.DispatchContext) error { return nil }, ""},
	} {
		subject := turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
			raw := adk.RawTurn{SystemPrompt: "Help."}
			if name == "behind a gate" {
				raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { e.Gate.Resolve("ada", true) }
			}
			return adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return errors.Join(c.run(ctx, dc), dc.Ack())
			}}}, raw
		}}
		result, err := Explore(t.Context(), subject, Options{Faults: []turn.FaultKind{}, UsualInput: true})
		require.NoError(t, err)
		found := breaches(result.Violations, "a turn comes to its end")
		if c.says == "" {
			assert.Empty(t, found, name)
		} else if assert.Len(t, found, 1, name) {
			assert.Contains(t, found[0], c.says, name)
		}
	}
}

// The explorer also leaves a gate with a timeout unanswered, even if a listener answers it. Doing the same then as
// after a yes is a hint. It leaves no gate without a timeout unanswered, since that gate would never close.
func TestSilenceIsNoYes(t *testing.T) {
	agent := func(timeout time.Duration, silence error) turn.Subject {
		return turn.Subject{Name: "pages", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
			run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				yes, err := adk.WaitFor[bool](ctx, dc, adk.Gate{ID: "g", Reason: "page?", Timeout: timeout})
				if errors.Is(err, adk.E_TURN_GATE_TIMEOUT) {
					yes, err = silence == nil, silence
				}
				if err != nil {
					return dc.Nack(err)
				}
				if yes {
					err = pay(ctx, "k")
				}
				if err != nil {
					return dc.Nack(err)
				}
				return dc.Ack()
			}
			return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()},
				adk.RawTurn{SystemPrompt: "Help.", Observability: adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) { e.Gate.Resolve("lead", true) }}}
		}}
	}
	for name, c := range map[string]struct {
		subject turn.Subject
		hinted  bool
	}{
		"silence is a yes": {agent(time.Minute, nil), true},
		"silence is a no":  {agent(time.Minute, errors.New("nobody answered")), false},
		"no timeout":       {agent(0, nil), false},
	} {
		result := exploredAll(t, c.subject)
		hints := breaches(result.Hints, "silence is no yes")
		assert.Empty(t, result.Violations, name)
		if assert.Equal(t, c.hinted, len(hints) == 1, "%s: %s", name, result) && c.hinted {
			assert.Contains(t, hints[0], `the gate "g" was closed, with no answer in its time, at crossing`)
		}
	}
}

// refusing is a transport that refuses every request.
type refusing struct{}

func (refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Status: "503", Header: http.Header{}, Body: io.NopCloser(strings.NewReader("later")), Request: req}, nil
}

// What fails in the undisturbed turn too is not caused by a fault. The oracle does not accuse code that
// says how it failed, keeps it for later, or then answers differently.
func TestWhatAlwaysFails(t *testing.T) {
	ask := func(ctx context.Context, method string) error {
		client := &http.Client{Transport: adkhttp.NewTransport(refusing{}, adkhttp.Effect(func(req *http.Request) adk.Effect {
			if req.Method == http.MethodPost {
				return adk.EffectWrites
			}
			return adk.EffectReads
		}))}
		req, err := http.NewRequestWithContext(ctx, method, "http://mail.example/send", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		if err := resp.Body.Close(); err != nil {
			return err
		}
		if resp.StatusCode >= 400 {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		return nil
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		result := exploredAll(t, talking(t, func(ctx context.Context, _ *adk.DispatchContext) (string, error) {
			err := ask(ctx, method)
			if err == nil {
				return "sent", nil
			}
			var text string
			if _, failed := fmt.Sscanf(err.Error(), "status %s", &text); failed != nil {
				return "", err
			}
			if method == http.MethodPost {
				return "it is sent later", nil
			}
			return "it is sent later, as there was a status of " + text, nil
		}))
		for _, oracle := range []string{"nothing fails in silence", "what failed is not told as done"} {
			assert.Empty(t, breaches(result.Violations, oracle), method)
		}
		assert.Empty(t, breaches(result.Hints, "a record has one key"), "the model has said the same twice")
	}
}

// An agent that writes the same after a no as after a yes is accused. It is not accused if the answer is a
// text and not a yes, or if nobody settles the gate, since then the agent has an answer of its own.
func TestANoToAQuestion(t *testing.T) {
	agent := func(answer, otherwise any) turn.Subject {
		return turn.Subject{Name: "asks", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
			run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				value, err := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "where?", Timeout: time.Minute})
				if err != nil && ctx.Err() == nil {
					value, err = otherwise, nil
				}
				if err == nil {
					err = pay(ctx, fmt.Sprint(value))
				}
				if err != nil {
					return dc.Nack(err)
				}
				return dc.Ack()
			}
			raw := adk.RawTurn{SystemPrompt: "Help."}
			if answer != nil {
				raw.Observability.TurnGateOpen = func(e adk.TurnGateOpen) { e.Gate.Resolve("ada", answer) }
			}
			return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, raw
		}}
	}
	for name, c := range map[string]struct {
		subject turn.Subject
		accused bool
	}{
		"a text":                   {agent("eu", "eu"), false},
		"nobody settles it":        {agent(nil, "eu"), false},
		"a yes, and no difference": {agent(true, true), true},
		"a yes, and a difference":  {agent(true, false), false},
	} {
		result := exploredAll(t, c.subject)
		assert.Equal(t, c.accused, len(breaches(result.Violations, "a no makes a difference")) > 0, name)
		assert.Equal(t, c.accused, len(breaches(result.Hints, "silence is no yes")) > 0, name)
	}
}

// Code is broken off where it asks for an operation, and not where the engine ends an operation: depending
// on the order of goroutines, an end may come at the place where the operation was.
func TestCodeIsNotBrokenOffWithinTheEngine(t *testing.T) {
	for phase, broken := range map[adk.Phase]bool{adk.Begin: true, adk.Whole: true, adk.Done: false} {
		f := &planned{Fault: turn.Fault{Kind: turn.Panic, At: 1}, moment: amidBody, call: 3}
		newAttempt().before(f, adk.Step{Kind: adk.KindAck, Phase: phase, Call: 3})
		assert.Equal(t, broken, f.fired, phase)
	}
}

// Code that undoes its work when the turn is aborted, and logs each step that it could not undo, does heed
// the abort. Code that logs nothing, or tries the same step again and again, does not. An ask that is made
// in spite of the abort is carried out, and may be tried again as often as it fails.
func TestUndoingInAnAbortedTurn(t *testing.T) {
	thorough.Long(t)
	for name, c := range map[string]struct {
		logs, again, after, deaf bool
	}{"logged": {logs: true}, "not logged": {deaf: true}, "the same, and logged": {logs: true, again: true, deaf: true},
		"undone after the abort": {after: true}, "the same after the abort": {again: true, after: true}} {
		handle := func(ctx context.Context, dc *adk.DispatchContext) (string, error) {
			steps, done := []string{"flight", "hotel", "car", "boat", "train", "horse"}, []string{}
			for _, step := range steps {
				err := ctx.Err()
				if err == nil {
					err = pay(ctx, step)
				}
				if err != nil {
					if c.after { // more tries than code that ignores the abort is allowed
						done = slices.Concat(done, done)
					}
					for _, undo := range done {
						what := "undo " + undo
						if c.again {
							what = "undo all"
						}
						if failed := payOr(ctx, what, c.after); failed != nil && c.logs {
							dc.Log(adk.LevelError, "saga", undo+" could not be undone", nil)
						}
					}
					return "", err
				}
				done = append(done, step)
			}
			return "booked", nil
		}
		found := breaches(exploredAll(t, talking(t, handle)).Violations, "an abort is heeded")
		assert.Equal(t, c.deaf, len(found) > 0, "%s: %s", name, found)
	}
}
