package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/perform"
	"github.com/adkreplay/adkreplay/internal/turntext"
)

// This file performs the operations of a script on the handle that user code was given, using the
// table of internal/perform. An operation that the handle does not have does nothing, so that every
// Turn can be run, whatever was dropped from it.

// perform performs one operation and returns its error.
func (s *interpreter) perform(by *actor, op *Op) error {
	a := s.find(by, op.On)
	if a == nil {
		return nil
	}
	switch op.Kind {
	case OpCancel:
		s.cancel(cmp.Or(op.Cause.Err(), context.Canceled))
	case OpSettle:
		s.settle(op)
	case OpRead:
		if a.by.Dispatch != nil {
			s.read(a.by.Dispatch, op)
		}
	case OpBind:
		return a.bind(op.Name)
	case OpDispatch:
		return s.dispatch(a, op)
	case OpAsk:
		return a.ask(op)
	default:
		return s.operate(&operation{Crossing: op.crossing(), stage: s, on: a, op: op})
	}
	return nil
}

// operation is an operation as a crossing, with the user code around it.
type operation struct {
	adk.Crossing
	stage *interpreter
	on    *actor
	op    *Op
}

// crossing returns the crossing that describes the operation before it is made.
func (op *Op) crossing() adk.Crossing {
	x := adk.Crossing{Kind: adk.KindByName(op.Kind), Collection: op.Of, Name: op.Name, Key: op.Key, Text: op.Text,
		Value: op.Value.Get(), Args: op.Args.Get(), Flag: op.Flag, IsError: op.IsError, Cause: op.Cause.Err(), Duration: op.Duration, Schema: op.Schema}
	if op.Kind == OpJoin {
		x.Kind = adk.KindWait
	}
	x.Record = op.Record.Get()
	x.Result, _ = resultOf(op.Result)
	update := adk.StreamUpdate{ID: op.Name, Delta: op.Text, Full: op.Text, Complete: op.Flag}
	if x.Record != nil && x.Kind.Uses(adk.FieldCollection) && x.Record.RecordKind() != op.Of.Holds() { // the set cannot hold it
		x.Record = nil
	}
	if !x.Kind.Emits() {
		return x
	}
	switch x.Kind.Event().Payload().(type) {
	case adk.MessageEvent:
		x.Payload = adk.MessageEvent(update)
	case adk.ThoughtEvent:
		x.Payload = adk.ThoughtEvent(update)
	case adk.ToolCallEvent:
		args, _ := x.Args.(map[string]any)
		x.Payload = adk.ToolCallEvent{ID: op.Name, Tool: op.Key, Args: args, Results: x.Result, IsError: op.IsError, Complete: op.Flag}
	}
	return x
}

// operate performs an operation and keeps the parts of the answer that later operations need.
func (s *interpreter) operate(o *operation) error {
	switch o.Kind {
	case adk.KindWaitFor:
		planned := s.plans.Gate(adk.Gate{Reason: o.Text}, func(gate *adk.TurnGate) { s.settleAll(gate, o.op.Settle) })
		o.Text = planned.Reason
	case adk.KindExecute:
		if _, has := o.Tool(adk.Handle{}, nil); !has && o.on.by.Dispatch != nil {
			return fmt.Errorf("there is no tool %q", o.op.Name)
		}
	}
	answer, could := perform.Perform(o.on.ctx, o.on.by, &o.Crossing, o)
	switch {
	case !could:
	case answer.Strand != nil:
		o.on.keepStrand(o.op.Name, answer.Strand)
	case answer.Off != nil:
		o.on.keepOff(o.op.Name, answer.Off)
	case o.Kind == adk.KindStash && o.op.Flag:
		changeOwn(o.Value)
	case o.Kind == adk.KindExecute && !errors.Is(answer.Err, adk.E_CONTEXT_ENDED): // otherwise it is recorded as contained
		s.mu.Lock()
		s.executions = append(s.executions, toolAnswer{answer.Result, answer.Err})
		s.mu.Unlock()
	case o.op.Flag && answer.Err == nil && o.Kind.Touches() == adk.TouchReading:
		return s.keepAll(o, answer.Records)
	}
	return answer.Err
}

// keepAll adds the fetched records to the set, or registers fetched tools.
func (s *interpreter) keepAll(fetch *operation, all []adk.Record) error {
	var refused []error
	for _, record := range all {
		keep := &operation{Crossing: adk.Crossing{Kind: adk.KindAdd, Collection: fetch.Collection, Record: record}, stage: s, on: fetch.on, op: fetch.op}
		if fetch.Collection == adk.Tools {
			keep.Kind = adk.KindRegister
		}
		answer, _ := perform.Perform(fetch.on.ctx, fetch.on.by, &keep.Crossing, keep)
		refused = append(refused, answer.Err)
	}
	return errors.Join(refused...)
}

// Tool returns the tool that is registered (which may be nil) or executed: the one in the operation
// itself, or the one that the context has under the name.
func (o *operation) Tool(adk.Handle, *adk.Crossing) (*adk.Tool, bool) {
	brought, ok := o.Record.(*adk.Tool)
	switch {
	case ok:
		return o.stage.tool(brought), true
	case o.Kind == adk.KindRegister:
		return nil, true
	case o.on.by.Dispatch != nil:
		return o.on.by.Dispatch.Tools().Get(o.op.Name)
	}
	return nil, false
}

// Code returns what the strand or the handler does.
func (o *operation) Code(*adk.Crossing) func(context.Context, perform.Handle) error {
	label := adk.LabelStrand
	if o.Kind == adk.KindOnAck {
		label = adk.LabelOnAck
	}
	return func(ctx context.Context, by perform.Handle) error {
		return o.stage.inside(label, o.op, &actor{scope: o.on.scope, ctx: ctx, by: by})
	}
}

// Strand returns the last strand of that name that the call forked.
func (o *operation) Strand(*adk.Crossing) *adk.Strand {
	o.on.mu.Lock()
	defer o.on.mu.Unlock()
	return o.on.strands[o.op.Name]
}

// Off returns the function that removes the last handler, or binding, of that name.
func (o *operation) Off(*adk.Crossing) func() {
	o.on.mu.Lock()
	defer o.on.mu.Unlock()
	return o.on.offs[o.op.Name]
}

func (s *interpreter) settle(op *Op) {
	s.mu.Lock()
	gate := s.gates[op.Name]
	s.mu.Unlock()
	if gate != nil && len(op.Settle) > 0 {
		settle(gate, op.Settle[0])
	}
}

// bind binds the tools of the dispatch.
func (a *actor) bind(name string) error {
	if a.by.Dispatch == nil {
		return nil
	}
	off, err := a.by.Dispatch.Tools().Bind()
	if err == nil {
		a.keepOff(name, off)
	}
	return err
}

func (a *actor) keepStrand(name string, strand *adk.Strand) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.strands == nil {
		a.strands = map[string]*adk.Strand{}
	}
	a.strands[name] = strand
}

func (a *actor) keepOff(name string, off func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.offs == nil {
		a.offs = map[string]func(){}
	}
	a.offs[name] = off
}

// dispatch calls a dispatch from the actor's context.
func (s *interpreter) dispatch(a *actor, op *Op) error {
	source := a.by.Source()
	if op.Dispatch == nil || source == nil {
		return nil
	}
	var cause error
	if op.Cause != nil {
		cause = cmp.Or(op.Cause.Err(), context.Canceled)
	}
	end, err := perform.Dispatch(a.ctx, cause, s.nested(op.Dispatch, source))
	if end.Status != "" {
		s.mu.Lock()
		s.dispatches = append(s.dispatches, answer{came: true, end: end, err: err})
		s.mu.Unlock()
	}
	return err
}

// nested returns the input of a dispatch that the turn's user code calls.
func (s *interpreter) nested(n *Nested, source adk.Source) adk.DispatchInput {
	in := newScope(n.Scripts)
	input := adk.DispatchInput{Name: n.Name, Source: source, Executor: s.executor(cmp.Or(n.Executor, "model"), in),
		Input:  s.dispatchPipeline(adk.LabelDispatchInput, n.Input, in),
		Output: s.dispatchPipeline(adk.LabelDispatchOutput, n.Output, in)}
	switch n.Wrong {
	case WrongBoth:
		input.Raw = &adk.RawDispatch{SystemPrompt: "Plan.", Storage: s.storage()}
	case WrongNeither:
		input.Source = nil
	case WrongStorage:
		input.Source, input.Raw = nil, &adk.RawDispatch{SystemPrompt: "Plan."}
	}
	return input
}

// inside plays the body of a strand or an on-ack handler.
func (s *interpreter) inside(label string, op *Op, a *actor) error {
	s.enter(adk.Seam{Label: label, Name: op.Name}.String(), a)
	if op.Do == nil {
		return nil
	}
	return s.play(a, op.Do)
}

// read makes a read, which is no crossing, and logs its result.
func (s *interpreter) read(dc *adk.DispatchContext, op *Op) {
	answer := readOf(dc, op)
	dc.Helpers().Log(adk.LevelDebug, "read", turntext.Read(op.Key, op.Name), answer)
	if op.Flag {
		changeOwn(answer)
	}
}

func readOf(dc *adk.DispatchContext, op *Op) any {
	switch op.Key {
	case ReadStash:
		return dc.Stash().Get(op.Name, "none")
	case ReadHas:
		return dc.Stash().Has(op.Name)
	case ReadKeys:
		return strings.Join(dc.Stash().Keys(), " ")
	case ReadAll:
		return dc.Stash().All()
	case ReadSignal:
		return turntext.Signal(dc.IsSignalled(), dc.IsAcked(), dc.NackError() != nil)
	case ReadCount:
		if call, ok := op.Record.Get().(*adk.ToolCall); ok {
			return dc.ToolCallCount(call.Checksum())
		}
	}
	return nil
}

// changeOwn changes a list or a map that user code has passed in or received.
func changeOwn(value any) {
	switch v := value.(type) {
	case map[string]any:
		v["changed"] = true
	case []any:
		if len(v) > 0 {
			v[0] = "changed"
		}
	}
}

func resultOf(v *Value) (adk.ToolResult, bool) {
	if v == nil {
		return nil, false
	}
	result, ok := v.V.(adk.ToolResult)
	return result, ok
}
