package adk

import (
	"context"
	"time"
)

// Handle is what a turn context and a dispatch context have in common. A handle belongs to the seam
// call that it was handed to, and ends with it. A later operation on it returns E_CONTEXT_ENDED and
// is reported to the probe as contained (DET-5). Handles are safe for concurrent use (RUN-11).
type Handle struct{ call *call }

// TurnContext is a turn as seen by one middleware of a turn pipeline, or by a strand of it.
type TurnContext struct{ Handle }

// DispatchContext is a dispatch as seen by one dispatch middleware, the executor, a tool handler,
// an on-ack handler, or a strand of one of these. Its sets and its stash are the dispatch's own
// copies (DSP-9).
type DispatchContext struct{ Handle }

// lock takes the run's lock and returns the function that releases it.
func (c *call) lock() (unlock func()) {
	c.run.mu.Lock()
	return c.run.mu.Unlock
}

// Where returns the numbers that crossings give to the seam call and the strand of this handle. A
// probe can use them to relate what it observes to what its own code in a seam does.
func (h Handle) Where() (call, strand int) { return h.call.id, h.call.strand }

// TurnID returns the id of the turn, or "" in a standalone dispatch.
func (h Handle) TurnID() string { return h.call.run.turnID }

// SystemPrompt returns the system prompt.
func (h Handle) SystemPrompt() *Tokenizable { return h.call.visible.prompt }

// Tools returns the registry of tools.
func (h Handle) Tools() ToolSet { return ToolSet(h) }

// Stash returns the stash.
func (h Handle) Stash() Stash { return Stash(h) }

// Aborted reports whether the turn is aborted.
func (h Handle) Aborted() bool { return h.call.run.ctx.Err() != nil }

// Abort aborts the turn, or the dispatch if it was called alone (ABT-12). The reason is readable as
// context.Cause of every context of the run; the first abort's reason stays (ABT-5). A nil reason
// is E_TURN_ABORTED.
func (h Handle) Abort(reason error) error {
	c := h.call
	if err := c.enter(KindAbort); err != nil {
		return err
	}
	defer c.run.mu.Unlock()
	at := c.now()
	if x := c.run.crossing(c, KindAbort, Whole, at); x != nil {
		x.Cause = reason
		c.run.tell(x)
	}
	if reason == nil {
		reason = Aborted(nil)
	}
	c.run.abortLocked(cancelAbort, reason)
	return nil
}

// Now returns the present time by the config's clock, so that a replay returns the same time
// (DET-1). On a handle that has ended it returns the zero time.
func (h Handle) Now() (now time.Time) {
	_ = h.call.step(KindNow, func(at time.Time, _ *Crossing) { now = at })
	return now
}

// NewID returns a new id from the config's id source, so that a replay returns the same id (DET-1).
// On a handle that has ended it returns "".
func (h Handle) NewID() (id string) {
	_ = h.call.step(KindNewID, func(_ time.Time, x *Crossing) {
		if id = h.call.run.config.IDs.NewID(); x != nil {
			x.Name = id
		}
	})
	return id
}

// Sleep waits until d has passed by the config's clock. If ctx ends or the turn is aborted first,
// it returns the cause of that. If d is zero or less, Sleep only yields.
func (h Handle) Sleep(ctx context.Context, d time.Duration) error {
	c := h.call
	if ctx == nil {
		return errNilContext(KindSleep)
	}
	if err := c.enter(KindSleep); err != nil {
		return err
	}
	r := c.run
	at, op := c.now(), r.nextOp()
	passed, stop := r.timer(d, c.strand)
	if x := r.crossing(c, KindSleep, Begin, at); x != nil {
		x.Duration, x.Op = d, op
		r.tell(x)
	}
	r.mu.Unlock()

	c.await(ctx, passed)
	stop()
	return c.conclude(KindSleep, op, func(at time.Time) error {
		switch {
		case r.cancelTold:
			return context.Cause(r.ctx)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		c.tellTimer(op, at)
		return nil
	})
}

// Log emits a log event of this turn or dispatch (HLP-6). payload is plain data, or nil. On a
// handle that has ended it emits nothing.
func (h Handle) Log(level Level, kind, message string, payload any) {
	h.call.helpers.Log(level, kind, message, payload)
}

// timer starts a timer that a strand waits for. run.mu is held from here until the operation that
// waits for the timer was reported, so that an observer that is also the clock knows to which
// operation the timer belongs. If the clock panics, the wait is over at once, because otherwise it
// would never end.
func (r *run) timer(d time.Duration, strand int) (passed <-chan struct{}, stop func() bool) {
	fired := make(chan struct{})
	defer func() {
		if value := recover(); value != nil {
			r.containConfig("clock", value)
			over := make(chan struct{}) // fired may still be the clock's to close
			close(over)
			passed, stop = over, func() bool { return false }
		}
	}()
	return fired, r.config.Clock.AfterFunc(d, func() { close(fired); r.wake(strand) })
}

// await parks the strand until the timer has fired, ctx ends or the run is aborted. Which of these
// it was is decided when the strand goes on, not when its goroutine woke: an abort that was
// reported by then takes precedence.
func (c *call) await(ctx context.Context, passed <-chan struct{}) {
	ready := func() bool { return isClosed(passed) || ctx.Err() != nil || c.run.ctx.Err() != nil }
	c.run.observing(func(o Observer) { tellSleep(o, c.strand, ready, ctx, c.run.ctx) })
	select {
	case <-passed:
	case <-ctx.Done():
	case <-c.run.ctx.Done():
	}
	c.run.resume(c.strand)
}

// tellTimer reports that the timer of a waiting operation fired. run.mu is held.
func (c *call) tellTimer(op int, at time.Time) {
	if x := c.run.line(c, KindTimer, Whole, at); x != nil {
		x.N = op
		c.run.tell(x)
	}
}

// Fork runs fn in parallel, as a strand with a handle of its own. The engine waits for it before
// the seam call returns; a panic in it becomes its error (DET-7). The name of the strand is
// required and need not be unique. In an aborted turn no strand begins, and the error is the
// abort's cause (ABT-7).
func (tc *TurnContext) Fork(ctx context.Context, name string, fn func(ctx context.Context, tc *TurnContext) error) (*Strand, error) {
	if fn == nil {
		return nil, errNoStrand
	}
	return tc.call.fork(ctx, name, func(ctx context.Context, strand *call) error { return fn(ctx, &strand.tc) })
}

// Fork runs fn in parallel, as a strand with a handle of its own. The engine waits for it before
// the seam call returns; a panic in it becomes its error (DET-7). The name of the strand is
// required and need not be unique. In an aborted turn no strand begins, and the error is the
// abort's cause (ABT-7).
func (dc *DispatchContext) Fork(ctx context.Context, name string, fn func(ctx context.Context, dc *DispatchContext) error) (*Strand, error) {
	if fn == nil {
		return nil, errNoStrand
	}
	return dc.call.fork(ctx, name, func(ctx context.Context, strand *call) error { return fn(ctx, &strand.dc) })
}

// Helpers returns the helpers that report and log through this handle. A strand has to use those of
// its own handle, so that its reports are attributed to it.
func (dc *DispatchContext) Helpers() *Helpers { return &dc.call.helpers }

// DispatchID returns the id of the dispatch.
func (dc *DispatchContext) DispatchID() string { return dc.call.dispatch.id }

// Iteration returns the 0-based number of the iteration; it is constant during an iteration
// (DSP-5).
func (dc *DispatchContext) Iteration() int { return int(dc.call.dispatch.iteration.Load()) }

// scope makes the Scope that is passed to a storage obligation (RUN-13).
func (c *call) scope() Scope {
	s := Scope{TurnID: c.run.turnID, Stash: Stash{c}, Call: c.id, Strand: c.strand}
	if c.dispatch != nil {
		s.DispatchID = c.dispatch.id
	}
	return s
}

// origin returns the Origin of an event of this call (EVT-5).
func (c *call) origin() Origin {
	o := Origin{TurnID: c.run.turnID}
	if d := c.dispatch; d != nil {
		o.DispatchID, o.DispatchName, o.Iteration = d.id, d.name, int(d.iteration.Load())
	}
	return o
}
