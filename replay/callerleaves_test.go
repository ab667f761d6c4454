package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/adkhttp"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// twoEvents answers every request with a stream of two events.
type twoEvents struct{}

func (twoEvents) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1,
		Body: io.NopCloser(strings.NewReader("data: 1\n\ndata: 2\n\n")), Request: req}, nil
}

// A caller may leave at any time: just after the code has checked for it, so that the next
// operation is refused, or while the code waits for an answer that arrives anyway. In a replay the
// caller leaves where the same code has reached the same point.
func TestTheCallerLeavesInBetween(t *testing.T) {
	ask := func(ctx context.Context) error {
		_, err := adk.Ask(ctx, "model", "?", func(context.Context, string) (string, error) { return "yes", nil })
		return err
	}
	for name, run := range map[string]func(ctx context.Context, dc *adk.DispatchContext, leave func()) error{
		"before an ask": func(ctx context.Context, _ *adk.DispatchContext, leave func()) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			leave()
			return ask(ctx)
		},
		"between two asks": func(ctx context.Context, _ *adk.DispatchContext, leave func()) error {
			err := ask(ctx)
			if ctx.Err() == nil {
				leave()
				err = errors.Join(err, ask(ctx))
			}
			return err
		},
		"before a sleep": func(ctx context.Context, dc *adk.DispatchContext, leave func()) error {
			err := ask(ctx)
			if ctx.Err() == nil {
				leave()
				err = errors.Join(err, dc.Sleep(ctx, time.Hour))
			}
			return err
		},
		"before it is asked": func(ctx context.Context, _ *adk.DispatchContext, leave func()) error {
			if err := ask(ctx); err != nil {
				return err
			}
			leave()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return ask(ctx)
		},
		"behind the head of an answer": func(ctx context.Context, _ *adk.DispatchContext, leave func()) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/", nil)
			if err != nil {
				return err
			}
			resp, err := (&http.Client{Transport: adkhttp.NewTransport(twoEvents{})}).Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			leave()
			for {
				if _, err := resp.Body.Read(make([]byte, 100)); err != nil || ctx.Err() != nil {
					return errors.Join(err, ctx.Err())
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			leave := cancel
			config := adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				return run(ctx, dc, leave)
			}}}
			var trace bytes.Buffer
			runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace))))
			require.NoError(t, runner.Run(ctx, adk.RawTurn{SystemPrompt: "Ask."}))
			require.Contains(t, trace.String(), `"kind":"cancel"`)
			leave = func() {}
			report, err := replay.Verify(t.Context(), &trace, replay.Live{Config: config, Seams: []string{replay.Executor}})
			require.NoError(t, err)
			assert.Nil(t, report.Divergence, "%s", report.Divergence)
		})
	}
}

// ended is a probe that records in which order sleeps end. It identifies a sleep by its duration.
type ended struct {
	mu    sync.Mutex
	moved *sync.Cond
	long  map[int]time.Duration // by operation
	order []time.Duration
	gone  int           // for how many of them inTurn has run do
	all   chan struct{} // closed when as many sleeps have begun as it has room for
}

func (e *ended) Observe(adk.RunInfo) adk.Observer { return e }

func (*ended) Begin(adk.Step) {}

func (*ended) Park(int, func() bool) {}

func (*ended) Resume(int) {}

func (e *ended) Tell(x *adk.Crossing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case x.Kind == adk.KindSleep && x.Phase == adk.Begin:
		if e.long[x.Op] = x.Duration; len(e.long) == cap(e.all) {
			close(e.all)
		}
	case x.Kind == adk.KindSleep:
		e.order = append(e.order, e.long[x.Op])
	}
}

// inTurn calls do for the sleep of the given length after the calls for all sleeps that ended before it.
func (e *ended) inTurn(long time.Duration, do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.order[e.gone] != long {
		e.moved.Wait()
	}
	do()
	e.gone++
	e.moved.Broadcast()
}

// When the caller leaves, sleeps on several goroutines end in the recorded order. Code that joins
// their errors as they come therefore gets the same error.
func TestWhoSleepsAsTheCallerLeaves(t *testing.T) {
	t.Parallel()
	const goroutines = 5
	agent := func(inTurn func(time.Duration, func())) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			var all sync.WaitGroup
			var mu sync.Mutex
			var failed error
			for n := range goroutines {
				all.Go(func() {
					long := time.Duration(n+1) * time.Hour
					err := dc.Sleep(ctx, long)
					inTurn(long, func() {
						mu.Lock()
						defer mu.Unlock()
						failed = errors.Join(failed, fmt.Errorf("goroutine %d: %w", n, err))
					})
				})
			}
			all.Wait()
			return failed
		})
	}
	for range thorough.Of(100, 10, 5) {
		ctx, leave := context.WithCancel(t.Context())
		ends := &ended{long: map[int]time.Duration{}, all: make(chan struct{}, goroutines)}
		ends.moved = sync.NewCond(&ends.mu)
		var recorded bytes.Buffer
		config := agent(ends.inTurn)
		config.Probe = adk.MultiProbe(replay.Record(&recorded), ends)
		go func() { <-ends.all; leave() }()
		require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(ctx, adk.RawTurn{SystemPrompt: "Go."}))
		d := inTime(t, recorded.Bytes(), replay.Live{Config: agent(func(_ time.Duration, do func()) { do() }), Seams: []string{replay.Executor}})
		require.Nil(t, d, "%s\n%s", d, recorded.String())
	}
}

// A goroutine that watches a request, and stops when there is an answer, begins its sleep before
// the answer arrives, as in the recorded run: the replay does not deliver the answer before.
func TestAWatchdogBesideAnAsk(t *testing.T) {
	t.Parallel()
	agent := func(answer func()) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			watch, over := context.WithCancel(ctx)
			var dog started
			dog.Go(func() error {
				if watch.Err() == nil {
					_ = adk.Sleep(watch, time.Hour)
				}
				return nil
			})
			said, err := adk.Ask(ctx, "model", "hello", func(context.Context, string) (string, error) { answer(); return "hi", nil })
			over()
			return errors.Join(err, dog.Wait(), dc.Stash().Set("said", said), dc.Ack())
		})
	}
	for range thorough.Of(100, 20, 10) {
		sleeps := &ended{long: map[int]time.Duration{}, all: make(chan struct{}, 1)}
		var recorded bytes.Buffer
		config := agent(func() { <-sleeps.all })
		config.Probe = adk.MultiProbe(replay.Record(&recorded), sleeps)
		require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go."}))
		d := inTime(t, recorded.Bytes(), replay.Live{Config: agent(func() {}), Seams: []string{replay.Executor}})
		require.Nil(t, d, "%s\n%s", d, recorded.String())
	}
}

// Code that reads an answer piece by piece, and stores records between the pieces, has begun no
// goroutine; nor has a tool that uses values from its construction.
func TestWhoDoesAllInTurnIsBesideNobody(t *testing.T) {
	t.Parallel()
	note := func(ctx context.Context, dc *adk.DispatchContext, id string) error {
		return notes(ctx, dc, id, "a piece")
	}
	recorded := byTheMachine(t, executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for piece, err := range adk.AskStream(ctx, "model", "hello", func(_ context.Context, _ string, piece func(string) error) error {
			return errors.Join(piece("m1"), piece("m2"))
		}) {
			if err = errors.Join(err, note(ctx, dc, piece)); err != nil {
				return err
			}
		}
		outer := tracetest.Must(adk.NewTool(adk.ToolInit{Name: "outer", Description: "Notes.", InputSchema: []byte(`{"type":"object"}`),
			Handler: func(ctx context.Context, _ *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
				return adk.Text("noted"), note(ctx, dc, "m3")
			}}))
		_, err := dc.Execute(ctx, outer, map[string]any{})
		return errors.Join(err, dc.Ack())
	}))
	r, err := trace.NewReader(bytes.NewReader(recorded))
	require.NoError(t, err)
	run, err := r.Rest()
	require.NoError(t, err)
	spanning := 0
	for _, c := range calls.Of(run).Calls {
		for _, s := range c.Steps {
			if s.Done != nil {
				spanning++
				assert.False(t, s.IsBesideOthers(), "%s", s.X.Kind)
			}
		}
	}
	assert.Greater(t, spanning, 4)
}

// A sleep on a goroutine that nobody waits for ended with its context in the recorded run. In the
// new run it need not end before the run is over.
func TestASleepThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	agent := func(comes bool, slept <-chan struct{}) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			late, over := context.WithCancel(ctx)
			t.Cleanup(over)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = adk.Sleep(late, time.Hour)
			}()
			said, err := adk.Ask(ctx, "model", "hello", func(context.Context, string) (string, error) { <-slept; return "hi", nil })
			if comes {
				over()
				<-ended
			}
			return errors.Join(err, dc.Stash().Set("said", said), dc.Ack())
		})
	}
	for range 5 {
		sleeps := &ended{long: map[int]time.Duration{}, all: make(chan struct{}, 1)}
		var recorded bytes.Buffer
		config := agent(true, sleeps.all)
		config.Probe = adk.MultiProbe(replay.Record(&recorded), sleeps)
		require.NoError(t, tracetest.Must(adk.NewRunner(config)).Run(t.Context(), adk.RawTurn{SystemPrompt: "Go."}))
		d := inTime(t, recorded.Bytes(), replay.Live{Config: agent(false, nil), Seams: []string{replay.Executor}})
		require.Nil(t, d, "%s\n%s", d, recorded.String())
	}
}
