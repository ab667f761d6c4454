package adk_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// RUN-1, RUN-2, RUN-3: one error names every missing field.
func TestEmptyConfigNamesEveryField(t *testing.T) {
	runner, err := adk.NewRunner(adk.Config{})
	require.Nil(t, runner)
	require.ErrorIs(t, err, adk.E_INVALID_TURN_RUNNER_CONFIG)
	assert.ErrorContains(t, err, "Executor.Name")
	assert.ErrorContains(t, err, "Executor.Run")
	for _, field := range reflect.VisibleFields(reflect.TypeFor[adk.Storage]()) {
		assert.ErrorContains(t, err, "Storage."+field.Name)
	}
}

// RUN-1, RUN-3: a config with one fault gives an error that names that fault and no other.
func TestConfigFaults(t *testing.T) {
	twice := tool("twice", done)
	for name, c := range map[string]struct {
		spoil func(*adk.Config)
		want  string
	}{
		"executor without name": {func(c *adk.Config) { c.Executor.Name = "" }, "Executor.Name"},
		"executor without run":  {func(c *adk.Config) { c.Executor.Run = nil }, "Executor.Run"},
		"storage as nil":        {func(c *adk.Config) { c.Storage.Messages = nil }, "Storage.Messages"},
		"storage as nil inside": {func(c *adk.Config) { c.Storage.Thoughts = (*benchStore[*adk.Thought])(nil) }, "Storage.Thoughts"},
		"tool source as nil":    {func(c *adk.Config) { c.Storage.Tools = nil }, "Storage.Tools"},
		"nil entry":             {func(c *adk.Config) { c.TurnInput = []adk.TurnMiddleware{{Name: "a"}} }, "TurnInput[0].Run"},
		"entry without name":    {func(c *adk.Config) { c.TurnOutput = []adk.TurnMiddleware{turnStep("", onward)} }, "TurnOutput[0].Name"},
		"name twice": {func(c *adk.Config) {
			c.DispatchInput = []adk.DispatchMiddleware{dispatchStep("a", onward), dispatchStep("a", onward)}
		}, `DispatchInput[1].Name "a"`},
		"nil dispatch output": {func(c *adk.Config) { c.DispatchOutput = []adk.DispatchMiddleware{{Name: "a"}} }, "DispatchOutput[0].Run"},
		"nil tool":            {func(c *adk.Config) { c.Tools = []*adk.Tool{nil} }, "Tools[0] is nil"},
		"tool twice":          {func(c *adk.Config) { c.Tools = []*adk.Tool{twice, twice} }, `Tools[1] has the name "twice"`},
		"nil clock inside":    {func(c *adk.Config) { c.Clock = (*handClock)(nil) }, "Clock"},
		"nil probe inside":    {func(c *adk.Config) { c.Probe = (*recorder)(nil) }, "Probe"},
	} {
		t.Run(name, func(t *testing.T) {
			config := newConfig()
			c.spoil(&config)
			_, err := adk.NewRunner(config)
			require.ErrorIs(t, err, adk.E_INVALID_TURN_RUNNER_CONFIG)
			assert.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), ";", "one fault only")
		})
	}
}

// RUN-3: the same name may be used in two pipelines, and a config without pipelines runs.
func TestNamesAreUniqueInTheirPipelineOnly(t *testing.T) {
	config := newConfig()
	for _, p := range pipelines {
		p.put(&config, "same", onward)
	}
	_, err := adk.NewRunner(config)
	assert.NoError(t, err)
}

// RUN-1: the runner keeps a copy of its config.
func TestRunnerCopiesItsConfig(t *testing.T) {
	config := newConfig()
	config.TurnInput = []adk.TurnMiddleware{turnStep("kept", onward)}
	rec := &recorder{}
	runner := newRunner(t, watchedBy(config, rec))
	config.TurnInput[0] = turnStep("other", onward)
	require.NoError(t, runner.Run(context.Background(), hello))
	assert.Contains(t, rec.all(), "> turn-input/kept")
}

// RUN-2: each collection has four obligations, and tools are fetched.
func TestStorageObligations(t *testing.T) {
	store := &book{}
	config := newConfig()
	config.Storage = store.storage()
	config.TurnInput = []adk.TurnMiddleware{{Name: "all", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		callAll(t, ctx, tc.Messages(), message("m"))
		callAll(t, ctx, tc.Memories(), memory("y"))
		callAll(t, ctx, tc.Retrievables(), retrievable("r"))
		callAll(t, ctx, tc.Thoughts(), thought("t"))
		callAll(t, ctx, tc.ToolCalls(), toolCall("c", "x"))
		callAll(t, ctx, tc.Instructions(), adk.NewTokenizable("i"))
		_, err := tc.Tools().Fetch(ctx)
		next(ctx)
		return err
	}}}
	lines := runTurn(t, config, hello)
	assert.Equal(t, []string{
		"messages.fetch", "messages.store m", "messages.mutate m", "messages.delete m",
		"memories.fetch", "memories.store y", "memories.mutate y", "memories.delete y",
		"retrievables.fetch", "retrievables.store r", "retrievables.mutate r", "retrievables.delete r",
		"thoughts.fetch", "thoughts.store t", "thoughts.mutate t", "thoughts.delete t",
		"toolCalls.fetch", "toolCalls.store c", "toolCalls.mutate c", "toolCalls.delete c",
		"instructions.fetch", "instructions.store i", "instructions.mutate i", "instructions.delete i",
		"tools.fetch",
	}, store.all())
	assert.Len(t, with(lines, "> storage/"), 25)
	assert.Contains(t, lines, "> storage/instructions.refresh") // RUN-2: fetching them is called refresh
	effects := map[adk.Effect]int{}
	for _, path := range with(lines, "> ") {
		seam := must(adk.ParseSeam(strings.TrimPrefix(path, "> ")))
		effects[seam.Effect()]++
		reads := strings.HasSuffix(path, ".fetch") || strings.HasSuffix(path, ".refresh")
		assert.Equal(t, !reads, seam.Effect().MayWrite(), path) // RUN-2
	}
	assert.Equal(t, map[adk.Effect]int{adk.EffectReads: 7, adk.EffectWrites: 18, adk.EffectUnknown: len(with(lines, "> ")) - 25}, effects)
}

// callAll calls the four obligations of a collection. On a turn context they
// change no set (RUN-13).
func callAll[T interface {
	comparable
	adk.Record
}](t *testing.T, ctx context.Context, set adk.Records[T], record T) {
	before := set.Len()
	_, err := set.Fetch(ctx)
	require.NoError(t, err)
	require.NoError(t, set.Store(ctx, record))
	require.NoError(t, set.Mutate(ctx, record))
	assert.Equal(t, before, set.Len(), "RUN-13")
	require.NoError(t, set.Delete(ctx, record.Key()))
}

// RUN-4, STA-7: an invalid raw turn is refused before anything happens.
func TestInvalidRawTurn(t *testing.T) {
	for name, c := range map[string]struct {
		raw  adk.RawTurn
		want []string
	}{
		"empty":             {adk.RawTurn{}, []string{"SystemPrompt"}},
		"empty instruction": {adk.RawTurn{SystemPrompt: "p", Instructions: []string{"a", ""}}, []string{"Instructions[1]"}},
		"repeated":          {adk.RawTurn{SystemPrompt: "p", Instructions: []string{"a", "b", "a"}}, []string{"Instructions[2]", "Instructions[0]"}},
		"dotted":            {adk.RawTurn{SystemPrompt: "p", Stash: map[string]any{"a": map[string]any{"b.c": 1}}}, []string{`"a.b.c"`, "{b: {c: …}}"}},
		"everything":        {adk.RawTurn{Instructions: []string{""}, Stash: map[string]any{"": 1}}, []string{"SystemPrompt", "Instructions[0]", "Stash"}},
	} {
		t.Run(name, func(t *testing.T) {
			heard := &notes{}
			rec := &recorder{}
			config := watchedBy(newConfig(), rec)
			c.raw.Functional, c.raw.Observability = everyEvent(heard.add)
			err := newRunner(t, config).Run(context.Background(), c.raw)
			require.ErrorIs(t, err, adk.E_INVALID_TURN_CONTEXT)
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
			assert.Empty(t, heard.all())
			assert.Empty(t, rec.all())
		})
	}
	//nolint:staticcheck // a nil context is what is tested
	assert.ErrorIs(t, newRunner(t, newConfig()).Run(nil, hello), adk.E_INVALID_TURN_CONTEXT)
}

// RUN-4: the listeners of a raw turn hear only that run, after the runner's listeners.
func TestListenersOfOneRun(t *testing.T) {
	heard := &notes{}
	runner := newRunner(t, executing(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		must(h.ReportMessage("m", "hi", true))
		return dc.Ack()
	}))
	runner.Observe(adk.Observability{TurnStart: func(e adk.TurnStart) { heard.add("runner " + e.TurnID) }})
	runner.On(adk.Functional{Message: func(e adk.MessageEvent) { heard.add("runner " + e.Delta + " " + e.TurnID) }})
	raw := hello
	raw.Observability.TurnStart = func(e adk.TurnStart) { heard.add("run " + e.TurnID) }
	raw.Functional.Message = func(e adk.MessageEvent) { heard.add("run " + e.Delta + " " + e.TurnID) }
	require.NoError(t, runner.Run(context.Background(), raw))
	require.NoError(t, runner.Run(context.Background(), hello))
	assert.Equal(t, []string{"runner id1", "run id1", "runner hi id1", "run hi id1", "runner id3", "runner hi id3"}, heard.all())
}

// RUN-9, DSP-2, EVT-1: the order of all crossings of a turn.
func TestOrderOfATurn(t *testing.T) {
	config := newConfig()
	config.Executor = ackAt(1)
	for _, p := range pipelines {
		p.put(&config, "a", onward)
	}
	assert.Equal(t, []string{
		"> run", "! turnStart",
		"> turn-input/a", "next(", ")next", "< turn-input/a ok",
		"> dispatch", "! dispatchStart",
		"! iterationStart 0",
		"> dispatch-input/a#0", "next(", ")next", "< dispatch-input/a#0 ok",
		"= state", "> executor/model#0", "< executor/model#0 ok",
		"> dispatch-output/a#0", "next(", ")next", "< dispatch-output/a#0 ok",
		"! iterationEnd 0",
		"! iterationStart 1",
		"> dispatch-input/a#1", "next(", ")next", "< dispatch-input/a#1 ok",
		"= state", "> executor/model#1", "ack(", ")ack", "< executor/model#1 ok",
		"! dispatchEnd ack 2", "< dispatch ok",
		"= state",
		"> turn-output/a", "next(", ")next", "< turn-output/a ok",
		"= state", "! turnEnd", "< run ok",
	}, runTurn(t, config, hello))
}

// RUN-5, RUN-6, RUN-10, EVT-7, EVT-8, DSP-7: whatever happens, Run returns nil, turnStart and turnEnd
// come once, and a failure is one error event in its place.
func TestEveryEndOfATurn(t *testing.T) {
	fails := func(context.Context, adk.Handle, adk.Next) error { return errBoom }
	panics := func(context.Context, adk.Handle, adk.Next) error { panic("boom") }
	clean := []string{"turnStart", "dispatchStart", "iterationStart 0", "dispatchEnd ack 1", "turnEnd"}
	inDispatch := []string{"turnStart", "dispatchStart", "iterationStart 0",
		"error E_DISPATCH_PIPELINE_ERROR dispatch-input bad", "dispatchEnd nack 1 E_DISPATCH_PIPELINE_ERROR", "turnEnd"}
	for name, c := range map[string]struct {
		change func(*adk.Config)
		want   []string
	}{
		"clean":            {func(*adk.Config) {}, clean},
		"input fails":      {func(c *adk.Config) { pipelines[0].put(c, "bad", fails) }, []string{"turnStart", "error E_INPUT_PIPELINE_ERROR turn-input bad", "turnEnd"}},
		"input panics":     {func(c *adk.Config) { pipelines[0].put(c, "bad", panics) }, []string{"turnStart", "error E_INPUT_PIPELINE_ERROR turn-input bad", "turnEnd"}},
		"input aborts":     {func(c *adk.Config) { pipelines[0].put(c, "bad", abortion) }, []string{"turnStart", "turnEnd"}},
		"dispatch fails":   {func(c *adk.Config) { pipelines[1].put(c, "bad", fails) }, inDispatch},
		"dispatch panics":  {func(c *adk.Config) { pipelines[1].put(c, "bad", panics) }, inDispatch},
		"dispatch aborts":  {func(c *adk.Config) { pipelines[1].put(c, "bad", abortion) }, []string{"turnStart", "dispatchStart", "iterationStart 0", "dispatchEnd aborted 1", "turnEnd"}},
		"executor fails":   {func(c *adk.Config) { c.Executor = executor(failing) }, []string{"turnStart", "dispatchStart", "iterationStart 0", "error E_LLM_EXECUTION_EXECUTOR_ERROR model", "dispatchEnd nack 1 E_LLM_EXECUTION_EXECUTOR_ERROR", "turnEnd"}},
		"executor panics":  {func(c *adk.Config) { c.Executor = executor(panicking) }, []string{"turnStart", "dispatchStart", "iterationStart 0", "error E_LLM_EXECUTION_EXECUTOR_ERROR model", "dispatchEnd nack 1 E_LLM_EXECUTION_EXECUTOR_ERROR", "turnEnd"}},
		"executor nacks":   {func(c *adk.Config) { c.Executor = executor(nacking) }, []string{"turnStart", "dispatchStart", "iterationStart 0", "error E_LLM_EXECUTION_NACKED", "dispatchEnd nack 1 boom", "turnEnd"}},
		"output fails":     {func(c *adk.Config) { pipelines[3].put(c, "bad", fails) }, with4(clean, "error E_OUTPUT_PIPELINE_ERROR turn-output bad")},
		"output panics":    {func(c *adk.Config) { pipelines[3].put(c, "bad", panics) }, with4(clean, "error E_OUTPUT_PIPELINE_ERROR turn-output bad")},
		"output aborts":    {func(c *adk.Config) { pipelines[3].put(c, "bad", abortion) }, clean},
		"nothing to do at": {func(c *adk.Config) { c.Executor = ackAt(0) }, clean},
	} {
		t.Run(name, func(t *testing.T) {
			config := newConfig()
			c.change(&config)
			lines := runTurn(t, config, hello)
			assert.Equal(t, c.want, events(lines))
			if c.want[len(c.want)-2] != "dispatchEnd ack 1" && !strings.Contains(name, "output") {
				assert.Empty(t, with(lines, "> turn-output"), "RUN-10")
			}
		})
	}
}

// badClock panics at the reading with number at, counted from 1, and whenever it is asked for a
// timer.
type badClock struct {
	handClock
	at int
}

func (c *badClock) Now() time.Time {
	if now := c.handClock.Now(); c.reads != c.at {
		return now
	}
	panic("no time")
}

func (*badClock) AfterFunc(time.Duration, func()) func() bool { panic("no timer") }

type badIDs struct{}

func (badIDs) NewID() string { panic("no id") }

// RUN-5, RUN-6: a clock and an id source are user code, which the engine calls under its lock, and
// may panic. Then the time stands still, a wait is over at once, an id is empty, and the probe
// learns of the panic.
func TestClockAndIDsThatPanic(t *testing.T) {
	run := func(clock *badClock, ids adk.IDSource) (heard, contained []string) {
		config := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
			h.Log(adk.LevelInfo, "k", "m", nil)
			assert.NoError(t, dc.Sleep(ctx, time.Hour))
			return dc.Ack()
		})
		config.Clock, config.IDs = clock, ids
		rec := &recorder{}
		require.NoError(t, newRunner(t, watchedBy(config, rec)).Run(t.Context(), hello))
		return events(rec.all()), with(facts(rec.all()), "contained")
	}
	clock := &badClock{}
	want, timer := run(clock, &countingIDs{})
	require.Equal(t, []string{"contained clock"}, timer)
	for at := range clock.reads {
		heard, contained := run(&badClock{at: at + 1}, &countingIDs{})
		assert.Equal(t, want, heard, "reading %d", at+1)
		assert.Len(t, contained, 2, "reading %d", at+1)
	}
	heard, contained := run(&badClock{}, badIDs{})
	assert.Equal(t, want, heard)
	assert.Equal(t, []string{"contained id source", "contained id source", "contained clock"}, contained)
}

// with4 inserts a line before the last one.
func with4(lines []string, line string) []string {
	return append(append([]string{}, lines[:len(lines)-1]...), line, lines[len(lines)-1])
}

func abortion(_ context.Context, h adk.Handle, _ adk.Next) error { return h.Abort(errBoom) }

func failing(context.Context, *adk.DispatchContext, *adk.Helpers) error { return errBoom }

func panicking(context.Context, *adk.DispatchContext, *adk.Helpers) error { panic("boom") }

func nacking(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
	return dc.Nack(errBoom)
}

// RUN-10: turn output runs only after an ack.
func TestTurnOutputRunsAfterAckOnly(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(context.Context, *adk.DispatchContext, *adk.Helpers) error
		want int
	}{
		"ack":   {func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }, 1},
		"nack":  {nacking, 0},
		"fails": {failing, 0},
		"abort": {func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Abort(nil) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			config := executing(c.run)
			config.TurnOutput = []adk.TurnMiddleware{turnStep("out", onward)}
			assert.Len(t, with(runTurn(t, config, hello), "> turn-output/out"), c.want)
		})
	}
}

// RUN-7, TOL-9: every run starts fresh, whatever an earlier run did.
func TestEveryRunBeginsAfresh(t *testing.T) {
	store := &book{}
	config := newConfig()
	config.Storage = store.storage()
	config.Tools = []*adk.Tool{tool("base", done)}
	var ids []string
	config.TurnInput = []adk.TurnMiddleware{{Name: "look", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		ids = append(ids, tc.TurnID())
		assert.Zero(t, tc.Messages().Len()+tc.Memories().Len()+tc.Retrievables().Len()+tc.Thoughts().Len()+tc.ToolCalls().Len())
		assert.Equal(t, "be kind", tc.SystemPrompt().String())
		assert.Equal(t, []string{"first", "second"}, keysOf(tc.Instructions().All()))
		assert.Equal(t, []string{"base"}, keysOf(tc.Tools().All()))
		assert.Equal(t, map[string]any{"a": map[string]any{"b": 1}}, tc.Stash().All())

		must(tc.Messages().Add(message("m")))
		must(tc.Instructions().Remove("first"))
		must(tc.Tools().Unregister("base"))
		require.NoError(t, tc.Tools().Register(tool("own", done)))
		require.NoError(t, tc.Stash().Set("a.b", 2))
		next(ctx)
		return nil
	}}}
	runner := newRunner(t, config)
	raw := adk.RawTurn{SystemPrompt: "be kind", Instructions: []string{"first", "second"}, Stash: map[string]any{"a": map[string]any{"b": 1}}}
	for range 3 {
		require.NoError(t, runner.Run(context.Background(), raw))
	}
	assert.Equal(t, []string{"id1", "id3", "id5"}, ids) // each turn and each dispatch takes one id
	assert.Empty(t, store.all(), "nothing hydrates the sets")
	assert.Equal(t, map[string]any{"a": map[string]any{"b": 1}}, raw.Stash, "STA-3")
}

// RUN-7, DET-1: the default ids are UUIDs of version 7.
func TestDefaultIDs(t *testing.T) {
	config := newConfig()
	config.IDs, config.Clock = nil, nil
	var id string
	raw := hello
	raw.Observability.TurnStart = func(e adk.TurnStart) { id = e.TurnID; assert.False(t, e.StartedAt.IsZero()) }
	require.NoError(t, newRunner(t, config).Run(context.Background(), raw))
	parsed, err := uuid.Parse(id)
	require.NoError(t, err)
	assert.EqualValues(t, 7, parsed.Version())
	assert.Equal(t, uuid.RFC4122, parsed.Variant())
}

// RUN-8, RUN-11, EVT-5: concurrent runs of one runner, and of two runners that share a
// config, do not see one another.
func TestConcurrentRuns(t *testing.T) {
	config := newConfig()
	config.Tools = []*adk.Tool{tool("base", done)}
	config.TurnInput = []adk.TurnMiddleware{{Name: "mark", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		assert.False(t, tc.Stash().Has("mark"))
		require.NoError(t, tc.Stash().Set("mark", tc.TurnID()))
		must(tc.Messages().Add(message(tc.TurnID())))
		require.NoError(t, tc.Tools().Register(tool("own", done)))
		runtime.Gosched()
		next(ctx)
		return nil
	}}}
	config.TurnOutput = []adk.TurnMiddleware{{Name: "check", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		assert.Equal(t, tc.TurnID(), tc.Stash().Get("mark", nil))
		assert.Equal(t, []string{tc.TurnID()}, keysOf(tc.Messages().All()))
		next(ctx)
		return nil
	}}}
	runners := []*adk.Runner{newRunner(t, config), newRunner(t, config)}
	ends := &notes{}
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			raw, starts := hello, 0
			raw.Observability.TurnStart = func(adk.TurnStart) { starts++ }
			raw.Observability.TurnEnd = func(e adk.TurnEnd) { ends.add(e.TurnID) }
			raw.Observability.Error = func(e adk.ErrorEvent) { ends.add(e.Error.Error()) }
			assert.NoError(t, runners[i%2].Run(context.Background(), raw))
			assert.Equal(t, 1, starts)
		})
	}
	all.Wait()
	distinct := map[string]bool{}
	for _, id := range ends.all() {
		distinct[id] = true
	}
	assert.Len(t, distinct, 24, fmt.Sprint(ends.all()))
}

// RUN-11: several goroutines may use one handle concurrently.
func TestContextsAreSafe(t *testing.T) {
	config := executing(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		var begun, all sync.WaitGroup
		begun.Add(4)
		for i := range 4 {
			all.Go(func() {
				begun.Done()
				begun.Wait()
				for n := range 1000 {
					id := fmt.Sprint(i, "-", n)
					_, err := dc.Messages().Add(message(id))
					if assert.NoError(t, err); n%50 > 0 {
						continue
					}
					assert.True(t, dc.Messages().Has(id))
					assert.NoError(t, dc.Tools().Register(tool(id, done)))
					assert.NoError(t, dc.Thoughts().Store(ctx, thought(id)))
					must(h.ReportMessage("shared", "x", false))
					assert.NotEmpty(t, dc.NewID())
				}
			})
		}
		all.Wait()
		assert.Equal(t, []int{4000, 80, 80}, []int{dc.Messages().Len(), len(dc.Tools().All()), dc.Thoughts().Len()})
		assert.Len(t, must(h.ReportMessage("shared", "", true)).Full, 80)
		return dc.Ack()
	})
	runTurn(t, config, hello)
}

// RUN-12: a set keeps the order of insertion, replaces a record in its place, and has ids or texts as keys.
func TestSetsKeepTheirOrder(t *testing.T) {
	config := newConfig()
	config.TurnInput = []adk.TurnMiddleware{{Name: "sets", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		set := tc.Messages()
		for _, id := range []string{"c", "a", "b"} {
			assert.False(t, must(set.Add(message(id))))
		}
		newer := message("a", "more")
		assert.True(t, must(set.Add(newer)))
		assert.Equal(t, []string{"c", "a", "b"}, keysOf(set.All()))
		got, ok := set.Get("a")
		assert.True(t, ok)
		assert.Same(t, newer, got)
		assert.True(t, must(set.Remove("c")))
		assert.False(t, must(set.Remove("c")))
		assert.Equal(t, []string{"a", "b"}, keysOf(set.All()))
		set.All()[0] = nil // the slice belongs to the caller
		assert.True(t, set.Has("a"))

		assert.False(t, must(tc.Instructions().Add(adk.NewTokenizable("x"))))
		assert.True(t, must(tc.Instructions().Add(adk.NewTokenizable("x"))))
		_, err := set.Add(nil)
		assert.Error(t, err)
		next(ctx)
		return nil
	}}}
	runTurn(t, config, hello)
}

// RUN-13: the scope that an obligation receives, from a turn and from a dispatch.
func TestScopeOfAnObligation(t *testing.T) {
	store := &book{}
	store.answer = func(_ context.Context, scope adk.Scope, _ string) error {
		assert.Equal(t, "kept", scope.Stash.Get("k", nil))
		return nil
	}
	config := newConfig()
	config.Storage = store.storage()
	config.TurnInput = []adk.TurnMiddleware{{Name: "in", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		next(ctx)
		return tc.Messages().Store(ctx, message("m"))
	}}}
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		require.NoError(t, dc.Messages().Delete(ctx, "m"))
		return dc.Ack()
	})
	raw := hello
	raw.Stash = map[string]any{"k": "kept"}
	runTurn(t, config, raw)
	require.Len(t, store.scopes, 2)
	assert.Equal(t, []string{"id1", "", "id1", "id2"},
		[]string{store.scopes[0].TurnID, store.scopes[0].DispatchID, store.scopes[1].TurnID, store.scopes[1].DispatchID})
}

// RUN-13: the error or panic of an obligation is returned to its caller.
func TestObligationFails(t *testing.T) {
	for name, answer := range map[string]func() error{
		"error": func() error { return errBoom },
		"panic": func() error { panic(errBoom) },
	} {
		t.Run(name, func(t *testing.T) {
			store := &book{answer: func(context.Context, adk.Scope, string) error { return answer() }}
			config := newConfig()
			config.Storage = store.storage()
			config.TurnInput = []adk.TurnMiddleware{{Name: "in", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
				_, err := tc.Messages().Fetch(ctx)
				assert.ErrorIs(t, err, errBoom)
				assert.ErrorIs(t, tc.Messages().Store(ctx, message("m")), errBoom)
				next(ctx)
				return nil
			}}}
			lines := runTurn(t, config, hello)
			assert.Contains(t, lines, "< storage/messages.store "+name)
			assert.NotContains(t, strings.Join(lines, "\n"), "! error")
		})
	}
}
