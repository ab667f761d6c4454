package adk

import (
	"context"
	"errors"
)

// step is one middleware of a pipeline, whichever context it takes.
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

// pass is one walk through a pipeline. It never fails towards the middlewares
// (PIP-2): what went wrong is collected here and judged when all post-steps
// have run.
type pass struct {
	run   *run
	label string // the pipeline's, the Stage of its errors
	code  Code
	steps []step
	// iteration and signalled are the dispatch's; a turn pipeline has neither.
	iteration int
	signalled func() bool

	// Guarded by run.mu, as strands may fail at the same time.
	failure   *Error // the first failure, wrapped
	others    []error
	tolerated []error // what stages returned once the run was aborted (ABT-13)
	inAbort   bool    // the first failure came after the abort: a panic
}

// walk runs the pipeline below a call and gives the failure to report, nil if
// there is none (PIP-5).
func (p *pass) walk(ctx context.Context, owner *call) *Error {
	p.enter(ctx, owner, 0)
	if p.failure != nil && len(p.others) > 0 {
		p.failure.Cause = errors.Join(append([]error{p.failure.Cause}, p.others...)...)
	}
	return p.failure
}

// enter runs the i-th middleware and, through its next, those after it. Once
// the run is aborted no further body is entered (PIP-9).
func (p *pass) enter(ctx context.Context, parent *call, i int) {
	if i == len(p.steps) {
		return
	}
	m := p.steps[i]
	c := p.run.openUnlessAborted(parent, Seam{Label: p.label, Name: m.name, Iteration: p.iteration})
	if c == nil {
		return
	}
	n := &downstream{pass: p, call: c, ctx: ctx, index: i + 1, done: make(chan struct{})}
	c.below = n
	res := c.invoke(func(*result) error { return m.run(ctx, c, n.next) })
	p.judge(m, res, n)
}

// judge classifies how a middleware ended.
func (p *pass) judge(m step, res result, n *downstream) {
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
	case !n.used && !aborted && !(p.signalled != nil && p.signalled()):
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

// downstream is what next of one middleware leads to.
type downstream struct {
	pass  *pass
	call  *call
	ctx   context.Context
	index int
	done  chan struct{} // closed when everything downstream has finished

	// Guarded by run.mu.
	used   bool // next was called in time
	closed bool // the middleware and its strands have returned
}

// next is the Next that the middleware gets. The first call counts, from
// whatever goroutine; others are told as contained misuse (PIP-10).
func (n *downstream) next(ctx context.Context) {
	c, r := n.call, n.call.run
	r.before(c, KindNext, Begin)
	r.mu.Lock()
	if n.used || n.closed {
		defer r.mu.Unlock()
		what, text := "second next", "next was called again: only the first call counts"
		if !n.used {
			what, text = "late next", "next was called after the middleware had returned"
		}
		r.containLocked(c, what, c.seam.String()+": "+text)
		return
	}
	n.used = true
	at, op := r.now(), r.nextOp()
	if x := r.crossing(c, KindNext, Begin, at); x != nil {
		x.Op = op
		r.tell(x)
	}
	r.mu.Unlock()
	defer n.finish(op)
	if ctx == nil {
		ctx = n.ctx
	}
	n.pass.enter(ctx, c, n.index)
}

// finish tells that everything downstream is over.
func (n *downstream) finish(op int) {
	n.call.done(KindNext, op, nil, func() { close(n.done) })
}

// settle runs when the middleware's body and its strands are over: next cannot
// be called any more, and what another goroutine began through it is waited for
// (PIP-10).
func (n *downstream) settle() {
	r := n.call.run
	r.mu.Lock()
	n.closed = true
	used := n.used
	r.mu.Unlock()
	if used {
		n.call.waitFor(n.done)
	}
}
