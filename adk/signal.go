package adk

import (
	"context"
	"errors"
	"slices"
	"time"
)

// signal holds how user code ended a dispatch, if it did (SIG). It is guarded by run.mu.
type signal struct {
	acked         bool
	nackErr       error
	nackedInAbort bool // nacked when the run was already aborted
	handlers      []*ackHandler
	lastHandler   int
}

// ackHandler is one registration of OnAck.
type ackHandler struct {
	id   int
	name string
	call func(context.Context, *DispatchContext)
}

func (s *signal) given() bool { return s.acked || s.nackErr != nil }

func (d *dispatch) signalled() bool {
	d.run.mu.Lock()
	defer d.run.mu.Unlock()
	return d.signal.given()
}

// errSignalled is the error of a second signal (SIG-1).
func (s *signal) errSignalled() error {
	first := "acked"
	if !s.acked {
		first = "nacked"
	}
	return &Error{Code: E_LLM_EXECUTION_ALREADY_SIGNALLED,
		Message: "the dispatch was " + first + " already and the first signal stands: ask IsSignalled first"}
}

// Ack ends the dispatch successfully: it runs the on-ack handlers, and when the stage returns, the
// loop is left and the changes are flushed. If the dispatch was signalled before, the error is
// E_LLM_EXECUTION_ALREADY_SIGNALLED (SIG-1).
func (dc *DispatchContext) Ack() error {
	c := dc.call
	if err := c.enter(KindAck); err != nil {
		return err
	}
	r, d := c.run, c.dispatch
	var err error
	var handlers []*ackHandler
	if d.signal.given() {
		err = d.signal.errSignalled()
	} else {
		d.signal.acked = true
		handlers = slices.Clone(d.signal.handlers)
	}
	op := c.begin(KindAck, func(*Crossing) {})
	r.mu.Unlock()
	defer c.done(KindAck, op, err, nil)
	for _, h := range handlers {
		c.runAckHandler(h)
	}
	return err
}

// runAckHandler calls one handler with a handle of its own. A panic of it is contained: it affects
// neither the other handlers nor the ack (SIG-3).
func (c *call) runAckHandler(h *ackHandler) {
	c.run.mu.Lock()
	registered := slices.Contains(c.dispatch.signal.handlers, h)
	c.run.mu.Unlock()
	if !registered { // an earlier handler removed it
		return
	}
	handling := c.run.open(c, Seam{Label: LabelOnAck, Name: h.name}, c.strand, opened{})
	res := handling.invoke(func() result { h.call(handling.hand(c.handed.Context), &handling.dc); return result{} })
	if res.panicked() {
		c.run.contain(c, "on-ack handler "+h.name, res.err.Error())
	}
}

// Nack ends the dispatch as failed with cause, or with E_LLM_EXECUTION_NACKED if cause is nil
// (DSP-6). If the dispatch was signalled before, the error is E_LLM_EXECUTION_ALREADY_SIGNALLED
// (SIG-1).
func (dc *DispatchContext) Nack(cause error) error {
	c := dc.call
	if err := c.enter(KindNack); err != nil {
		return err
	}
	if ours, ok := cause.(*Error); ok && ours == nil {
		cause = nil // a nil pointer is no error
	}
	r, d := c.run, c.dispatch
	defer r.mu.Unlock()
	at := c.now()
	x := r.crossing(c, KindNack, Whole, at) // notices an abort that came before
	var err error
	if d.signal.given() {
		err = d.signal.errSignalled()
	} else {
		d.signal.nackErr, d.signal.nackedInAbort = cause, r.cancelTold
		if cause == nil {
			d.signal.nackErr = &Error{Code: E_LLM_EXECUTION_NACKED, Message: "the dispatch was nacked without an error"}
		}
	}
	if x != nil {
		x.Cause, x.Err = cause, err
		r.tell(x)
	}
	return err
}

// IsSignalled reports whether the dispatch was acked or nacked (SIG-2).
func (dc *DispatchContext) IsSignalled() bool { return dc.call.dispatch.signalled() }

// IsAcked reports whether the dispatch was acked (SIG-2).
func (dc *DispatchContext) IsAcked() bool {
	defer dc.call.lock()()
	return dc.call.dispatch.signal.acked
}

// NackError returns the error with which the dispatch was nacked, or nil (SIG-2).
func (dc *DispatchContext) NackError() error {
	defer dc.call.lock()()
	return dc.call.dispatch.signal.nackErr
}

// OnAck registers a handler that runs inside the first Ack, after those registered before it, and
// never on a nack (SIG-3). A handler registered after the signal, or by another handler, never
// runs. The name is required. off removes the handler, also after the seam call that registered it
// has returned. The handler gets the context that was given to the stage that acks.
func (dc *DispatchContext) OnAck(name string, handler func(context.Context, *DispatchContext)) (off func(), err error) {
	if name == "" || handler == nil {
		return nil, errors.New("adk: OnAck needs a name and a handler")
	}
	c := dc.call
	err = c.step(KindOnAck, func(_ time.Time, x *Crossing) {
		s := &c.dispatch.signal
		s.lastHandler++
		h := &ackHandler{s.lastHandler, name, handler}
		s.handlers = append(s.handlers, h)
		off = func() { c.offAck(h) }
		if x != nil {
			x.Name, x.ID = name, h.id
		}
	})
	return off, err
}

// offAck removes a handler. It acts for the call that registered the handler, even after that call
// has returned: the registration outlives the call, and so must its removal.
func (c *call) offAck(h *ackHandler) {
	c.run.before(c, KindOffAck, Whole)
	defer c.lock()()
	at := c.now()
	s := &c.dispatch.signal
	i := slices.Index(s.handlers, h)
	if i >= 0 {
		s.handlers = slices.Delete(s.handlers, i, i+1)
	}
	if x := c.run.crossing(c, KindOffAck, Whole, at); x != nil {
		x.ID, x.Flag = h.id, i >= 0
		c.run.tell(x)
	}
}

// ToolCallCount returns how many tool calls have this checksum, of those that were stored or
// mutated in this dispatch and those that it began with. Each id counts once, under the checksum of
// its latest record, even if that was deleted (SIG-4).
func (dc *DispatchContext) ToolCallCount(checksum string) int {
	defer dc.call.lock()()
	return dc.call.dispatch.counted.Of(checksum)
}
