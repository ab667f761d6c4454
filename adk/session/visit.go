package session

import (
	"context"
	"time"
)

// visit is a host's work on a session that it has claimed: it settles the session's deliveries in
// order.
type visit struct {
	host  *Host
	leave func() // lets another call of the host work on the session
	claim Claim
	// renewed is when the lease was taken or last renewed.
	renewed time.Time
	// upTo is the number of the last delivery to settle, and most the greatest number of deliveries
	// to settle.
	upTo int64
	most int
	// started is the session if an attempt at its next delivery has begun already, by Store.Start.
	// guest is that attempt's place in the host's company.
	started *Loaded
	guest   *guest
	settled int
	// last is the outcome of the last delivery that was settled.
	last Outcome
	// due is when the next delivery is due, if it is not yet.
	due time.Time
	// released says that the lease ended together with what was stored last.
	released bool
}

// visit claims a session and settles its deliveries in order: those up to the number upTo, and most
// of them at most.
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

// settling is the key of context values that mark what runs while a session is settled: its turns
// and whatever they call.
type settling struct{ SessionID }

// isSettling reports whether ctx belongs to something that has to end before the session can go on.
func isSettling(ctx context.Context, id SessionID) bool { return ctx.Value(settling{id}) != nil }

// work settles deliveries until the visit is over, and releases the session.
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

// isOver reports whether the visit has settled all it should.
func (v *visit) isOver() bool { return v.settled >= v.most || v.settled > 0 && v.last.Seq >= v.upTo }

// isLast reports whether settling the delivery with number seq ends the visit.
func (v *visit) isLast(seq int64) bool { return v.settled+1 >= v.most || seq >= v.upTo }

// settles notes that a delivery is settled.
func (v *visit) settles(o Outcome) {
	v.settled++
	v.last = o
}

// goOn runs an attempt that Store.Start has begun. If the host cannot run the session's turns, goOn
// gives the attempt back.
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

// renew renews the lease between two turns if a third of it is over, since one visit may run many
// short turns.
func (v *visit) renew(ctx context.Context) error {
	lease, now := v.host.config.Lease, v.host.now()
	if since := now.Sub(v.renewed); since >= 0 && since < lease/3 { // since is negative if the clock has run back
		return nil
	}
	v.renewed = now
	return v.host.config.Store.Renew(ctx, v.claim, now, now.Add(lease))
}

// release ends the lease, so that no host has to wait for its end. If the store is away, the lease
// ends by itself.
func (v *visit) release(ctx context.Context) {
	if v.released {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
	defer cancel()
	if err := v.host.config.Store.Release(ctx, v.claim); err != nil && !isRefused(err) {
		_ = v.host.config.Store.Release(ctx, v.claim) // only the connection may have failed
	}
}

// finish does what is left to do for settled deliveries, before the session's next turn.
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

// apply makes the writes of a committed delivery, and stores that they were made.
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

// notify passes the outcome of a delivery to Config.Notify and stores that it did. If that fails, a
// later visit does it again. last says that the visit ends with it.
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
		return // a later visit notifies again
	}
	v.released = last
	s := v.claim.step(StepNotified)
	s.Delivery, s.Seq = o.Delivery.Delivery, o.Seq
	h.tell(s)
}
