package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/livetest"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/scenarios"
)

// rerecorded returns the new trace of a turn and the report on it.
func rerecorded(t *testing.T, recorded []byte, live replay.Live, options ...trace.Options) (*replay.Report, []byte) {
	t.Helper()
	var again bytes.Buffer
	report, err := replay.Rerecord(t.Context(), bytes.NewReader(recorded), &again, live, options...)
	require.NoError(t, err)
	return report, again.Bytes()
}

func sameWhenVerified(t *testing.T, trace []byte, live replay.Live) {
	t.Helper()
	report, err := replay.Verify(t.Context(), bytes.NewReader(trace), live)
	require.NoError(t, err)
	assert.Nil(t, report.Divergence, "%s", report)
}

// If nothing in a turn has changed, the new trace equals the old one byte for byte. Whatever an
// acceptance changes is therefore due to the change.
func TestRerecordOfTheSame(t *testing.T) {
	for _, s := range scenarios.All() {
		t.Run(s.Name, func(t *testing.T) {
			want, err := fixtures.Traces.ReadFile(s.Name + ".jsonl")
			require.NoError(t, err)
			report, got := rerecorded(t, want, replay.Live{})
			assert.Nil(t, report.Divergence)
			assert.Equal(t, string(want), string(got))
		})
	}
}

// The new trace holds what the live seams do,
// and then verifies both with them and without.
func TestRerecordWithLiveSeams(t *testing.T) {
	recorded := livetest.NewDesk().Record(t)
	changed := livetest.NewDesk()
	changed.Prompt = strings.Replace(changed.Prompt, "Be brief", "Be kind", 1)
	changed.StashKey = "client.name"
	live := replay.Live{Config: changed.Config(), Turn: changed.Turn(), Seams: []string{replay.Prompt, replay.Middleware}}

	report, got := rerecorded(t, recorded, live, trace.Options{File: "desk.jsonl"})
	require.NotNil(t, report.Divergence)
	assert.Equal(t, replay.ChangedInput, report.Divergence.Class)
	assert.Equal(t, "desk.jsonl", report.Divergence.Trace)
	assert.Positive(t, report.Divergence.After.Follow+report.Divergence.After.Own, "what else is other is told too")
	assert.Contains(t, string(got), "Be kind")
	assert.Contains(t, string(got), "client.name")
	sameWhenVerified(t, got, replay.Live{})
	sameWhenVerified(t, got, live)

	report, _ = rerecorded(t, got, live)
	assert.Nil(t, report.Divergence)
}

// The new trace is the same whichever strand is faster: its order is the recorded one where that
// still applies, and otherwise the order of the strands.
func TestRerecordIsTheSameInEveryOrder(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	const n = 4
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(parallelAgent(n, func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		return answer(args), nil
	}), replay.Record(&trace))))
	require.NoError(t, runner.Run(t.Context(), adk.RawTurn{SystemPrompt: "Ask."}))

	again := func(handler adk.ToolHandler) string {
		_, got := rerecorded(t, trace.Bytes(), replay.Live{Config: parallelAgent(n, handler), Seams: []string{replay.ToolCode}, Writes: true})
		return string(got)
	}
	var noted, slept string
	permutations(n, func(order []int) {
		assert.Equal(t, trace.String(), again(inTurn(order, nil)))
		got := again(inTurn(order, func(_ context.Context, dc *adk.DispatchContext, args map[string]any) {
			dc.Helpers().Log(adk.LevelInfo, "tool", fmt.Sprint("asked ", args["n"]), nil)
		}))
		noted = livetest.OrElse(noted, got)
		assert.Equal(t, noted, got, "%v", order)
	})
	assert.Equal(t, n, strings.Count(noted, `"kind":"report-log"`))
	for range 20 {
		got := again(func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			return answer(args), dc.Sleep(ctx, time.Duration(9-args["n"].(float64))*time.Minute)
		})
		slept = livetest.OrElse(slept, got)
		assert.Equal(t, slept, got)
	}
	assert.Equal(t, n, strings.Count(slept, `"kind":"timer"`))
}

// inTurn is a handler of a tool whose calls end in the given order, each after the one before it,
// unseen by the engine.
func inTurn(order []int, first func(context.Context, *adk.DispatchContext, map[string]any)) adk.ToolHandler {
	ended, end := make([]chan struct{}, len(order)), make([]func(), len(order))
	for i := range ended {
		ended[i] = make(chan struct{})
		end[i] = sync.OnceFunc(func() { close(ended[i]) }) // they are in turn in the first run
	}
	return func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
		me := int(args["n"].(float64))
		if first != nil {
			first(ctx, dc, args)
		}
		if at := slices.Index(order, me); at > 0 {
			<-ended[order[at-1]]
		}
		end[me]()
		return answer(args), nil
	}
}

// A recording from production, whose strands really ran concurrently, is not changed.
func TestRerecordOfFreeStrands(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{false, true} {
		for range 5 {
			trace := recordFreely(t, cancelled)
			report, got := rerecorded(t, trace, replay.Live{})
			assert.Nil(t, report.Divergence, "%s", report)
			assert.Equal(t, string(trace), string(got))
		}
	}
}

// DET-2: a strand begins at its recorded place, even behind a dispatch that its middleware called
// first: the beginning of either is a call below that middleware.
func TestRerecordOfAStrandBehindADispatch(t *testing.T) {
	acks := adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }}
	config := adk.Config{
		Executor: acks, Storage: noStorage,
		TurnInput: []adk.TurnMiddleware{{Name: "asks", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
			_, err := tc.Fork(ctx, "watch", func(context.Context, *adk.TurnContext) error { return nil })
			if err != nil {
				return err
			}
			_, err = adk.Dispatch(ctx, adk.DispatchInput{Name: "planner", Source: tc, Executor: acks})
			next(ctx)
			return err
		}}},
	}
	forkerFirst := func() func(fakes.Choice) int { return func(fakes.Choice) int { return 0 } }
	scheduler := fakes.NewScheduler(forkerFirst)
	config.Clock, config.Probe = scheduler.Clock(), scheduler
	var trace bytes.Buffer
	require.NoError(t, tracetest.Must(adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace)))).Run(t.Context(), rawTurn))
	_, planner, _ := strings.Cut(trace.String(), `"seam":"dispatch/planner"`)
	require.Contains(t, planner, `"seam":"strand/watch"`, "it begins behind the dispatch")
	for range 20 { // the strand reaches its beginning at any time
		report, again := rerecorded(t, trace.Bytes(), replay.Live{})
		assert.Nil(t, report.Divergence, "%s", report)
		assert.Equal(t, trace.String(), string(again))
	}
}

// DET-2, ABT-7, ABT-10, GAT-3: crossings that the engine emits by itself also keep their place
// among the strands.
func TestRerecordKeepsTheOrderOfStrands(t *testing.T) {
	gate := adk.Gate{ID: "g", Reason: "Go on?", Schema: []byte(`{"type":"boolean"}`), Timeout: time.Minute}
	forks := func(ctx context.Context, dc *adk.DispatchContext, does func(dc *adk.DispatchContext) error) {
		tracetest.Must(dc.Fork(ctx, "beside", func(_ context.Context, dc *adk.DispatchContext) error { return does(dc) }))
	}
	aborts := func(dc *adk.DispatchContext) error { return dc.Abort(errors.New("enough")) }
	for what, run := range map[string]func(ctx context.Context, dc *adk.DispatchContext, leave func()) error{
		"a gate that a cancel closes": func(ctx context.Context, dc *adk.DispatchContext, leave func()) error {
			forks(ctx, dc, func(*adk.DispatchContext) error { leave(); return nil })
			_, err := dc.WaitFor(ctx, gate)
			return err
		},
		"a gate that an abort closes": func(ctx context.Context, dc *adk.DispatchContext, _ func()) error {
			forks(ctx, dc, aborts)
			_, err := dc.WaitFor(ctx, gate)
			return err
		},
	} {
		for _, strand := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, strand %d first", what, strand), func(t *testing.T) {
				trace := recordedInOrder(t, strand, run)
				for range 5 {
					report, again := rerecorded(t, trace, replay.Live{})
					assert.Nil(t, report.Divergence, "%s", report)
					require.Equal(t, string(trace), string(again))
				}
			})
		}
	}
}

// recordedInOrder records a turn in which the strand first goes first wherever it can. A listener resolves each gate.
func recordedInOrder(t *testing.T, first int, run func(ctx context.Context, dc *adk.DispatchContext, leave func()) error) []byte {
	t.Helper()
	ctx, leave := context.WithCancelCause(t.Context())
	scheduler := fakes.NewScheduler(fakes.Pick(func(c fakes.Choice) int { return max(slices.Index(c.Runnable, first), 0) }))
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(adk.Config{
		Clock: scheduler.Clock(), Probe: scheduler, Storage: noStorage,
		Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return errors.Join(run(ctx, dc, func() { leave(errors.New("the user left")) }), dc.Ack())
		}},
	}, replay.Record(&trace))))
	runner.Observe(adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("ann", "yes") }})
	require.NoError(t, runner.Run(ctx, rawTurn))
	return trace.Bytes()
}

// ABT-7: if a run was aborted between two steps of the engine in one strand, the second step is
// not taken in the new run either, however long the abort takes. With live seams, strands run
// freely, and the second step waits for the abort.
func TestRerecordOfAStepThatAnAbortForestalled(t *testing.T) {
	thorough.Long(t)
	for what, abort := range map[string]func(*adk.DispatchContext, func()){
		"cancel":  func(_ *adk.DispatchContext, leave func()) { leave() },
		"aborted": func(dc *adk.DispatchContext, _ func()) { _ = dc.Abort(errors.New("enough")) },
	} {
		t.Run(what, func(t *testing.T) {
			trace, config := recordedForestalled(t, abort)
			assert.NotContains(t, string(trace), `"seam":"tool/slow"`)
			for range 40 {
				report, again := rerecorded(t, trace, replay.Live{})
				assert.Nil(t, report.Divergence, "%s", report)
				assert.Equal(t, string(trace), string(again))
				// Code that may write runs only once, so no second run in the recorded order can repair the first.
				sameWhenVerified(t, trace, replay.Live{Config: config, Seams: []string{replay.Middleware}, Writes: true})
			}
		})
	}
}

// recordedForestalled records a turn that is aborted, behind a gate, when the tool of a strand is
// about to start. It also returns the turn's config.
func recordedForestalled(t *testing.T, abort func(dc *adk.DispatchContext, leave func())) ([]byte, adk.Config) {
	t.Helper()
	ctx, leave := context.WithCancelCause(t.Context())
	held := &holding{kind: adk.KindToolExecutionStart, came: make(chan struct{}), let: make(chan struct{})}
	slow := fakes.NewTool("slow", "Takes a while.", "done").Tool()
	config := adk.Config{
		Storage: noStorage, Clock: fakes.NewClock(), IDs: fakes.NewIDs(), Tools: []*adk.Tool{slow},
		Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			_, err := dc.Fork(ctx, "worker", func(ctx context.Context, dc *adk.DispatchContext) error {
				_, err := dc.Execute(ctx, slow, map[string]any{})
				return err
			})
			<-held.came
			_, gateErr := dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "Go on?"})
			abort(dc, func() { leave(errors.New("the user left")) })
			h.Log(adk.LevelInfo, "note", "tells of it", nil)
			close(held.let)
			return errors.Join(err, gateErr)
		}},
		DispatchInput: []adk.DispatchMiddleware{{Name: "pass", Run: func(ctx context.Context, _ *adk.DispatchContext, next adk.Next) error {
			next(ctx)
			return nil
		}}},
	}
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	config.Probe = adk.MultiProbe(held, recorder)
	runner := tracetest.Must(adk.NewRunner(config))
	runner.Observe(adk.Observability{TurnGateOpen: func(e adk.TurnGateOpen) { _, _ = e.Gate.Resolve("ann", true) }})
	require.NoError(t, runner.Run(ctx, rawTurn))
	require.NoError(t, recorder.Err())
	return trace.Bytes(), config
}

// holding is a probe that holds back the first step of a kind until it is released.
type holding struct {
	kind      adk.Kind
	came, let chan struct{}
	once      sync.Once
}

func (h *holding) Observe(adk.RunInfo) adk.Observer { return h }

func (h *holding) Begin(step adk.Step) {
	if step.Kind == h.kind {
		h.once.Do(func() { close(h.came) })
		<-h.let
	}
}

func (*holding) Park(int, func() bool) {}

func (*holding) Resume(int) {}

func (*holding) Tell(*adk.Crossing) {}

// A turn that asks for something that was not
// recorded is not made up: it must be recorded anew.
func TestRerecordWithoutAnAnswer(t *testing.T) {
	trace := livetest.NewDesk().Record(t)
	for name, change := range map[string]func(*livetest.Desk){
		"a retry":        func(d *livetest.Desk) { d.Retry = true },
		"an extra store": func(d *livetest.Desk) { d.StoreTwice = true },
	} {
		changed := livetest.NewDesk()
		change(&changed)
		live := replay.Live{Config: changed.Config(), Turn: changed.Turn(), Seams: []string{replay.Executor}}
		assert.Contains(t, refusedToRerecord(t, trace, live), "the recording has no answer for crossing ", name)
	}
}

// refusedToRerecord returns the reason why there is no new trace, and checks that nothing was written.
func refusedToRerecord(t *testing.T, recorded []byte, live replay.Live, options ...trace.Options) string {
	t.Helper()
	var again bytes.Buffer
	_, err := replay.Rerecord(t.Context(), bytes.NewReader(recorded), &again, live, options...)
	require.Error(t, err)
	assert.Empty(t, again.Bytes())
	assert.Equal(t, strings.Contains(err.Error(), "has no answer for"), errors.Is(err, replay.ErrUnanswered), "by its kind, too")
	return err.Error()
}

// PIP-11: a goroutine that ends itself after the run was cancelled does not cancel it again, also
// behind a contained failure, which no crossing asks for before it is emitted.
func TestRerecordOfACancelAndAGoexit(t *testing.T) {
	for what, contained := range map[string]func(*adk.DispatchContext, adk.Next){
		"second next": func(_ *adk.DispatchContext, next adk.Next) { next(context.Background()) },
		"listener of log": func(dc *adk.DispatchContext, _ adk.Next) {
			dc.Helpers().Log(adk.LevelInfo, "note", "loud", nil)
		},
	} {
		t.Run(what, func(t *testing.T) {
			trace := recordedExit(t, contained)
			assert.Contains(t, string(trace), `"kind":"contained","in":3,"what":"`+what+`"`)
			assert.Contains(t, string(trace), `"by":"outside"`)
			report, again := rerecorded(t, trace, replay.Live{})
			assert.Nil(t, report.Divergence, "%s", report)
			assert.Equal(t, string(trace), string(again))
		})
	}
}

// recordedExit records a turn whose middleware ends its goroutine after its caller has left,
// behind a contained failure.
func recordedExit(t *testing.T, contained func(*adk.DispatchContext, adk.Next)) []byte {
	t.Helper()
	ctx, leave := context.WithCancelCause(t.Context())
	config := adk.Config{
		Executor: adk.Executor{Name: "model", Run: func(context.Context, *adk.DispatchContext, *adk.Helpers) error { return nil }},
		Storage:  noStorage,
		DispatchInput: []adk.DispatchMiddleware{{Name: "leaves", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
			next(ctx)
			contained(dc, next)
			leave(errors.New("the user left"))
			runtime.Goexit()
			return nil
		}}},
	}
	var trace bytes.Buffer
	runner := tracetest.Must(adk.NewRunner(fakes.Deterministic(config, replay.Record(&trace))))
	runner.Observe(adk.Observability{Log: func(adk.LogEvent) { panic("the listener fell over") }})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = runner.Run(ctx, rawTurn)
	}()
	<-done
	return trace.Bytes()
}

// Live code that behaves differently in each run has no trace that could be accepted.
func TestRerecordOfCodeThatIsNotTheSameTwice(t *testing.T) {
	trace := livetest.NewDesk().Record(t)
	changed := livetest.NewDesk()
	changed.Clockless = true
	live := replay.Live{Config: changed.Config(), Turn: changed.Turn(), Seams: []string{replay.Executor}, Twice: true}
	assert.Contains(t, refusedToRerecord(t, trace, live), "the recording has no answer")

	runs := 0
	changed = livetest.NewDesk()
	config := changed.Config()
	hydrate := config.TurnInput[0].Run
	config.TurnInput[0].Run = func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		runs++
		if err := tc.Stash().Set("runs", runs); err != nil {
			return err
		}
		return hydrate(ctx, tc, next)
	}
	live = replay.Live{Config: config, Turn: changed.Turn(), Seams: []string{replay.Middleware}}
	assert.Contains(t, refusedToRerecord(t, trace, live), "the new trace would diverge too: ")
}

// If a new recording would lose something, the old one is kept.
func TestRerecordLosesNothing(t *testing.T) {
	recorded, err := fixtures.Traces.ReadFile("tool-round-trip.jsonl")
	require.NoError(t, err)

	noted := changedTrace(t, recorded, func(recorded *trace.Trace) {
		recorded.Lines()[4].Extra = []wire.Member{{Name: "note", Value: []byte(`"mine"`)}}
	})
	assert.Equal(t, `replay: crossing 5 has a member "note", which this version does not know and would lose`, refusedToRerecord(t, noted, replay.Live{}))

	header := changedTrace(t, recorded, func(recorded *trace.Trace) {
		recorded.Header.Extra = []wire.Member{{Name: "build", Value: []byte(`"b7"`)}}
		recorded.FooterExtra = []wire.Member{{Name: "redacted", Value: []byte(`3`)}}
	})
	_, again := rerecorded(t, header, replay.Live{})
	assert.Equal(t, string(header), string(again))

	live := replay.Live{Turn: adk.RawTurn{SystemPrompt: "Be kind."}, Seams: []string{replay.Prompt}}
	assert.Contains(t, refusedToRerecord(t, header, live), "it is redacted, and what live seams say is not")
}

// Text of live code in the place of a secret is in no new recording: also if the rules know the
// secret by a path alone, whose seam is scripted.
func TestRerecordWritesNoSecret(t *testing.T) {
	const secret = "correct-horse"
	byPath := &redact.Rules{Paths: []string{"stash.password"}}
	raw := adk.RawTurn{SystemPrompt: "The key is " + secret + ".", Stash: map[string]any{"password": secret}}
	var recorded bytes.Buffer
	executor := adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }}
	runner, err := adk.NewRunner(fakes.Deterministic(adk.Config{Executor: executor, Storage: fakes.NoOpStorage()}, replay.Record(&recorded, replay.RecordOptions{Redact: byPath})))
	require.NoError(t, err)
	require.NoError(t, runner.Run(t.Context(), raw))
	require.NotContains(t, recorded.String(), secret)

	live := replay.Live{Turn: raw, Seams: []string{replay.Prompt}, Redact: byPath}
	assert.Equal(t, "replay: crossing 1: live code says in the clear what is [redacted:password:1] in the recording, and Live.Redact does not take it out: "+
		"a pattern finds it wherever it is said, a path where the seam that names it is live", refusedToRerecord(t, recorded.Bytes(), live))

	// The value of Live.Turn at the path is known, live or not; otherwise any new word may be the secret.
	inOtherWords := adk.RawTurn{SystemPrompt: "Open with " + secret + ", kindly."}
	live.Turn.SystemPrompt = inOtherWords.SystemPrompt
	assert.Contains(t, refusedToRerecord(t, recorded.Bytes(), live), "in the clear what is [redacted:password:1] in the recording")
	live.Turn = adk.RawTurn{SystemPrompt: raw.SystemPrompt}
	assert.Contains(t, refusedToRerecord(t, recorded.Bytes(), live), "in the clear what is [redacted:password:1] in the recording", "it stands in its place")
	live.Turn = inOtherWords
	refused := "replay: crossing 1: live code says in other words what had [redacted:password:1] in the recording, and may say that in the clear: " +
		"Live.Redact takes it out of nothing that live code says: a pattern finds it wherever it is said, a path where the seam that names it is live"
	assert.Equal(t, refused, refusedToRerecord(t, recorded.Bytes(), live))
	live.Redact = &redact.Rules{Patterns: []redact.Pattern{{Kind: "password", Expr: "another-.*"}}}
	assert.Equal(t, refused, refusedToRerecord(t, recorded.Bytes(), live), "the pattern does not find it")

	live.Redact = &redact.Rules{Patterns: []redact.Pattern{{Kind: "password", Expr: secret}}}
	_, again := rerecorded(t, recorded.Bytes(), live)
	assert.Contains(t, string(again), "Open with [redacted:password:")
	assert.NotContains(t, string(again), secret)
	live.Turn = raw
	_, again = rerecorded(t, recorded.Bytes(), live)
	assert.NotContains(t, string(again), secret)
	live.Redact, live.Seams = byPath, []string{replay.Prompt, replay.Stash}
	_, again = rerecorded(t, recorded.Bytes(), live)
	assert.NotContains(t, string(again), secret)
	live.Turn.SystemPrompt = "There is no key."
	live.Seams = []string{replay.Prompt}
	_, again = rerecorded(t, recorded.Bytes(), live)
	assert.Contains(t, string(again), "There is no key.")
}

func changedTrace(t *testing.T, recorded []byte, change func(*trace.Trace)) []byte {
	t.Helper()
	read := tracetest.Must(trace.Read(bytes.NewReader(recorded)))
	change(read)
	var file bytes.Buffer
	_, err := read.WriteTo(&file)
	require.NoError(t, err)
	return file.Bytes()
}

// If another request is made, the pieces of its answer keep their times and their place among the
// operations of other strands: the new trace differs only in the request.
func TestRerecordKeepsTheTimesOfPieces(t *testing.T) {
	asking := func(what string) adk.Config {
		ask := func(ctx context.Context, dc *adk.DispatchContext) error {
			for _, err := range adk.AskStream(ctx, "model", what, func(_ context.Context, _ string, yield func(string) error) error {
				return errors.Join(yield("a"), yield("b"), yield("c"))
			}) {
				if err != nil {
					return err
				}
			}
			return nil
		}
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			one, two := tracetest.Must(dc.Fork(ctx, "one", ask)), tracetest.Must(dc.Fork(ctx, "two", ask))
			return errors.Join(one.Wait(), two.Wait(), ask(ctx, dc), dc.Ack())
		})
	}
	recorded := changedTrace(t, turnOf(t, asking("Tell me of Oslo."), adk.RawTurn{SystemPrompt: "Ask."}), func(recorded *trace.Trace) {
		lines := recorded.Lines()
		for i := range lines {
			lines[i].At = lines[0].At.Add(time.Duration(i) * time.Second)
		}
	})
	was := tracetest.Must(trace.Read(bytes.NewReader(recorded))).Lines()
	for range 5 {
		_, made := rerecorded(t, recorded, replay.Live{Config: asking("Tell me about Oslo."), Seams: []string{replay.Executor}})
		is := tracetest.Must(trace.Read(bytes.NewReader(made))).Lines()
		require.Len(t, is, len(was))
		for i := range was {
			assert.Equal(t, []any{was[i].Kind, was[i].Strand, was[i].At}, []any{is[i].Kind, is[i].Strand, is[i].At}, "crossing %d", i+1)
		}
	}
}

// If code now reaches a report later, the report keeps the time that the code got with its event:
// a message that is stored with that time is the same in the next replay. (DET-1)
func TestRerecordKeepsTheTimesOfReports(t *testing.T) {
	answering := func(pieceByPiece bool) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			show := func(text string, last bool) adk.MessageEvent { return tracetest.Must(h.ReportMessage("m", text, last)) }
			for piece, err := range adk.AskStream(ctx, "model", "What now?", func(_ context.Context, _ string, yield func(string) error) error {
				return errors.Join(yield("It "), yield("rains."))
			}) {
				if err != nil {
					return err
				}
				if pieceByPiece {
					show(piece, false)
				}
			}
			if !pieceByPiece {
				show("It rains.", false)
			}
			shown := show("", true)
			return errors.Join(dc.Messages().Store(ctx, tracetest.Must(adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleAssistant, Content: shown.Full,
				CreatedAt: shown.CreatedAt, UpdatedAt: shown.UpdatedAt}))), dc.Ack())
		})
	}
	recorded := byTheMachine(t, answering(true))
	live := replay.Live{Config: answering(false), Turn: adk.RawTurn{SystemPrompt: "Go."}, Seams: []string{replay.Executor}}
	_, made := rerecorded(t, recorded, live)
	sameWhenVerified(t, made, live)
}

// A new trace is compressed if the old one is.
func TestRerecordOfACompressedTrace(t *testing.T) {
	var packed bytes.Buffer
	hello, _ := scenarios.Named("hello")
	recorder := replay.Record(&packed, replay.RecordOptions{Compress: true})
	require.NoError(t, errors.Join(hello.Run(t.Context(), recorder), recorder.Err()))
	_, again := rerecorded(t, packed.Bytes(), replay.Live{})
	assert.Equal(t, packed.Bytes()[:4], again[:4])
	same := changedTrace(t, again, func(*trace.Trace) {})
	assert.Equal(t, string(tracetest.Must(fixtures.Traces.ReadFile("hello.jsonl"))), string(same))
}

// A trace that cannot be read to its end, or holds no turn, is a FormatError.
func TestRerecordOfADamagedTrace(t *testing.T) {
	recorded := tracetest.Must(fixtures.Traces.ReadFile("hello.jsonl"))
	lines := bytes.SplitAfter(recorded, []byte("\n"))
	for name, damaged := range map[string][]byte{
		"empty":     nil,
		"truncated": bytes.Join(lines[:10], nil),
		"by hand":   bytes.Replace(recorded, []byte(`"turn":"id-1"`), []byte(`"turn":"id-7"`), 1),
		"no turn":   changedTrace(t, recorded, func(recorded *trace.Trace) { recorded.SetLines(recorded.Lines()[1:2]) }),
	} {
		_, err := replay.Rerecord(t.Context(), bytes.NewReader(damaged), io.Discard, replay.Live{}, trace.Options{File: "a.jsonl"})
		var format *trace.FormatError
		assert.ErrorAs(t, err, &format, name)
	}
	newer := bytes.Replace(recorded, fmt.Appendf(nil, `"contract":%d`, trace.ContractRevision), []byte(`"contract":99`), 1)
	assert.Contains(t, refusedToRerecord(t, newer, replay.Live{}), "revision 99 of the contract, which is newer than this engine's 2")
}

func TestRerecordToAWriterThatFails(t *testing.T) {
	trace := tracetest.Must(fixtures.Traces.ReadFile("hello.jsonl"))
	_, err := replay.Rerecord(t.Context(), bytes.NewReader(trace), tracetest.FailingWriter{}, replay.Live{})
	assert.ErrorContains(t, err, "no space left")
	_, err = replay.Rerecord(t.Context(), bytes.NewReader(trace), io.Discard, replay.Live{Seams: []string{"executer/*x"}})
	assert.ErrorContains(t, err, "chooses nothing")
}

// Live code may say a secret of which the recording has nothing: the new recording has a placeholder
// for it, as the rules say, and no report prints it. Where nothing differs, the new recording is the
// old one, with the rules or without.
func TestRerecordWritesNoNewSecret(t *testing.T) {
	secret := "sk-live-" + strings.Repeat("z", 24)
	asking := func(prompt string) adk.Config {
		return executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if _, err := adk.Ask(ctx, "model", prompt, func(context.Context, string) (string, error) { return "fine", nil }); err != nil {
				return err
			}
			return dc.Ack()
		})
	}
	recorded := turnOf(t, asking("Be brief."), adk.RawTurn{SystemPrompt: "Help."})
	for _, more := range []replay.Live{{}, {Twice: true}, {Twice: true, Writes: true}} {
		more.Config, more.Seams, more.Redact = asking("Be brief, with the key "+secret+"."), []string{replay.Executor}, redact.UsualSecrets()
		report, again := rerecorded(t, recorded, more)
		assert.NotContains(t, string(again), secret)
		assert.Contains(t, string(again), "with the key [redacted:")
		assert.NotContains(t, report.String(), secret)
		report, err := replay.Verify(t.Context(), bytes.NewReader(again), more)
		require.NoError(t, err)
		assert.Nil(t, report.Divergence, "%s", report)
		assert.NotContains(t, report.String(), secret)
	}
	marked := changedTrace(t, recorded, func(read *trace.Trace) {
		read.FooterExtra = append(read.FooterExtra, trace.Member{Name: "ours", Value: []byte(`1`)})
	})
	_, again := rerecorded(t, marked, replay.Live{Config: asking("Be brief."), Seams: []string{replay.Executor}, Redact: redact.UsualSecrets(), Twice: true})
	assert.Equal(t, string(marked), string(again))
}
