package adk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/adkreplay/adkreplay/replay"
)

// The benchmarks run turns with the default clock and ids of a Config, each in alternation with its
// floor: the same user code without an engine. The floor fetches and keeps the same records, decodes
// the same arguments and appends the same texts; it validates, hashes and emits nothing. The metric
// x-floor is the time of a turn divided by the time of its floor. Times depend on the machine and are
// only reported. What a turn allocates does not depend on the machine, and TestAllocations
// checks it.

// workload is a turn and its floor.
type workload struct {
	config adk.Config
	floor  func()
}

// benchStore is a storage that stores nothing, but has messages to fetch.
type benchStore[T adk.Record] struct{ kept []T }

func (s *benchStore[T]) Fetch(context.Context, adk.Scope) ([]T, error) {
	return slices.Clone(s.kept), nil
}
func (*benchStore[T]) Store(context.Context, adk.Scope, T) error       { return nil }
func (*benchStore[T]) Mutate(context.Context, adk.Scope, T) error      { return nil }
func (*benchStore[T]) Delete(context.Context, adk.Scope, string) error { return nil }

func benchConfig(history ...*adk.Message) adk.Config {
	storage := fakes.NoOpStorage()
	storage.Messages, storage.Tools = &benchStore[*adk.Message]{history}, toolShelf{&book{}}
	return adk.Config{TurnInput: []adk.TurnMiddleware{{Name: "hydrate", Run: hydrateMessages}}, Storage: storage}
}

func hydrateMessages(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
	fetched, err := tc.Messages().Fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range fetched {
		if _, err := tc.Messages().Add(m); err != nil {
			return err
		}
	}
	next(ctx)
	return nil
}

const answer = "It is 4 °C in Oslo, and it will rain."

func answerMessage() *adk.Message {
	return must(adk.NewMessage(adk.MessageInit{ID: "answer", Role: adk.RoleAssistant, Content: answer, CreatedAt: noon, UpdatedAt: noon}))
}

// reply reports a message, stores it and acks.
func reply(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
	if _, err := h.ReportMessage("answer", answer, true); err != nil {
		return err
	}
	if err := dc.Messages().Store(ctx, answerMessage()); err != nil {
		return err
	}
	return dc.Ack()
}

// floorState is what a program without an engine holds of a turn.
type floorState struct {
	prompt   string
	messages []*adk.Message
	calls    []*floorCall
	text     strings.Builder
}

type floorCall struct {
	id, tool string
	args     map[string]any
	result   adk.ToolResult
}

// floorStart does what begins a turn, without an engine.
func floorStart(store adk.Collection[*adk.Message]) *floorState {
	s := &floorState{prompt: hello.SystemPrompt}
	s.messages = append(s.messages, must(store.Fetch(context.Background(), adk.Scope{}))...)
	return s
}

func (s *floorState) reply(store adk.Collection[*adk.Message]) {
	s.text.WriteString(answer)
	m := answerMessage()
	_ = store.Store(context.Background(), adk.Scope{}, m)
	s.messages = append(s.messages, m)
}

// oneShot fetches a history, reports a message, stores it and acks.
func oneShot(history ...*adk.Message) workload {
	config := benchConfig(history...)
	config.Executor = executor(reply)
	store := config.Storage.Messages
	return workload{config, func() { floorStart(store).reply(store) }}
}

const forecastArgs = `{"city":"Oslo","days":3,"units":"metric"}`

func forecastTool() *adk.Tool {
	return tool("forecast", func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
		return adk.NewTokenizable("4 °C, rain"), nil
	}, func(init *adk.ToolInit) {
		init.InputSchema = []byte(`{"type":"object","required":["city"],"properties":{"city":{"type":"string"},
			"days":{"type":"integer","minimum":1},"units":{"type":"string","enum":["metric","imperial"]}}}`)
	})
}

// threeTools runs a tool in each of three iterations, and replies in the fourth.
func threeTools() workload {
	config, forecast := benchConfig(message("m")), forecastTool()
	config.Tools = []*adk.Tool{forecast}
	config.Executor = executor(func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		if dc.Iteration() < 3 {
			return useTool(ctx, dc, forecast)
		}
		return reply(ctx, dc, h)
	})
	messages, calls := config.Storage.Messages, config.Storage.ToolCalls
	return workload{config, func() {
		s := floorStart(messages)
		for range 3 {
			s.useTool(calls)
		}
		s.reply(messages)
	}}
}

func useTool(ctx context.Context, dc *adk.DispatchContext, forecast *adk.Tool) error {
	result, err := dc.Execute(ctx, forecast, forecastArgs)
	if err != nil {
		return err
	}
	kept, err := adk.NewToolCall(adk.ToolCallInit{ID: callIDs[dc.Iteration()], Tool: "forecast", Args: forecastArgs, Results: result,
		CreatedAt: noon, UpdatedAt: noon, CompletedAt: noon})
	if err != nil {
		return err
	}
	return dc.ToolCalls().Store(ctx, kept)
}

var callIDs = []string{"call-1", "call-2", "call-3"}

// useTool decodes the arguments twice: for the handler, and for the record of
// the call, which must not share them.
func (s *floorState) useTool(store adk.Collection[*adk.ToolCall]) {
	var given, kept map[string]any
	for _, into := range []*map[string]any{&given, &kept} {
		if err := json.Unmarshal([]byte(forecastArgs), into); err != nil {
			panic(err)
		}
	}
	result := adk.NewTokenizable("4 °C, rain")
	s.calls = append(s.calls, &floorCall{callIDs[len(s.calls)], "forecast", kept, result})
	_ = store.Store(context.Background(), adk.Scope{}, nil)
}

// benchTurn runs a workload in alternation with its floor, and returns how long one
// turn takes.
func benchTurn(b *testing.B, w workload) time.Duration {
	runner := newRunner(b, w.config)
	run := func() { _ = runner.Run(context.Background(), hello) }
	const turns = 32 // a round is long compared with the two readings of the clock
	all := alternate(b, repeat(turns, run), repeat(turns, w.floor))
	b.ReportMetric(all.median(func(r round) float64 { return float64(r.turn) / float64(r.floor) }), "x-floor")
	b.ReportMetric(allocs.PerRun(10, run), "allocs/turn")
	took := all.median(func(r round) float64 { return float64(r.turn) / turns })
	b.ReportMetric(took, "ns/op")
	return time.Duration(took)
}

func repeat(n int, run func()) func() {
	return func() {
		for range n {
			run()
		}
	}
}

// round holds how long a turn and its floor took.
type round struct{ turn, floor time.Duration }

type rounds []round

// alternate runs turn and floor alternately, so that other load on the machine affects
// both.
func alternate(b *testing.B, turn, floor func()) (all rounds) {
	for b.Loop() {
		begun := time.Now()
		turn()
		between := time.Now()
		floor()
		all = append(all, round{between.Sub(begun), time.Since(between)})
	}
	return all
}

// median is the median of a value of each round: disturbances of a few rounds do
// not count.
func (all rounds) median(of func(round) float64) float64 {
	each := make([]float64, len(all))
	for i, r := range all {
		each[i] = of(r)
	}
	slices.Sort(each)
	return each[len(each)/2]
}

func BenchmarkOneShot(b *testing.B)    { benchTurn(b, oneShot(message("m"))) }
func BenchmarkThreeTools(b *testing.B) { benchTurn(b, threeTools()) }

// BenchmarkHistory: the cost of one message of the history does not depend on their number.
func BenchmarkHistory(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			took := benchTurn(b, oneShot(history(n)...))
			b.ReportMetric(float64(took)/float64(n), "ns/message")
		})
	}
}

func history(n int) []*adk.Message {
	all := make([]*adk.Message, n)
	for i := range all {
		all[i] = message(fmt.Sprint("m", i))
	}
	return all
}

// BenchmarkThousandTurnsAtOnce: concurrent turns of one runner do not wait for each other.
func BenchmarkThousandTurnsAtOnce(b *testing.B) {
	const turns = 1000
	runner := newRunner(b, oneShot(message("m")).config)
	b.ReportAllocs()
	for b.Loop() {
		var all sync.WaitGroup
		for range turns {
			all.Go(func() { _ = runner.Run(context.Background(), hello) })
		}
		all.Wait()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N*turns), "ns/turn")
}

// BenchmarkDelta: the cost of a delta does not depend on how many came before it. It includes
// one reading of the clock, which is measured separately.
func BenchmarkDelta(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		for _, heard := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/heard=%t", n, heard), func(b *testing.B) { benchDeltas(b, n, heard) })
		}
	}
}

func benchDeltas(b *testing.B, n int, heard bool) {
	runner, clock := newRunner(b, deltas(n)), adk.SystemClock()
	if heard {
		runner.On(adk.Functional{Message: func(adk.MessageEvent) {}})
	}
	b.ReportAllocs()
	all := alternate(b,
		func() { _ = runner.Run(context.Background(), hello) },
		repeat(n, func() { sinkTime = clock.Now() }))
	b.ReportMetric(all.median(func(r round) float64 { return float64(r.turn) / float64(n) }), "ns/delta")
	b.ReportMetric(all.median(func(r round) float64 { return float64(r.turn-r.floor) / float64(n) }), "ns-above-clock/delta")
}

var sinkTime time.Time

// deltas is the config of a turn that streams a message in n deltas.
func deltas(n int) adk.Config {
	config := benchConfig()
	config.Executor = executor(func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		for i := range n {
			if _, err := h.ReportMessage("answer", "word ", i == n-1); err != nil {
				return err
			}
		}
		return dc.Ack()
	})
	return config
}

// BenchmarkRecorded runs the same turns with a recorder that discards the trace.
func BenchmarkRecorded(b *testing.B) {
	for _, turn := range []struct {
		name string
		workload
	}{{"OneShot", oneShot(message("m"))}, {"ThreeTools", threeTools()}} {
		b.Run(turn.name, func(b *testing.B) {
			w, size := turn.workload, counter{}
			w.config.Probe = replay.RecordEach(func(adk.RunInfo) (io.WriteCloser, error) { return &size, nil })
			benchTurn(b, w)
			b.ReportMetric(float64(size.bytes)/float64(size.traces), "trace-bytes")
		})
	}
}

// counter counts the bytes and traces that are written.
type counter struct{ bytes, traces int }

func (c *counter) Write(p []byte) (int, error) { c.bytes += len(p); return len(p), nil }
func (c *counter) Close() error                { c.traces++; return nil }

// A turn allocates at most what was measured, plus a little headroom. A delta allocates nothing,
// except its event where a listener observes it.
func TestAllocations(t *testing.T) {
	allocs.Countable(t)
	for _, turn := range []struct {
		name           string
		config         adk.Config
		most, recorded float64
	}{
		{"one-shot turn", oneShot(message("m")).config, 24, 40},
		{"three tools", threeTools().config, 180, 230},
		{"10,000 deltas", deltas(10_000), 40, 10_060},
	} {
		assert.LessOrEqual(t, allocations(t, turn.config), turn.most, turn.name)
		turn.config.Probe = replay.RecordEach(func(adk.RunInfo) (io.WriteCloser, error) { return &counter{}, nil })
		assert.LessOrEqual(t, allocations(t, turn.config), turn.recorded, "%s, recorded", turn.name)
	}
}

func allocations(t *testing.T, config adk.Config) float64 {
	runner := newRunner(t, config)
	return allocs.PerRun(20, func() { _ = runner.Run(context.Background(), hello) })
}
