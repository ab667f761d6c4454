package adk_test

import (
	"context"
	"errors"
	goflag "flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/storages"
	"github.com/adkreplay/adkreplay/property"
)

// The kit of the engine's tests: a config that runs, a recorder that turns crossings into
// short lines, a storage, and a clock and ids whose values a test
// knows in advance.

var (
	noon    = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	errBoom = errors.New("boom")
	hello   = adk.RawTurn{SystemPrompt: "be kind"}
)

// TestMain checks for leaked goroutines: the engine leaves none behind (PIP-10, DET-7).
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	if isFuzzing() {
		os.Exit(code) // the fuzzer listens for interrupts until the process ends
	}
	if left := patience.Stragglers(before); left > 0 && code == 0 {
		stacks := make([]byte, 1<<20)
		fmt.Printf("%d goroutines were left behind:\n%s\n", left, stacks[:runtime.Stack(stacks, true)])
		code = 1
	}
	os.Exit(code)
}

func isFuzzing() bool {
	fuzz := goflag.Lookup("test.fuzz")
	return fuzz != nil && fuzz.Value.String() != ""
}

// runTurn runs a turn and returns all of its crossings, as lines.
func runTurn(t *testing.T, config adk.Config, raw adk.RawTurn) []string {
	t.Helper()
	return runTurnIn(t, context.Background(), config, raw)
}

func runTurnIn(t *testing.T, ctx context.Context, config adk.Config, raw adk.RawTurn) []string {
	t.Helper()
	rec := &recorder{}
	runner := newRunner(t, watchedBy(config, rec))
	require.NoError(t, runner.Run(ctx, raw)) // RUN-5, in every test
	holdsInvariants(t, rec)
	return rec.all()
}

// holdsInvariants checks the crossings of a run against everything that is true of
// every turn.
func holdsInvariants(t *testing.T, rec *recorder) {
	t.Helper()
	told := rec.crossings()
	assert.Empty(t, property.Violations(rec.info, func(yield func(*adk.Crossing) bool) {
		for i := range told {
			if !yield(&told[i]) {
				return
			}
		}
	}))
}

// runToGoexit runs a turn whose goroutine is ended by runtime.Goexit; it fails if Run returns.
func runToGoexit(t *testing.T, config adk.Config, raw adk.RawTurn) []string {
	t.Helper()
	rec := &recorder{}
	runner := newRunner(t, watchedBy(config, rec))
	ended, returned := make(chan struct{}), false
	go func() {
		defer close(ended)
		_ = runner.Run(context.Background(), raw)
		returned = true
	}()
	<-ended
	assert.False(t, returned, "the goroutine ends")
	holdsInvariants(t, rec)
	return rec.all()
}

func newRunner(t testing.TB, config adk.Config) *adk.Runner {
	t.Helper()
	runner, err := adk.NewRunner(config)
	require.NoError(t, err)
	return runner
}

func watchedBy(config adk.Config, rec *recorder) adk.Config {
	if config.Probe != nil {
		config.Probe = adk.MultiProbe(config.Probe, rec)
	} else {
		config.Probe = rec
	}
	return config
}

// newConfig is a config whose executor acks at once.
func newConfig() adk.Config {
	return adk.Config{
		Executor: executor(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }),
		Storage:  (&book{}).storage(),
		Clock:    &handClock{},
		IDs:      &countingIDs{},
	}
}

// executing is newConfig with another executor.
func executing(run func(context.Context, *adk.DispatchContext, *adk.Helpers) error) adk.Config {
	config := newConfig()
	config.Executor = executor(run)
	return config
}

func executor(run func(context.Context, *adk.DispatchContext, *adk.Helpers) error) adk.Executor {
	return adk.Executor{Name: "model", Run: run}
}

// ackAt is an executor that acks in the given iteration and does nothing in earlier ones.
func ackAt(iteration int) adk.Executor {
	return executor(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if dc.Iteration() < iteration {
			return nil
		}
		return dc.Ack()
	})
}

// body is a middleware of any pipeline.
type body func(ctx context.Context, h adk.Handle, next adk.Next) error

func onward(ctx context.Context, _ adk.Handle, next adk.Next) error { next(ctx); return nil }

// pipeline is one of the four pipelines, so that a test can check a rule for each.
type pipeline struct {
	label string
	code  adk.Code
	put   func(c *adk.Config, name string, run body)
}

func (p pipeline) dispatches() bool { return strings.HasPrefix(p.label, "dispatch") }

// config is newConfig, with an executor that acks late enough for the pipeline to run.
func (p pipeline) config() adk.Config {
	config := newConfig()
	if p.label == adk.LabelDispatchOutput {
		config.Executor = ackAt(1)
	}
	return config
}

var pipelines = []pipeline{
	{adk.LabelTurnInput, adk.E_INPUT_PIPELINE_ERROR, func(c *adk.Config, name string, run body) {
		c.TurnInput = append(c.TurnInput, turnStep(name, run))
	}},
	{adk.LabelDispatchInput, adk.E_DISPATCH_PIPELINE_ERROR, func(c *adk.Config, name string, run body) {
		c.DispatchInput = append(c.DispatchInput, dispatchStep(name, run))
	}},
	{adk.LabelDispatchOutput, adk.E_DISPATCH_PIPELINE_ERROR, func(c *adk.Config, name string, run body) {
		c.DispatchOutput = append(c.DispatchOutput, dispatchStep(name, run))
	}},
	{adk.LabelTurnOutput, adk.E_OUTPUT_PIPELINE_ERROR, func(c *adk.Config, name string, run body) {
		c.TurnOutput = append(c.TurnOutput, turnStep(name, run))
	}},
}

func turnStep(name string, run body) adk.TurnMiddleware {
	return adk.TurnMiddleware{Name: name, Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		return run(ctx, tc.Handle, next)
	}}
}

func dispatchStep(name string, run body) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		return run(ctx, dc.Handle, next)
	}}
}

// inEach runs a test for each of the four pipelines.
func inEach(t *testing.T, test func(t *testing.T, p pipeline)) {
	for _, p := range pipelines {
		t.Run(p.label, func(t *testing.T) { test(t, p) })
	}
}

// recorder is a probe that turns crossings into lines:
//
// > seam, < seam outcome    a seam call and its return
// next( … )next             the two lines of a spanning operation
// add …                     an operation of one line
// ! event …                 an event
// = fact …                  a fact
type recorder struct {
	mu    sync.Mutex
	lines []string
	seams map[int]string
	// told holds copies of the crossings.
	told []adk.Crossing
	info adk.RunInfo

	begin  func(adk.Step)
	park   func(strand int, ready func() bool)
	resume func(strand int)
	tell   func(*adk.Crossing)
}

func (r *recorder) Observe(info adk.RunInfo) adk.Observer { r.info = info; return r }

func (r *recorder) Begin(s adk.Step) {
	if r.begin != nil {
		r.begin(s)
	}
}

func (r *recorder) Park(strand int, ready func() bool) {
	if r.park != nil {
		r.park(strand, ready)
	}
}

func (r *recorder) Resume(strand int) {
	if r.resume != nil {
		r.resume(strand)
	}
}

func (r *recorder) Tell(x *adk.Crossing) {
	if r.tell != nil {
		r.tell(x)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	one := *x
	one.Value, one.Args = plain.Copy(x.Value), plain.Copy(x.Args) // user code may change them
	r.told = append(r.told, one)
	r.lines = append(r.lines, r.line(x))
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

func (r *recorder) crossings() []adk.Crossing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.told)
}

func (r *recorder) line(x *adk.Crossing) string {
	if r.seams == nil {
		r.seams = map[int]string{}
	}
	switch {
	case x.Kind == adk.KindCall:
		r.seams[x.ID] = x.Seam.String()
		return "> " + x.Seam.String()
	case x.Kind == adk.KindReturn:
		return "< " + r.seams[x.ID] + " " + string(x.Outcome)
	case x.Phase == adk.Begin:
		return x.Kind.String() + "("
	case x.Phase == adk.Done:
		return words(")"+x.Kind.String(), code(x.Err))
	case x.Kind.Class() == adk.ClassEvent:
		return "! " + words(x.Kind.String(), eventText(x.Payload))
	case x.Kind.Class() == adk.ClassFact:
		return "= " + words(x.Kind.String(), x.Name, x.Status, x.Key)
	default:
		return words(x.Kind.String(), x.Name, x.Key, x.Text, code(x.Err))
	}
}

func words(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(w string) bool { return w == "" }), " ")
}

// code is the code of an error of this package, or the text of any other error.
func code(err error) string {
	if err == nil {
		return ""
	}
	if ours, ok := errors.AsType[*adk.Error](err); ok {
		return string(ours.Code)
	}
	return err.Error()
}

// eventText is the part of an event that its line shows.
func eventText(payload any) string {
	switch e := payload.(type) {
	case adk.MessageEvent:
		return words(e.ID, e.Delta, flag(e.Complete, "complete"))
	case adk.ThoughtEvent:
		return words(e.ID, e.Delta, flag(e.Complete, "complete"))
	case adk.ToolCallEvent:
		return words(e.ID, e.Tool, flag(e.Complete, "complete"))
	case adk.DispatchEnd:
		return words(e.Status, fmt.Sprint(e.Iterations), code(e.Error))
	case adk.IterationStart:
		return fmt.Sprint(e.Iteration)
	case adk.IterationEnd:
		return fmt.Sprint(e.Iteration)
	case adk.TurnGateOpen:
		return e.Gate.ID()
	case adk.TurnGateClosed:
		return words(e.GateID, e.Result, e.By)
	case adk.ToolExecutionStart:
		return e.ToolName
	case adk.ToolExecutionEnd:
		return words(e.ToolName, flag(e.IsError, "failed"))
	case adk.LogEvent:
		return words(string(e.Level), e.Kind, e.Message)
	case adk.ErrorEvent:
		return words(string(e.Error.Code), e.Error.Stage, e.Error.Name)
	default:
		return ""
	}
}

func flag(on bool, word string) string {
	if on {
		return word
	}
	return ""
}

// events returns the lines of events, calls those of seam calls, and facts those of facts,
// each without its mark.
func events(lines []string) []string { return marked(lines, "! ") }
func calls(lines []string) []string  { return marked(lines, "> ") }
func facts(lines []string) []string  { return marked(lines, "= ") }

func marked(lines []string, mark string) []string {
	found := []string{}
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			found = append(found, rest)
		}
	}
	return found
}

// with returns the lines that begin with a text.
func with(lines []string, prefix string) []string {
	found := []string{}
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) {
			found = append(found, line)
		}
	}
	return found
}

// outcome holds the dispatchEnd and error events of a turn.
type outcome struct {
	ends   []adk.DispatchEnd
	errors []adk.ErrorEvent
}

// watch registers listeners that fill the outcome from a turn.
func (o *outcome) watch(raw adk.RawTurn) adk.RawTurn {
	raw.Observability.DispatchEnd = func(e adk.DispatchEnd) { o.ends = append(o.ends, e) }
	raw.Observability.Error = func(e adk.ErrorEvent) { o.errors = append(o.errors, e) }
	return raw
}

// everyEvent returns listeners that pass all fifteen events to say, as lines.
func everyEvent(say func(line string)) (adk.Functional, adk.Observability) {
	f := adk.Functional{
		Message:  func(e adk.MessageEvent) { say(words("message", eventText(e))) },
		Thought:  func(e adk.ThoughtEvent) { say(words("thought", eventText(e))) },
		ToolCall: func(e adk.ToolCallEvent) { say(words("toolCall", eventText(e))) },
	}
	o := adk.Observability{
		TurnStart:          func(adk.TurnStart) { say("turnStart") },
		TurnEnd:            func(adk.TurnEnd) { say("turnEnd") },
		DispatchStart:      func(adk.DispatchStart) { say("dispatchStart") },
		DispatchEnd:        func(e adk.DispatchEnd) { say(words("dispatchEnd", eventText(e))) },
		IterationStart:     func(e adk.IterationStart) { say(words("iterationStart", eventText(e))) },
		IterationEnd:       func(e adk.IterationEnd) { say(words("iterationEnd", eventText(e))) },
		TurnGateOpen:       func(e adk.TurnGateOpen) { say(words("turnGateOpen", eventText(e))) },
		TurnGateClosed:     func(e adk.TurnGateClosed) { say(words("turnGateClosed", eventText(e))) },
		ToolExecutionStart: func(e adk.ToolExecutionStart) { say(words("toolExecutionStart", eventText(e))) },
		ToolExecutionEnd:   func(e adk.ToolExecutionEnd) { say(words("toolExecutionEnd", eventText(e))) },
		Log:                func(e adk.LogEvent) { say(words("log", eventText(e))) },
		Error:              func(e adk.ErrorEvent) { say(words("error", eventText(e))) },
	}
	return f, o
}

// notes are lines that several goroutines may append.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

// handClock stands still at noon until a test moves it.
type handClock struct {
	mu     sync.Mutex
	moved  time.Duration
	step   time.Duration // added at every reading
	reads  int
	timers []*handTimer
}

type handTimer struct {
	at   time.Duration
	fire func()
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	c.moved += c.step
	return noon.Add(c.moved)
}

// set moves the clock to d after noon. It fires no timer.
func (c *handClock) set(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved = d
	return noon.Add(d)
}

func (c *handClock) AfterFunc(d time.Duration, fire func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &handTimer{c.moved + d, fire}
	c.timers = append(c.timers, timer)
	return func() bool { return c.take(timer) }
}

func (c *handClock) take(timer *handTimer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(c.timers, timer)
	if at >= 0 {
		c.timers = slices.Delete(c.timers, at, at+1)
	}
	return at >= 0
}

// advance moves the clock and fires the timers that are due.
func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	c.moved += d
	due := slices.Clone(c.timers)
	c.mu.Unlock()
	for _, timer := range due {
		if timer.at <= c.moved && c.take(timer) {
			timer.fire()
		}
	}
}

// running counts the timers that have neither fired nor been stopped.
func (c *handClock) running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// countingIDs returns id1, id2 and so on.
type countingIDs struct {
	mu   sync.Mutex
	last int
}

func (s *countingIDs) NewID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return fmt.Sprintf("id%d", s.last)
}

// book is a storage in memory that records its calls.
type book struct {
	mu    sync.Mutex
	calls []string
	// answer, if not nil, decides the error of a call.
	answer func(ctx context.Context, scope adk.Scope, call string) error
	// scopes are the scopes of the calls, in order.
	scopes []adk.Scope
	tools  []*adk.Tool
}

func (b *book) call(ctx context.Context, scope adk.Scope, call string) error {
	b.mu.Lock()
	b.calls = append(b.calls, call)
	b.scopes = append(b.scopes, scope)
	b.mu.Unlock()
	if b.answer == nil {
		return nil
	}
	return b.answer(ctx, scope, call)
}

func (b *book) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

func (b *book) storage() adk.Storage {
	s := storages.Of(shelves{b, map[adk.CollectionName][]adk.Record{}})
	s.Tools = toolShelf{b}
	return s
}

// shelves are the collections of a book.
type shelves struct {
	book *book
	kept map[adk.CollectionName][]adk.Record
}

func (s shelves) Fetch(ctx context.Context, scope adk.Scope, of adk.CollectionName) ([]adk.Record, error) {
	if err := s.book.call(ctx, scope, storages.Name(of, adk.KindFetch)); err != nil {
		return nil, err
	}
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	return slices.Clone(s.kept[of]), nil
}

func (s shelves) Write(ctx context.Context, scope adk.Scope, of adk.CollectionName, verb adk.Kind, record adk.Record, key string) error {
	if err := s.book.call(ctx, scope, storages.Name(of, verb)+" "+key); err != nil {
		return err
	}
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	s.kept[of] = slices.DeleteFunc(s.kept[of], func(one adk.Record) bool { return one.Key() == key })
	if verb != adk.KindDelete {
		s.kept[of] = append(s.kept[of], record)
	}
	return nil
}

type toolShelf struct{ book *book }

func (s toolShelf) Fetch(ctx context.Context, scope adk.Scope) ([]*adk.Tool, error) {
	return s.book.tools, s.book.call(ctx, scope, "tools.fetch")
}

// must returns what a constructor made, and panics on an error.
func must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

func message(id string, text ...string) *adk.Message {
	return must(adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: strings.Join(append([]string{"says"}, text...), " "), CreatedAt: noon, UpdatedAt: noon}))
}

func toolCall(id, tool string) *adk.ToolCall {
	return must(adk.NewToolCall(adk.ToolCallInit{ID: id, Tool: tool, Args: "{}", Results: adk.NewTokenizable("done"), CreatedAt: noon, UpdatedAt: noon, CompletedAt: noon}))
}

// tool makes a tool that takes an optional integer n.
func tool(name string, handler adk.ToolHandler, change ...func(*adk.ToolInit)) *adk.Tool {
	init := adk.ToolInit{
		Name: name, Description: "does " + name, Handler: handler,
		InputSchema: []byte(`{"type":"object","properties":{"n":{"type":"integer","default":7}}}`),
	}
	for _, c := range change {
		c(&init)
	}
	return must(adk.NewTool(init))
}

func done(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
	return adk.NewTokenizable("done"), nil
}

// keysOf returns the keys of records, in order.
func keysOf[T adk.Record](records []T) []string {
	keys := []string{}
	for _, one := range records {
		keys = append(keys, one.Key())
	}
	return keys
}

func memory(id string) *adk.Memory {
	return must(adk.NewMemory(adk.MemoryInit{ID: id, Content: "c", Confidence: new(0.5), Importance: new(0.5), CreatedAt: noon, UpdatedAt: noon}))
}

func retrievable(id string) *adk.Retrievable {
	return must(adk.NewRetrievable(adk.RetrievableInit{ID: id, Content: "c", TrustTier: adk.TrustFirstParty, CreatedAt: noon, UpdatedAt: noon}))
}

func thought(id string) *adk.Thought {
	return must(adk.NewThought(adk.ThoughtInit{ID: id, Content: "c", CreatedAt: noon, UpdatedAt: noon}))
}
