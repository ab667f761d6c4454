package explore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
)

// team returns an agent with two sub-agents that work concurrently, on goroutines of the agent. One uses a
// tool and stores the result; the other dispatches a helper, reads the memories and asks. They take turns in
// beginning first, so that one number may belong to a store of the first or to the helper of the second.
// store decides what the first sub-agent learns of a failed store.
func team(name string, store func(error) error) turn.Subject {
	var mu sync.Mutex
	runs := 0
	first := func() int {
		mu.Lock()
		defer mu.Unlock()
		runs++
		return runs % 7 % 2
	}
	look := samples.Must(adk.NewTool(adk.ToolInit{Name: "look", Description: "Looks.", InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectReads,
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("seen"), nil
		}}))
	looker := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		result, err := dc.Execute(ctx, look, "{}")
		if err != nil {
			return err
		}
		for range 3 {
			now := dc.Now()
			call, err := adk.NewToolCall(adk.ToolCallInit{ID: dc.NewID(), Tool: "look", Args: "{}", Results: result, CreatedAt: now, UpdatedAt: now, CompletedAt: now})
			if err != nil {
				return err
			}
			if err := store(dc.ToolCalls().Store(ctx, call)); err != nil {
				return err
			}
		}
		return dc.Ack()
	}
	acks := func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }
	thinker := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if end, err := adk.Dispatch(ctx, adk.DispatchInput{Name: "helper", Source: dc, Executor: adk.Executor{Name: "helper", Run: acks}}); err != nil || end.Error != nil {
			return errors.Join(err, end.Error)
		}
		if _, err := dc.Memories().Fetch(ctx); err != nil {
			return err
		}
		for range 2 {
			if _, err := adk.Ask(ctx, "search", "tea", func(context.Context, string) (string, error) { return "found", nil }, adk.AskOptions{Effect: adk.EffectReads}); err != nil {
				return err
			}
		}
		return dc.Ack()
	}
	lead := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var group sync.WaitGroup
		errs := make([]error, 2)
		gate, begins := make(chan struct{}), first()
		for i, run := range []func(context.Context, *adk.DispatchContext, *adk.Helpers) error{looker, thinker} {
			group.Go(func() {
				if i != begins {
					<-gate
				} else {
					defer close(gate)
				}
				end, err := adk.Dispatch(ctx, adk.DispatchInput{Name: "worker", Source: dc, Executor: adk.Executor{Name: "worker", Run: run}})
				if err == nil && end.Status != adk.StatusAck {
					err = errors.New("not done")
				}
				errs[i] = errors.Join(err, end.Error)
			})
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		return dc.Ack()
	}
	return turn.Subject{Name: name, Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return adk.Config{Executor: adk.Executor{Name: "lead", Run: lead}, Tools: []*adk.Tool{look}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}}
}

// A fault strikes the call that it was made for. If an agent's own goroutines dispatch, the number that
// the call had in another run means nothing. A team that passes on every error is not accused. The report
// says that the orders of its goroutines are not covered, and which lines start the
// goroutines.
func TestFaultsStrikeTheCallThatTheyWereMadeFor(t *testing.T) {
	struck, missed := 0, 0
	right := checked(team("right", func(err error) error { return err }), func(r turn.Run) error {
		if len(r.Schedule.Faults) != 1 || r.Schedule.Faults[0].Kind != turn.StorageBefore {
			return nil
		}
		for x := range r.Crossings {
			if x.Kind == adk.KindReturn && x.Outcome == adk.OutcomeError {
				struck++
				return nil
			}
		}
		missed++
		return nil
	})
	result := explored(t, right, explore.Options{Workers: 1})
	assert.Empty(t, result.Violations, result)
	assert.Positive(t, struck)
	assert.Zero(t, missed, "every failure finds its call, whoever comes first")
	said := strings.Join(result.NotCovered, "\n")
	assert.Regexp(t, `orders that goroutines of user code's own did not come in: they ask, or dispatch, .*struck_test\.go:\d+.*; [\d,]+ schedules? went another way .* Strands \(Fork\)`, said)
	assert.Contains(t, result.Summary(), "not all of it")
}

// A failure that such a team hides is still found, and it is reported of the storage that failed.
func TestWhatGoroutinesHideIsFound(t *testing.T) {
	wrong := team("wrong", func(error) error { return nil })
	result := explored(t, wrong, explore.Options{Workers: 1})
	found := 0
	for _, b := range result.Violations {
		if b.Invariant != "nothing fails in silence" {
			assert.Equal(t, "an abort is heeded", b.Invariant, b)
			continue
		}
		found++
		assert.Contains(t, b.Text, "storage/toolCalls.store failed")
		for _, where := range b.Where {
			assert.Contains(t, where, `the storage`)
			assert.Contains(t, where, `storage", in storage/toolCalls.store`)
		}
		again, err := explore.RunSchedule(t.Context(), wrong, b.Schedule, explore.Options{})
		require.NoError(t, err)
		assert.NotEmpty(t, again.Violations, "%s: what was found is seen again, whoever comes first", b.Schedule)
	}
	assert.Positive(t, found, result)
}

// If only one run of a schedule shows something, and the system decides the order, it is not a violation,
// because nobody can reproduce it. It is a hint, and the report says that the matter is open.
func TestWhatIsSeenOnceIsAHint(t *testing.T) {
	t.Parallel() // the test mostly waits
	var mu sync.Mutex
	checks := 0
	once := checked(team("once", func(err error) error { return err }), func(turn.Run) error {
		mu.Lock()
		defer mu.Unlock()
		if checks++; checks == 40 {
			return errors.New("the report is missing")
		}
		return nil
	})
	result := explored(t, once, explore.Options{Workers: 1})
	assert.Empty(t, result.Violations, result)
	assert.Contains(t, strings.Join(result.NotCovered, "\n"), "what 1 schedule showed in one run, and in no other: see the hints")
	var texts []string
	for _, h := range result.Hints {
		texts = append(texts, h.Text)
	}
	assert.Contains(t, texts, "the report is missing\none run of this schedule showed it, and no other one")
}

// An HTTP transport is called until a fault breaks an answer, and not after that. A check that looks into
// the subject's own server may be misled by this, so its violation says that the server was not called.
func TestServersSeeNothingBehindABrokenAnswer(t *testing.T) {
	s := turn.Subject{Name: "files", Open: func(context.CancelCauseFunc) turn.Instance {
		called := 0
		client := &http.Client{Transport: adkhttp.NewTransport(counting(func() { called++ }))}
		run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			for range 4 {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://files.example/", nil)
				if err != nil {
					return err
				}
				if response, err := client.Do(req); err == nil {
					_ = response.Body.Close()
				}
			}
			return dc.Ack()
		}
		return turn.Instance{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()},
			Raw: adk.RawTurn{SystemPrompt: "Help."}, Check: func(turn.Run) error {
				if called < 4 {
					return errors.New("the server was called too seldom")
				}
				return nil
			}}
	}}
	result := explored(t, s, explore.Options{Workers: 1, UsualInput: true, Faults: []turn.FaultKind{turn.AskSlow}})
	require.NotEmpty(t, result.Violations, "the answer comes late, and the server is not called")
	assert.Contains(t, result.Violations[0].Text, "on files.example was not called, and answered from the undisturbed run")
	result = explored(t, s, explore.Options{Workers: 1, UsualInput: true, Faults: []turn.FaultKind{turn.CancelAfter}})
	for _, b := range result.Violations {
		assert.NotContains(t, b.Text, "was not called", "where no answer is broken the transport is asked")
	}
}

// counting is an HTTP transport that counts its calls.
type counting func()

func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// A body that nobody closes is a violation if a single goroutine asks in that call. It is a hint if several
// goroutines ask, since one of them may still close it. Both cases may occur in the same turn.
func TestABodyIsClosedByWhoeverAsksInItsCall(t *testing.T) {
	get := func(ctx context.Context) error {
		client := &http.Client{Transport: adkhttp.NewTransport(filesServer{})}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://files.example/", nil)
		if err != nil {
			return err
		}
		_, err = client.Do(req)
		return err
	}
	agent := func(inMiddleware bool) turn.Subject {
		return turn.Subject{Name: "files", Open: func(context.CancelCauseFunc) turn.Instance {
			history := func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error {
				if inMiddleware {
					if err := get(ctx); err != nil {
						return err
					}
				}
				next(ctx)
				return nil
			}
			run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				var wg sync.WaitGroup
				errs := make([]error, 2)
				for i := range errs {
					wg.Go(func() {
						_, errs[i] = adk.Ask(ctx, "model", i, func(context.Context, int) (string, error) { return "well", nil })
					})
				}
				wg.Wait()
				if !inMiddleware {
					errs = append(errs, get(ctx))
				}
				return errors.Join(append(errs, dc.Ack())...)
			}
			return turn.Instance{Config: adk.Config{TurnInput: []adk.TurnMiddleware{{Name: "history", Run: history}},
				Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, Raw: adk.RawTurn{SystemPrompt: "Help."}}
		}}
	}
	is := func(v property.Violation) bool { return v.Invariant == "unclosed-answer" }
	for _, inMiddleware := range []bool{true, false} {
		result := explored(t, agent(inMiddleware), explore.Options{Workers: 1})
		assert.Equal(t, inMiddleware, slices.ContainsFunc(result.Violations, func(b explore.Breach) bool { return is(b.Violation) }), result)
		assert.Equal(t, !inMiddleware, slices.ContainsFunc(result.Hints, func(b explore.Breach) bool { return is(b.Violation) }), result)
	}
}

// filesServer is an HTTP transport that answers with a file.
type filesServer struct{}

func (filesServer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("a file")), Request: req}, nil
}

// If user code starts one goroutine that asks, it may be the one of several workers that happens to be first.
// A run that then differs from the next run is only a hint, since chance decides which worker asks.
func TestOneWorkerOfSeveral(t *testing.T) {
	for _, apart := range []bool{true, false} {
		runs := 0
		subject := turn.Subject{Name: "workers", Open: func(context.CancelCauseFunc) turn.Instance {
			runs++
			worker := runs % 2
			tool := samples.Must(adk.NewTool(adk.ToolInit{Name: "look", Description: "Looks.", InputSchema: []byte(`{"type":"object"}`), Effect: adk.EffectReads,
				Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (result adk.ToolResult, err error) {
					ask := func() {
						_, err = adk.Ask(ctx, "model", worker, func(context.Context, int) (string, error) { return "well", nil })
					}
					if apart {
						var wg sync.WaitGroup
						wg.Go(ask)
						wg.Wait()
					} else {
						ask()
					}
					return adk.Text("seen"), err
				}}))
			return turn.Instance{Raw: adk.RawTurn{SystemPrompt: "Help."}, Config: adk.Config{Tools: []*adk.Tool{tool}, Storage: fakes.NewStorage().Storage(),
				Executor: fakes.Script{{fakes.Call("look", "{}")}, {fakes.Ack()}}.Executor("model")}}
		}}
		result, err := explore.Explore(t.Context(), subject, explore.Options{Workers: 1, UsualInput: true, Faults: []turn.FaultKind{}})
		require.NoError(t, err)
		found := result.Violations
		if apart {
			found = result.Hints
			assert.Empty(t, result.Violations, result)
		}
		require.Len(t, found, 1, result)
		assert.Equal(t, "a run is the same every time", found[0].Invariant)
	}
}

// If goroutines ask, two asks count as the same in different runs even if their requests contain a random
// key. So a fault strikes the ask, whatever the key is.
func TestAKeyOfChanceIsNoOtherRequest(t *testing.T) {
	t.Parallel()
	run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var tools sync.WaitGroup
		tools.Go(func() {
			_, _ = adk.Ask(ctx, "search", "tea", func(context.Context, string) (string, error) { return "found", nil }, adk.AskOptions{Effect: adk.EffectReads})
		})
		tools.Go(func() { // loses the error
			_, _ = adk.Ask(ctx, "ledger", "book under "+uuid(), func(context.Context, string) (string, error) { return "booked", nil }, adk.AskOptions{Effect: adk.EffectWrites})
		})
		if tools.Wait(); ctx.Err() != nil {
			return ctx.Err()
		}
		return dc.Ack()
	}
	x := explored(t, turn.Subject{Name: "ledger", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}}, explore.Options{Faults: []turn.FaultKind{turn.AskRefused}, UsualInput: true})
	assert.NotEmpty(t, says(x, "what ledger was asked to write failed"), "%s", x)
}

// uuid returns a random UUID of version 4.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// A panic in a goroutine of user code ends the program. What the runtime prints of the goroutine then names
// the schedule.
func TestGoroutinesSayTheirSchedule(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var headings []string
	run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		var tool sync.WaitGroup
		tool.Go(func() {
			if _, err := adk.Ask(ctx, "search", "tea", func(context.Context, string) (string, error) { return "found", nil }); err != nil {
				heading, _, _ := strings.Cut(string(debug.Stack()), "\n")
				mu.Lock()
				defer mu.Unlock()
				headings = append(headings, heading)
			}
		})
		if tool.Wait(); ctx.Err() != nil {
			return ctx.Err()
		}
		return dc.Ack()
	}
	explored(t, turn.Subject{Name: "search", Build: func(context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()}, adk.RawTurn{SystemPrompt: "Help."}
	}}, explore.Options{Faults: []turn.FaultKind{turn.AskRefused}, UsualInput: true})
	require.NotEmpty(t, headings)
	assert.Regexp(t, `"adkreplay-schedule": "ask-refused@\d+"`, headings[0])
}

// net/http reads a request's body on a goroutine of its own. That does not count as a goroutine of user code.
func TestTheClientsGoroutineIsNotUserCode(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	subject := turn.Subject{Name: "uploads", Open: func(context.CancelCauseFunc) turn.Instance {
		base := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}
		client := &http.Client{Transport: adkhttp.NewTransport(base)}
		run := func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			body := io.NopCloser(strings.NewReader("a file")) // a body that cannot be read a second time
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://files.example/", body)
			if err != nil {
				return err
			}
			req.ContentLength = int64(len("a file"))
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			return errors.Join(err, resp.Body.Close(), dc.Ack())
		}
		return turn.Instance{Config: adk.Config{Executor: adk.Executor{Name: "model", Run: run}, Storage: fakes.NewStorage().Storage()},
			Raw: adk.RawTurn{SystemPrompt: "Help."}, Close: base.CloseIdleConnections}
	}}
	result := explored(t, subject, explore.Options{Faults: []turn.FaultKind{turn.AskUnavailable}, UsualInput: true})
	assert.NotContains(t, strings.Join(result.NotCovered, "\n"), "goroutines of user code", "%s", result)
}
