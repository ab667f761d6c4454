package explore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/property/turn"
)

// executor returns a subject with this executor.
func executor(name string, run func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error) turn.Subject {
	return turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return adk.Config{Storage: fakes.NewStorage().Storage(), Executor: adk.Executor{Name: "model", Run: run}}, adk.RawTurn{SystemPrompt: "Help."}
	}}
}

func exploredAll(t *testing.T, s turn.Subject) *Exploration {
	t.Helper()
	result, err := Explore(t.Context(), s, Options{})
	require.NoError(t, err)
	return result
}

// pay asks the bank for a payment.
func pay(ctx context.Context, note string) error { return payOr(ctx, note, false) }

// payOr asks the bank for a payment; with late set, even in an aborted turn.
func payOr(ctx context.Context, note string, late bool) error {
	if late {
		ctx = context.WithoutCancel(ctx)
	}
	_, err := adk.Ask(ctx, "bank", map[string]string{"to": "Ada", "note": note}, func(context.Context, map[string]string) (string, error) { return "paid", nil },
		adk.AskOptions{Effect: adk.EffectWrites, AfterAbort: late})
	return err
}

// An idempotency key that is new for each attempt does not prevent a second payment. A key that stays the
// same does, whether it is an id or a member whose name says that it is a key. Two requests that the agent
// makes once each are no repetition, whatever their keys are.
func TestWritesThatDifferInAnIDAlone(t *testing.T) {
	const oracle = "what writes is done once"
	paying := func(key func(dc *adk.DispatchContext, n int) string) []string {
		return breaches(exploredAll(t, executor("pays", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			err := pay(ctx, key(dc, 0))
			if err != nil && ctx.Err() == nil {
				err = pay(ctx, key(dc, 1))
			}
			return errors.Join(err, dc.Ack())
		})).Violations, oracle)
	}
	assert.Len(t, paying(func(dc *adk.DispatchContext, _ int) string { return dc.NewID() }), 1)
	assert.Len(t, paying(func(*adk.DispatchContext, int) string { return "k" }), 1)
	assert.Empty(t, paying(func(_ *adk.DispatchContext, n int) string { return []string{"deposit", "rest"}[n] }))
	assert.Empty(t, paying(func(dc *adk.DispatchContext, _ int) string { return dc.TurnID() }))
	keyed := func(key func(n int) string) []string {
		return breaches(exploredAll(t, executor("pays", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) (err error) {
			for n := range 2 {
				_, err = adk.Ask(ctx, "bank", map[string]string{"to": "Ada", "request_id": key(n)}, func(context.Context, map[string]string) (string, error) { return "paid", nil },
					adk.AskOptions{Effect: adk.EffectWrites})
				if err == nil || ctx.Err() != nil {
					break
				}
			}
			return errors.Join(err, dc.Ack())
		})).Violations, oracle)
	}
	assert.Len(t, keyed(func(n int) string { return fmt.Sprint("order-7-try-", n) }), 1, "a key that counts the attempts")
	assert.Empty(t, keyed(func(int) string { return "order-7" }))
	assert.Empty(t, breaches(exploredAll(t, executor("pays two", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		return errors.Join(pay(ctx, dc.NewID()), pay(ctx, dc.NewID()), dc.Ack())
	})).Violations, oracle), "the undisturbed turn pays twice too")
}

// The key of an ask is recognized in its request under any member name, even within a body that is a text.
func TestWritesWithTheirKeyInThem(t *testing.T) {
	for name, c := range map[string]struct {
		request func(id string) any
		want    int
	}{
		"as a member": {func(id string) any { return map[string]string{"id": id, "body": "the body"} }, 1},
		"in a header": {func(id string) any {
			return map[string]any{"header": map[string][]string{"Nats-Msg-Id": {id}}, "data": "it"}
		}, 1},
		"within a text": {func(id string) any { return map[string]string{"data": fmt.Sprintf(`{"id":%q,"body":"it"}`, id)} }, 1},
		"and no more":   {func(id string) any { return map[string]string{"order": id} }, 0},
		"within a word": {func(id string) any { return map[string]string{"data": "to " + id} }, 0},
	} {
		s := executor(name, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) (err error) {
			for n := range 2 {
				id := fmt.Sprint("own-", n)
				_, err = adk.Ask(ctx, "nats", c.request(id), func(context.Context, any) (bool, error) { return true, nil }, adk.AskOptions{Effect: adk.EffectWrites, Key: id})
				if err == nil || ctx.Err() != nil {
					break
				}
			}
			return errors.Join(err, dc.Ack())
		})
		assert.Len(t, breaches(exploredAll(t, s).Violations, "what writes is done once"), c.want, name)
	}
}

// Code that asks again and again for an undo in an aborted turn does not heed the abort. But these asks are
// refused, so none of them counts as done.
func TestRefusedWritesAreNotDone(t *testing.T) {
	found := exploredAll(t, executor("books", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		err := pay(ctx, "book")
		for n := 0; err != nil && n < 3; n++ {
			if pay(context.WithoutCancel(ctx), "undo") == nil {
				break
			}
		}
		return errors.Join(err, dc.Ack())
	})).Violations
	assert.Len(t, breaches(found, "an abort is heeded"), 1, found)
	assert.Empty(t, breaches(found, "what writes is done once"))
}

// A key beside the request, such as an HTTP header, prevents that the service does the work twice if the key
// stays the same, but not if each attempt has a new key.
func TestWritesWithAKeyBesideThem(t *testing.T) {
	for name, c := range map[string]struct {
		header func(dc *adk.DispatchContext, first string) string
		want   int
	}{
		"the same":    {func(_ *adk.DispatchContext, first string) string { return first }, 0},
		"another one": {func(dc *adk.DispatchContext, _ string) string { return dc.NewID() }, 1},
		"none":        {func(*adk.DispatchContext, string) string { return "" }, 1},
	} {
		var options []adkhttp.Option
		if name == "none" { // a request with a key says by itself that it writes
			options = append(options, adkhttp.Effect(func(*http.Request) adk.Effect { return adk.EffectWrites }))
		}
		bank := adkhttp.NewTransport(says("paid"), options...)
		s := executor(name, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) (err error) {
			key := dc.NewID()
			for range 2 {
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://bank.example/payments", strings.NewReader(`{"to":"Ada"}`))
				if key := c.header(dc, key); key != "" {
					req.Header.Set("Idempotency-Key", key)
				}
				var res *http.Response
				if res, err = bank.RoundTrip(req); err == nil {
					_, err = io.Copy(io.Discard, res.Body)
					err = errors.Join(err, res.Body.Close())
				}
				if err == nil || ctx.Err() != nil {
					break
				}
			}
			return errors.Join(err, dc.Ack())
		})
		assert.Len(t, breaches(exploredAll(t, s).Violations, "what writes is done once"), c.want, name)
	}
}

// says is a server that gives the same answer to every request.
type says string

func (a says) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a))), Request: req}, nil
}

// Requests that differ in their id or key are different writes if the first was answered, and also if both ids
// were made before either request.
func TestWritesOfTwoThings(t *testing.T) {
	asks := func(ctx context.Context, of string, what map[string]string, key string) error {
		_, err := adk.Ask(ctx, of, what, func(context.Context, map[string]string) (string, error) { return "done", nil }, adk.AskOptions{Effect: adk.EffectWrites, Key: key})
		return err
	}
	jobs := func(ids func(dc *adk.DispatchContext) []func() string) turn.Subject {
		return executor("jobs", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) (failed error) {
			for _, id := range ids(dc) {
				job := id()
				err := asks(ctx, "post", map[string]string{"job": job}, job)
				if err == nil {
					continue
				}
				failed = errors.Join(failed, err)
				if err := asks(ctx, "marks", map[string]string{"job": job}, "mark-"+job); err != nil {
					return err
				}
			}
			return errors.Join(failed, dc.Ack())
		})
	}
	late := jobs(func(dc *adk.DispatchContext) []func() string { return []func() string{dc.NewID, dc.NewID} })
	early := jobs(func(dc *adk.DispatchContext) []func() string {
		first, second := dc.NewID(), dc.NewID()
		return []func() string{func() string { return first }, func() string { return second }}
	})
	for _, s := range []turn.Subject{late, early} {
		found, err := Explore(t.Context(), s, Options{Bound: 2})
		require.NoError(t, err)
		for _, b := range found.Violations {
			assert.NotContains(t, b.Text, "marks was asked", "%s", found)
		}
	}
}

// In an aborted turn, code may make several asks concurrently and have each refused once, and each goroutine may
// wait afterwards. Code that repeats an ask, goes through a list or goes on to pay does not heed the abort.
func TestAsksInAnAbortedTurn(t *testing.T) {
	ask := func(ctx context.Context, n int) error {
		_, err := adk.Ask(ctx, "search", n, func(context.Context, int) (string, error) { return "found", nil })
		return err
	}
	waiting := func(ctx context.Context, tries int) error { // each in a goroutine of its own
		var all sync.WaitGroup
		failed := make([]error, 4)
		for n := range failed {
			all.Go(func() {
				for range tries {
					if failed[n] = ask(ctx, n); failed[n] == nil {
						return
					}
					failed[n] = adk.Sleep(ctx, time.Millisecond)
				}
			})
		}
		all.Wait()
		return errors.Join(failed...)
	}
	for name, c := range map[string]struct {
		asks func(ctx context.Context) error
		deaf bool
	}{
		"waiting at once": {func(ctx context.Context) error { return waiting(ctx, 1) }, false},
		"waiting again":   {func(ctx context.Context) error { return waiting(ctx, 30) }, true},
		"at once": {func(ctx context.Context) error {
			var all sync.WaitGroup
			failed := make([]error, 4)
			for n := range failed {
				all.Go(func() { failed[n] = ask(ctx, n) })
			}
			all.Wait()
			return errors.Join(failed...)
		}, false},
		"again": {func(ctx context.Context) (err error) {
			for range 4 {
				if err = ask(ctx, 1); err == nil {
					break
				}
			}
			return err
		}, true},
		"payments": {func(ctx context.Context) error {
			return errors.Join(pay(ctx, "a"), pay(ctx, "b"), pay(ctx, "c"))
		}, true},
		"as far as it wants": { // it has all that it asked for, so no error reaches it
			func(ctx context.Context) error {
				for word, err := range adk.AskStream(ctx, "model", "hello", func(_ context.Context, _ string, hand func(string) error) error {
					return errors.Join(hand("hello"), hand("[DONE]"))
				}) {
					if err != nil || word == "[DONE]" {
						return err
					}
				}
				return errors.New("the stream ended early")
			}, false},
		"a list": {func(ctx context.Context) (err error) {
			for n := range 10 {
				err = errors.Join(err, ask(ctx, n))
			}
			return err
		}, true},
	} {
		deaf := breaches(exploredAll(t, executor(name, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if err := c.asks(ctx); err != nil {
				return err
			}
			return dc.Ack()
		})).Violations, "an abort is heeded")
		assert.Equal(t, c.deaf, len(deaf) > 0, "%s: %s", name, deaf)
	}
}

// A tool that checks its context before it tries again is not accused in a schedule that hides the end of the
// context from it. A tool that does not check is accused, in another schedule.
func TestToolsThatDoNotNotice(t *testing.T) {
	for name, looks := range map[string]bool{"looks": true, "does not look": false} {
		tool, err := adk.NewTool(adk.ToolInit{Name: "pay", Description: "Pays.", Effect: adk.EffectWrites, InputSchema: json.RawMessage(`{"type":"object"}`),
			Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (result adk.ToolResult, err error) {
				for range 4 {
					if err = pay(ctx, "a"); err == nil || looks && ctx.Err() != nil {
						break
					}
				}
				return adk.Text("paid"), err
			}})
		require.NoError(t, err)
		deaf := breaches(exploredAll(t, turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
			return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{tool},
				Executor: fakes.Script{{fakes.Call("pay", "{}")}, {fakes.Ack()}}.Executor("model")}, adk.RawTurn{SystemPrompt: "Help."}
		}}).Violations, "an abort is heeded")
		assert.Equal(t, !looks, len(deaf) > 0, "%s: %s", name, deaf)
	}
}

// Telling a failed payment like a successful one is a failure that nobody was told of. The agent is not
// accused if it logs the failure, tries again, or answers something else.
func TestFailedWriteOfAnAsk(t *testing.T) {
	paying := func(failed func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) (text string)) []string {
		return breaches(exploredAll(t, executor("pays", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			text := "It is paid."
			if pay(ctx, "k") != nil {
				text = failed(ctx, dc, h)
			}
			_, err := h.ReportMessage("m", text, true)
			return errors.Join(err, dc.Ack())
		})).Violations, "nothing fails in silence")
	}
	found := paying(func(context.Context, *adk.DispatchContext, *adk.Helpers) string { return "It is paid." })
	require.Len(t, found, 1)
	assert.Contains(t, found[0], "what bank was asked to write failed, the turn was acked, and nobody was told")
	assert.Empty(t, paying(func(_ context.Context, _ *adk.DispatchContext, h *adk.Helpers) string {
		h.Log(adk.LevelWarn, "bank", "not paid", nil)
		return "It is paid."
	}))
	assert.Empty(t, paying(func(context.Context, *adk.DispatchContext, *adk.Helpers) string { return "It is not paid." }))
	assert.Empty(t, paying(func(ctx context.Context, _ *adk.DispatchContext, _ *adk.Helpers) string {
		if pay(ctx, "again") == nil {
			return "It is paid."
		}
		return "It is not paid."
	}))
	assert.NotEmpty(t, paying(func(ctx context.Context, _ *adk.DispatchContext, _ *adk.Helpers) string {
		_ = pay(ctx, "k") // this fails too if the bank is down
		return "It is paid."
	}))
	assert.Empty(t, paying(func(ctx context.Context, _ *adk.DispatchContext, _ *adk.Helpers) string {
		_, _ = adk.Ask(ctx, "outbox", "k", said, adk.AskOptions{Effect: adk.EffectWrites})
		return "It is paid."
	}), "it is to be paid later")
	assert.Empty(t, paying(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) string {
		_ = dc.Memories().Store(ctx, tracetest.AMemory("to-do", "Pay."))
		return "It is paid."
	}))
}

// The same holds next to a picture that a tool returned: a second picture that says the same is no report.
func TestFailedWriteBesideAPicture(t *testing.T) {
	result := exploredAll(t, executor("pays and shows", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		_ = pay(ctx, "k")
		picture := samples.Must(adk.NewMedia(adk.MediaInit{ID: "p", Kind: adk.MediaImage, MIMEType: "image/png", Filename: "p.png", Reader: adk.MediaBytes([]byte("a picture")), TrustTier: adk.TrustFirstParty, ModalityHazard: adk.HazardOpaquePerceptual}))
		_, err := h.ReportToolCall("c", adk.ToolCallReport{Tool: "draw", Results: picture, Complete: true})
		_, failed := h.ReportMessage("m", "It is paid.", true)
		return errors.Join(err, failed, dc.Ack())
	}))
	assert.Len(t, breaches(result.Violations, "nothing fails in silence"), 1, "%s", result)
}

// A write that the server accepted is done, even if the answer breaks off after its head: a writer need not read
// the rest. Code that does not check the status takes a refused write for done.
func TestAcceptedWriteOfAnAsk(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: adkhttp.NewTransport(server.Client().Transport, adkhttp.Effect(func(*http.Request) adk.Effect { return adk.EffectWrites }))}
	for looks, name := range map[bool]string{true: "looks at the status", false: "looks at nothing"} {
		found := breaches(exploredAll(t, executor(name, func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/publish", strings.NewReader("{}"))
			if err != nil {
				return err
			}
			answer, err := client.Do(request)
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			if looks && answer.StatusCode != http.StatusCreated {
				return errors.New(answer.Status)
			}
			_, err = h.ReportMessage("m", "It is published.", true)
			return errors.Join(err, dc.Ack())
		})).Violations, "nothing fails in silence")
		assert.Equal(t, !looks, len(found) > 0, "%s: %s", name, found)
	}
}

// A failed write is not made good by the next usual request to the same server. It is made good by a request
// that replaces the write, or that repeats it, even while the body of the failed answer is still open.
func TestFailedWriteBeforeTheNextStep(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: adkhttp.NewTransport(server.Client().Transport, adkhttp.Effect(func(*http.Request) adk.Effect { return adk.EffectWrites }))}
	const leavesOpen = true // the body of a refused request
	send := func(ctx context.Context, method, path, body string, open ...bool) error {
		request, err := http.NewRequestWithContext(ctx, method, server.URL+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
		if err == nil || len(open) == 0 {
			_ = answer.Body.Close()
		}
		return err
	}
	for name, c := range map[string]struct {
		saga func(ctx context.Context) error
		lost bool
	}{
		"a step is swallowed": {func(ctx context.Context) error {
			_ = send(ctx, http.MethodPut, "/orders/1", "refunded")
			return send(ctx, http.MethodPost, "/mails", "We have refunded it.")
		}, true},
		"an entry of a list": {func(ctx context.Context) error {
			_ = send(ctx, http.MethodPost, "/mails", "to Ada")
			return send(ctx, http.MethodPost, "/mails", "to Bob")
		}, true},
		"how far it is, again and again": {func(ctx context.Context) error {
			_ = send(ctx, http.MethodPut, "/progress", "1 of 2")
			return send(ctx, http.MethodPut, "/progress", "2 of 2")
		}, false},
		"another step in its place": {func(ctx context.Context) error {
			if send(ctx, http.MethodPut, "/orders/1", "refunded") != nil {
				_ = send(ctx, http.MethodPost, "/tickets", "order 1 is refunded, and says it is not")
			}
			return send(ctx, http.MethodPost, "/mails", "We have refunded it.")
		}, false},
		"tried again beside an open body": {func(ctx context.Context) error {
			err := send(ctx, http.MethodPut, "/orders/1", "refunded", leavesOpen)
			for range 2 {
				if err != nil {
					err = send(ctx, http.MethodPut, "/orders/1", "refunded")
				}
			}
			return err
		}, false},
	} {
		result, err := Explore(t.Context(), executor(name, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return errors.Join(c.saga(ctx), dc.Ack())
		}), Options{Faults: []turn.FaultKind{turn.AskUnavailable, turn.AskBusy}})
		require.NoError(t, err)
		found := breaches(result.Violations, "nothing fails in silence")
		assert.Equal(t, c.lost, len(found) > 0, "%s: %s", name, found)
	}
}

func said(context.Context, string) (string, error) { return "well", nil }

// A write that one tool failed to make is not made good by what another tool asks of the same bank.
func TestFailedWriteBeforeOthers(t *testing.T) {
	tool := func(name string, ask func(ctx context.Context) error) *adk.Tool {
		return samples.Must(adk.NewTool(adk.ToolInit{Name: name, Description: "Does it.", InputSchema: json.RawMessage(`{"type":"object"}`), Effect: adk.EffectWrites,
			Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				return adk.Text("done"), ask(ctx)
			}}))
	}
	exploring := func(kept bool) []string {
		return breaches(exploredAll(t, turn.Subject{Name: "pays", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
			return adk.Config{Storage: fakes.NewStorage().Storage(), Tools: []*adk.Tool{
				tool("pay", func(ctx context.Context) error {
					if err := pay(ctx, "a"); kept {
						return err
					}
					return nil
				}),
				tool("close", func(ctx context.Context) error { return pay(ctx, "b") }),
			}, Executor: fakes.Script{{fakes.Call("pay", "{}")}, {fakes.Call("close", "{}")}, {fakes.Ack()}}.Executor("model")}, adk.RawTurn{SystemPrompt: "Help."}
		}}).Violations, "nothing fails in silence")
	}
	assert.Empty(t, exploring(true))
	assert.NotEmpty(t, exploring(false))
}

// A message that was shown has to be stored: always if user code made it itself, and if it is part of a
// stream from the world, only if it was reported as complete.
func TestShownInTheMidstOfAStream(t *testing.T) {
	streaming := func(ofWorld, whole bool) []string {
		return breaches(exploredAll(t, executor("streams", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			text := ""
			tell := func(piece string, last bool) error {
				text += piece
				_, err := h.ReportMessage("m", piece, last)
				return err
			}
			if ofWorld {
				pieces := adk.AskStream(ctx, "model", "?", func(_ context.Context, _ string, yield func(string) error) error { return yield("It rains.") })
				for piece, err := range pieces {
					if err != nil {
						return err
					}
					if err := tell(piece, whole); err != nil {
						return err
					}
				}
			} else if err := tell("It rains.", whole); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if !whole {
				if err := tell("", true); err != nil {
					return err
				}
			}
			return errors.Join(dc.Messages().Store(context.WithoutCancel(ctx), spoken("m", adk.RoleAssistant, text)), dc.Ack())
		})).Violations, "what was shown is kept")
	}
	assert.Len(t, streaming(false, false), 1)
	assert.Len(t, streaming(true, true), 1)
	assert.Empty(t, streaming(true, false))
}

// A violation for a run that does not end shows the same as others: the schedule in words, and the
// crossings before the run stood still.
func TestWhatAHangShows(t *testing.T) {
	thorough.Long(t)
	t.Parallel() // the test mostly waits
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	result := exploredAll(t, executor("hangs", func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if _, err := dc.Memories().Fetch(ctx); err != nil {
			<-never
			return err
		}
		return dc.Ack()
	}))
	require.Len(t, result.Violations, 1, result)
	b := result.Violations[0]
	assert.Equal(t, hangs, b.Invariant)
	require.Len(t, b.Where, 1)
	assert.Contains(t, b.Where[0], "the caller cancels behind \"call executor\", in executor/model#0")
	assert.Contains(t, b.Stretch, "fetch done → error: context canceled")
	assert.NotNil(t, b.Run)
	assert.Contains(t, strings.Join(strings.Fields(result.String()), " "), b.Where[0])
}

// A message has to be stored as it was shown. If a message is reported again from its beginning under the
// same id, it is shown twice and stored once. A message that is always stored in other words is not reported.
func TestShownOtherwise(t *testing.T) {
	telling := func(more string, id func(attempt int) string) []string {
		return breaches(exploredAll(t, executor("tells again", func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			var err error
			for n := range 2 {
				if _, err := h.ReportMessage(id(n), "It ", false); err != nil {
					return err
				}
				if _, err = dc.Memories().Fetch(ctx); err != nil {
					h.Log(adk.LevelWarn, "again", err.Error(), nil)
					continue
				}
				_, err = h.ReportMessage(id(n), "rains.", true)
				return errors.Join(err, dc.Messages().Store(ctx, spoken(id(n), adk.RoleAssistant, "It rains."+more)), dc.Ack())
			}
			return err
		})).Violations, "what was shown is what is kept")
	}
	same := func(int) string { return "m" }
	found := telling("", same)
	require.Len(t, found, 1)
	assert.Contains(t, found[0], `message "m" was shown as "It It rains.", and is stored as "It rains."`)
	assert.Empty(t, telling("", func(n int) string { return string(rune('a' + n)) }))
	assert.Empty(t, telling(" (from a stream)", same))
}

// holding asks for something to hold, and later asks to give it back, whatever happens to the turn.
func holding(by string, what any, backBy string, back any) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		_, err := adk.Ask(ctx, by, what, func(context.Context, any) (string, error) { return "held by us", nil }, adk.AskOptions{Effect: adk.EffectWrites})
		if err == nil {
			_, err = adk.Ask(context.WithoutCancel(ctx), backBy, back, func(context.Context, any) (bool, error) { return true, nil },
				adk.AskOptions{Effect: adk.EffectWrites, AfterAbort: true})
		}
		return err
	}
}

// Code may not begin a write after its caller has left, as happens if the context is not passed on. It may
// undo what was done, and finish what was begun before.
func TestWhatIsBegunForNobody(t *testing.T) {
	for name, c := range map[string]struct {
		steps  func(ctx context.Context) error
		begins bool
	}{
		"goes on, whatever its context": {func(ctx context.Context) error {
			return errors.Join(payOr(ctx, "hotel", true), payOr(ctx, "train", true))
		}, true},
		"takes back": {func(ctx context.Context) error {
			if err := pay(ctx, "hotel"); err != nil {
				return err
			}
			if err := pay(ctx, "train"); err != nil {
				return errors.Join(err, payOr(ctx, "hotel, paid back", true))
			}
			return nil
		}, false},
		"tells who waits for it": {func(ctx context.Context) error {
			if err := pay(ctx, "hotel"); err != nil {
				_, failed := adk.Ask(context.WithoutCancel(ctx), "mail", "no journey", func(context.Context, string) (string, error) { return "sent", nil },
					adk.AskOptions{Effect: adk.EffectWrites, AfterAbort: true})
				return errors.Join(err, failed)
			}
			return nil
		}, false},
		"was at it": {func(ctx context.Context) error {
			return cmp.Or(pay(ctx, "hotel"), payOr(ctx, "hotel", true))
		}, false},
		"heeds it": {func(ctx context.Context) error {
			return cmp.Or(pay(ctx, "hotel"), pay(ctx, "train"))
		}, false},
		"ends what it has begun": {func(ctx context.Context) error {
			if err := pay(ctx, "a record that is open"); err != nil {
				return err
			}
			return payOr(ctx, "it is closed", true)
		}, false},
		"gives back what it holds":         {holding("redis: acquire", map[string]any{"key": "job", "token": "t-4711"}, "redis: release", []any{"job", "t-4711"}), false},
		"gives back a lease by its number": {holding("etcd: grant", 47110815, "etcd: revoke", map[string]int{"lease": 47110815}), false},
		"gives back what it was given":     {holding("lock", "job", "unlock", "held by us"), false},
		"begins another thing":             {holding("lock", "job", "mail", "a news letter"), true},
	} {
		result := exploredAll(t, executor(name, func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return cmp.Or(c.steps(ctx), dc.Ack())
		}))
		found := breaches(result.Hints, "who has left wants no more done")
		assert.Equal(t, c.begins, len(found) > 0, "%s: %s", name, found)
		assert.Empty(t, breaches(result.Violations, "who has left wants no more done"))
	}
}
