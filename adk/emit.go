package adk

import "time"

// This file tells the fifteen events: each first to the observer, then to the
// listeners (EVT-2). An event that an operation caused has the operation's
// time; the others read the clock.

// event tells the observer of an event. fill puts what the event's line carries
// into the crossing.
func (c *call) event(kind Kind, at time.Time, payload func() any, fill func(*Crossing)) {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	x := c.run.crossing(c, kind, Whole, at)
	if x == nil {
		return
	}
	x.Payload = payload()
	if fill != nil {
		fill(x)
	}
	c.run.tell(x)
}

// clock reads the time for an event.
func (c *call) clock() time.Time {
	defer c.lock()()
	return c.run.now()
}

func (c *call) emitMessage(e MessageEvent) {
	if c.run.watcher() != nil {
		c.event(KindMessageEvent, e.UpdatedAt, func() any { return e }, nil)
	}
	publishFunctional(c, KindMessageEvent, e, func(l *Functional) func(MessageEvent) { return l.Message })
}

func (c *call) emitThought(e ThoughtEvent) {
	if c.run.watcher() != nil {
		c.event(KindThoughtEvent, e.UpdatedAt, func() any { return e }, nil)
	}
	publishFunctional(c, KindThoughtEvent, e, func(l *Functional) func(ThoughtEvent) { return l.Thought })
}

func (c *call) emitToolCall(e ToolCallEvent) {
	c.event(KindToolCallEvent, e.UpdatedAt, func() any { return e }, func(x *Crossing) { x.Key = e.Checksum })
	publishFunctional(c, KindToolCallEvent, e, func(l *Functional) func(ToolCallEvent) { return l.ToolCall })
}

func (c *call) emitLog(e LogEvent) {
	c.event(KindLogEvent, e.EmittedAt, func() any { return e }, nil)
	publishObservability(c, KindLogEvent, e, func(l *Observability) func(LogEvent) { return l.Log })
}

func (t *turn) emitTurnStart() {
	c := t.call
	t.turnID = t.config.IDs.NewID()
	t.startedAt = c.clock()
	e := TurnStart{TurnID: t.turnID, StartedAt: t.startedAt}
	c.event(KindTurnStart, e.StartedAt, func() any { return e }, func(x *Crossing) { x.Name = e.TurnID })
	publishObservability(c, KindTurnStart, e, func(l *Observability) func(TurnStart) { return l.TurnStart })
}

func (t *turn) emitTurnEnd() {
	c := t.call
	e := TurnEnd{TurnID: t.turnID, Span: Span{t.startedAt, c.clock()}}
	c.event(KindTurnEnd, e.EndedAt, func() any { return e }, nil)
	publishObservability(c, KindTurnEnd, e, func(l *Observability) func(TurnEnd) { return l.TurnEnd })
}

func (d *dispatch) emitDispatchStart() {
	c := d.call
	d.id = d.run.config.IDs.NewID()
	d.startedAt = c.clock()
	e := DispatchStart{TurnID: d.run.turnID, DispatchID: d.id, StartedAt: d.startedAt}
	c.event(KindDispatchStart, e.StartedAt, func() any { return e }, func(x *Crossing) { x.Name = e.DispatchID })
	publishObservability(c, KindDispatchStart, e, func(l *Observability) func(DispatchStart) { return l.DispatchStart })
}

func (d *dispatch) emitDispatchEnd() {
	c := d.call
	e := DispatchEnd{TurnID: d.run.turnID, DispatchID: d.id, Span: Span{d.startedAt, c.clock()},
		Status: d.status, Error: d.err, Iterations: d.started}
	c.event(KindDispatchEnd, e.EndedAt, func() any { return e }, func(x *Crossing) {
		x.Status, x.Err, x.N = e.Status, e.Error, e.Iterations
	})
	publishObservability(c, KindDispatchEnd, e, func(l *Observability) func(DispatchEnd) { return l.DispatchEnd })
}

func (d *dispatch) emitIterationStart() time.Time {
	c := d.call
	e := IterationStart{Origin: c.origin(), StartedAt: c.clock()}
	c.event(KindIterationStart, e.StartedAt, func() any { return e }, func(x *Crossing) { x.N = e.Iteration })
	publishObservability(c, KindIterationStart, e, func(l *Observability) func(IterationStart) { return l.IterationStart })
	return e.StartedAt
}

func (d *dispatch) emitIterationEnd(startedAt time.Time) {
	c := d.call
	e := IterationEnd{Origin: c.origin(), Span: Span{startedAt, c.clock()}}
	c.event(KindIterationEnd, e.EndedAt, func() any { return e }, func(x *Crossing) { x.N = e.Iteration })
	publishObservability(c, KindIterationEnd, e, func(l *Observability) func(IterationEnd) { return l.IterationEnd })
}

func (c *call) emitToolExecutionStart(tool *Tool, callID string, args map[string]any, at time.Time) {
	e := ToolExecutionStart{Origin: c.origin(), ToolName: tool.Name(), CallID: callID, Args: args, StartedAt: at}
	c.event(KindToolExecutionStart, e.StartedAt, func() any { return e }, func(x *Crossing) { x.Key = callID })
	publishObservability(c, KindToolExecutionStart, e, func(l *Observability) func(ToolExecutionStart) { return l.ToolExecutionStart })
}

func (c *call) emitToolExecutionEnd(tool *Tool, callID string, startedAt time.Time, failed bool) {
	e := ToolExecutionEnd{Origin: c.origin(), ToolName: tool.Name(), CallID: callID, IsError: failed, Span: Span{startedAt, c.clock()}}
	c.event(KindToolExecutionEnd, e.EndedAt, func() any { return e }, func(x *Crossing) { x.IsError = failed })
	publishObservability(c, KindToolExecutionEnd, e, func(l *Observability) func(ToolExecutionEnd) { return l.ToolExecutionEnd })
}

func (r *run) emitError(c *call, failure *Error) {
	e := ErrorEvent{TurnID: r.turnID, DispatchID: c.origin().DispatchID, At: c.clock(), Error: failure}
	c.event(KindErrorEvent, e.At, func() any { return e }, func(x *Crossing) { x.Err = failure })
	publishObservability(c, KindErrorEvent, e, func(l *Observability) func(ErrorEvent) { return l.Error })
}

// EmitMessage emits a message event as it is given (EVT-10): keeping the
// additive rule of deltas is then the caller's own duty.
func (h Handle) EmitMessage(e MessageEvent) error {
	return h.call.emitGiven(KindEmitMessage, e, func() {
		h.call.publishGiven(KindMessageEvent, e)
		publishFunctional(h.call, KindMessageEvent, e, func(l *Functional) func(MessageEvent) { return l.Message })
	})
}

// EmitThought emits a thought event as it is given (EVT-10).
func (h Handle) EmitThought(e ThoughtEvent) error {
	return h.call.emitGiven(KindEmitThought, e, func() {
		h.call.publishGiven(KindThoughtEvent, e)
		publishFunctional(h.call, KindThoughtEvent, e, func(l *Functional) func(ThoughtEvent) { return l.Thought })
	})
}

// EmitToolCall emits a toolCall event as it is given (EVT-10).
func (h Handle) EmitToolCall(e ToolCallEvent) error {
	return h.call.emitGiven(KindEmitToolCall, e, func() {
		h.call.publishGiven(KindToolCallEvent, e)
		publishFunctional(h.call, KindToolCallEvent, e, func(l *Functional) func(ToolCallEvent) { return l.ToolCall })
	})
}

// emitGiven tells an emit operation around the event that it causes.
func (c *call) emitGiven(kind Kind, payload any, event func()) error {
	if err := c.enter(kind); err != nil {
		return err
	}
	r := c.run
	at, op := r.now(), r.nextOp()
	if x := r.crossing(c, kind, Begin, at); x != nil {
		x.Op, x.Payload = op, payload
		r.tell(x)
	}
	r.mu.Unlock()
	event()
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.crossing(c, kind, Done, r.now()); x != nil {
		x.Op = op
		r.tell(x)
	}
	return nil
}

// publishGiven tells the observer of an event whose payload is user code's.
func (c *call) publishGiven(kind Kind, payload any) {
	at := c.clock()
	c.event(kind, at, func() any { return payload }, func(x *Crossing) {
		if e, ok := payload.(ToolCallEvent); ok {
			x.Key = e.Checksum
		}
	})
}
