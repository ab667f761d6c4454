package adk

import (
	"context"
	"errors"
)

// step is one middleware of a pipeline, whichever kind of context it takes.
type step struct {
	name string
	run  func(ctx context.Context, c *call, next Next) error
}

func turnSteps(list []TurnMiddleware) []step {
	steps := make([]step, len(list))
	for i, m := range list {
		steps[i] = step{m.Name, func(ctx context.Context, c *call, next Next) error { return m.Run(ctx, &c.tc, next) }}
	}
	return steps
}

func dispatchSteps(list []DispatchMiddleware) []step {
	steps := make([]step, len(list))
	for i, m := range list {
		steps[i] = step{m.Name, func(ctx context.Context, c *call, next Next) error { return m.Run(ctx, &c.dc, next) }}
	}
	return steps
}

// pass is one walk through a pipeline. A failure is never returned to the middlewares (PIP-2). It
// is collected here and judged when all post-steps have run.
type pass struct {
	run   *run
	label string // the pipeline's label, which is the Stage of its errors
	code  Code
	steps []step
	// dispatch and iteration are set for a dispatch pipeline only.
	dispatch  *dispatch
	iteration int

	// Guarded by run.mu, as strands may fail at the same time.
	failure   *Error // the first failure, wrapped
	others    []error
	tolerated []error // the errors that stages returned after the run was aborted (ABT-13)
	inAbort   bool    // the first failure is a panic after the abort
}

// walk runs the pipeline below a call and returns the failure to report, or nil (PIP-5).
func (p *pass) walk(ctx context.Context, owner *call) *Error {
	p.enter(ctx, owner, 0)
	if p.failure != nil && len(p.others) > 0 {
		p.failure.Cause = errors.Join(append([]error{p.failure.Cause}, p.others...)...)
	}
	return p.failure
}

// enter runs the i-th middleware and, through its next, those after it. Once the run is aborted, no
// further middleware is entered (PIP-9).
func (p *pass) enter(ctx context.Context, parent *call, i int) {
	if i == len(p.steps) {
		return
	}
	m := p.steps[i]
	c := p.run.openUnlessAborted(parent, Seam{Label: p.label, Name: m.name, Iteration: p.iteration}, opened{})
	if c == nil {
		return
	}
	c.below = downstream{pass: p, ctx: ctx, index: i + 1}
	res := c.invoke(func() result { return result{err: m.run(c.hand(ctx), c, c.next)} })
	p.classify(m, res, c.below.used)
}

// classify decides what the end of a middleware means: a failure, an abort, an error that is part
// of an abort, a short circuit, or nothing.
func (p *pass) classify(m step, res result, wentOn bool) {
	aborted := p.run.aborted()
	switch {
	case res.panicked():
		p.fail(aborted, &Error{Code: p.code, Message: p.label + "/" + m.name + " panicked", Stage: p.label, Name: m.name, Cause: res.err})
	case res.err != nil && !aborted && isAbort(res.err):
		p.run.abort(cancelStage, res.err)
		p.tolerate(res.err)
	case res.err != nil && aborted:
		p.tolerate(res.err)
	case res.err != nil:
		p.fail(false, &Error{Code: p.code, Message: p.label + "/" + m.name + " failed", Stage: p.label, Name: m.name, Cause: res.err})
	case !wentOn && !aborted && !(p.dispatch != nil && p.dispatch.signalled()):
		p.fail(false, &Error{Code: E_PIPELINE_SHORT_CIRCUITED, Stage: p.label, Name: m.name,
			Message: p.label + "/" + m.name + " returned without calling next: call next, return an error, signal or abort"})
	}
}

func (p *pass) fail(inAbort bool, failure *Error) {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	if p.failure == nil {
		p.failure, p.inAbort = failure, inAbort
		return
	}
	p.others = append(p.others, failure)
}

func (p *pass) tolerate(err error) {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	p.tolerated = append(p.tolerated, err)
}

// downstream is what the next of one middleware leads to. It is zero in the calls of all other
// seams.
type downstream struct {
	pass  *pass
	ctx   context.Context
	index int

	// Guarded by run.mu.
	used     bool          // next was called before the middleware had returned
	finished bool          // everything downstream has finished
	closed   bool          // the middleware and its strands have returned
	awaited  chan struct{} // settle waits for it, finish closes it; nil unless settle has to wait
}

// next is the Next that the middleware gets. The first call counts, from whatever goroutine;
// further calls are reported as contained misuse (PIP-10).
func (c *call) next(ctx context.Context) {
	n, r := &c.below, c.run
	r.before(c, KindNext, Begin)
	r.mu.Lock()
	if n.used || n.closed {
		defer r.mu.Unlock()
		what, text := SecondNext, "next was called again: only the first call counts"
		if !n.used {
			what, text = LatePrefix+KindNext.String(), "next was called after the middleware had returned"
		}
		r.containLocked(c, what, c.seam.String()+": "+text)
		return
	}
	n.used = true
	op := c.begin(KindNext, func(*Crossing) {})
	r.mu.Unlock()
	defer c.done(KindNext, op, nil, n.finish)
	if ctx == nil {
		ctx = n.ctx
	}
	n.pass.enter(ctx, c, n.index)
}

// finish records that everything downstream is over. run.mu is held.
func (n *downstream) finish() {
	n.finished = true
	if n.awaited != nil {
		close(n.awaited)
	}
}

// settle runs when the body of a seam call and its strands are over. From then on next does
// nothing. If another goroutine has called next before, settle waits for everything downstream
// (PIP-10).
func (c *call) settle() {
	n, r := &c.below, c.run
	if n.pass == nil {
		return
	}
	r.mu.Lock()
	n.closed = true
	wait := n.used && !n.finished
	if wait {
		n.awaited = make(chan struct{})
	}
	r.mu.Unlock()
	if wait {
		c.waitFor(n.awaited)
	}
}
