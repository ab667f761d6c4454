package adk_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/allocs"
)

// probing is a turn that calls every method of a probe: it has operations, strands, sleeps,
// gates, and an abort at the end.
func probing() (adk.Config, adk.RawTurn) {
	config, raw := busy()
	config.Clock = &handClock{step: 1}
	inner := config.Executor.Run
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		s := must(dc.Fork(ctx, "s", func(ctx context.Context, dc *adk.DispatchContext) error {
			return dc.Messages().Store(ctx, message("m"))
		}))
		own, cancel := context.WithCancelCause(ctx)
		cancel(errBoom)
		return errors.Join(s.Wait(), ignore(dc.Sleep(own, time.Hour)), inner(ctx, dc, h))
	})
	config.TurnOutput[0] = turnStep("aborts", func(ctx context.Context, h adk.Handle, next adk.Next) error {
		_ = h.NewID()
		next(ctx)
		return errors.Join(h.Abort(errBoom), h.Stash().Set("after", h.Now().String()))
	})
	raw.Observability = settling(adk.Observability{})
	return config, raw
}

func ignore(error) error { return nil }

// hearing runs a turn and returns what its listeners received, with the times.
func hearing(t *testing.T, config adk.Config, raw adk.RawTurn) []any {
	t.Helper()
	var heard []any
	settle := raw.Observability.TurnGateOpen
	raw.Observability = adk.Observability{
		TurnGateOpen: func(e adk.TurnGateOpen) { settle(e); heard = append(heard, e.Origin, e.OpenedAt) },
		TurnStart:    func(e adk.TurnStart) { heard = append(heard, e) }, TurnEnd: func(e adk.TurnEnd) { heard = append(heard, e) },
		DispatchStart: func(e adk.DispatchStart) { heard = append(heard, e) },
		DispatchEnd:   func(e adk.DispatchEnd) { e.Error = nil; heard = append(heard, e) },
		IterationEnd:  func(e adk.IterationEnd) { heard = append(heard, e) }, IterationStart: func(e adk.IterationStart) { heard = append(heard, e) },
		TurnGateClosed:   func(e adk.TurnGateClosed) { heard = append(heard, e) },
		ToolExecutionEnd: func(e adk.ToolExecutionEnd) { heard = append(heard, e) }, Log: func(e adk.LogEvent) { heard = append(heard, e) },
	}
	raw.Functional = adk.Functional{Message: func(e adk.MessageEvent) { heard = append(heard, e) }}
	require.NoError(t, newRunner(t, config).Run(context.Background(), raw))
	return heard
}

// DET-1, DET-4: with a probe and without one, a turn has the same events with the same times and as
// many readings of the clock, also through an abort.
func TestProbeChangesNothing(t *testing.T) {
	config, raw := probing()
	quiet := hearing(t, config, raw)
	reads := config.Clock.(*handClock).reads

	config, raw = probing()
	rec := &recorder{}
	config.Probe = rec
	assert.Empty(t, cmp.Diff(quiet, hearing(t, config, raw)))
	assert.Equal(t, reads, config.Clock.(*handClock).reads)
	assert.LessOrEqual(t, reads, len(rec.crossings())+len(quiet), "DET-1: once per crossing")
	assert.Contains(t, rec.all(), "= cancel abort")
}

// DET-4: a probe that panics in any of its methods is dropped and disturbs nothing.
func TestProbesThatPanic(t *testing.T) {
	config, raw := probing()
	quiet := hearing(t, config, raw)
	for name, rec := range map[string]*recorder{
		"Begin":  {begin: func(adk.Step) { panic("begin") }},
		"Park":   {park: func(int, func() bool) { panic("park") }},
		"Resume": {resume: func(int) { panic("resume") }},
		"Tell":   {tell: func(*adk.Crossing) { panic("tell") }},
		"Tell of a cancel": {tell: func(x *adk.Crossing) {
			if x.Kind == adk.KindCancel {
				panic("tell")
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			config, raw := probing()
			config.Probe = rec
			assert.Empty(t, cmp.Diff(quiet, hearing(t, config, raw)))

			// Next to another probe only the one that panics is dropped.
			config, raw = probing()
			beside := &recorder{}
			config.Probe = adk.MultiProbe(rec, beside)
			assert.Empty(t, cmp.Diff(quiet, hearing(t, config, raw)))
			assert.Equal(t, "< run ok", beside.all()[len(beside.all())-1])
		})
	}
	for name, probe := range map[string]adk.Probe{"Observe": panickyProbe{}, "no observer": noObserver{}} {
		t.Run(name, func(t *testing.T) {
			config, raw := probing()
			config.Probe = probe
			assert.Empty(t, cmp.Diff(quiet, hearing(t, config, raw)))

			beside := &recorder{}
			config, raw = probing()
			config.Probe = adk.MultiProbe(probe, beside)
			assert.Empty(t, cmp.Diff(quiet, hearing(t, config, raw)))
			assert.NotEmpty(t, beside.all())
		})
	}
}

type panickyProbe struct{}

func (panickyProbe) Observe(adk.RunInfo) adk.Observer { panic("observe") }

type noObserver struct{}

func (noObserver) Observe(adk.RunInfo) adk.Observer { return nil }

// DET-4: several probes are called in their order; MultiProbe without any probe is nil.
func TestMultiProbe(t *testing.T) {
	assert.Nil(t, adk.MultiProbe())
	assert.Nil(t, adk.MultiProbe(nil, nil))
	log := &notes{}
	config := newConfig()
	config.Probe = adk.MultiProbe(
		&recorder{tell: func(x *adk.Crossing) { log.add("first " + x.Kind.String()) }}, nil,
		&recorder{tell: func(x *adk.Crossing) { log.add("second " + x.Kind.String()) }})
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	assert.Equal(t, []string{"first call", "second call", "first turnStart", "second turnStart"}, log.all()[:4])
}

// adding is a probe that adds the number of the call to the contexts of user code.
type adding struct {
	recorder
	key   any
	given context.Context // the context of the run
	panic bool
}

func (a *adding) Observe(info adk.RunInfo) adk.Observer {
	a.recorder.Observe(info)
	return a
}

func (a *adding) Context(call int, beneath context.Context) context.Context {
	switch {
	case a.panic:
		panic("context")
	case call == 0:
		a.given = beneath
		return nil
	}
	return context.WithValue(beneath, a.key, call)
}

// DET-4, WLD-1: an observer may get the context of the run, and may add values to the contexts of
// user code, alone and together with others.
func TestProbeOfContexts(t *testing.T) {
	type key struct{}
	type beside struct{}
	for name, probe := range map[string]func(*adding) adk.Probe{
		"alone": func(a *adding) adk.Probe { return a },
		"beside others": func(a *adding) adk.Probe {
			return adk.MultiProbe(noObserver{}, &adding{key: beside{}}, a, &recorder{}, &adding{key: key{}, panic: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			config, a, seen := newConfig(), &adding{key: key{}}, map[string]any{}
			config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				call, _ := dc.Where()
				seen["executor"] = call == ctx.Value(key{})
				must(dc.Execute(ctx, tool("look", func(ctx context.Context, dc *adk.DispatchContext, _ map[string]any) (adk.ToolResult, error) {
					call, _ := dc.Where()
					seen["tool"], seen["run"] = call == ctx.Value(key{}), ctx.Value(beside{}) != nil
					return adk.Text("seen"), nil
				}), "{}"))
				return dc.Ack()
			})
			config.Probe = probe(a)
			ctx := context.WithValue(context.Background(), beside{}, "given")
			require.NoError(t, newRunner(t, config).Run(ctx, hello))
			assert.Equal(t, map[string]any{"executor": true, "tool": true, "run": true}, seen)
			assert.Equal(t, ctx, a.given)
			assert.Equal(t, "< run ok", a.all()[len(a.all())-1])
		})
	}
}

// DET-4: an observer that panics when it should add values is dropped, and user code gets the
// context without them.
func TestPanicOfContexts(t *testing.T) {
	config, a := newConfig(), &adding{panic: true}
	var given context.Context
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		given = ctx
		return dc.Ack()
	})
	config.Probe = a
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	assert.True(t, adk.HasHandle(given))
	assert.NotPanics(t, func() { given.Err() })
	assert.Empty(t, a.all(), "it is told nothing")
}

// DET-4: what a probe learns about the seams.
func TestRunInfo(t *testing.T) {
	config, rec := newConfig(), &recorder{}
	for _, p := range pipelines {
		p.put(&config, p.label+"1", onward)
		p.put(&config, p.label+"2", onward)
	}
	config.WriteBehind = true
	runner := newRunner(t, watchedBy(config, rec))
	require.NoError(t, runner.Run(context.Background(), hello))
	assert.Empty(t, cmp.Diff(adk.RunInfo{
		Executor: "model", WriteBehind: true,
		TurnInput: []string{"turn-input1", "turn-input2"}, TurnOutput: []string{"turn-output1", "turn-output2"},
		DispatchInput: []string{"dispatch-input1", "dispatch-input2"}, DispatchOutput: []string{"dispatch-output1", "dispatch-output2"},
	}, rec.info))
}

// DET-4: crossings are numbered without a gap, calls form a closed tree, the two lines of an
// operation match, and a crossing has only the fields of its kind.
func TestCrossingsAreWellFormed(t *testing.T) {
	config, raw := probing()
	rec := &recorder{}
	config.Probe = rec
	require.NoError(t, newRunner(t, config).Run(context.Background(), raw))
	open, ops := map[int]bool{0: true}, map[int]adk.Kind{}
	for i, x := range rec.crossings() {
		assert.Equal(t, i+1, x.Seq)
		assert.False(t, x.At.IsZero())
		assert.True(t, open[x.Call], "line %d belongs to a call that is open", x.Seq)
		switch {
		case x.Kind == adk.KindCall:
			open[x.ID] = true
		case x.Kind == adk.KindReturn:
			assert.True(t, open[x.ID])
			delete(open, x.ID)
		case x.Phase == adk.Begin:
			ops[x.Op] = x.Kind
		case x.Phase == adk.Done:
			assert.Equal(t, ops[x.Op], x.Kind)
			delete(ops, x.Op)
		}
		assert.Equal(t, x.Kind.Spanning(), x.Phase != adk.Whole)
		onlyItsFields(t, x)
	}
	assert.Equal(t, map[int]bool{0: true}, open)
	assert.Empty(t, ops)
}

func onlyItsFields(t *testing.T, x adk.Crossing) {
	value := reflect.ValueOf(x)
	for f := adk.FieldID; f.String() != "unknown"; f++ {
		used := slices.ContainsFunc(x.Kind.Fields(x.Phase), func(u adk.FieldUse) bool { return u.Field == f })
		if !used && f != adk.FieldPayload {
			assert.True(t, value.FieldByName(f.String()).IsZero(), "%s %v has %s", x.Kind, x.Phase, f)
		}
	}
	if x.Kind.Class() == adk.ClassEvent {
		assert.IsType(t, x.Kind.Payload(), x.Payload, x.Kind.String())
	}
}

// DET-4: the table of kinds gives names and classes, and finds a kind by its name.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range adk.Kinds() {
		assert.False(t, seen[k.String()], k.String())
		seen[k.String()] = true
		assert.Equal(t, k, adk.KindByName(k.String()))
		assert.NotZero(t, k.Class())
		assert.False(t, k.Spanning() && k.Class() != adk.ClassOperation)
		assert.Equal(t, k.Class() == adk.ClassEvent, k.Payload() != nil, k.String())
		for _, phase := range []adk.Phase{adk.Whole, adk.Begin, adk.Done} {
			for _, use := range k.Fields(phase) {
				assert.NotEqual(t, "unknown", use.Field.String())
				assert.NotEmpty(t, use.Label)
				assert.Equal(t, k.Spanning(), phase != adk.Whole, k.String())
			}
		}
	}
	assert.Zero(t, adk.KindByName("none"))
	assert.Equal(t, []string{"whole", "begin", "done", "unknown", "unknown"},
		[]string{adk.Whole.String(), adk.Begin.String(), adk.Done.String(), adk.Phase(3).String(), adk.Phase(255).String()})
	assert.Len(t, seen, len(adk.Kinds()))
}

// DET-4: without a probe an operation that would make a crossing allocates nothing.
func TestNoProbeNoAllocations(t *testing.T) {
	m, raw := message("m"), hello
	raw.Functional.Message = func(adk.MessageEvent) {}
	raw.Observability.Log = func(adk.LogEvent) {}
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		must(dc.Messages().Add(m))
		must(h.ReportMessage("m", "", false))
		for name, op := range map[string]func(){
			"now":            func() { dc.Now() },
			"new id":         func() { dc.NewID() },
			"add":            func() { _, _ = dc.Messages().Add(m) },
			"remove":         func() { _, _ = dc.Messages().Remove("none") },
			"register":       func() { _, _ = dc.Tools().Unregister("none") },
			"prune":          func() { _, _ = dc.Tools().PruneEphemeral() },
			"report message": func() { _, _ = h.ReportMessage("m", "", false) },
			"report thought": func() { _, _ = h.ReportThought("m", "", false) },
			"report call":    func() { _, _ = h.ReportToolCall("c", adk.ToolCallReport{Tool: "t"}) },
			"emit message":   func() { _ = dc.EmitMessage(adk.MessageEvent{ID: "m"}) },
			"emit thought":   func() { _ = dc.EmitThought(adk.ThoughtEvent{ID: "m"}) },
			"emit tool call": func() { _ = dc.EmitToolCall(adk.ToolCallEvent{ID: "c"}) },
			"log":            func() { h.Log(adk.LevelInfo, "k", "m", nil) },
		} {
			allocs.AtMost(t, 0, 100, op, name)
		}
		// A seam call and its handles share one allocation.
		fetch := func() { _, _ = dc.Messages().Fetch(ctx) }
		allocs.AtMost(t, 0, 100, fetch, "fetch")
		return dc.Ack()
	})
	config.IDs, config.Clock = constantID{}, constantClock{}
	config.Storage.Messages = &benchStore[*adk.Message]{}
	require.NoError(t, newRunner(t, config).Run(context.Background(), raw))
}

type constantID struct{}

func (constantID) NewID() string { return "id" }

type constantClock struct{}

func (constantClock) Now() time.Time { return noon }
func (constantClock) AfterFunc(time.Duration, func()) (stop func() bool) {
	return func() bool { return true }
}

// DET-6: an operation waits in the probe's Begin, without a lock held, and has no effect before Begin
// returns. Its crossing comes when the effect is there.
func TestBeginHoldsBack(t *testing.T) {
	var dc *adk.DispatchContext
	var held []bool
	config := executing(func(_ context.Context, own *adk.DispatchContext, _ *adk.Helpers) error {
		dc = own
		return errors.Join(dc.Stash().Set("k", 1), dc.Ack())
	})
	config.Probe = &recorder{begin: func(s adk.Step) {
		if s.Kind == adk.KindStash {
			held = append(held, dc.Stash().Has("k")) // no lock is held: reading is possible
			call, strand := dc.Where()
			assert.Equal(t, []int{call, strand}, []int{s.Call, s.Strand})
		}
	}}
	runTurn(t, config, hello)
	assert.Equal(t, []bool{false}, held)
}

// late calls operations on a handle that has ended, and returns their errors.
func late(dc *adk.DispatchContext) map[adk.Kind]error {
	ctx := context.Background()
	answers := map[adk.Kind]error{
		adk.KindStash: dc.Stash().Set("k", 1), adk.KindStore: dc.Messages().Store(ctx, message("m")),
		adk.KindMutate: dc.Messages().Mutate(ctx, message("m")), adk.KindDelete: dc.Messages().Delete(ctx, "m"),
		adk.KindAck: dc.Ack(), adk.KindNack: dc.Nack(errBoom), adk.KindAbort: dc.Abort(errBoom), adk.KindSleep: dc.Sleep(ctx, time.Hour),
		adk.KindEmitMessage: dc.EmitMessage(adk.MessageEvent{}), adk.KindEmitThought: dc.EmitThought(adk.ThoughtEvent{}),
		adk.KindEmitToolCall: dc.EmitToolCall(adk.ToolCallEvent{}), adk.KindRegister: dc.Tools().Register(tool("t", done)),
	}
	_, answers[adk.KindAdd] = dc.Messages().Add(message("m"))
	_, answers[adk.KindRemove] = dc.Messages().Remove("m")
	_, answers[adk.KindFetch] = dc.Messages().Fetch(ctx)
	_, answers[adk.KindRefresh] = dc.Instructions().Fetch(ctx)
	_, answers[adk.KindUnregister] = dc.Tools().Unregister("t")
	_, answers[adk.KindPrune] = dc.Tools().PruneEphemeral()
	_, answers[adk.KindExecute] = dc.Execute(ctx, tool("t", done), "{}")
	_, answers[adk.KindOnAck] = dc.OnAck("h", func(context.Context, *adk.DispatchContext) {})
	_, answers[adk.KindOpenMedia] = dc.OpenMedia(ctx, picture("p", bytesOf("")))
	_, answers[adk.KindWaitFor] = dc.WaitFor(ctx, adk.Gate{ID: "g", Reason: "r"})
	_, answers[adk.KindFork] = dc.Fork(ctx, "s", func(context.Context, *adk.DispatchContext) error { return nil })
	return answers
}

// DET-5: every operation on an ended handle is refused and recorded, and does nothing. After the run
// it is recorded nowhere, and does no harm.
func TestEndedHandles(t *testing.T) {
	store, rec, config := &book{}, &recorder{}, newConfig()
	var kept *adk.DispatchContext
	var tc *adk.TurnContext
	config.Storage, config.Probe = store.storage(), rec
	config.TurnInput = []adk.TurnMiddleware{{Name: "m", Run: func(ctx context.Context, own *adk.TurnContext, next adk.Next) error { tc = own; next(ctx); return nil }}}
	config.DispatchInput = []adk.DispatchMiddleware{{Name: "m", Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		kept = dc
		next(ctx)
		return nil
	}}}
	config.TurnOutput = []adk.TurnMiddleware{turnStep("late", func(ctx context.Context, _ adk.Handle, next adk.Next) error {
		before := len(rec.all())
		answers := late(kept)
		for kind, err := range answers {
			assert.ErrorIs(t, err, adk.E_CONTEXT_ENDED, kind.String())
			assert.Contains(t, rec.all()[before:], "= contained late "+kind.String())
		}
		assert.Zero(t, kept.Now())
		assert.Empty(t, kept.NewID())
		assert.Len(t, rec.all(), before+len(answers)+2, "nothing else was told")
		next(ctx)
		return nil
	})}
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	told := rec.all()
	assert.Equal(t, "< run ok", told[len(told)-1])
	rec.begin = func(adk.Step) { t.Error("an observer is asked nothing after its run") }
	for _, err := range late(kept) {
		assert.ErrorIs(t, err, adk.E_CONTEXT_ENDED)
	}
	assert.ErrorIs(t, tc.Abort(nil), adk.E_CONTEXT_ENDED)
	assert.True(t, tc.Aborted(), "its context has ended")
	assert.Equal(t, told, rec.all())
	assert.Empty(t, store.all())
}

// DET-8: a state is the digest of what is visible, at each place where states are recorded.
func TestStates(t *testing.T) {
	var want []adk.Digest
	see := func(h adk.Handle) {
		state := adk.StateDigest{Prompt: h.SystemPrompt().Digest(), Stash: adk.StashDigest(h.Stash().All())}
		*state.Of(adk.Instructions) = digestsOf(h.Instructions().All())
		*state.Of(adk.Messages) = digestsOf(h.Messages().All())
		*state.Of(adk.Memories) = digestsOf(h.Memories().All())
		*state.Of(adk.Retrievables) = digestsOf(h.Retrievables().All())
		*state.Of(adk.Thoughts) = digestsOf(h.Thoughts().All())
		*state.Of(adk.ToolCalls) = digestsOf(h.ToolCalls().All())
		*state.Of(adk.Tools) = digestsOf(h.Tools().All())
		want = append(want, state.Digest())
	}
	config, rec := newConfig(), &recorder{}
	config.Probe, config.Tools = rec, []*adk.Tool{tool("base", done)}
	config.TurnInput = []adk.TurnMiddleware{{Name: "fill", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		must(tc.Messages().Add(message("m")))
		must(tc.Memories().Add(memory("y")))
		require.NoError(t, tc.Stash().Set("a.b", []any{1}))
		next(ctx)
		return nil
	}}}
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		see(dc.Handle)
		if dc.Iteration() == 1 {
			return dc.Ack()
		}
		return errors.Join(dc.Thoughts().Store(ctx, thought("t")), dc.Messages().Delete(ctx, "m"), dc.Stash().Set("a.b", nil))
	})
	config.TurnOutput = []adk.TurnMiddleware{{Name: "see", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		see(tc.Handle)
		err := tc.Stash().Set("z", 1)
		next(ctx)
		see(tc.Handle)
		return err
	}}}
	raw := hello
	raw.Instructions = []string{"i"}
	require.NoError(t, newRunner(t, config).Run(context.Background(), raw))
	assert.Equal(t, want, statesOf(rec.crossings()))
	assert.Len(t, want, 4)
	for i, digest := range want {
		assert.NotContains(t, want[i+1:], digest, "each state is another")
	}
}

// DET-8: the state of a set that has grown is right, whatever was changed in it since the last state:
// records that were added, replaced in their places, or removed.
func TestStatesOfGrownSets(t *testing.T) {
	var want []adk.Digest
	config, rec := newConfig(), &recorder{}
	config.Probe = rec
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		state := adk.StateDigest{Prompt: dc.SystemPrompt().Digest()}
		*state.Of(adk.Messages) = digestsOf(dc.Messages().All())
		want = append(want, state.Digest())
		switch dc.Iteration() {
		case 0:
			for i := range 40 {
				must(dc.Messages().Add(message(fmt.Sprint("m", i))))
			}
		case 1:
			must(dc.Messages().Add(message("m3", "something else")))
		case 2:
			must(dc.Messages().Remove("m5"))
		case 3:
			must(dc.Messages().Add(message("m5")))
		default:
			return dc.Ack()
		}
		return nil
	})
	require.NoError(t, newRunner(t, config).Run(context.Background(), hello))
	assert.Equal(t, want, statesOf(rec.crossings())[:len(want)])
	assert.Len(t, want, 5)
}

func digestsOf[T adk.Record](records []T) (digests []adk.Digest) {
	for _, one := range records {
		digests = append(digests, one.Digest())
	}
	return digests
}

// DET-4: a cancellation from outside is recorded before the first crossing that notices it.
func TestCancelIsLatched(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	config := executing(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		cancel(errBoom)
		return dc.Stash().Set("k", 1)
	})
	rec := &recorder{}
	config.Probe = rec
	require.NoError(t, newRunner(t, config).Run(ctx, hello))
	assert.Contains(t, strings.Join(rec.all(), "|"), "> executor/model#0|= cancel outside|stash k|< executor/model#0 ok|! dispatchEnd aborted 1")
	for _, x := range rec.crossings() {
		if x.Kind == adk.KindCancel {
			assert.Same(t, errBoom, x.Cause)
			assert.Same(t, context.Canceled, x.Err)
		}
	}
}

// serving is an observer that supplies the handler of every tool.
type serving struct {
	recorder
	handler func(*adk.Tool, adk.ToolHandler) adk.ToolHandler
}

func (s *serving) Observe(adk.RunInfo) adk.Observer { return s }
func (s *serving) Handler(tool *adk.Tool, own adk.ToolHandler) (given adk.ToolHandler) {
	return s.handler(tool, own)
}

// DET-4: an observer that serves tools supplies the handler that runs, also together with other
// observers. If it supplies none, or panics, the tool's own handler runs.
func TestObserverThatServesTools(t *testing.T) {
	served := func(*adk.Tool, adk.ToolHandler) adk.ToolHandler {
		return func(_ context.Context, _ *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
			return adk.Text(fmt.Sprint("served ", args["n"])), nil
		}
	}
	own := tool("own", func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
		return adk.Text("own"), nil
	})
	for name, c := range map[string]struct {
		probe adk.Probe
		want  string
	}{
		"served":           {&serving{handler: served}, "served 7"},
		"beside others":    {adk.MultiProbe(&recorder{}, &serving{handler: served}, &recorder{}), "served 7"},
		"the first serves": {adk.MultiProbe(&serving{handler: served}, &serving{handler: func(*adk.Tool, adk.ToolHandler) adk.ToolHandler { return failingTool }}), "served 7"},
		"around it": {&serving{handler: func(_ *adk.Tool, own adk.ToolHandler) adk.ToolHandler {
			return func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) (adk.ToolResult, error) {
				result, err := own(ctx, dc, args)
				return adk.Text("around " + result.(*adk.Tokenizable).String()), err
			}
		}}, "around own"},
		"names none":    {&serving{handler: func(*adk.Tool, adk.ToolHandler) adk.ToolHandler { return nil }}, "own"},
		"panics":        {&serving{handler: func(*adk.Tool, adk.ToolHandler) adk.ToolHandler { panic("boom") }}, "own"},
		"panics beside": {adk.MultiProbe(&serving{handler: func(*adk.Tool, adk.ToolHandler) adk.ToolHandler { panic("boom") }}, &serving{handler: served}), "served 7"},
		"only observes": {&recorder{}, "own"},
		"none":          {nil, "own"},
	} {
		t.Run(name, func(t *testing.T) {
			var got adk.ToolResult
			config := executing(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
				result, err := dc.Execute(ctx, own, map[string]any{})
				got = result
				return errors.Join(err, dc.Ack())
			})
			config.Probe = c.probe
			require.NoError(t, newRunner(t, config).Run(context.Background(), adk.RawTurn{SystemPrompt: "Go."}))
			require.IsType(t, &adk.Tokenizable{}, got)
			assert.Equal(t, c.want, got.(*adk.Tokenizable).String())
		})
	}
}

func failingTool(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
	return nil, errBoom
}
