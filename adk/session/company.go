package session

import (
	"context"
	"slices"
	"sync"
)

// company is what attempts are under way within a host: any number at once, but beside one that
// is to be alone. They are let in in the order in which they have come, so that none is passed
// over for ever.
type company struct {
	mu      sync.Mutex
	inside  int
	alone   bool // the one that is inside is to be alone
	waiting []*guest
}

// guest is an attempt that has come.
type guest struct {
	alone bool
	in    chan struct{} // closed when it is inside
}

// come has an attempt be inside, if that can be, and wait otherwise.
func (c *company) come(alone bool) *guest {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := &guest{alone, make(chan struct{})}
	c.waiting = append(c.waiting, g)
	c.admit()
	return g
}

// slip is come for an attempt that can be inside at once; nil where it would wait.
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

// press has an attempt be inside that has waited for long enough, whoever else is.
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

// admit lets in who may be. mu is held.
func (c *company) admit() {
	for len(c.waiting) > 0 && !c.alone && (c.inside == 0 || !c.waiting[0].alone) {
		c.take(c.waiting[0])
		c.waiting = c.waiting[1:]
	}
}

// take has an attempt be inside. mu is held.
func (c *company) take(g *guest) {
	c.inside++
	c.alone = c.alone || g.alone
	close(g.in)
}

// join waits until an attempt at the session's next delivery may run beside those that are under
// way in this host. It keeps the lease meanwhile, and waits for no longer than a retry does: a
// turn may wait for people, or for one that waits here.
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
