package shrink

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// TurnOf translates a recorded turn, or a standalone dispatch, into a turn that can be run, shrunk
// and written as Go: what each seam call did, how it ended, and the order of the strands. A trace
// that was cut short gives the turn as far as it goes.
//
// The turn lacks what a trace does not record: whether user code returned the error of an operation
// or an error of its own, that a listener ended its goroutine, the ids and times of a clock and an
// id source of its own, the arguments of operations on a handle that had ended, and the media that
// were opened. It also lacks operations that were refused without a crossing, such as a malformed
// gate; strands that took turns at such an operation take turns elsewhere. Nor does a trace record
// which strand used a handle: what one strand did by the handle of another is attributed to the
// owner of the handle, and may come at a different place.
//
// TurnOf returns a *trace.FormatError for a trace that does not describe a turn: it breaks off
// before the call of its run, an execute in it has no tool, a collection operation has no
// collection, a call other than the first has no caller, a call is on a strand that neither its
// caller has nor its caller forked, or a call waits for a strand that another call forked.
func TurnOf(recorded *trace.Trace) (turn.Turn, error) {
	tr := newTranslation(recorded)
	tr.untold = recorded.Version < wire.VersionOfWait
	impossible := func(line int, reason string) error {
		return &trace.FormatError{File: recorded.Options().File, Line: line, Fault: trace.FaultImpossible, Reason: reason}
	}
	for i := range tr.lines {
		x := &tr.lines[i].Crossing
		switch {
		case wire.RunsTool(x) && x.Record == nil:
			return turn.Turn{}, impossible(i+2, "tool: an execute runs a tool, and this one has none")
		case x.Collection == "" && isOfCollection(x):
			return turn.Turn{}, impossible(i+2, fmt.Sprintf("of: a %s is of a collection, and this one of none", x.Kind))
		case x.Kind == adk.KindCall && x.Call == 0 && tr.begun:
			return turn.Turn{}, impossible(i+2, "in: somebody makes every call but the first, and this one nobody")
		case tr.isAstray(x):
			return turn.Turn{}, impossible(i+2, "strand: a call is on the strand of its caller or on one that its caller forked, and this one on another")
		case x.Kind == adk.KindWait && tr.isForeign(x):
			return turn.Turn{}, impossible(i+2, "in: the call that forked a strand waits for it, and this one is another")
		}
		tr.take(x)
	}
	if !tr.begun {
		return turn.Turn{}, impossible(len(tr.lines)+2, "the trace breaks off before the call of its run: nothing says what was handed in")
	}
	t := tr.finish()
	t.Order = orderOf(t, tr.lines)
	return t, nil
}

// isForeign reports whether a wait belongs to another call than the one that forked the strand. The
// engine records no such wait, and a strand that waited for itself would never end.
func (tr *translation) isForeign(wait *adk.Crossing) bool {
	fork := tr.forks[wait.ID]
	return wait.Phase == adk.Begin && fork != nil && (fork.call != wait.Call || fork.strand != wait.Strand)
}

// isAstray reports whether a call is on a strand that is neither its caller's nor forked by its
// caller. The engine records no such call, and a strand that mistook another's calls for its own
// could wait for itself.
func (tr *translation) isAstray(x *adk.Crossing) bool {
	caller := tr.calls[x.Call]
	if x.Kind != adk.KindCall || caller == nil || x.Strand == caller.strand {
		return false
	}
	fork := tr.forks[x.Strand]
	return fork == nil || fork.call != x.Call
}

// isOfCollection reports whether a crossing is an operation on a collection.
func isOfCollection(x *adk.Crossing) bool {
	return x.Kind.Class() == adk.ClassOperation && slices.ContainsFunc(x.Kind.Fields(x.Phase), func(use adk.FieldUse) bool { return use.Field == adk.FieldCollection })
}

// translation is the state of translating one trace.
type translation struct {
	lines []trace.Line
	turn  turn.Turn
	root  *translatedScope
	calls map[int]*translatedCall
	stack map[int][]*translatedCall // open calls of user code, by strand

	forks      map[int]*forkRef // by the strand's number
	told       map[int]int      // number of the last crossing of each strand
	at         int              // number of the present crossing
	exited     int              // number of the crossing at which an ended goroutine cancelled the run
	lastStrand int
	untold     bool // the format does not record who waited for a strand
	lastAt     time.Time
	gates      map[string]*gateRef
	asks       map[int]*askRef // by operation
	heard      map[adk.Kind]int
	last       *turn.Body // body of the call that returned last
	begun      bool
	aborted    bool
	cancel     *turn.Op // a cancel that was recorded and is not yet placed in a body
}

type translatedScope struct {
	scripts  []*turn.Script
	counts   map[string]int
	handlers []*handlerRef // of the scope's dispatch
	nested   *turn.Nested  // its Scripts are set when the dispatch returns; nil for the turn
}

type translatedCall struct {
	path   string
	label  string
	strand int
	body   *turn.Body
	scope  *translatedScope
	owns   bool // the scope is that of this call's own dispatch
}

type handlerRef struct {
	id   int    // number of the handler within its dispatch
	name string // the name under which its calls are recorded
	off  string // the name by which an off-ack removes it
	body *turn.Body
	gone bool // it has run or was removed
}

type forkRef struct {
	call   int // the call that forked the strand
	strand int // the strand of that call
	name   string
	by     *turn.Body
	body   *turn.Body
	ended  int // number of the crossing that ended the strand
}

// askRef is the place of an ask operation in a body.
type askRef struct {
	body *turn.Body
	at   int
}

type gateRef struct {
	body   *turn.Body
	at     int
	strand int
	opened time.Time
}

func newTranslation(recorded *trace.Trace) *translation {
	info := recorded.Info
	return &translation{
		lines: recorded.Lines(),
		turn: turn.Turn{Executor: info.Executor, TurnInput: info.TurnInput, TurnOutput: info.TurnOutput,
			DispatchInput: info.DispatchInput, DispatchOutput: info.DispatchOutput, WriteBehind: info.WriteBehind},
		root: &translatedScope{counts: map[string]int{}}, calls: map[int]*translatedCall{}, stack: map[int][]*translatedCall{},
		forks: map[int]*forkRef{}, told: map[int]int{}, gates: map[string]*gateRef{}, asks: map[int]*askRef{}, heard: map[adk.Kind]int{},
	}
}

func (tr *translation) take(x *adk.Crossing) {
	tr.at++
	switch {
	case wire.IsCancel(x):
		tr.aborted = true
		switch x.Key {
		case wire.OutsideCancel:
			tr.cancelled(x)
		case wire.CancelGoexit:
			tr.exited = tr.at
		}
		return
	case wire.IsSettlement(x):
		tr.settled(x)
		return
	case wire.IsContained(x):
		tr.placeCancel(x.Strand)
		tr.contained(x)
		tr.lastStrand = x.Strand // a strand whose user code, or listener, was running
		return
	}
	tr.placeCancel(x.Strand)
	defer func() { tr.told[x.Strand], tr.lastStrand, tr.lastAt = tr.at, x.Strand, x.At }()
	switch {
	case x.Kind == adk.KindCall:
		tr.begun = true
		tr.call(x)
	case x.Kind == adk.KindReturn:
		tr.returned(x)
	case x.Kind.Class() == adk.ClassEvent:
		tr.event(x)
	case wire.IsPiece(x), wire.EndsAsk(x):
		tr.answered(x)
	case x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done:
		tr.operation(x)
	}
}

// cancelled keeps a cancel until it is known before which crossing it came.
func (tr *translation) cancelled(x *adk.Crossing) {
	cause := failureOf(x.Cause)
	switch {
	case !tr.begun:
		tr.turn.Cancelled = cause
	case cause == nil || cause.Text != turn.ErrTooLong.Error(): // a turn cancels itself for this reason
		tr.cancel = &turn.Op{Kind: turn.OpCancel, Cause: cause}
	}
}

// placeCancel adds the pending cancel to the user code that ran last. If another strand had
// cancelled before, the cancel would have been recorded at that strand's last crossing.
func (tr *translation) placeCancel(strand int) {
	if tr.cancel == nil {
		return
	}
	body := tr.performing(tr.lastStrand)
	if body == nil {
		body = tr.performing(strand)
	}
	if body != nil {
		body.Ops = append(body.Ops, *tr.cancel)
	} else if tr.last != nil {
		tr.last.Ops = append(tr.last.Ops, *tr.cancel)
	} else {
		tr.turn.Cancelled = tr.cancel.Cause
	}
	tr.cancel = nil
}

// performing returns the body of the user code in which a strand is, or nil.
func (tr *translation) performing(strand int) *turn.Body {
	if c := tr.performer(strand); c != nil {
		return c.body
	}
	return nil
}

func (tr *translation) performer(strand int) *translatedCall {
	if open := tr.stack[strand]; len(open) > 0 {
		return open[len(open)-1]
	}
	return nil
}

// The seam calls.

func (tr *translation) call(x *adk.Crossing) {
	c := &translatedCall{path: x.Seam.String(), label: x.Seam.Label, strand: x.Strand, scope: tr.scopeOf(x)}
	tr.calls[x.ID] = c
	switch x.Seam.Label {
	case adk.LabelRun:
		tr.raw(x)
		return
	case adk.LabelDispatch:
		if x.Call == 0 {
			tr.turn.Standalone = &turn.Standalone{Name: x.Seam.Name, Gates: true} // a refused wait is not recorded, so assume that there is a settler
			tr.raw(x)
			return
		}
		if x.Seams != nil {
			tr.nested(c, x)
		}
		return
	case adk.LabelStrand:
		if fork := tr.forks[x.Strand]; fork != nil {
			c.body = fork.body
		}
	case adk.LabelOnAck:
		c.body = c.scope.handler(x.Seam.Name)
	case adk.LabelTool, adk.LabelStorage:
		c.body = tr.root.script(c.path)
	default:
		c.body = c.scope.script(c.path)
	}
	if c.body == nil {
		c.body = &turn.Body{} // the trace does not say whose it is
	}
	tr.stack[x.Strand] = append(tr.stack[x.Strand], c)
}

func (tr *translation) raw(x *adk.Crossing) {
	tr.turn.Prompt, tr.turn.Instructions = x.Text, x.Texts
	if x.Value != nil {
		tr.turn.Stash = turn.ValueOf(x.Value)
	}
	for _, r := range x.Records {
		if r.RecordKind() == adk.RecordTool {
			tr.turn.Tools = append(tr.turn.Tools, turn.Record{Record: r})
		} else if tr.turn.Standalone != nil {
			tr.turn.Standalone.Records = append(tr.turn.Standalone.Records, turn.Record{Record: r})
		}
	}
}

// script starts the script of the next call of a path.
func (s *translatedScope) script(path string) *turn.Body {
	one := &turn.Script{Seam: path, Occurrence: s.counts[path]}
	s.counts[path]++
	s.scripts = append(s.scripts, one)
	return &one.Body
}

func (s *translatedScope) list() []turn.Script {
	var all []turn.Script
	for _, one := range s.scripts {
		if !usual(one) {
			all = append(all, *one)
		}
	}
	return all
}

// usual reports whether a script does the same as no script.
func usual(s *turn.Script) bool {
	ops, end := s.Ops, s.End
	if end.How != "" || end.Err != nil || end.Records != nil {
		return false
	}
	label, _, _ := strings.Cut(s.Seam, "/")
	switch label {
	case adk.LabelStorage:
		return len(ops) == 0
	case adk.LabelTool:
		text, isText := end.Result.Get().(*adk.Tokenizable)
		return len(ops) == 0 && (end.Result == nil || isText && text.String() == "ok")
	case adk.LabelExecutor:
		return len(ops) == 1 && ops[0].Kind == "ack" && ops[0].On == ""
	}
	return len(ops) == 1 && ops[0].Kind == "next" && ops[0].On == ""
}

func (tr *translation) nested(c *translatedCall, x *adk.Crossing) {
	n := &turn.Nested{Name: x.Seam.Name, Executor: x.Seams.Executor, Input: x.Seams.DispatchInput, Output: x.Seams.DispatchOutput}
	c.scope, c.owns = &translatedScope{counts: map[string]int{}, nested: n}, true
	tr.add(x, turn.Op{Kind: turn.OpDispatch, Dispatch: n, Cause: failureOf(x.Cause)})
}

// handler returns the body of the first handler of that name that has not run.
func (s *translatedScope) handler(name string) *turn.Body {
	at := slices.IndexFunc(s.handlers, func(h *handlerRef) bool { return h.name == name && !h.gone })
	if at < 0 {
		return nil
	}
	s.handlers[at].gone = true
	return s.handlers[at].body
}

func (tr *translation) returned(x *adk.Crossing) {
	c := tr.calls[x.ID]
	if c == nil {
		return
	}
	if c.owns {
		c.scope.nested.Scripts = c.scope.list()
	}
	open := tr.stack[x.Strand]
	if at := slices.Index(open, c); at >= 0 {
		tr.stack[x.Strand] = open[:at]
	}
	if c.body == nil {
		return
	}
	if x.Outcome == adk.OutcomeGoexit { // otherwise the engine waited for the strands
		tr.join(x.Strand, c.body, tr.exited)
	}
	c.body.End = endOf(c, x)
	if c.label != adk.LabelStorage {
		tr.last = c.body
	}
	if fork := tr.forks[x.Strand]; fork != nil && fork.body == c.body {
		fork.ended = tr.at
	}
}

func endOf(c *translatedCall, x *adk.Crossing) turn.End {
	var end turn.End
	if x.Outcome != adk.OutcomeOK {
		end.How = x.Outcome
	}
	switch x.Outcome {
	case adk.OutcomeError:
		end.Err = failureOf(x.Err)
	case adk.OutcomePanic:
		end.Err = failureOf(panickedWith(x.Err))
	case adk.OutcomeOK:
		if c.label == adk.LabelTool {
			end.Result = &turn.Value{V: x.Result}
		}
		if c.label == adk.LabelStorage && fetches(c.path) {
			end.Records = make([]turn.Record, 0, len(x.Records))
			for _, r := range x.Records {
				end.Records = append(end.Records, turn.Record{Record: r})
			}
		}
	}
	return end
}

// fetches reports whether the obligation with that path reads.
func fetches(path string) bool {
	seam, err := adk.ParseSeam(path)
	return err == nil && seam.Effect() == adk.EffectReads
}

// panickedWith returns the value of a panic, as an error.
func panickedWith(err error) error {
	p, is := errors.AsType[*adk.PanicError](err)
	if !is {
		return err
	}
	if cause, ok := p.Value.(error); ok {
		return cause
	}
	return errors.New(adk.PanicText(p.Value))
}

// The operations.

// add adds an operation to the body of the user code that made it, by its own handle or by that of
// another call.
func (tr *translation) add(x *adk.Crossing, op turn.Op) *turn.Body {
	by := tr.performer(x.Strand)
	owner := tr.calls[x.Call]
	if by == nil {
		by = owner
	}
	if by == nil || by.body == nil {
		return nil
	}
	if owner != nil && owner != by {
		op.On = owner.path
	}
	tr.join(x.Strand, by.body, tr.at)
	by.body.Ops = append(by.body.Ops, op)
	return by.body
}

// join adds waits for the strands that a body forked and that ended after its last step and before
// the crossing next. In the first version of the format no crossing records a wait, but this is
// what a wait looks like.
func (tr *translation) join(strand int, by *turn.Body, next int) {
	if !tr.untold {
		return
	}
	for _, n := range slices.Sorted(maps.Keys(tr.forks)) {
		if fork := tr.forks[n]; fork.by == by && fork.ended > tr.told[strand] && fork.ended < next {
			by.Ops = append(by.Ops, turn.Op{Kind: turn.OpJoin, Name: fork.name})
		}
	}
}

func (tr *translation) operation(x *adk.Crossing) {
	op := turn.Op{Kind: x.Kind.String(), Of: x.Collection, Name: x.Name, Key: x.Key, Text: x.Text, Flag: x.Flag, IsError: x.IsError,
		Cause: failureOf(x.Cause), Duration: x.Duration, Schema: x.Schema}
	if x.Record != nil {
		op.Record = turn.RecordOf(x.Record)
	}
	if x.Value != nil {
		op.Value = turn.ValueOf(x.Value)
	}
	if x.Args != nil {
		op.Args = turn.ValueOf(x.Args)
	}
	if x.Result != nil {
		op.Result = turn.ValueOf(x.Result)
	}
	switch x.Kind {
	case adk.KindAdd, adk.KindRemove, adk.KindUnregister:
		op.Flag = false // Flag was the answer
	case adk.KindNewID, adk.KindPrune:
		op.Name = ""
	case adk.KindOpenMedia:
		return
	case adk.KindAsk:
		op.Flag, op.Asked = false, &turn.Asked{Request: orNull(x.JSON), Effect: adk.Effect(x.Status), AfterAbort: x.Flag}
	case adk.KindWait:
		op.Kind = turn.OpJoin
	case adk.KindFork:
		if x.Err != nil {
			break
		}
		op.Do = &turn.Body{}
		tr.forks[x.ID] = &forkRef{call: x.Call, strand: x.Strand, name: x.Name, by: tr.performing(x.Strand), body: op.Do}
	case adk.KindOnAck:
		op.Do = &turn.Body{}
		h := &handlerRef{id: x.ID, name: x.Name, off: x.Name, body: op.Do}
		if x.Name == adk.PruneHandler {
			h.off, h.body = "", &turn.Body{} // the handler is the engine's own
			op = turn.Op{Kind: turn.OpBind}
		}
		in := tr.scopeOf(x)
		in.handlers = append(in.handlers, h)
	case adk.KindOffAck:
		op.Name, op.Flag = tr.scopeOf(x).handlerOff(x.ID), false
	case adk.KindExecute:
		op.Name = x.Record.Key()
		op.Record = nil
	case adk.KindEmitMessage, adk.KindEmitThought, adk.KindEmitToolCall:
		emitted(&op, x.Payload)
	}
	body := tr.add(x, op)
	if x.Kind == adk.KindAsk && body != nil {
		tr.asks[x.Op] = &askRef{body, len(body.Ops) - 1}
	}
	if x.Kind == adk.KindWaitFor && body != nil && tr.gates[x.Name] == nil { // a second wait for the same id does not open a gate (GAT-5)
		tr.gates[x.Name] = &gateRef{body, len(body.Ops) - 1, x.Strand, x.At}
	}
}

// answered processes a piece of an answer, or its end.
func (tr *translation) answered(x *adk.Crossing) {
	ref := tr.asks[x.Op]
	if ref == nil {
		return
	}
	op := &ref.body.Ops[ref.at]
	switch {
	case x.Kind == adk.KindPiece:
		op.Asked.Pieces = append(op.Asked.Pieces, orNull(x.JSON))
	case errors.Is(x.Err, adk.E_ASK_STOPPED):
		op.Flag = true
	default:
		op.Asked.Answer, op.Cause = x.JSON, failureOf(x.Err)
	}
}

// orNull returns the JSON, or null if there is none.
func orNull(text json.RawMessage) json.RawMessage {
	if text == nil {
		return json.RawMessage("null")
	}
	return text
}

// handlerOff marks a handler as removed, and returns the name for the off-ack.
func (s *translatedScope) handlerOff(id int) string {
	at := slices.IndexFunc(s.handlers, func(h *handlerRef) bool { return h.id == id })
	if at < 0 {
		return ""
	}
	s.handlers[at].gone = true
	return s.handlers[at].off
}

// scopeOf returns the scope of the call to which a crossing belongs.
func (tr *translation) scopeOf(x *adk.Crossing) *translatedScope {
	if c := tr.calls[x.Call]; c != nil {
		return c.scope
	}
	return tr.root
}

func emitted(op *turn.Op, payload any) {
	switch e := payload.(type) {
	case adk.MessageEvent:
		op.Name, op.Text, op.Flag = e.ID, e.Delta, e.Complete
	case adk.ThoughtEvent:
		op.Name, op.Text, op.Flag = e.ID, e.Delta, e.Complete
	case adk.ToolCallEvent:
		op.Name, op.Key, op.Flag, op.IsError = e.ID, e.Tool, e.Complete, e.IsError
		if e.Args != nil {
			op.Args = turn.ValueOf(e.Args)
		}
		if e.Results != nil {
			op.Result = turn.ValueOf(e.Results)
		}
	}
}

// settled adds a settlement to the operation that waits for the gate.
func (tr *translation) settled(x *adk.Crossing) {
	gate := tr.gates[x.Name]
	if gate == nil {
		return
	}
	if x.Status != adk.GateRefused {
		delete(tr.gates, x.Name)
	}
	s := turn.Settlement{By: x.Key, Result: x.Status, After: x.At.Sub(gate.opened)}
	switch x.Status {
	case adk.GateResolved, adk.GateRefused:
		s.Result, s.Value = adk.GateResolved, turn.ValueOf(x.Value)
	case adk.GateRejected:
		s.Err = failureOf(x.Err)
	default:
		if x.Status == adk.GateAborted && !tr.aborted && errors.Unwrap(x.Err) == nil {
			break // a settler did it
		}
		if !tr.offered() {
			return
		}
		tr.placeCancel(tr.lastStrand) // the offer recorded the cancel
		s.Result = adk.GateAborted
	}
	// If another strand took a step at the same time, that strand settled the gate.
	if by := tr.performing(tr.lastStrand); by != nil && tr.lastStrand != gate.strand && tr.lastAt.Equal(x.At) {
		s.After = 0
		by.Ops = append(by.Ops, turn.Op{Kind: turn.OpSettle, Name: x.Name, Settle: []turn.Settlement{s}})
		return
	}
	op := &gate.body.Ops[gate.at]
	op.Settle = append(op.Settle, s)
}

// offered is asked about a gate that the engine closes because of an abort or a timeout. It reports
// whether an offer that came too late made the engine notice. Otherwise the waiter noticed when it
// woke, and the next crossing records that the gate is closed.
func (tr *translation) offered() bool {
	for i := range tr.lines[tr.at:] {
		switch x := &tr.lines[tr.at+i].Crossing; x.Kind {
		case adk.KindCancel, adk.KindSettle, adk.KindTimer:
		default:
			return x.Kind != adk.KindTurnGateClosed
		}
	}
	return false
}

// contained adds what was contained: misuse of handles and panics of listeners. Panics of handlers
// are in the handlers' returns.
func (tr *translation) contained(x *adk.Crossing) {
	if event, ok := strings.CutPrefix(x.Name, adk.ListenerPrefix); ok {
		tr.turn.Loud = append(tr.turn.Loud, turn.Loud{Event: event, Occurrence: max(tr.heard[adk.KindByName(event)]-1, 0), Text: x.Text})
		return
	}
	if x.Name == adk.SecondNext || x.Name == adk.LatePrefix+adk.KindNext.String() {
		tr.add(x, turn.Op{Kind: "next"})
		return
	}
	if kind, ok := strings.CutPrefix(x.Name, adk.LatePrefix); ok {
		tr.add(x, lateOp(kind))
	}
}

// lateOp makes an operation on a handle that has ended. Its arguments do not matter, as long as the
// engine checks them in the same way.
func lateOp(kind string) turn.Op {
	op := turn.Op{Kind: kind, Name: "late", Text: "late", Of: adk.Messages}
	switch kind {
	case "add", "store", "mutate":
		op.Record = turn.RecordOf(samples.Records[adk.Messages][0])
	case "register", "execute":
		op.Record = turn.RecordOf(samples.Tools[0])
	case "refresh":
		op.Of = adk.Instructions
	case "fork":
		op.Do = &turn.Body{}
	case turn.OpAsk:
		return turn.Op{Kind: kind, Name: "late", Asked: &turn.Asked{Request: orNull(nil)}}
	case "call":
		return turn.Op{Kind: turn.OpDispatch, Dispatch: &turn.Nested{Name: "late"}}
	}
	return op
}

func (tr *translation) event(x *adk.Crossing) { tr.heard[x.Kind]++ }

func (tr *translation) finish() turn.Turn {
	tr.placeCancel(0)
	for _, c := range tr.calls {
		if c.owns && c.scope.nested.Scripts == nil {
			c.scope.nested.Scripts = c.scope.list()
		}
	}
	tr.turn.Scripts = tr.root.list()
	return tr.turn
}

// failureOf returns an error as data.
func failureOf(err error) *turn.Failure {
	if err == nil {
		return nil
	}
	for name, known := range turn.KnownErrors {
		if err == known { //nolint:errorlint // the value itself
			return &turn.Failure{Known: name}
		}
	}
	f := &turn.Failure{Text: err.Error()}
	switch e := err.(type) {
	case *adk.Error:
		f.Text, f.Code, f.Stage, f.Name, f.Faults = e.Message, e.Code, e.Stage, e.Name, e.Faults
	case *adk.PanicError:
		f.Text, f.Panic = adk.PanicText(e.Value), true
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			f.Causes = append(f.Causes, *failureOf(one))
		}
		return f
	}
	if cause := errors.Unwrap(err); cause != nil {
		f.Causes = []turn.Failure{*failureOf(cause)}
	}
	return f
}

// orderOf runs a turn with its strands in the order of a trace, and returns the decisions of that
// order that differ from the usual ones.
func orderOf(t turn.Turn, lines []trace.Line) []turn.Decision {
	told := &counter{}
	var picks []turn.Decision
	order := func() func(fakes.Choice) int {
		usual := fakes.RunInOrder()()
		made := 0
		return func(c fakes.Choice) int {
			made++
			at := usual(c)
			for i := told.n; i < len(lines); i++ {
				x := &lines[i].Crossing
				outside := x.Kind.Class() == adk.ClassFact && x.Kind != adk.KindContained
				if next := slices.Index(c.Runnable, x.Strand); !outside && next >= 0 {
					if next != at {
						picks = append(picks, turn.Decision{Choice: made, Strand: x.Strand})
					}
					return next
				}
			}
			return at
		}
	}
	_ = t.SubjectWith(turn.Running{Order: order}).Run(told) // the result of the run does not matter
	return picks
}

// counter is a probe that counts the crossings of a run.
type counter struct{ n int }

// Observe returns the counter itself.
func (c *counter) Observe(adk.RunInfo) adk.Observer { return c }

// Begin does nothing.
func (*counter) Begin(adk.Step) {}

// Park does nothing.
func (*counter) Park(int, func() bool) {}

// Resume does nothing.
func (*counter) Resume(int) {}

// Tell counts.
func (c *counter) Tell(*adk.Crossing) { c.n++ }
