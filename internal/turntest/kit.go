package turntest

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	_ "github.com/adkreplay/adkreplay/internal/draws"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// InAnyOrder makes the strands of turns run in random orders.
func InAnyOrder(turns *rapid.Generator[turn.Turn]) *rapid.Generator[turn.Turn] {
	return rapid.Custom(func(t *rapid.T) turn.Turn {
		one := turns.Draw(t, "turn")
		for choice := range 30 {
			if strand := rapid.IntRange(-1, 3).Draw(t, "strand"); strand >= 0 {
				one.Order = append(one.Order, turn.Decision{Choice: choice + 1, Strand: strand})
			}
		}
		return one
	})
}

// Shows turns a predicate on the lines of a trace into one on a turn.
func Shows(is func(lines []trace.Line) bool) func(turn.Turn) bool {
	return func(one turn.Turn) bool {
		recorded, refused, err := one.Trace()
		if err != nil || refused != nil {
			return false
		}
		read, err := trace.Read(bytes.NewReader(recorded))
		return err == nil && is(read.Lines())
	}
}

// AnyLine turns a predicate on a crossing into one on lines.
func AnyLine(is func(*adk.Crossing) bool) func([]trace.Line) bool {
	return func(lines []trace.Line) bool {
		return slices.ContainsFunc(lines, func(l trace.Line) bool { return is(&l.Crossing) })
	}
}

// Message returns a message of the user.
func Message(id, text string) *adk.Message {
	m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: text, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
	if err != nil {
		panic(err)
	}
	return m
}

// OddData returns a turn with every type of plain data in its stash, and with NaN and infinities
// wherever data can be.
func OddData() turn.Turn {
	nan, inf := math.NaN(), math.Inf(-1)
	odd := map[string]any{"nan": nan, "inf": []any{math.Inf(1), inf}, "single": float32(nan), "floats": []float64{nan, inf, -0.5},
		"map": map[string]float32{"a": float32(nan)}, "zero": math.Copysign(0, -1), "nil": []float64(nil), "lists": [][]int{{1}, nil},
		"bytes": []byte{1, 2}, "json": json.RawMessage("{\"a\":1}"), "small": uint8(3), "pointer": uintptr(5), "no time": time.Duration(0),
		"times": []time.Time{fakes.Epoch}, "durations": map[string]time.Duration{"a": 0, "b": time.Second}, "any": map[string][]any{"x": {nil, nan}}}
	return turn.Turn{Prompt: "Be nice.", Stash: turn.ValueOf(odd), Loud: []turn.Loud{{Event: "log", Occurrence: 1, Text: "ouch"}},
		Scripts: []turn.Script{{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{
			{Kind: "stash", Name: "odd", Value: turn.ValueOf(odd)},
			{Kind: "report-log", Key: "info", Name: "k", Text: "odd", Value: turn.ValueOf(nan)},
			{Kind: "report-log", Key: "info", Name: "k", Text: "odd", Value: turn.ValueOf(odd)},
			{Kind: "execute", Name: "nobody", Args: turn.ValueOf(map[string]any{"n": nan})},
			{Kind: "report-tool-call", Name: "c", Key: "peek", Args: turn.ValueOf(map[string]any{"n": inf}), Flag: true},
			{Kind: "wait-for", Name: "g", Text: "may I?", Value: turn.ValueOf(odd), Duration: time.Minute,
				Settle: []turn.Settlement{{By: "ann", Result: adk.GateResolved, Value: turn.ValueOf(nan)}}},
			{Kind: "ack"}}}}}}
}

// Everything returns a turn with every kind of operation.
func Everything() turn.Turn {
	peek := fakes.NewTool("peek", "Gives the next line.").Tool()
	return turn.Turn{
		Prompt: "Be nice.", Instructions: []string{"Be brief."}, Stash: turn.ValueOf(map[string]any{"n": 1, "f": 1.0}),
		Tools: []turn.Record{{Record: peek}}, Kept: []turn.Record{{Record: Message("a", "Hello")}, {Record: adk.NewTokenizable("Be kind.")}},
		TurnInput: []string{"in", "plan"}, DispatchInput: []string{"cap"}, DispatchOutput: []string{"judge"}, TurnOutput: []string{"out"},
		Loud: []turn.Loud{{Event: "iterationStart", Occurrence: 1, Text: "ouch"}},
		Scripts: []turn.Script{
			{Seam: "turn-input/in", Body: turn.Body{Ops: []turn.Op{
				{Kind: "fetch", Of: adk.Messages, Flag: true},
				{Kind: "refresh", Of: adk.Instructions},
				{Kind: "stash", Name: "user.age", Value: turn.ValueOf(30)},
				{Kind: "stash", Name: "user.age.no", Value: turn.ValueOf(30)},
				{Kind: "stash", Name: "user.pets", Value: turn.ValueOf([]any{"cat"}), Flag: true},
				{Kind: "stash", Name: "user", Value: turn.ValueOf(map[string]any{"a.b": 1, "a.c": 2})},
				{Kind: "add", Of: adk.Messages},
				{Kind: "fork", Name: "s", Do: &turn.Body{Ops: []turn.Op{{Kind: "sleep", Duration: time.Second}, {Kind: "now"}}, End: turn.End{How: adk.OutcomePanic, Err: turn.Failing("oops")}}},
				{Kind: "fork", Name: "t", Do: &turn.Body{Ops: []turn.Op{{Kind: "new-id"}, {Kind: "store", Of: adk.Messages, Record: turn.RecordOf(Message("b", "x"))}}}},
				{Kind: turn.OpJoin, Name: "s"},
				{Kind: "next"}, {Kind: "next"},
			}}},
			{Seam: "turn-input/plan", Body: turn.Body{Ops: []turn.Op{
				{Kind: turn.OpDispatch, Dispatch: &turn.Nested{Name: "planner", Executor: "small", Input: []string{"i"}, Scripts: []turn.Script{
					{Seam: "executor/small#0", Body: turn.Body{Ops: []turn.Op{{Kind: "report-message", Name: "p", Text: "plan", Flag: true}}}}}}},
				{Kind: "emit-message", Name: "e", Text: "hi", Flag: true},
				{Kind: "next"},
			}}},
			{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{
				{Kind: "on-ack", Name: "i", Do: &turn.Body{Ops: []turn.Op{{Kind: "stash", Must: true, Name: "i", Value: turn.ValueOf(1)},
					{Kind: "fork", Must: true, Name: "s", Do: &turn.Body{}}, {Kind: turn.OpJoin, Name: "s"}, {Kind: "now"}}}},
				{Kind: "on-ack", Name: "h", Do: &turn.Body{Ops: []turn.Op{{Kind: "report-log", Key: "info", Name: "k", Text: "acked", Value: turn.ValueOf(int64(5))}}, End: turn.End{How: adk.OutcomePanic, Err: turn.Failing("no")}}},
				{Kind: turn.OpBind},
				{Kind: turn.OpRead, Key: turn.ReadStash, Name: "user.pets", Flag: true},
				{Kind: turn.OpRead, Key: turn.ReadHas, Name: "user.age.no"},
				{Kind: turn.OpRead, Key: turn.ReadKeys},
				{Kind: turn.OpRead, Key: turn.ReadAll, Flag: true},
				{Kind: turn.OpRead, Key: turn.ReadSignal},
				{Kind: turn.OpRead, Key: turn.ReadCount, Record: turn.RecordOf(samples.Records[adk.ToolCalls][0])},
				{Kind: "execute", Name: "peek", Args: turn.ValueOf(map[string]any{"n": 1})},
				{Kind: "execute", Name: "peek", Args: turn.ValueOf("{}")},
				{Kind: "execute", Name: "nobody"},
				{Kind: "register", Record: turn.RecordOf(peek)},
				{Kind: "register"},
				{Kind: "unregister", Name: "nobody"},
				{Kind: "report-message", Name: "m", Text: "one ", Flag: false},
				{Kind: "report-message", Name: "m", Text: "two", Flag: true},
				{Kind: "report-message", Name: "m", Text: "three"},
				{Kind: "report-thought", Name: "m", Text: "hm", Flag: true},
				{Kind: "report-tool-call", Name: "c", Key: "peek", Args: turn.ValueOf(map[string]any{"n": 1}), Result: turn.ValueOf(adk.Text("x")), Flag: true},
				{Kind: "store", Of: adk.Messages, Record: turn.RecordOf(Message("c", "y"))},
				{Kind: "store", Of: adk.Messages, Record: turn.RecordOf(Message("d", "y"))},
				{Kind: "delete", Of: adk.Messages, Key: "a"},
				{Kind: "wait-for", Name: "g", Text: "may I?", Schema: json.RawMessage(`{"type":"boolean"}`), Settle: []turn.Settlement{
					{By: "bob", Result: adk.GateResolved, Value: turn.ValueOf("yes")}, {By: "ann", Result: adk.GateResolved, Value: turn.ValueOf(true), After: time.Minute}}},
				{Kind: "wait-for", Name: "h", Text: "and now?", Duration: time.Second},
				{Kind: "wait-for", Name: "i"},
				{Kind: "stash", On: "turn-input/in", Name: "outer", Value: turn.ValueOf(1)},
			}}},
			{Seam: "tool/peek", Occurrence: 1, Body: turn.Body{Ops: []turn.Op{{Kind: "now"}}, End: turn.End{How: adk.OutcomeError, Err: &turn.Failure{Text: "w", Causes: []turn.Failure{{Known: "context.Canceled"}}}}}},
			{Seam: "storage/messages.store", Occurrence: 1, Body: turn.Body{End: turn.End{How: adk.OutcomeError, Err: turn.Failing("disk full"), Kept: true}}},
			{Seam: "turn-output/out", Body: turn.Body{Ops: []turn.Op{{Kind: "next", On: "turn-input/in"}, {Kind: "stash", On: "executor/model#0", Name: "late"}, {Kind: turn.OpCancel, Cause: turn.Failing("left")}, {Kind: "next"}}, End: turn.End{How: adk.OutcomeGoexit}}},
		},
	}
}

// Standalone returns a standalone dispatch that is given a tool call.
func Standalone() turn.Turn {
	return turn.Turn{
		Prompt: "Plan.", Stash: turn.ValueOf(map[string]any{"n": 1}), DispatchInput: []string{"cap"},
		Standalone: &turn.Standalone{Name: "planner", Gates: true, Records: []turn.Record{{Record: samples.Records[adk.ToolCalls][0]}, {Record: Message("a", "Hello")}}},
		Scripts: []turn.Script{{Seam: "executor/model#0", Body: turn.Body{Ops: []turn.Op{
			{Kind: turn.OpRead, Key: turn.ReadCount, Record: turn.RecordOf(samples.Records[adk.ToolCalls][0])},
			{Kind: "store", Of: adk.Messages, Record: turn.RecordOf(Message("b", "x"))},
			{Kind: "wait-for", Name: "g", Text: "may I?", Settle: []turn.Settlement{{By: "ann", Result: adk.GateResolved}}},
			{Kind: "nack", Cause: turn.Failing("no plan")},
		}}}},
	}
}

// EndedByListener returns a turn in which a listener ends the goroutine that waits for a gate when
// the gate opens.
func EndedByListener() turn.Turn {
	return turn.Turn{Prompt: "p", TurnInput: []string{"a"}, Loud: []turn.Loud{{Event: "turnGateOpen", Goexit: true}}, Scripts: []turn.Script{{Seam: "turn-input/a",
		Body: turn.Body{Ops: []turn.Op{{Kind: "wait-for", Name: "g", Text: "may I?"}, {Kind: "next"}}}}}}
}
