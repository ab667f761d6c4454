package property

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

func message(id, text string) *adk.Message {
	m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: text, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
	if err != nil {
		panic(err)
	}
	return m
}

// oddData is a turn with every type of plain data in its stash, and with numbers
// that are none wherever data can stand.
func oddData() Turn {
	nan, inf := math.NaN(), math.Inf(-1)
	odd := map[string]any{"nan": nan, "inf": []any{math.Inf(1), inf}, "single": float32(nan), "floats": []float64{nan, inf, -0.5},
		"map": map[string]float32{"a": float32(nan)}, "zero": math.Copysign(0, -1), "nil": []float64(nil), "lists": [][]int{{1}, nil},
		"bytes": []byte{1, 2}, "json": json.RawMessage("{\"a\":1}"), "small": uint8(3), "pointer": uintptr(5), "no time": time.Duration(0),
		"times": []time.Time{fakes.Epoch}, "durations": map[string]time.Duration{"a": 0, "b": time.Second}, "any": map[string][]any{"x": {nil, nan}}}
	return Turn{Prompt: "Be nice.", Stash: ValueOf(odd), Loud: []Loud{{Event: "log", Occurrence: 1, Text: "ouch"}},
		Scripts: []Script{{Seam: "executor/model#0", Body: Body{Ops: []Op{
			{Kind: "stash", Name: "odd", Value: ValueOf(odd)},
			{Kind: "report-log", Key: "info", Name: "k", Text: "odd", Value: ValueOf(nan)},
			{Kind: "report-log", Key: "info", Name: "k", Text: "odd", Value: ValueOf(odd)},
			{Kind: "execute", Name: "nobody", Args: ValueOf(map[string]any{"n": nan})},
			{Kind: "report-tool-call", Name: "c", Key: "peek", Args: ValueOf(map[string]any{"n": inf}), Flag: true},
			{Kind: "wait-for", Name: "g", Text: "may I?", Value: ValueOf(odd), Duration: time.Minute,
				Settle: []Settlement{{By: "ann", Result: adk.GateResolved, Value: ValueOf(nan)}}},
			{Kind: "ack"}}}}}}
}

// DET-2: what is no number equals itself: such a turn is the same twice, replays
// and can be told again.
func TestOddData(t *testing.T) {
	require.Empty(t, CheckTurn(oddData()))
	again := oddData()
	trace, _, err := again.Trace()
	require.NoError(t, err)
	assert.Empty(t, CheckTurn(translated(t, trace)))
}

// everything is a turn with every kind of operation in it.
func everything() Turn {
	peek := fakes.NewTool("peek", "Gives the next line.").Tool()
	return Turn{
		Prompt: "Be nice.", Instructions: []string{"Be brief."}, Stash: ValueOf(map[string]any{"n": 1, "f": 1.0}),
		Tools: []Record{{peek}}, Kept: []Record{{message("a", "Hello")}, {adk.NewTokenizable("Be kind.")}},
		TurnInput: []string{"in", "plan"}, DispatchInput: []string{"cap"}, DispatchOutput: []string{"judge"}, TurnOutput: []string{"out"},
		Loud: []Loud{{Event: "iterationStart", Occurrence: 1, Text: "ouch"}},
		Scripts: []Script{
			{Seam: "turn-input/in", Body: Body{Ops: []Op{
				{Kind: "fetch", Of: adk.Messages, Flag: true},
				{Kind: "refresh", Of: adk.Instructions},
				{Kind: "stash", Name: "user.age", Value: ValueOf(30)},
				{Kind: "stash", Name: "user.age.no", Value: ValueOf(30)},
				{Kind: "stash", Name: "user.pets", Value: ValueOf([]any{"cat"}), Flag: true},
				{Kind: "stash", Name: "user", Value: ValueOf(map[string]any{"a.b": 1, "a.c": 2})},
				{Kind: "add", Of: adk.Messages},
				{Kind: "fork", Name: "s", Do: &Body{Ops: []Op{{Kind: "sleep", Duration: time.Second}, {Kind: "now"}}, End: End{How: adk.OutcomePanic, Err: Failing("oops")}}},
				{Kind: "fork", Name: "t", Do: &Body{Ops: []Op{{Kind: "new-id"}, {Kind: "store", Of: adk.Messages, Record: RecordOf(message("b", "x"))}}}},
				{Kind: OpJoin, Name: "s"},
				{Kind: "next"}, {Kind: "next"},
			}}},
			{Seam: "turn-input/plan", Body: Body{Ops: []Op{
				{Kind: OpDispatch, Dispatch: &Nested{Name: "planner", Executor: "small", Input: []string{"i"}, Scripts: []Script{
					{Seam: "executor/small#0", Body: Body{Ops: []Op{{Kind: "report-message", Name: "p", Text: "plan", Flag: true}}}}}}},
				{Kind: "emit-message", Name: "e", Text: "hi", Flag: true},
				{Kind: "next"},
			}}},
			{Seam: "executor/model#0", Body: Body{Ops: []Op{
				{Kind: "on-ack", Name: "i", Do: &Body{Ops: []Op{{Kind: "stash", Must: true, Name: "i", Value: ValueOf(1)},
					{Kind: "fork", Must: true, Name: "s", Do: &Body{}}, {Kind: OpJoin, Name: "s"}, {Kind: "now"}}}},
				{Kind: "on-ack", Name: "h", Do: &Body{Ops: []Op{{Kind: "report-log", Key: "info", Name: "k", Text: "acked", Value: ValueOf(int64(5))}}, End: End{How: adk.OutcomePanic, Err: Failing("no")}}},
				{Kind: OpBind},
				{Kind: OpRead, Key: ReadStash, Name: "user.pets", Flag: true},
				{Kind: OpRead, Key: ReadHas, Name: "user.age.no"},
				{Kind: OpRead, Key: ReadKeys},
				{Kind: OpRead, Key: ReadAll, Flag: true},
				{Kind: OpRead, Key: ReadSignal},
				{Kind: OpRead, Key: ReadCount, Record: RecordOf(someRecords[adk.ToolCalls][0])},
				{Kind: "execute", Name: "peek", Args: ValueOf(map[string]any{"n": 1})},
				{Kind: "execute", Name: "peek", Args: ValueOf("{}")},
				{Kind: "execute", Name: "nobody"},
				{Kind: "register", Record: RecordOf(peek)},
				{Kind: "register"},
				{Kind: "unregister", Name: "nobody"},
				{Kind: "report-message", Name: "m", Text: "one ", Flag: false},
				{Kind: "report-message", Name: "m", Text: "two", Flag: true},
				{Kind: "report-message", Name: "m", Text: "three"},
				{Kind: "report-thought", Name: "m", Text: "hm", Flag: true},
				{Kind: "report-tool-call", Name: "c", Key: "peek", Args: ValueOf(map[string]any{"n": 1}), Result: ValueOf(adk.Text("x")), Flag: true},
				{Kind: "store", Of: adk.Messages, Record: RecordOf(message("c", "y"))},
				{Kind: "store", Of: adk.Messages, Record: RecordOf(message("d", "y"))},
				{Kind: "delete", Of: adk.Messages, Key: "a"},
				{Kind: "wait-for", Name: "g", Text: "may I?", Schema: json.RawMessage(`{"type":"boolean"}`), Settle: []Settlement{
					{By: "bob", Result: adk.GateResolved, Value: ValueOf("yes")}, {By: "ann", Result: adk.GateResolved, Value: ValueOf(true), After: time.Minute}}},
				{Kind: "wait-for", Name: "h", Text: "and now?", Duration: time.Second},
				{Kind: "wait-for", Name: "i"},
				{Kind: "stash", On: "turn-input/in", Name: "outer", Value: ValueOf(1)},
			}}},
			{Seam: "tool/peek", Occurrence: 1, Body: Body{Ops: []Op{{Kind: "now"}}, End: End{How: adk.OutcomeError, Err: &Failure{Text: "w", Causes: []Failure{{Known: "context.Canceled"}}}}}},
			{Seam: "storage/messages.store", Occurrence: 1, Body: Body{End: End{How: adk.OutcomeError, Err: Failing("disk full"), Kept: true}}},
			{Seam: "turn-output/out", Body: Body{Ops: []Op{{Kind: "next", On: "turn-input/in"}, {Kind: "stash", On: "executor/model#0", Name: "late"}, {Kind: OpCancel, Cause: Failing("left")}, {Kind: "next"}}, End: End{How: adk.OutcomeGoexit}}},
		},
	}
}

// alone is a dispatch called alone, to which a tool call was given.
func alone() Turn {
	return Turn{
		Prompt: "Plan.", Stash: ValueOf(map[string]any{"n": 1}), DispatchInput: []string{"cap"},
		Alone: &Alone{Name: "planner", Gates: true, Records: []Record{{someRecords[adk.ToolCalls][0]}, {message("a", "Hello")}}},
		Scripts: []Script{{Seam: "executor/model#0", Body: Body{Ops: []Op{
			{Kind: OpRead, Key: ReadCount, Record: RecordOf(someRecords[adk.ToolCalls][0])},
			{Kind: "store", Of: adk.Messages, Record: RecordOf(message("b", "x"))},
			{Kind: "wait-for", Name: "g", Text: "may I?", Settle: []Settlement{{By: "ann", Result: adk.GateResolved}}},
			{Kind: "nack", Cause: Failing("no plan")},
		}}}},
	}
}

// A dispatch called alone is run, told and refused as one (DSP-1, DSP-8, DSP-10, DSP-12).
func TestDispatchAloneRuns(t *testing.T) {
	assert.Empty(t, CheckTurn(alone()))
	assert.Empty(t, Disagree(alone()))
	trace, refused, err := alone().Trace()
	require.NoError(t, err)
	assert.NoError(t, refused)
	told := transcriptText(t, trace)
	for _, words := range []string{"dispatch/planner", `"count" 1`, "resolved by ann", "nack"} {
		assert.Contains(t, told, words)
	}
	assert.NotContains(t, told, "turnStart")

	unsettled := alone()
	unsettled.Alone.Gates = false
	assert.Empty(t, CheckTurn(unsettled))
	trace, _, err = unsettled.Trace()
	require.NoError(t, err)
	assert.NotContains(t, transcriptText(t, trace), "wait-for")

	wrong := alone()
	wrong.Alone.Records = append(wrong.Alone.Records, wrong.Alone.Records...)
	_, refused, _ = wrong.Trace()
	require.ErrorIs(t, refused, adk.E_INVALID_LLM_EXECUTION_CONTEXT)
	assert.Empty(t, CheckTurn(wrong))

	_, err = Explore(t.Context(), alone().Subject(), Options{})
	assert.ErrorContains(t, err, "a dispatch called alone: only turns are explored")
}

// endedByListener is a turn whose waiter ends when its gate opens.
func endedByListener() Turn {
	return Turn{Prompt: "p", TurnInput: []string{"a"}, Loud: []Loud{{Event: "turnGateOpen", Goexit: true}}, Scripts: []Script{{Seam: "turn-input/a",
		Body: Body{Ops: []Op{{Kind: "wait-for", Name: "g", Text: "may I?"}, {Kind: "next"}}}}}}
}

// GAT-6: a gate is gone with its turn, also when a listener ends who waits for it.
func TestListenerEndsTheWaiter(t *testing.T) {
	assert.Empty(t, CheckTurn(endedByListener()))
	trace, _, err := endedByListener().Trace()
	require.NoError(t, err)
	told := transcriptText(t, trace)
	assert.Contains(t, told, "turnGateClosed gate1 aborted")
	assert.Contains(t, told, "      → goexit: it ended its goroutine\n  sight at the end")
	assert.NotContains(t, told, "dispatch")
}

func TestTurnRuns(t *testing.T) {
	assert.Empty(t, CheckTurn(everything()))
	trace, refused, err := everything().Trace()
	require.NoError(t, err)
	assert.NoError(t, refused)
	told := transcriptText(t, trace)
	for _, words := range []string{"strand/s", "panic: oops", "second next", "late stash", "ouch", "dispatch/planner", "refuses what was offered by bob",
		"resolved by ann with true  +1m0s", "times out", "→ error: disk full", "cancelled from outside: left", "goexit",
		`"stash user.pets" ["cat"]`, `"has user.age.no" false`, `"keys" "f n user.age user.pets"`, "signalled=false acked=false nacked=false", `"count" 0`} {
		assert.Contains(t, told, words)
	}
}

// A turn is plain data: what was written and read runs as before.
func TestTurnJSON(t *testing.T) {
	want := everything()
	data, err := json.Marshal(want)
	require.NoError(t, err)
	var got Turn
	require.NoError(t, json.Unmarshal(data, &got))
	again, err := json.Marshal(got)
	require.NoError(t, err)
	assert.Equal(t, string(data), string(again))
	a, _, err := want.Trace()
	require.NoError(t, err)
	b, _, err := got.Trace()
	require.NoError(t, err)
	assert.Equal(t, string(a), string(b))
}
