package property_test

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	_ "github.com/adkreplay/adkreplay/internal/draws"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// severalAtOnce returns a turn whose executor does what plain goroutines might do concurrently: it
// executes the same tool and other tools, some of which fail or are refused, and uses storage.
func severalAtOnce() turn.Turn {
	execute := func(name string, args any) turn.Op {
		return turn.Op{Kind: "execute", Name: name, Args: turn.ValueOf(args)}
	}
	oslo := map[string]any{"city": "Oslo"}
	failing := turn.Body{End: turn.End{How: adk.OutcomeError, Err: turn.Failing("down")}}
	return turn.Turn{Prompt: "p", Tools: []turn.Record{{Record: samples.Tools[0]}, {Record: samples.Tools[1]}}, Scripts: []turn.Script{
		{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{
			execute("peek", map[string]any{}), execute("peek", map[string]any{}), execute("peek", oslo),
			execute("weather", oslo), execute("weather", map[string]any{"city": 5}),
			{Kind: "fetch", Of: adk.Messages}, {Kind: "fetch", Of: adk.Messages},
			{Kind: "store", Of: adk.Messages, Record: turn.RecordOf(turntest.Message("a", "x"))}, {Kind: "store", Of: adk.Messages, Record: turn.RecordOf(turntest.Message("b", "y"))},
			{Kind: "nack"}}}},
		{Seam: "tool/peek", Occurrence: 1, Body: failing},
		{Seam: "storage/messages.fetch", Occurrence: 1, Body: failing},
		{Seam: "storage/messages.store", Body: failing},
	}}
}

// Plain goroutines are legal (RUN-11): whatever they do concurrently on one handle, no invariant
// mistakes the steps of one goroutine for those of another.
func TestPlainGoroutinesHold(t *testing.T) {
	recorded, _, err := severalAtOnce().Trace()
	require.NoError(t, err)
	read, err := trace.Read(bytes.NewReader(recorded))
	require.NoError(t, err)
	before, each, after := operationsOf(read)
	require.Len(t, each, 9)
	rapid.Check(t, func(t *rapid.T) {
		open := append([][]adk.Crossing(nil), each...)
		lines := append([]adk.Crossing(nil), before...)
		for len(open) > 0 {
			at := rapid.IntRange(0, len(open)-1).Draw(t, "goroutine")
			lines = append(lines, open[at][0])
			if open[at] = open[at][1:]; len(open[at]) == 0 {
				open = append(open[:at:at], open[at+1:]...)
			}
		}
		lines = renumbered(append(lines, after...))
		for _, v := range property.Violations(read.Info, inOrder(lines)) {
			t.Errorf("%s\n%s", v, property.Excerpt(inOrder(lines), v.Crossing, v.Related))
		}
	})
}

// operationsOf returns the crossings of each spanning operation, and those before and after all of them.
func operationsOf(read *trace.Trace) (before []adk.Crossing, each [][]adk.Crossing, after []adk.Crossing) {
	open := false
	for i := range read.Lines() {
		x := read.Lines()[i].Crossing
		if x.Phase == adk.Begin {
			open = true
			each = append(each, nil)
		}
		switch last := len(each) - 1; {
		case open:
			each[last] = append(each[last], x)
		case last < 0:
			before = append(before, x)
		default:
			after = append(after, x)
		}
		open = open && x.Phase != adk.Done
	}
	return before, each, after
}

// renumbered numbers calls and operations in the order in which they begin.
func renumbered(lines []adk.Crossing) []adk.Crossing {
	calls, ops := map[int]int{}, map[int]int{}
	number := func(numbers map[int]int, old int, begins bool) int {
		if begins {
			numbers[old] = len(numbers) + 1
		}
		return numbers[old]
	}
	for i := range lines {
		x := &lines[i]
		x.Call = calls[x.Call]
		if x.Kind == adk.KindCall || x.Kind == adk.KindReturn {
			x.ID = number(calls, x.ID, x.Kind == adk.KindCall)
		}
		if x.Phase != adk.Whole {
			x.Op = number(ops, x.Op, x.Phase == adk.Begin)
		}
	}
	return lines
}

// A cancel may come between the begin of an execution and its handler, while the handler of another execution of
// the same tool is running. The answer of the first is not compared with the outcome of that handler.
func TestACancelBetweenGoroutinesThatRunOneTool(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	works, cancelled := make(chan bool), make(chan bool)
	search, err := adk.NewTool(adk.ToolInit{Name: "search", Description: "searches", InputSchema: json.RawMessage(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			close(works)
			<-cancelled
			return adk.Text("found"), nil
		}})
	require.NoError(t, err)
	begun := 0
	raw := adk.RawTurn{SystemPrompt: "Help."}
	raw.Observability.ToolExecutionStart = func(adk.ToolExecutionStart) {
		if begun++; begun == 2 {
			cancel()
		}
	}
	var recorded bytes.Buffer
	runner, err := adk.NewRunner(adk.Config{Storage: fakes.NoOpStorage(), Tools: []*adk.Tool{search}, Probe: replay.Record(&recorded),
		Executor: adk.Executor{Name: "model", Run: func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			tool, _ := dc.Tools().Get("search")
			var first sync.WaitGroup
			first.Go(func() { _, _ = dc.Execute(ctx, tool, map[string]any{"city": "Oslo"}) })
			<-works
			_, err := dc.Execute(ctx, tool, map[string]any{"city": "Bergen"})
			close(cancelled)
			first.Wait()
			return err
		}}})
	require.NoError(t, err)
	_ = runner.Run(ctx, raw) // a refused tool does not end the turn, so the result does not matter
	read, err := trace.Read(&recorded)
	require.NoError(t, err)
	require.Equal(t, 2, begun)
	crossings := make([]adk.Crossing, 0, read.Len())
	for _, line := range read.Lines() {
		crossings = append(crossings, line.Crossing)
	}
	assert.Empty(t, property.Violations(read.Info, inOrder(crossings)))
}
