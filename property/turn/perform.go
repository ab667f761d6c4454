package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
)

// This file makes the operations of a script through the handle that user code
// was given. Operations that the handle does not have do nothing, so that every
// Turn can be run, whatever was dropped from it.

// perform makes one operation and gives what it answered.
func (s *stage) perform(by *actor, op *Op) error {
	a := s.find(by, op.On)
	if a == nil {
		return nil
	}
	switch op.Kind {
	case "next":
		if a.next != nil {
			a.next(a.ctx)
		}
		return nil
	case OpCancel:
		s.cancel(orCancelled(op.Cause.Err()))
		return nil
	case OpSettle:
		s.settle(op)
		return nil
	case OpJoin:
		return a.join(op.Name)
	case "off-ack":
		a.off(op.Name)
		return nil
	}
	switch {
	case a.tc != nil:
		return s.onTurn(a, op)
	case a.dc != nil:
		return s.onDispatch(a, op)
	}
	return nil
}

func orCancelled(err error) error {
	if err == nil {
		return context.Canceled
	}
	return err
}

func (s *stage) settle(op *Op) {
	s.mu.Lock()
	gate := s.gates[op.Name]
	s.mu.Unlock()
	if gate != nil && len(op.Settle) > 0 {
		settle(gate, op.Settle[0])
	}
}

func (a *actor) join(name string) error {
	a.mu.Lock()
	strand := a.strands[name]
	a.mu.Unlock()
	if strand == nil {
		return nil
	}
	return strand.Wait()
}

func (a *actor) off(name string) {
	a.mu.Lock()
	off := a.offs[name]
	a.mu.Unlock()
	if off != nil {
		off()
	}
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

// onTurn makes what a turn context offers.
func (s *stage) onTurn(a *actor, op *Op) error {
	switch op.Kind {
	case "fork":
		strand, err := a.tc.Fork(a.ctx, op.Name, func(ctx context.Context, tc *adk.TurnContext) error {
			return s.inside(adk.LabelStrand, op, &actor{scope: a.scope, ctx: ctx, tc: tc})
		})
		if err == nil {
			a.keepStrand(op.Name, strand)
		}
		return err
	case OpDispatch:
		return s.dispatch(a.ctx, a.tc, op)
	}
	return s.onHandle(a.ctx, a.tc.Handle, op)
}

// dispatch calls a dispatch from a source.
func (s *stage) dispatch(ctx context.Context, source adk.Source, op *Op) error {
	if op.Dispatch == nil {
		return nil
	}
	if op.Cause != nil {
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		end(op.Cause.Err())
	}
	end, err := adk.Dispatch(ctx, s.nested(op.Dispatch, source))
	if end.Status != "" {
		s.mu.Lock()
		s.dispatches = append(s.dispatches, answer{true, end, err})
		s.mu.Unlock()
	}
	return err
}

// nested is a dispatch that the turn's user code calls.
func (s *stage) nested(n *Nested, source adk.Source) adk.DispatchInput {
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

// inside plays what a strand or an on-ack handler does.
func (s *stage) inside(label string, op *Op, a *actor) error {
	s.enter(adk.Seam{Label: label, Name: op.Name}.String(), a)
	if op.Do == nil {
		return nil
	}
	return s.play(a, op.Do)
}

// onDispatch makes what a dispatch context offers.
func (s *stage) onDispatch(a *actor, op *Op) error {
	dc, h := a.dc, a.dc.Helpers()
	switch op.Kind {
	case OpDispatch:
		return s.dispatch(a.ctx, dc, op)
	case "fork":
		strand, err := dc.Fork(a.ctx, op.Name, func(ctx context.Context, dc *adk.DispatchContext) error {
			return s.inside(adk.LabelStrand, op, &actor{scope: a.scope, ctx: ctx, dc: dc})
		})
		if err == nil {
			a.keepStrand(op.Name, strand)
		}
		return err
	case "ack":
		return dc.Ack()
	case "nack":
		return dc.Nack(op.Cause.Err())
	case "on-ack":
		off, err := dc.OnAck(op.Name, func(ctx context.Context, dc *adk.DispatchContext) {
			_ = s.inside(adk.LabelOnAck, op, &actor{scope: a.scope, ctx: ctx, dc: dc})
		})
		if err == nil {
			a.keepOff(op.Name, off)
		}
		return err
	case OpBind:
		off, err := dc.Tools().Bind()
		if err == nil {
			a.keepOff(op.Name, off)
		}
		return err
	case "execute":
		return s.execute(a, op)
	case "report-message":
		_, err := h.ReportMessage(op.Name, op.Text, op.Flag)
		return err
	case "report-thought":
		_, err := h.ReportThought(op.Name, op.Text, op.Flag)
		return err
	case "report-tool-call":
		result, _ := resultOf(op.Result)
		_, err := h.ReportToolCall(op.Name, adk.ToolCallReport{Tool: op.Key, Args: op.Args.Get(), Results: result, IsError: op.IsError, Complete: op.Flag})
		return err
	case "report-log":
		h.Log(adk.Level(op.Key), op.Name, op.Text, op.Value.Get())
		return nil
	case OpRead:
		s.read(dc, op)
		return nil
	}
	return s.onHandle(a.ctx, dc.Handle, op)
}

// read asks for what no crossing tells, and logs the answer.
func (s *stage) read(dc *adk.DispatchContext, op *Op) {
	answer := readOf(dc, op)
	dc.Helpers().Log(adk.LevelDebug, "read", ReadText(op), answer)
	if op.Flag {
		changeOwn(answer)
	}
}

// ReadText is how what was read is logged.
func ReadText(op *Op) string { return strings.TrimSuffix(op.Key+" "+op.Name, " ") }

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
		return SignalText(dc.IsSignalled(), dc.IsAcked(), dc.NackError() != nil)
	case ReadCount:
		if call, ok := op.Record.Get().(*adk.ToolCall); ok {
			return dc.ToolCallCount(call.Checksum())
		}
	}
	return nil
}

// SignalText is how it is logged whether a dispatch was signalled.
func SignalText(signalled, acked, nacked bool) string {
	return fmt.Sprintf("signalled=%t acked=%t nacked=%t", signalled, acked, nacked)
}

// changeOwn changes a list or a map that user code has given or was given.
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

// execute runs a tool that the context has under the name, or the one that the
// operation brings itself.
func (s *stage) execute(a *actor, op *Op) error {
	tool, found := a.dc.Tools().Get(op.Name)
	if brought, ok := op.Record.Get().(*adk.Tool); ok {
		tool, found = s.tool(brought), true
	}
	if !found {
		return fmt.Errorf("there is no tool %q", op.Name)
	}
	result, err := a.dc.Execute(a.ctx, tool, op.Args.Get())
	if !errors.Is(err, adk.E_CONTEXT_ENDED) { // that is told as contained
		s.mu.Lock()
		s.executions = append(s.executions, toolAnswer{result, err})
		s.mu.Unlock()
	}
	return err
}

// onHandle makes what every handle offers.
func (s *stage) onHandle(ctx context.Context, h adk.Handle, op *Op) error {
	switch op.Kind {
	case "abort":
		return h.Abort(op.Cause.Err())
	case "now":
		h.Now()
	case "new-id":
		h.NewID()
	case "sleep":
		return h.Sleep(ctx, op.Duration)
	case "stash":
		value := op.Value.Get()
		err := h.Stash().Set(op.Name, value)
		if op.Flag {
			changeOwn(value)
		}
		return err
	case "wait-for":
		return s.waitFor(ctx, h, op)
	case "emit-message":
		return h.EmitMessage(adk.MessageEvent{ID: op.Name, Delta: op.Text, Full: op.Text, Complete: op.Flag})
	case "emit-thought":
		return h.EmitThought(adk.ThoughtEvent{ID: op.Name, Delta: op.Text, Full: op.Text, Complete: op.Flag})
	case "emit-tool-call":
		args, _ := op.Args.Get().(map[string]any)
		result, _ := resultOf(op.Result)
		return h.EmitToolCall(adk.ToolCallEvent{ID: op.Name, Tool: op.Key, Args: args, Results: result, IsError: op.IsError, Complete: op.Flag})
	case "register":
		tool, _ := s.own(op.Record.Get()).(*adk.Tool)
		if op.Flag {
			return h.Tools().Replace(tool)
		}
		return h.Tools().Register(tool)
	case "unregister":
		_, err := h.Tools().Unregister(op.Name)
		return err
	case "prune":
		_, err := h.Tools().PruneEphemeral()
		return err
	}
	return s.onRecords(ctx, h, op)
}

func (s *stage) waitFor(ctx context.Context, h adk.Handle, op *Op) error {
	reason, over := s.plan(op)
	defer over() // also where a listener ends the goroutine
	_, err := h.WaitFor(ctx, adk.Gate{ID: op.Name, Reason: reason, Payload: op.Value.Get(), Schema: json.RawMessage(op.Schema), Timeout: op.Duration})
	return err
}

// onRecords makes an operation on one of the collections.
func (s *stage) onRecords(ctx context.Context, h adk.Handle, op *Op) error {
	switch op.Of {
	case adk.Messages:
		return onSet(ctx, h.Messages(), op)
	case adk.Memories:
		return onSet(ctx, h.Memories(), op)
	case adk.Retrievables:
		return onSet(ctx, h.Retrievables(), op)
	case adk.Thoughts:
		return onSet(ctx, h.Thoughts(), op)
	case adk.ToolCalls:
		return onSet(ctx, h.ToolCalls(), op)
	case adk.Instructions:
		return onSet(ctx, h.Instructions(), op)
	case adk.Tools:
		if op.Kind == "fetch" {
			return s.fetchTools(ctx, h, op)
		}
	}
	return nil
}

// fetchTools asks the storage for tools and, with Flag, registers them.
func (s *stage) fetchTools(ctx context.Context, h adk.Handle, op *Op) error {
	tools, err := h.Tools().Fetch(ctx)
	if err != nil || !op.Flag {
		return err
	}
	var refused []error
	for _, tool := range tools {
		refused = append(refused, h.Tools().Register(tool))
	}
	return errors.Join(refused...)
}

// set is what adk.Records offers for one kind of record.
type set[T any] interface {
	Add(T) (bool, error)
	Remove(string) (bool, error)
	Fetch(context.Context) ([]T, error)
	Store(context.Context, T) error
	Mutate(context.Context, T) error
	Delete(context.Context, string) error
}

// onSet makes an operation on one collection. No record, or one of another kind,
// is a nil one.
func onSet[T adk.Record](ctx context.Context, records set[T], op *Op) (err error) {
	record, _ := op.Record.Get().(T)
	switch op.Kind {
	case "fetch", "refresh":
		return fetchInto(ctx, records, op)
	case "add":
		_, err = records.Add(record)
	case "remove":
		_, err = records.Remove(op.Key)
	case "store":
		err = records.Store(ctx, record)
	case "mutate":
		err = records.Mutate(ctx, record)
	case "delete":
		err = records.Delete(ctx, op.Key)
	}
	return err
}

// fetchInto asks the storage for records and, with Flag, adds them to the set.
func fetchInto[T adk.Record](ctx context.Context, records set[T], op *Op) error {
	all, err := records.Fetch(ctx)
	if err != nil || !op.Flag {
		return err
	}
	var refused []error
	for _, record := range all {
		_, err := records.Add(record)
		refused = append(refused, err)
	}
	return errors.Join(refused...)
}
