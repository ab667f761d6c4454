package session

import (
	"context"
	"slices"
	"sync"
)

// company admits the attempts that run at once within a host. Any number may be inside together,
// unless one of them has to run alone. Attempts are admitted in the order of arrival, so that none
// starves.
type company struct {
	mu      sync.Mutex
	inside  int
	alone   bool // an attempt inside has to be alone
	waiting []*guest
}

// guest is an attempt that is inside the company or waits to be.
type guest struct {
	alone bool
	in    chan struct{} // closed when the guest is inside
}

// come registers an attempt. It is admitted at once if that is possible; otherwise it waits.
func (c *company) come(alone bool) *guest {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := &guest{alone, make(chan struct{})}
	c.waiting = append(c.waiting, g)
	c.admit()
	return g
}

// slip admits an attempt if it need not wait, and returns nil otherwise.
func (c *company) slip() *guest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alone || len(c.waiting) > 0 {
		return nil
	}
	g := &guest{in: make(chan struct{})}
	c.take(g)
	return g
}

// press admits an attempt that has waited long enough, whichever attempts are inside.
func (c *company) press(g *guest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.waiting, g); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
		g.alone = false
		c.take(g)
		c.admit()
	}
}

// leave ends an attempt's time inside, or its waiting.
func (c *company) leave(g *guest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.waiting, g); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	} else {
		c.inside--
		c.alone = c.alone && !g.alone
	}
	c.admit()
}

// admit admits waiting attempts, first come first served, as long as it may. The caller holds mu.
func (c *company) admit() {
	for len(c.waiting) > 0 && !c.alone && (c.inside == 0 || !c.waiting[0].alone) {
		c.take(c.waiting[0])
		c.waiting = c.waiting[1:]
	}
}

// take admits an attempt. The caller holds mu.
func (c *company) take(g *guest) {
	c.inside++
	c.alone = c.alone || g.alone
	close(g.in)
}

// join waits until an attempt at the session's next delivery may run in parallel with the attempts
// under way in this host. It keeps the lease meanwhile. It waits for MaxRetryPause at most, because
// a turn under way may wait for people, or for an attempt that waits here.
func (v *visit) join(ctx context.Context, l Loaded, alone bool) (leave func(), err error) {
	h := v.host
	g := h.company.come(alone)
	leave = func() { h.company.leave(g) }
	select {
	case <-g.in:
		return leave, nil
	default:
	}
	a := v.attempt(l, l.Next.Attempts)
	ctx, a.cancel = context.WithCancelCause(ctx)
	defer a.cancel(nil)
	lease := h.keepLease(ctx, a)
	defer lease.end()
	over := make(chan struct{})
	stop := h.config.Agent.Clock.AfterFunc(MaxRetryPause, func() { close(over) })
	defer stop()
	select {
	case <-g.in:
	case <-over:
		h.company.press(g)
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
	return leave, nil
}
