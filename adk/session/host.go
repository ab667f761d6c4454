package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
)

// Host runs deliveries. It is safe for concurrent use, and any number of hosts may share
// the sessions of a store.
type Host struct {
	config  Config
	agent   adk.Config // with the host's own parts
	runner  *adk.Runner
	keys    map[string]*keyInfo
	plan    storage.Plan // of the agent's storage, if planned
	planned bool
	held    bool // the store writes the records itself

	mu      sync.Mutex
	turns   map[string]*turn // under way, by their ids
	places  map[SessionID]*place
	refused map[SessionID]bool // another release has to settle them
	counts  Counters

	told  sync.Mutex // held while the journal hears a step
	steps int64
}

// Counters are what a host has seen since it began.
type Counters struct {
	// LeaseLosses are attempts that another host took over, Retries those that failed and
	// were not the last, and NotifyFailures errors of Config.Notify.
	LeaseLosses, Retries, NotifyFailures int64
}

const (
	// ending is how long a host tries to keep what became of an attempt, also when its
	// caller has left.
	ending = 10 * time.Second
	// firstPause is how long a host waits before it asks again for a session that another
	// one has; each pause is twice as long, up to lastPause.
	firstPause, lastPause = 50 * time.Millisecond, 2 * time.Second
	// firstRetry is how long the second attempt waits; each is twice as long, up to
	// lastRetry.
	firstRetry, lastRetry = time.Second, 5 * time.Minute
)

func (h *Host) now() time.Time { return h.config.Agent.Clock.Now() }

// Deliver brings a delivery to its end: it is accepted, and runs when those before it in its
// session are settled. One that was settled before gives its outcome, with Duplicate. A
// delivery that failed for good is an outcome too; an error says what kept it from being
// settled, or its records from being written where the store does not hold them, and it may be
// delivered again, or resumed.
//
// Errors are E_INVALID_DELIVERY, those of Store.Accept, E_SESSION_BUSY with NoWait,
// E_SESSION_UNKNOWN_CHANNEL, E_SESSION_STATE_NEWER, E_INVALID_SESSION_STATE of values that
// nobody can read, those of the store, and the cause of ctx, which the turn is given too.
func (h *Host) Deliver(ctx context.Context, d Delivery) (Outcome, error) {
	if err := h.check(d); err != nil {
		return Outcome{}, err
	}
	o, err := h.acceptAndSettle(ctx, d)
	if ctx.Err() == nil {
		err = named(d.DeliveryID(), err)
	}
	return o, err
}

// check is the error of a delivery that the host cannot run, or nil.
func (h *Host) check(d Delivery) error {
	if err := d.Check(); err != nil || d.Tenant != "" || !h.planned || !h.plan.Strict() {
		return err
	}
	f := faults{code: adk.E_INVALID_DELIVERY}
	f.add("Tenant", "is missing: the agent's storage is strict, and keeps nothing without one")
	return f.err()
}

func (h *Host) acceptAndSettle(ctx context.Context, d Delivery) (Outcome, error) {
	a, err := h.config.Store.Accept(ctx, d, h.now())
	if err != nil {
		return Outcome{}, err
	}
	if !a.Known {
		h.tell(Step{Kind: StepAccepted, SessionID: a.SessionID(), Delivery: a.ID, Seq: a.Seq, Payload: a.Digest()})
	}
	if !a.State.Settled() {
		return h.await(ctx, a)
	}
	if len(a.Writes) > 0 || a.NotifiedAt.IsZero() {
		if _, _, err := h.visit(ctx, a.SessionID(), 0, math.MaxInt, false); err != nil && !errors.Is(err, adk.E_SESSION_BUSY) {
			return Outcome{}, err
		}
	}
	a.Outcome.Duplicate = true
	return a.Outcome, nil
}

// await visits the session until the delivery is settled.
func (h *Host) await(ctx context.Context, a Accepted) (Outcome, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		_, due, err := h.visit(ctx, a.SessionID(), a.Seq, math.MaxInt, !h.config.NoWait)
		taken := errors.Is(err, adk.E_SESSION_BUSY) || errors.Is(err, adk.E_SESSION_LEASE_LOST)
		if err != nil && !taken {
			return Outcome{}, err
		}
		found, known, failure := h.config.Store.Find(ctx, a.DeliveryID())
		switch {
		case failure != nil:
			return Outcome{}, failure
		case !known:
			return Outcome{}, erasedError(a.SessionID())
		case found.State.Settled():
			return found.Outcome, nil
		case h.config.NoWait && taken:
			return Outcome{}, &adk.Error{Code: adk.E_SESSION_BUSY, Message: a.DeliveryID().String() + " waits for another host", Cause: err}
		case h.config.NoWait:
			return Outcome{}, &adk.Error{Code: adk.E_SESSION_BUSY, Message: fmt.Sprintf("%s waits until %s", a.DeliveryID(), due.Format(time.RFC3339))}
		}
		wait := pause
		if !taken {
			wait = max(due.Sub(h.now()), firstPause)
		}
		if err := h.pause(ctx, wait); err != nil {
			return Outcome{}, err
		}
	}
}

func erasedError(id SessionID) error {
	return &adk.Error{Code: adk.E_SESSION_ERASED, Message: id.String() + " was erased"}
}

// pause lets time pass by the config's clock.
func (h *Host) pause(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	stop := h.config.Agent.Clock.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Resume settles up to limit deliveries that others have left: those of hosts that are gone,
// retries that are due, outcomes that nobody was told. It waits for nobody. An error joins
// what kept sessions from going on; the others were settled all the same.
func (h *Host) Resume(ctx context.Context, limit int) (settled int, err error) {
	var failures []error
	visited := map[SessionID]bool{}
	for settled < limit && ctx.Err() == nil {
		pending, err := h.config.Store.Pending(ctx, h.now(), limit+len(visited)+h.refusals())
		if err != nil {
			return settled, errors.Join(append(failures, err)...)
		}
		fresh := false
		for _, id := range pending {
			if settled >= limit || visited[id] || h.refuses(id) {
				continue
			}
			visited[id], fresh = true, true
			n, _, err := h.visit(ctx, id, math.MaxInt64, limit-settled, false)
			settled += n
			if err != nil && !errors.Is(err, adk.E_SESSION_BUSY) && !errors.Is(err, adk.E_SESSION_LEASE_LOST) {
				failures = append(failures, named(id, err))
			}
		}
		if !fresh {
			break
		}
	}
	if ctx.Err() != nil {
		failures = append(failures, context.Cause(ctx))
	}
	return settled, errors.Join(failures...)
}

func (h *Host) refusals() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.refused)
}

func (h *Host) refuses(id SessionID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refused[id]
}

// place is where the calls for one session meet within a host.
type place struct {
	token chan struct{}
	users int
}

// enter waits until no other call of this host is at the session.
func (h *Host) enter(ctx context.Context, id SessionID, wait bool) (leave func(), err error) {
	h.mu.Lock()
	p := h.places[id]
	if p == nil {
		p = &place{token: make(chan struct{}, 1)}
		h.places[id] = p
	}
	p.users++
	h.mu.Unlock()
	left := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if p.users--; p.users == 0 {
			delete(h.places, id)
		}
	}
	leave = func() { <-p.token; left() }
	select {
	case p.token <- struct{}{}:
		return leave, nil
	default:
	}
	if !wait {
		left()
		return nil, &adk.Error{Code: adk.E_SESSION_BUSY, Message: id.String() + " is being settled"}
	}
	select {
	case p.token <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		left()
		return nil, context.Cause(ctx)
	}
}

// visit claims a session and settles its deliveries in order, up to one and up to so many. It
// gives when the next of them is due, if one is that is not yet.
func (h *Host) visit(ctx context.Context, id SessionID, upTo int64, most int, wait bool) (settled int, due time.Time, err error) {
	leave, err := h.enter(ctx, id, wait)
	if err != nil {
		return 0, due, err
	}
	defer leave()
	now := h.now()
	claim, err := h.config.Store.Claim(ctx, id, h.config.Name, now, now.Add(h.config.Lease))
	if err != nil {
		return 0, due, err
	}
	defer h.release(ctx, claim)
	h.tell(claim.step(StepClaimed))
	for renewed := now; ; {
		loaded, err := h.config.Store.Load(ctx, claim)
		if err == nil {
			err = h.finish(ctx, claim, loaded)
		}
		if err != nil || settled >= most || loaded.Next == nil || loaded.Next.Seq > upTo {
			return settled, due, err
		}
		if loaded.Next.NotBefore.After(h.now()) {
			return settled, loaded.Next.NotBefore, nil
		}
		if err := h.renewBetween(ctx, claim, &renewed); err != nil {
			return settled, due, err
		}
		done, err := h.try(ctx, claim, loaded)
		if err != nil {
			return settled, due, err
		}
		if done {
			settled++
		}
	}
}

// renewBetween renews the lease between two turns, where many short ones run in one visit.
func (h *Host) renewBetween(ctx context.Context, c Claim, renewed *time.Time) error {
	now := h.now()
	if now.Sub(*renewed) < h.config.Lease/3 {
		return nil
	}
	*renewed = now
	return h.config.Store.Renew(ctx, c, now, now.Add(h.config.Lease))
}

// release ends the lease, so that nobody has to wait for its end.
func (h *Host) release(ctx context.Context, c Claim) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
	defer cancel()
	_ = h.config.Store.Release(ctx, c) // else it ends by itself
}

// finish does what is left of settled deliveries, before the session's next turn.
func (h *Host) finish(ctx context.Context, c Claim, l Loaded) error {
	for _, a := range l.Unapplied {
		if err := h.applied(ctx, c, a); err != nil {
			return err
		}
	}
	for _, a := range l.Untold {
		h.notify(ctx, c, a.Outcome)
	}
	return nil
}

// applied makes the writes of a committed delivery, and keeps that they are made.
func (h *Host) applied(ctx context.Context, c Claim, a Accepted) error {
	if err := h.apply(ctx, a); err != nil {
		return err
	}
	if err := h.config.Store.Applied(ctx, a.DeliveryID(), asMillis(h.now())); err != nil {
		return err
	}
	s := c.step(StepApplied)
	s.Delivery, s.Seq = a.ID, a.Seq
	h.tell(s)
	return nil
}

// notify tells the outcome of a delivery. It is told again later if that fails.
func (h *Host) notify(ctx context.Context, c Claim, o Outcome) {
	if h.config.Notify != nil {
		if err := contained(func() error { return h.config.Notify(ctx, o) }); err != nil {
			h.count(func(c *Counters) { c.NotifyFailures++ })
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
	defer cancel()
	if h.config.Store.Notified(ctx, o.Delivery, asMillis(h.now())) != nil {
		return // as if it had not been told
	}
	s := c.step(StepNotified)
	s.Delivery, s.Seq = o.Delivery.Delivery, o.Seq
	h.tell(s)
}

func (h *Host) count(what func(*Counters)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	what(&h.counts)
}

// Counters are what the host has seen since it began.
func (h *Host) Counters() Counters {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}
