package replay

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// This file is the scripted seams: user code that does what its recorded call
// did, and returns what that returned.

// perform runs one scripted call: every recorded operation until the call's own
// return line, which it gives. Operations of outer calls in between, made
// through a handle that was passed on, are performed too. nil means that the
// replay has stopped.
func (p *player) perform(h *handle, id, strand int) *adk.Crossing {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.strand = strand
	p.handles[id] = h
	for {
		x := p.awaitScripted(id, strand)
		switch {
		case x == nil:
			return nil
		case x.Kind == adk.KindReturn && x.ID == id:
			return x
		}
		before, done := p.matched, false
		p.unlocked(func() { done = p.operate(x) })
		if p.matched == before && !p.stopped {
			if done {
				p.missing(x)
			} else {
				p.impossible(x)
			}
		}
	}
}

// script is perform for the seams that answer with an error only.
func (p *player) script(h *handle, id, strand int) error {
	x := p.perform(h, id, strand)
	if x == nil {
		return errStopped
	}
	return leave(x)
}

func (p *player) turnMiddleware(name string) adk.TurnMiddleware {
	return adk.TurnMiddleware{Name: name, Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		id, strand := tc.Where()
		return p.script(&handle{ctx: ctx, tc: tc, next: next}, id, strand)
	}}
}

func (p *player) dispatchMiddleware(name string) adk.DispatchMiddleware {
	return adk.DispatchMiddleware{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, next adk.Next) error {
		id, strand := dc.Where()
		return p.script(&handle{ctx: ctx, dc: dc, h: dc.Helpers(), next: next}, id, strand)
	}}
}

// dispatchInput is a scripted dispatch that user code called, but for the live
// seams; source is nil for one called alone.
func (p *player) dispatchInput(name string, info adk.RunInfo, live Live, source *adk.TurnContext) adk.DispatchInput {
	in := adk.DispatchInput{Name: name, Source: source, Executor: p.executor(info.Executor)}
	if live.Executor != nil {
		in.Executor.Run = live.Executor
	}
	for _, name := range info.DispatchInput {
		in.Input = append(in.Input, p.dispatchMiddleware(name))
	}
	for _, name := range info.DispatchOutput {
		in.Output = append(in.Output, p.dispatchMiddleware(name))
	}
	return in
}

func (p *player) executor(name string) adk.Executor {
	return adk.Executor{Name: name, Run: func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		id, strand := dc.Where()
		return p.script(&handle{ctx: ctx, dc: dc, h: h}, id, strand)
	}}
}

// tool is a recorded tool with a handler that does what it did.
func (p *player) tool(recorded *adk.Tool) *adk.Tool {
	p.mu.Lock()
	defer p.mu.Unlock()
	scripted := p.tools[recorded]
	if scripted == nil {
		scripted = recorded.WithHandler(p.handler(recorded))
		p.tools[recorded] = scripted
	}
	return scripted
}

// unscripted tells whether live code is about to execute a tool that it did not
// take from its context, so that the tool's own handler would run: nothing goes
// live that was not asked for. mu is held.
func (p *player) unscripted(x *adk.Crossing) bool {
	if x.Kind != adk.KindExecute || x.Phase != adk.Begin {
		return false
	}
	for _, scripted := range p.tools {
		if x.Record == adk.Record(scripted) {
			return false
		}
	}
	return true
}

func (p *player) handleTool(ctx context.Context, dc *adk.DispatchContext) (adk.ToolResult, error) {
	id, strand := dc.Where()
	x := p.perform(&handle{ctx: ctx, dc: dc, h: dc.Helpers()}, id, strand)
	if x == nil {
		return nil, errStopped
	}
	if err := leave(x); err != nil {
		return nil, err
	}
	return x.Result, nil
}

// collection is a scripted storage of one kind of record.
type collection[T adk.Record] struct{ player *player }

func (c collection[T]) Fetch(ctx context.Context, s adk.Scope) ([]T, error) {
	return fetched[T](c.player, ctx, s)
}

func (c collection[T]) Store(ctx context.Context, s adk.Scope, record T) error {
	c.player.handed(s, record, "")
	return c.player.script(&handle{ctx: ctx}, s.Call, s.Strand)
}

func (c collection[T]) Mutate(ctx context.Context, s adk.Scope, record T) error {
	c.player.handed(s, record, "")
	return c.player.script(&handle{ctx: ctx}, s.Call, s.Strand)
}

func (c collection[T]) Delete(ctx context.Context, s adk.Scope, key string) error {
	c.player.handed(s, nil, key)
	return c.player.script(&handle{ctx: ctx}, s.Call, s.Strand)
}

// toolSource is the scripted storage of tools.
type toolSource struct{ player *player }

func (t toolSource) Fetch(ctx context.Context, s adk.Scope) ([]*adk.Tool, error) {
	recorded, err := fetched[*adk.Tool](t.player, ctx, s)
	for i, tool := range recorded {
		recorded[i] = t.player.tool(tool)
	}
	return recorded, err
}

// fetched answers a fetch with the recorded records.
func fetched[T adk.Record](p *player, ctx context.Context, s adk.Scope) ([]T, error) {
	p.handed(s, nil, "")
	x := p.perform(&handle{ctx: ctx}, s.Call, s.Strand)
	if x == nil {
		return nil, errStopped
	}
	if err := leave(x); err != nil {
		return nil, err
	}
	var records []T
	for _, r := range x.Records {
		record, ok := r.(T)
		if !ok {
			return nil, errors.New("replay: the trace has a record of another kind here")
		}
		records = append(records, record)
	}
	return records, nil
}

// operate performs one recorded operation through the handle that it was
// recorded on. It tells whether x is something that user code can do.
func (p *player) operate(x *adk.Crossing) bool {
	p.mu.Lock()
	h := p.handles[x.Call]
	p.mu.Unlock()
	if h == nil || h.strand != x.Strand { // what a handle does, it does in its own strand
		return false
	}
	switch {
	case x.Kind == adk.KindContained:
		return p.misuse(h, x)
	case x.Kind == adk.KindCall && x.Seam.Label == adk.LabelDispatch && x.Seams != nil && h.tc != nil:
		_, _ = adk.Dispatch(h.ctx, p.dispatchInput(x.Seam.Name, *x.Seams, Live{}, h.tc))
		return true
	}
	if x.Kind.Class() != adk.ClassOperation || x.Phase == adk.Done {
		return false
	}
	ctx := h.ctx
	switch x.Kind {
	case adk.KindNext:
		if h.next == nil {
			return false
		}
		h.next(ctx)
		return true
	case adk.KindSleep, adk.KindWaitFor:
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		defer end(nil)
		p.mu.Lock()
		p.cancels[x.Op] = end
		p.mu.Unlock()
	}
	switch {
	case h.helpers(p, x):
		return true
	case h.tc != nil:
		return p.turnOperation(ctx, h.tc, x) || p.operation(ctx, h.tc.Handle, x)
	case h.dc != nil:
		return p.dispatchOperation(ctx, h.dc, x) || p.operation(ctx, h.dc.Handle, x)
	}
	return false
}

// operation performs what every handle offers.
func (p *player) operation(ctx context.Context, h adk.Handle, x *adk.Crossing) bool {
	switch x.Kind {
	case adk.KindAbort:
		p.answered(x, h.Abort(x.Cause))
	case adk.KindNow:
		if at := h.Now(); !at.Equal(x.At) {
			p.wrong(x, "answer", x.At, at)
		}
	case adk.KindNewID:
		if id := h.NewID(); id != x.Name {
			p.wrong(x, "answer", x.Name, id)
		}
	case adk.KindSleep:
		p.answered(x, h.Sleep(ctx, x.Duration))
	case adk.KindStash:
		p.answered(x, h.Stash().Set(x.Name, x.Value))
	case adk.KindWaitFor:
		value, err := h.WaitFor(ctx, adk.Gate{ID: x.Name, Reason: x.Text, Payload: x.Value, Schema: x.Schema, Timeout: x.Duration})
		p.answeredValue(x, value, err)
	case adk.KindEmitMessage:
		e, _ := x.Payload.(adk.MessageEvent)
		p.answered(x, h.EmitMessage(e))
	case adk.KindEmitThought:
		e, _ := x.Payload.(adk.ThoughtEvent)
		p.answered(x, h.EmitThought(e))
	case adk.KindEmitToolCall:
		e, _ := x.Payload.(adk.ToolCallEvent)
		p.answered(x, h.EmitToolCall(e))
	case adk.KindRegister:
		tool, ok := x.Record.(*adk.Tool)
		if !ok {
			return false
		}
		if x.Flag {
			p.answered(x, h.Tools().Replace(p.tool(tool)))
		} else {
			p.answered(x, h.Tools().Register(p.tool(tool)))
		}
	case adk.KindUnregister:
		found, err := h.Tools().Unregister(x.Name)
		p.answeredFlag(x, found, err)
	case adk.KindPrune:
		pruned, err := h.Tools().PruneEphemeral()
		p.answered(x, err)
		if !slices.Equal(pruned, x.Texts) {
			p.wrong(x, "answer", x.Texts, pruned)
		}
	default:
		return p.recordOperation(ctx, h, x)
	}
	return true
}

// recordOperation performs an operation on one of the collections.
func (p *player) recordOperation(ctx context.Context, h adk.Handle, x *adk.Crossing) bool {
	switch x.Collection {
	case adk.Messages:
		return operateOn(ctx, p, h.Messages(), x)
	case adk.Memories:
		return operateOn(ctx, p, h.Memories(), x)
	case adk.Retrievables:
		return operateOn(ctx, p, h.Retrievables(), x)
	case adk.Thoughts:
		return operateOn(ctx, p, h.Thoughts(), x)
	case adk.ToolCalls:
		return operateOn(ctx, p, h.ToolCalls(), x)
	case adk.Instructions:
		return operateOn(ctx, p, h.Instructions(), x)
	case adk.Tools:
		if x.Kind != adk.KindFetch {
			return false
		}
		tools, err := h.Tools().Fetch(ctx)
		answeredRecords(p, x, tools, err)
		return true
	}
	return false
}

// records is what adk.Records offers for one kind of record.
type records[T any] interface {
	Add(T) (bool, error)
	Remove(string) (bool, error)
	Fetch(context.Context) ([]T, error)
	Store(context.Context, T) error
	Mutate(context.Context, T) error
	Delete(context.Context, string) error
}

func operateOn[T adk.Record](ctx context.Context, p *player, set records[T], x *adk.Crossing) bool {
	record, isRecord := x.Record.(T)
	switch x.Kind {
	case adk.KindFetch, adk.KindRefresh:
		fetched, err := set.Fetch(ctx)
		answeredRecords(p, x, fetched, err)
		return true
	case adk.KindRemove:
		found, err := set.Remove(x.Key)
		p.answeredFlag(x, found, err)
		return true
	case adk.KindDelete:
		p.answered(x, set.Delete(ctx, x.Key))
		return true
	}
	if !isRecord {
		return false
	}
	switch x.Kind {
	case adk.KindAdd:
		replaced, err := set.Add(record)
		p.answeredFlag(x, replaced, err)
	case adk.KindStore:
		p.answered(x, set.Store(ctx, record))
	case adk.KindMutate:
		p.answered(x, set.Mutate(ctx, record))
	default:
		return false
	}
	return true
}

// turnOperation performs what only a turn context offers.
func (p *player) turnOperation(ctx context.Context, tc *adk.TurnContext, x *adk.Crossing) bool {
	if x.Kind != adk.KindFork {
		return false
	}
	_, _ = tc.Fork(ctx, x.Name, func(ctx context.Context, tc *adk.TurnContext) error {
		id, strand := tc.Where()
		return p.script(&handle{ctx: ctx, tc: tc}, id, strand)
	})
	return true
}

// dispatchOperation performs what only a dispatch context offers.
func (p *player) dispatchOperation(ctx context.Context, dc *adk.DispatchContext, x *adk.Crossing) bool {
	switch x.Kind {
	case adk.KindFork:
		_, _ = dc.Fork(ctx, x.Name, func(ctx context.Context, dc *adk.DispatchContext) error {
			id, strand := dc.Where()
			return p.script(&handle{ctx: ctx, dc: dc, h: dc.Helpers()}, id, strand)
		})
	case adk.KindAck:
		p.answered(x, dc.Ack())
	case adk.KindNack:
		p.answered(x, dc.Nack(x.Cause))
	case adk.KindOnAck:
		off, err := dc.OnAck(x.Name, func(dc *adk.DispatchContext) {
			id, strand := dc.Where()
			_ = p.script(&handle{ctx: ctx, dc: dc, h: dc.Helpers()}, id, strand) // a handler gives no error
		})
		if err == nil {
			p.mu.Lock()
			p.offAck[x.ID] = off
			p.mu.Unlock()
		}
	case adk.KindOffAck:
		p.mu.Lock()
		off := p.offAck[x.ID]
		p.mu.Unlock()
		if off == nil {
			return false
		}
		off()
	case adk.KindExecute:
		tool, ok := x.Record.(*adk.Tool)
		if !ok {
			return false
		}
		result, err := dc.Execute(ctx, p.tool(tool), x.Args)
		p.answeredResult(x, result, err)
	default:
		return false
	}
	return true
}

// helpers performs what only the executor's helpers offer.
func (h *handle) helpers(p *player, x *adk.Crossing) bool {
	if h.h == nil {
		return false
	}
	switch x.Kind {
	case adk.KindReportMessage:
		_, err := h.h.ReportMessage(x.Name, x.Text, x.Flag)
		p.answered(x, err)
	case adk.KindReportThought:
		_, err := h.h.ReportThought(x.Name, x.Text, x.Flag)
		p.answered(x, err)
	case adk.KindReportToolCall:
		_, err := h.h.ReportToolCall(x.Name, adk.ToolCallReport{Tool: x.Key, Args: x.Args, Results: x.Result, IsError: x.IsError, Complete: x.Flag})
		p.answered(x, err)
	case adk.KindReportLog:
		h.h.Log(adk.Level(x.Key), x.Name, x.Text, x.Value)
	default:
		return false
	}
	return true
}

// misuse makes the misuse that the recorded run contained: a second next, or an
// operation on a handle that had ended.
func (p *player) misuse(h *handle, x *adk.Crossing) bool {
	if x.Name == "second next" || x.Name == "late next" {
		if h.next == nil {
			return false
		}
		h.next(h.ctx)
		return true
	}
	kind, late := strings.CutPrefix(x.Name, "late ")
	if !late {
		return false
	}
	// What it was given does not matter, as long as the engine looks at it.
	again := adk.Crossing{Kind: adk.KindByName(kind), Call: x.Call, Strand: x.Strand, Collection: adk.Messages, Name: "late", Text: "late"}
	switch again.Kind {
	case adk.KindCall:
		again.Seam, again.Seams = adk.Seam{Label: adk.LabelDispatch, Name: "late"}, &adk.RunInfo{Executor: "late"}
	case adk.KindRefresh:
		again.Collection = adk.Instructions
	case adk.KindAdd, adk.KindStore, adk.KindMutate:
		again.Record = anyMessage
	case adk.KindRegister, adk.KindExecute:
		again.Record = anyTool
	}
	return p.operate(&again)
}

// Records for operations that never reach a set: what a late operation is given
// does not matter, as long as it is something.
var (
	anyMessage = mustMessage()
	anyTool    = mustTool()
)

func mustMessage() *adk.Message {
	at := time.Unix(0, 0)
	m, err := adk.NewMessage(adk.MessageInit{ID: "late", Role: adk.RoleUser, Content: "late", CreatedAt: at, UpdatedAt: at})
	if err != nil {
		panic(err)
	}
	return m
}

func mustTool() *adk.Tool {
	t, err := adk.NewTool(adk.ToolInit{Name: "late", Description: "late", InputSchema: []byte(`{"type":"object"}`),
		Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
			return adk.Text("late"), nil
		}})
	if err != nil {
		panic(err)
	}
	return t
}
