package adk

import (
	"fmt"
	"time"
)

// This file emits events. Each event is reported to the observer first, then to the listeners
// (EVT-2).

// event reports an event, or a state, to the observer, with a reading of the clock of its own.
// complete puts the time into the event and fills in the event's crossing, which is nil if nobody
// observes.
func (c *call) event(kind Kind, complete func(at time.Time, x *Crossing)) {
	c.eventIf(func() bool { return true }, kind, complete)
}

// eventUnlessAborted is event for something that an aborted run does not begin any more. It reports
// whether the event happened. It tests for the abort and reports the event in one step, under
// run.mu.
func (c *call) eventUnlessAborted(kind Kind, complete func(at time.Time, x *Crossing)) bool {
	return c.eventIf(func() bool { return !c.run.cancelTold }, kind, complete)
}

func (c *call) eventIf(admitted func() bool, kind Kind, complete func(at time.Time, x *Crossing)) bool {
	r := c.run
	r.before(c, kind, Whole)
	r.mu.Lock()
	defer r.mu.Unlock()
	at := c.now()
	r.latchCancel(at)
	if !admitted() {
		return false
	}
	x := r.line(c, kind, Whole, at)
	complete(at, x)
	if x != nil {
		r.tell(x)
	}
	return true
}

// emit reports an event of the engine itself to the observer, with a reading of the clock of its
// own that complete puts into the event, and then calls the listeners. fill sets the fields of the
// crossing whose values no earlier crossing gives; it may be nil.
func emit[E any](c *call, kind Kind, e *E, complete func(at time.Time), fill func(*Crossing), pick func(*Observability) func(E)) {
	c.event(kind, func(at time.Time, x *Crossing) {
		complete(at)
		if x == nil {
			return
		}
		if x.Payload = *e; fill != nil {
			fill(x)
		}
	})
	publishObservability(c, kind, e, pick)
}

// follow reports to the observer an event that an operation caused. Event and crossing have the
// time of the operation, even if other strands have read later times meanwhile (EVT-6).
func follow[E any](c *call, kind Kind, e *E, fill func(*Crossing)) {
	r := c.run
	if !r.observed() {
		return
	}
	r.before(c, kind, Whole)
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.crossing(c, kind, Whole, *r.times.Last(c.strand)); x != nil {
		if x.Payload = *e; fill != nil {
			fill(x)
		}
		r.tell(x)
	}
}

// emitCaused is emit for an event that an operation caused and that already has the operation's
// time.
func emitCaused[E any](c *call, kind Kind, e *E, fill func(*Crossing), pick func(*Observability) func(E)) {
	follow(c, kind, e, fill)
	publishObservability(c, kind, e, pick)
}

func (c *call) emitMessage(e *MessageEvent) {
	follow(c, KindMessageEvent, e, nil)
	publishFunctional(c, KindMessageEvent, e, func(l *Functional) func(MessageEvent) { return l.Message })
}

func (c *call) emitThought(e *ThoughtEvent) {
	follow(c, KindThoughtEvent, e, nil)
	publishFunctional(c, KindThoughtEvent, e, func(l *Functional) func(ThoughtEvent) { return l.Thought })
}

func (c *call) emitToolCall(e *ToolCallEvent) {
	follow(c, KindToolCallEvent, e, func(x *Crossing) { x.Key = e.Checksum })
	publishFunctional(c, KindToolCallEvent, e, func(l *Functional) func(ToolCallEvent) { return l.ToolCall })
}

func (c *call) emitLog(e LogEvent) {
	emitCaused(c, KindLogEvent, &e, nil, func(l *Observability) func(LogEvent) { return l.Log })
}

func (t *turn) emitTurnStart() {
	var e TurnStart
	emit(t.call, KindTurnStart, &e, func(at time.Time) {
		t.turnID, t.startedAt = t.newID(), at
		e.TurnID, e.StartedAt = t.turnID, at
	}, func(x *Crossing) { x.Name = e.TurnID }, func(l *Observability) func(TurnStart) { return l.TurnStart })
}

func (t *turn) emitTurnEnd() {
	e := TurnEnd{TurnID: t.turnID, Span: Span{StartedAt: t.startedAt}}
	emit(t.call, KindTurnEnd, &e, func(at time.Time) { e.EndedAt = at }, nil, func(l *Observability) func(TurnEnd) { return l.TurnEnd })
}

func (d *dispatch) emitDispatchStart() {
	e := DispatchStart{TurnID: d.run.turnID, Name: d.name}
	if d.above != nil {
		e.ParentID = d.above.id
	}
	emit(d.call, KindDispatchStart, &e, func(at time.Time) {
		d.id, d.startedAt = d.run.newID(), at
		e.DispatchID, e.StartedAt = d.id, at
	}, func(x *Crossing) { x.Name = e.DispatchID }, func(l *Observability) func(DispatchStart) { return l.DispatchStart })
}

// emitDispatchEnd decides how the dispatch ended in the step that reports the end. So an abort
// comes either before both or after both.
func (d *dispatch) emitDispatchEnd() {
	e := DispatchEnd{TurnID: d.run.turnID, DispatchID: d.id, Name: d.name, Span: Span{StartedAt: d.startedAt}, Iterations: d.started}
	emit(d.call, KindDispatchEnd, &e, func(at time.Time) {
		e.EndedAt = at
		e.Status, e.Error = d.conclude()
		d.ended = e
	}, func(x *Crossing) { x.Status, x.Err, x.N = e.Status, e.Error, e.Iterations }, func(l *Observability) func(DispatchEnd) { return l.DispatchEnd })
}

// emitIterationStart reports whether the iteration has begun. The iteration is numbered and counted
// in the step that reports it, because a listener of the event may end the goroutine; whatever
// fails after the start of the last iteration belongs to that iteration (DSP-5).
func (d *dispatch) emitIterationStart() (startedAt time.Time, begun bool) {
	e := IterationStart{}
	begun = d.call.eventUnlessAborted(KindIterationStart, func(at time.Time, x *Crossing) {
		d.iteration.Store(int64(d.started))
		d.started++
		e.Origin, e.StartedAt = d.call.origin(), at
		if x != nil {
			x.Payload, x.N = e, e.Iteration
		}
	})
	if begun {
		publishObservability(d.call, KindIterationStart, &e, func(l *Observability) func(IterationStart) { return l.IterationStart })
	}
	return e.StartedAt, begun
}

// emitIterationEnd flushes in the step that reports the end. So an abort comes either before both
// or after both.
func (d *dispatch) emitIterationEnd(startedAt time.Time) {
	e := IterationEnd{Origin: d.call.origin(), Span: Span{StartedAt: startedAt}}
	emit(d.call, KindIterationEnd, &e, func(at time.Time) {
		e.EndedAt = at
		d.flush()
	}, func(x *Crossing) { x.N = e.Iteration }, func(l *Observability) func(IterationEnd) { return l.IterationEnd })
}

// emitToolExecutionStart reports whether the execution has begun.
func (c *call) emitToolExecutionStart(tool *Tool, callID string, args map[string]any, startedAt *time.Time) (begun bool) {
	e := ToolExecutionStart{Origin: c.origin(), ToolName: tool.Name(), CallID: callID, Args: args}
	begun = c.eventUnlessAborted(KindToolExecutionStart, func(at time.Time, x *Crossing) {
		e.StartedAt, *startedAt = at, at
		if x != nil {
			x.Payload, x.Key = e, callID
		}
	})
	if begun {
		publishObservability(c, KindToolExecutionStart, &e, func(l *Observability) func(ToolExecutionStart) { return l.ToolExecutionStart })
	}
	return begun
}

func (c *call) emitToolExecutionEnd(tool *Tool, callID string, startedAt time.Time, failed bool) {
	e := ToolExecutionEnd{Origin: c.origin(), ToolName: tool.Name(), CallID: callID, IsError: failed, Span: Span{StartedAt: startedAt}}
	emit(c, KindToolExecutionEnd, &e, func(at time.Time) { e.EndedAt = at }, func(x *Crossing) { x.IsError = failed },
		func(l *Observability) func(ToolExecutionEnd) { return l.ToolExecutionEnd })
}

func (r *run) emitError(c *call, failure *Error) {
	e := ErrorEvent{Origin: c.origin(), Error: failure}
	emit(c, KindErrorEvent, &e, func(at time.Time) { e.At = at }, func(x *Crossing) { x.Err = failure }, func(l *Observability) func(ErrorEvent) { return l.Error })
}

// EmitMessage emits a message event exactly as given (EVT-10). The caller has to see to it that
// each Delta adds to Full, as it does in events from ReportMessage.
func (h Handle) EmitMessage(e MessageEvent) error {
	return h.call.emitGiven(KindEmitMessage, func() any { return e }, func(c *call) { c.emitMessage(&e) })
}

// EmitThought emits a thought event exactly as given (EVT-10).
func (h Handle) EmitThought(e ThoughtEvent) error {
	return h.call.emitGiven(KindEmitThought, func() any { return e }, func(c *call) { c.emitThought(&e) })
}

// EmitToolCall emits a toolCall event exactly as given (EVT-10).
func (h Handle) EmitToolCall(e ToolCallEvent) error {
	var err error
	if e.Results, err = checkedResult(e.Results); err != nil {
		return fmt.Errorf("adk: emit of tool call %q: %w", e.ID, err)
	}
	return h.call.emitGiven(KindEmitToolCall, func() any { return e }, func(c *call) { c.emitToolCall(&e) })
}

// emitGiven reports the begin and the end of an emit operation around the event that it causes.
// payload is called only if somebody observes, because converting the event to an any allocates.
func (c *call) emitGiven(kind Kind, payload func() any, emit func(*call)) error {
	if err := c.enter(kind); err != nil {
		return err
	}
	op := c.begin(kind, func(x *Crossing) { x.Payload = payload() })
	c.run.mu.Unlock()
	emit(c)
	c.done(kind, op, nil, nil)
	return nil
}
