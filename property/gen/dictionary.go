package gen

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/turn"
)

// The values that generators choose from. There are few of each kind, so that they collide: the
// same id twice, a path below another, a stream reported on after its end. Simple values come
// first, and are drawn more often.

var (
	recordOps = weighed("add", 2, "store", 3, "fetch", 2, "mutate", 1, "delete", 1, "remove", 1)
	// turnOps are what a turn middleware does besides next.
	turnOps = slices.Concat(weighed("stash", 3), recordOps, weighed("wait-for", 3, "register", 1, "unregister", 1, "prune", 1,
		"emit-message", 1, "now", 1, "new-id", 1, "sleep", 1, turn.OpAsk, 1, "fork", 2, turn.OpJoin, 1, turn.OpDispatch, 2, "late", 2, "abort", 1))
	// dispatchOps are what a dispatch middleware does besides next.
	dispatchOps = slices.Concat(weighed("stash", 2, turn.OpRead, 1), recordOps, weighed("execute", 2, "wait-for", 2, "nack", 1, "report-message", 1,
		"on-ack", 2, "off-ack", 1, "register", 1, "fork", 2, turn.OpJoin, 1, turn.OpBind, 1, "sleep", 1, turn.OpAsk, 1, "late", 2, "ack", 2, turn.OpDispatch, 1, "abort", 1, turn.OpCancel, 1))
	// executorOps are what an executor does.
	executorOps = slices.Concat(weighed("report-message", 4, turn.OpAsk, 3, "execute", 3, "store", 3), recordOps, weighed("report-thought", 2, "report-tool-call", 2,
		"report-log", 1, turn.OpRead, 3, "wait-for", 3, "ack", 2, "fork", 3, turn.OpJoin, 1, turn.OpBind, 1, "on-ack", 2, "stash", 1, "nack", 1, turn.OpSettle, 1, "now", 1, "new-id", 1,
		"emit-thought", 1, "emit-tool-call", 1, "ack", 4, turn.OpDispatch, 2, "sleep", 1, "prune", 1, "off-ack", 1, "late", 2, "abort", 1, turn.OpCancel, 1))
	// strandOps are what a strand does. In a strand of the turn, operations that only a dispatch
	// has do nothing.
	strandOps = slices.Concat(weighed("execute", 2, "store", 2, "sleep", 2, turn.OpAsk, 2, "wait-for", 2), recordOps, weighed("report-message", 2, "stash", 1,
		turn.OpRead, 1, "now", 1, "fork", 1, turn.OpSettle, 1, turn.OpDispatch, 1, "ack", 1, "nack", 1, "abort", 1, turn.OpCancel, 1))
	// toolOps are what a tool's handler or an on-ack handler does.
	toolOps = weighed("now", 1, turn.OpAsk, 1, "store", 2, "stash", 1, "sleep", 1, "report-log", 1, turn.OpRead, 1, "wait-for", 1, "fork", 1, "execute", 1, turn.OpDispatch, 2, "ack", 1, "abort", 1)

	lateTurnOps     = weighed("next", 2, "stash", 2, "store", 1, "fetch", 1, "add", 1, "abort", 1, "wait-for", 1, "register", 1, "sleep", 1, turn.OpAsk, 1, "fork", 1)
	lateDispatchOps = weighed("next", 2, "stash", 2, "store", 1, "ack", 1, "nack", 1, "report-message", 1, "execute", 1, turn.OpAsk, 1, "on-ack", 1, "off-ack", 1)
)

var (
	endings  = []adk.Outcome{adk.OutcomeError, adk.OutcomeError, adk.OutcomePanic, adk.OutcomeError, adk.OutcomePanic, adk.OutcomeGoexit}
	failures = []*turn.Failure{turn.Failing("it failed"), {Code: adk.E_TURN_ABORTED, Text: "the turn was aborted"}, {Known: "context.Canceled"},
		{Text: "wrapped", Causes: []turn.Failure{{Known: "context.DeadlineExceeded"}}},
		{Text: "both", Causes: []turn.Failure{{Text: "one"}, {Code: adk.E_TURN_ABORTED, Text: "two"}}},
		{Code: adk.E_LLM_EXECUTION_STREAM_SEALED, Text: "of its own"}, {Known: "adk.E_TURN_ABORTED"}}

	instructions = []string{"Be brief.", "Be kind."}
	stashes      = []*turn.Value{nil, turn.ValueOf(map[string]any{"a": 1}), turn.ValueOf(map[string]any{"a": map[string]any{"b": "x"}, "l": []any{1}})}
	values       = []*turn.Value{turn.ValueOf(1), nil, turn.ValueOf("x"), turn.ValueOf(map[string]any{"b": 2.5}), turn.ValueOf([]any{true}), turn.ValueOf(int64(3)), turn.ValueOf("y"), turn.ValueOf(map[string]any{"b.c": 1, "d.e": 2})}
	legalPaths   = []string{"c", "d.e", "f.g.h"}
	somePaths    = []string{"c", "a", "d.e", "c", "d.e", "f", "a.b", "f.g.h", "d", "c.x", "l.0", "", "a..b"}
	reads        = []string{turn.ReadSignal, turn.ReadStash, turn.ReadCount, turn.ReadAll, turn.ReadStash, turn.ReadHas, turn.ReadCount, turn.ReadKeys}
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
	services     = []string{"model", "forecasts"}
	requests     = []json.RawMessage{json.RawMessage(`{"messages":["hello"]}`), json.RawMessage(`{"messages":["hello","and more of what was said before"]}`), json.RawMessage(`"Oslo"`), json.RawMessage(`{"of":"m1"}`)}
	answers      = []json.RawMessage{json.RawMessage(`"4 °C"`), json.RawMessage(`{"choices":[{"text":"it is cold"}]}`), json.RawMessage(`null`)}
	effects      = []adk.Effect{"", adk.EffectReads, adk.EffectWrites}
	texts        = []string{"one ", "two ", "", "\xff"}
	levels       = []string{string(adk.LevelInfo), string(adk.LevelError)}
	toolArgs     = []*turn.Value{turn.ValueOf(map[string]any{"city": "Oslo"}), turn.ValueOf(map[string]any{}), turn.ValueOf(`{"city":"Rome"}`), nil, turn.ValueOf("no object"), turn.ValueOf(map[string]any{"city": 5})}
	results      = []*turn.Value{nil, turn.ValueOf(adk.Text("4 °C")), turn.ValueOf(adk.Bytes("raw")), {}}
	events       = []string{"message", "thought", "toolCall", "turnStart", "turnEnd", "dispatchStart", "dispatchEnd", "iterationStart", "iterationEnd",
		"turnGateClosed", "toolExecutionStart", "toolExecutionEnd", "log", "error"}
	wrongs      = []string{turn.WrongBoth, turn.WrongStorage, turn.WrongNeither}
	obligations = []string{"storage/messages.store", "storage/memories.store", "storage/messages.fetch", "storage/instructions.store", "storage/messages.mutate",
		"storage/toolCalls.store", "storage/messages.delete", "storage/memories.mutate", "storage/instructions.refresh", "storage/tools.fetch"}
)
