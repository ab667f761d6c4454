package property

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// What generators draw from. There is little of everything, so that what is
// drawn meets: the same id twice, a path below another, a stream reported on
// after its end. What is simple stands first, and is drawn more often.

var (
	recordOps = weighed("add", 2, "store", 3, "fetch", 2, "mutate", 1, "delete", 1, "remove", 1)
	// turnOps are what a turn middleware does beside next.
	turnOps = slices.Concat(weighed("stash", 3), recordOps, weighed("wait-for", 3, "register", 1, "unregister", 1, "prune", 1,
		"emit-message", 1, "now", 1, "new-id", 1, "sleep", 1, "fork", 2, OpJoin, 1, OpDispatch, 2, "late", 2, "abort", 1))
	// dispatchOps are what a dispatch middleware does beside next.
	dispatchOps = slices.Concat(weighed("stash", 2, OpRead, 1), recordOps, weighed("execute", 2, "wait-for", 2, "nack", 1, "report-message", 1,
		"on-ack", 2, "off-ack", 1, "register", 1, "fork", 2, OpJoin, 1, OpBind, 1, "sleep", 1, "late", 2, "ack", 2, OpDispatch, 1, "abort", 1, OpCancel, 1))
	// executorOps are what an executor does.
	executorOps = slices.Concat(weighed("report-message", 4, "execute", 3, "store", 3), recordOps, weighed("report-thought", 2, "report-tool-call", 2,
		"report-log", 1, OpRead, 3, "wait-for", 3, "ack", 2, "fork", 3, OpJoin, 1, OpBind, 1, "on-ack", 2, "stash", 1, "nack", 1, OpSettle, 1, "now", 1, "new-id", 1,
		"emit-thought", 1, "emit-tool-call", 1, "ack", 4, OpDispatch, 2, "sleep", 1, "prune", 1, "off-ack", 1, "late", 2, "abort", 1, OpCancel, 1))
	// strandOps are what a strand does; on a turn, those that it has not do
	// nothing.
	strandOps = slices.Concat(weighed("execute", 2, "store", 2, "sleep", 2, "wait-for", 2), recordOps, weighed("report-message", 2, "stash", 1,
		OpRead, 1, "now", 1, "fork", 1, OpSettle, 1, OpDispatch, 1, "ack", 1, "nack", 1, "abort", 1, OpCancel, 1))
	// toolOps are what a tool's handler or an on-ack handler does.
	toolOps = weighed("now", 1, "store", 2, "stash", 1, "sleep", 1, "report-log", 1, OpRead, 1, "wait-for", 1, "fork", 1, "execute", 1, OpDispatch, 2, "ack", 1, "abort", 1)

	lateTurnOps     = weighed("next", 2, "stash", 2, "store", 1, "fetch", 1, "add", 1, "abort", 1, "wait-for", 1, "register", 1, "sleep", 1, "fork", 1)
	lateDispatchOps = weighed("next", 2, "stash", 2, "store", 1, "ack", 1, "nack", 1, "report-message", 1, "execute", 1, "on-ack", 1, "off-ack", 1)
)

var (
	endings  = []adk.Outcome{adk.OutcomeError, adk.OutcomeError, adk.OutcomePanic, adk.OutcomeError, adk.OutcomePanic, adk.OutcomeGoexit}
	failures = []*Failure{Failing("it failed"), {Code: adk.E_TURN_ABORTED, Text: "the turn was aborted"}, {Known: "context.Canceled"},
		{Text: "wrapped", Causes: []Failure{{Known: "context.DeadlineExceeded"}}},
		{Text: "both", Causes: []Failure{{Text: "one"}, {Code: adk.E_TURN_ABORTED, Text: "two"}}},
		{Code: adk.E_LLM_EXECUTION_STREAM_SEALED, Text: "of its own"}}
	collections  = []adk.CollectionName{adk.Messages, adk.Memories, adk.Instructions, adk.ToolCalls, adk.Thoughts, adk.Retrievables}
	instructions = []string{"Be brief.", "Be kind."}
	stashes      = []*Value{nil, ValueOf(map[string]any{"a": 1}), ValueOf(map[string]any{"a": map[string]any{"b": "x"}, "l": []any{1}})}
	values       = []*Value{ValueOf(1), nil, ValueOf("x"), ValueOf(map[string]any{"b": 2.5}), ValueOf([]any{true}), ValueOf(int64(3)), ValueOf("y"), ValueOf(map[string]any{"b.c": 1, "d.e": 2})}
	legalPaths   = []string{"c", "d.e", "f.g.h"}
	somePaths    = []string{"c", "a", "d.e", "c", "d.e", "f", "a.b", "f.g.h", "d", "c.x", "l.0", "", "a..b"}
	reads        = []string{ReadSignal, ReadStash, ReadCount, ReadAll, ReadStash, ReadHas, ReadCount, ReadKeys}
	readPaths    = []string{"a", "d", "f", "c", "a.b", "l", "f.g", "d.e", "c.x", "l.0", ""}
	durations    = []time.Duration{time.Second, 0, time.Minute, -1}
	gateDelays   = []time.Duration{0, 0, 0, 2 * time.Second, time.Hour}
	gateIDs      = []string{"g", "h"}
	gateSchemas  = []json.RawMessage{nil, json.RawMessage(`{"type":"boolean"}`)}
	gateTimeouts = []time.Duration{time.Minute, 0, time.Minute, time.Second}
	gateValues   = []any{true, "yes", nil, 5}
	settlers     = []string{"ann", "bob", ""}
	settlements  = []string{adk.GateResolved, adk.GateRejected, adk.GateResolved, adk.GateAborted}
	streamIDs    = []string{"m", "n"}
	texts        = []string{"one ", "two ", "", "\xff"}
	levels       = []string{string(adk.LevelInfo), string(adk.LevelError)}
	toolArgs     = []*Value{ValueOf(map[string]any{"city": "Oslo"}), ValueOf(map[string]any{}), ValueOf(`{"city":"Rome"}`), nil, ValueOf("no object"), ValueOf(map[string]any{"city": 5})}
	results      = []*Value{nil, ValueOf(adk.Text("4 °C")), ValueOf(adk.Bytes("raw")), {}}
	events       = []string{"message", "thought", "toolCall", "turnStart", "turnEnd", "dispatchStart", "dispatchEnd", "iterationStart", "iterationEnd",
		"turnGateClosed", "toolExecutionStart", "toolExecutionEnd", "log", "error"}
	wrongs      = []string{WrongBoth, WrongStorage, WrongNeither}
	obligations = []string{"storage/messages.store", "storage/memories.store", "storage/messages.fetch", "storage/instructions.store", "storage/messages.mutate",
		"storage/toolCalls.store", "storage/messages.delete", "storage/memories.mutate", "storage/instructions.refresh", "storage/tools.fetch"}
)

// someTools are tools with and without a schema that refuses, and one that is
// pruned.
var someTools = []*adk.Tool{
	someTool(adk.ToolInit{Name: "peek", Description: "Gives the next line.", InputSchema: json.RawMessage(`{"type":"object"}`)}),
	someTool(adk.ToolInit{Name: "weather", Description: "Tells the weather.", Ephemeral: true,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","default":1}},"required":["city"]}`)}),
}

func someTool(init adk.ToolInit) *adk.Tool {
	init.Handler = func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
		return adk.Text("ok"), nil
	}
	return must(adk.NewTool(init))
}

// must is for what is made of constants.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// someRecords are three records of each collection, of which two share a key.
var someRecords = makeRecords()

func makeRecords() map[adk.CollectionName][]adk.Record {
	at := fakes.Epoch
	all := map[adk.CollectionName][]adk.Record{}
	for _, one := range []struct{ id, text string }{{"r1", "one"}, {"r2", "two"}, {"r1", "ONE"}} {
		all[adk.Messages] = append(all[adk.Messages], must(adk.NewMessage(adk.MessageInit{ID: one.id, Role: adk.RoleUser, Content: one.text, CreatedAt: at, UpdatedAt: at})))
		all[adk.Memories] = append(all[adk.Memories], must(adk.NewMemory(adk.MemoryInit{ID: one.id, Content: one.text, Confidence: new(0.5), Importance: new(0.5), CreatedAt: at, UpdatedAt: at})))
		all[adk.Thoughts] = append(all[adk.Thoughts], must(adk.NewThought(adk.ThoughtInit{ID: one.id, Content: one.text, CreatedAt: at, UpdatedAt: at})))
		all[adk.ToolCalls] = append(all[adk.ToolCalls], must(adk.NewToolCall(adk.ToolCallInit{ID: one.id, Tool: "peek", Args: map[string]any{"n": one.text},
			Results: adk.Text(one.text), CreatedAt: at, UpdatedAt: at, CompletedAt: at})))
		all[adk.Retrievables] = append(all[adk.Retrievables], must(adk.NewRetrievable(adk.RetrievableInit{ID: one.id, Content: one.text, TrustTier: adk.TrustFirstParty, CreatedAt: at, UpdatedAt: at})))
	}
	for _, text := range []string{"Be brief.", "Be exact.", "Be kind."} {
		all[adk.Instructions] = append(all[adk.Instructions], adk.NewTokenizable(text))
	}
	return all
}
