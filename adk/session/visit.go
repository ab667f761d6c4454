package session

import (
	"context"
	"time"
)

// visit is a host's time at a session that it has claimed, in which it settles deliveries in
// their order.
type visit struct {
	host  *Host
	leave func() // lets another call of the host in
	claim Claim
	// renewed is when the lease was.
	renewed time.Time
	// upTo is the number of the last delivery to settle, and most how many at most.
	upTo int64
	most int
	// started is the session, where an attempt at its next delivery has begun already: that is
	// the guest.
	started *Loaded
	guest   *guest
	settled int
	// last is the outcome of the last delivery that was settled.
	last Outcome
	// due is when the next delivery is, if it is not yet.
	due time.Time
	// released says that the lease has ended together with what was kept last.
	released bool
}

// visit claims a session and settles its deliveries in order, up to one and up to so many.
func (h *Host) visit(ctx context.Context, id SessionID, upTo int64, most int, wait bool) (*visit, error) {
	v := &visit{host: h, upTo: upTo, most: most}
	var err error
	if v.leave, err = h.enter(ctx, id, wait); err != nil {
		return v, err
	}
	v.renewed = h.now()
	claimed := false
	defer func() {
		if !claimed {
			v.leave()
		}
	}()
	if v.claim, err = h.config.Store.Claim(ctx, id, h.config.Name, v.renewed, v.renewed.Add(h.config.Lease)); err != nil {
		return v, err
	}
	claimed = true
	return v, v.work(ctx)
}

// settling is the key of contexts for what is done while a session is settled: its turns, and whom
// they call.
type settling struct{ SessionID }

// isSettling reports whether a context is that of something on whose end a session waits.
func isSettling(ctx context.Context, id SessionID) bool { return ctx.Value(settling{id}) != nil }

// work settles deliveries until the visit is over, and ends it.
func (v *visit) work(ctx context.Context) error {
	ctx = context.WithValue(ctx, settling{v.claim.SessionID}, true)
	defer v.leave()
	defer v.release(ctx)
	h := v.host
	h.tell(v.claim.step(StepClaimed))
	if v.started != nil {
		if err := v.goOn(ctx, *v.started); err != nil || v.isOver() {
			return err
		}
	}
	for {
		loaded, err := h.config.Store.Load(ctx, v.claim)
		if err == nil {
			err = v.finish(ctx, loaded)
		}
		if err != nil || loaded.Next == nil || loaded.Next.Seq > v.upTo {
			return err
		}
		if !loaded.Next.Due(h.now()) {
			v.due = loaded.Next.NotBefore
			return nil
		}
		if err := v.renew(ctx); err != nil {
			return err
		}
		if err := v.try(ctx, loaded); err != nil || v.isOver() {
			return err
		}
	}
}

// isOver reports whether all that the visit is for is settled.
func (v *visit) isOver() bool { return v.settled >= v.most || v.settled > 0 && v.last.Seq >= v.upTo }

// isLast reports whether the visit is over when a delivery is settled.
func (v *visit) isLast(seq int64) bool { return v.settled+1 >= v.most || seq >= v.upTo }

// settles notes that a delivery is settled.
func (v *visit) settles(o Outcome) {
	v.settled++
	v.last = o
}

// goOn runs an attempt that has begun. A session that the host cannot work with gets it back.
func (v *visit) goOn(ctx context.Context, l Loaded) error {
	defer v.host.company.leave(v.guest)
	err := v.host.knows(l)
	if err == nil {
		return v.run(ctx, l, l.Next.Attempts)
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	_ = v.host.config.Store.Fail(ctx, v.claim, Failure{Delivery: l.Next.ID, Attempt: l.Next.Attempts, GiveBack: true, At: asMillis(v.host.now())}) // else it counts
	return err
}

// renew renews the lease between two turns, where many short ones run in one visit.
func (v *visit) renew(ctx context.Context) error {
	lease, now := v.host.config.Lease, v.host.now()
	if since := now.Sub(v.renewed); since >= 0 && since < lease/3 { // a clock may run back
		return nil
	}
	v.renewed = now
	return v.host.config.Store.Renew(ctx, v.claim, now, now.Add(lease))
}

// release ends the lease, so that nobody has to wait for its end. Where the store is away, it
// ends by itself.
func (v *visit) release(ctx context.Context) {
	if v.released {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
	defer cancel()
	if err := v.host.config.Store.Release(ctx, v.claim); err != nil && !isRefused(err) {
		_ = v.host.config.Store.Release(ctx, v.claim) // it may have been the connection alone
	}
}

// finish does what is left of settled deliveries, before the session's next turn.
func (v *visit) finish(ctx context.Context, l Loaded) error {
	for _, a := range l.Unapplied {
		if err := v.apply(ctx, a); err != nil {
			return err
		}
	}
	for _, a := range l.Untold {
		v.notify(ctx, a.Outcome, false)
	}
	return nil
}

// apply makes the writes of a committed delivery, and keeps that they are made.
func (v *visit) apply(ctx context.Context, a Accepted) error {
	h := v.host
	if err := h.apply(ctx, a); err != nil {
		return err
	}
	if err := h.config.Store.Applied(ctx, a.DeliveryID(), asMillis(h.now())); err != nil {
		return err
	}
	s := v.claim.step(StepApplied)
	s.Delivery, s.Seq = a.ID, a.Seq
	h.tell(s)
	return nil
}

// notify tells the outcome of a delivery, the last thing of a visit or not. It is told again
// later if that fails.
func (v *visit) notify(ctx context.Context, o Outcome, last bool) {
	h := v.host
	if h.config.Notify != nil {
		if err := contained(func() error { return h.config.Notify(ctx, o) }); err != nil {
			h.count(func(c *Counters) { c.NotifyFailures++ })
			h.stall(v.claim.SessionID)
			return
		}
	}
	h.goesOn(v.claim.SessionID)
	ctx, cancel := lasting(ctx)
	defer cancel()
	if h.config.Store.Notified(ctx, v.claim, Notice{Delivery: o.Delivery.Delivery, Release: last, At: asMillis(h.now())}) != nil {
		return // as if it had not been told
	}
	v.released = last
	s := v.claim.step(StepNotified)
	s.Delivery, s.Seq = o.Delivery.Delivery, o.Seq
	h.tell(s)
}
