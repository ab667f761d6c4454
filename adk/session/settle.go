package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// try makes one attempt at the session's next delivery. If it returns an error, the delivery stays
// accepted and the visit ends.
func (v *visit) try(ctx context.Context, l Loaded) error {
	if err := v.host.knows(l); err != nil {
		return err
	}
	n, most := l.Next.Attempts, v.host.config.Attempts
	if n >= most {
		why := &adk.Error{Code: adk.E_SESSION_LEASE_LOST, Message: "no attempt came to an end"} // the hosts of those attempts ended without storing a reason
		if code := l.Next.Outcome.Code; code != "" {
			why = &adk.Error{Code: code, Message: "the last attempt failed, and there is to be no other"} // stored by a release that allowed more attempts
		}
		return v.attempt(l, n).fail(ctx, why, true)
	}
	// The process may have ended during the attempt before because of any turn that it ran. The
	// last attempt therefore runs alone: if the process ends again, this delivery is to blame.
	alone := n > 0 && n == most-1 && l.Next.Outcome.Code == ""
	leave, err := v.join(ctx, l, alone)
	if err != nil {
		return err
	}
	defer leave()
	number, err := v.host.config.Store.Begin(ctx, v.claim, l.Next.ID)
	if err != nil {
		return err
	}
	return v.run(ctx, l, number)
}

// attempt returns the attempt with a number at the session's next delivery.
func (v *visit) attempt(l Loaded, number int) *attempt {
	a := &attempt{host: v.host, visit: v, claim: v.claim, loaded: l, number: number, seed: seedOf(l, number, v.claim.Epoch)}
	a.turn = &turn{attempt: a}
	return a
}

// run runs the turn of an attempt that has begun, and stores the result.
func (v *visit) run(ctx context.Context, l Loaded, number int) error {
	h, a := v.host, v.attempt(l, number)
	h.tellBegun(*l.Next, number)
	hydrated := a.step(StepHydrated)
	hydrated.Revision, hydrated.Bag = l.Revision, Digest(l.Values)
	h.tell(hydrated)
	running, cancel := context.WithCancelCause(ctx)
	a.cancel = cancel
	defer cancel(nil)
	lease := h.keepLease(running, a)
	defer lease.end() // deferred too, for a turn that ends the goroutine
	notRun := a.run(running)
	lease.end()
	ran := a.step(StepRan)
	ran.Turn, ran.Status = a.turnID, a.status
	h.tell(ran)
	if lease.isLost() {
		return a.dropped(ctx, errLeaseLost)
	}
	return a.settle(ctx, notRun)
}

var errLeaseLost = &adk.Error{Code: adk.E_SESSION_LEASE_LOST, Message: "another host has claimed the session"}

// knows returns why the host cannot run a session's turns: the channel is missing, values are of a
// later release (SES-13), or stored state is unreadable. It is called before any user code. Resume
// leaves a session that fails here to other hosts for a while.
func (h *Host) knows(l Loaded) error {
	err := h.knowsValues(l)
	if h.config.Channels[l.Kind] == nil {
		err = unknownChannel(l.Kind)
	}
	h.refuses(l.SessionID, err != nil)
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", l.SessionID, err)
}

func (h *Host) knowsValues(l Loaded) error {
	faulty := unreadable(l)
	for _, key := range slices.Sorted(maps.Keys(l.Values)) {
		info, value := h.keys[key], l.Values[key]
		if info == nil {
			continue
		}
		if value.Version > info.version {
			return info.newer(value)
		}
		if value.Version < 1 || !json.Valid(value.Body) {
			faulty = append(faulty, fmt.Sprintf("%.64q", key))
		}
	}
	if faulty != nil {
		return stateError("the session holds what nobody has put there, at %s", strings.Join(faulty, ", "))
	}
	return nil
}

// unreadable names the parts of a turn's initial state, other than values, that are not JSON.
func unreadable(l Loaded) (names []string) {
	parts := map[string]json.RawMessage{"the channel's state": l.ChannelState, "the initiator": l.Initiator, "the auth of the delivery": l.Next.Auth}
	for provider, snapshot := range l.Snapshots {
		parts["the snapshot of "+provider] = snapshot
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if part := parts[name]; len(part) > 0 && !json.Valid(part) { // an empty part means null
			names = append(names, fmt.Sprintf("%.80s", name))
		}
	}
	if !json.Valid(l.Next.Payload) {
		names = append(names, "the payload of the delivery")
	}
	return names
}

// settle commits the attempt, or stores that it failed.
func (a *attempt) settle(ctx context.Context, notRun error) error {
	if err := a.verdict(ctx, notRun); err != nil {
		return a.notCommitted(ctx, err)
	}
	change, err := a.change(a.host.now())
	if err != nil {
		return a.notCommitted(ctx, err)
	}
	ending, cancel := lasting(ctx)
	defer cancel()
	err = a.commit(ending, change)
	switch {
	case err == nil:
		return a.committed(ending, change)
	case errors.Is(err, adk.E_SESSION_LEASE_LOST):
		return a.dropped(ctx, err)
	case isRefused(err):
		return a.notCommitted(ctx, err)
	}
	return err
}

// commit commits a change. If the store does not answer, commit looks whether the change was made
// and asks again after growing pauses. The turn need not run again, and the store does not make a
// change twice. commit gives up when its pauses add up to ten seconds or to the length of a lease,
// so that a store that is away for longer does not keep Resume from the other sessions.
func (a *attempt) commit(ctx context.Context, change Commit) error {
	for p := (patience{host: a.host, most: min(ending, a.host.config.Lease)}); ; {
		err := a.host.config.Store.Commit(ctx, a.claim, change)
		lost := errors.Is(err, adk.E_SESSION_LEASE_LOST)
		switch {
		case err == nil, (lost || !isRefused(err)) && a.isCommitted(ctx):
			return nil
		case isRefused(err) || !p.wait(ctx):
			return err
		}
	}
}

// isRefused reports whether a store has given a definite no, which it would repeat.
func isRefused(err error) bool {
	said, ok := errors.AsType[*adk.Error](err)
	return ok && said.Code != adk.E_STORAGE_BUSY
}

// patience is how a host retries a store that does not answer. The first retry comes at once, as
// the connection may just have been lost; later ones come after growing pauses.
type patience struct {
	host         *Host
	most, waited time.Duration
	pause        time.Duration
	again        bool
}

// wait waits until it is time to ask again, and reports whether to do so.
func (p *patience) wait(ctx context.Context) bool {
	if !p.again {
		p.again, p.pause = true, firstPause
		return ctx.Err() == nil
	}
	if p.waited >= p.most || p.host.pause(ctx, p.pause) != nil {
		return false
	}
	p.waited += p.pause
	p.pause = min(2*p.pause, lastPause)
	return true
}

// isCommitted reports whether the store has a commit that it did not answer.
func (a *attempt) isCommitted(ctx context.Context) bool {
	found, known, err := a.host.config.Store.Find(ctx, a.loaded.Next.DeliveryID())
	return err == nil && known && found.State == Committed && found.Epoch == a.claim.Epoch && found.Outcome.Attempt == a.number
}

// committed does what follows a commit: it journals it, applies the writes that the store does not
// hold, and notifies.
func (a *attempt) committed(ctx context.Context, c Commit) error {
	h := a.host
	values := maps.Clone(a.loaded.Values)
	if values == nil {
		values = map[string]Value{}
	}
	maps.Copy(values, c.Puts)
	for _, key := range c.Deletes {
		delete(values, key)
	}
	s := a.step(StepCommitted)
	s.Turn, s.Revision, s.Bag, s.Records = a.turnID, c.Revision+1, Digest(values), recordsOf(c.Writes)
	s.Keys = slices.Sorted(maps.Keys(c.Puts))
	s.Keys = append(s.Keys, c.Deletes...)
	slices.Sort(s.Keys)
	h.tell(s)
	a.tellChildren(ctx, c.Children)
	next := *a.loaded.Next
	next.Writes = c.Writes
	next.Outcome = Outcome{Delivery: next.DeliveryID(), Seq: next.Seq, State: Committed, Attempt: a.number, TurnID: a.turnID, Revision: c.Revision + 1, OutputFailed: c.OutputFailed}
	v := a.visit
	v.released = c.Release
	if !c.Held && len(c.Writes) > 0 {
		if err := v.apply(ctx, next); err != nil {
			return err
		}
	}
	if c.Told {
		h.goesOn(v.claim.SessionID)
	} else {
		v.notify(ctx, next.Outcome, v.isLast(next.Seq))
	}
	v.settles(next.Outcome)
	return nil
}

// tellChildren journals the deliveries that the commit has accepted. If the store does not answer
// for one of them, the host that begins its first attempt journals it.
func (a *attempt) tellChildren(ctx context.Context, children []Delivery) {
	h := a.host
	if h.config.Journal == nil {
		return
	}
	for _, child := range children {
		if found, known, err := h.config.Store.Find(ctx, child.DeliveryID()); err != nil {
			h.doubt(child.DeliveryID())
		} else if known {
			h.tellAccepted(found, true)
		}
	}
}

// dropped journals that nothing of the attempt is kept, since another host has the session, or the
// session was erased.
func (a *attempt) dropped(ctx context.Context, err error) error {
	a.host.count(func(c *Counters) { c.LeaseLosses++ })
	s := a.step(StepDropped)
	s.Code = adk.E_SESSION_LEASE_LOST
	a.host.tell(s)
	if a.host.config.Persist == Direct {
		if failure := a.host.eraseBehind(ctx, a.claim.SessionID); failure != nil {
			return failure
		}
	}
	return err
}

// notCommitted stores that the attempt failed, or gives the attempt back if its caller has left.
func (a *attempt) notCommitted(ctx context.Context, why error) error {
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), a.fail(ctx, nil, false))
	}
	return a.fail(ctx, why, codeOf(why).Fatal() || a.number >= a.host.config.Attempts)
}

// fail stores a failure. If why is nil it gives the attempt back, and keeps the code of the attempt
// before.
func (a *attempt) fail(ctx context.Context, why error, final bool) error {
	h := a.host
	now := asMillis(h.now())
	f := Failure{Delivery: a.seed.Delivery, Attempt: a.number, TurnID: a.turnID, Final: final, GiveBack: why == nil, Told: h.config.Notify == nil, At: now}
	s := a.step(StepDropped)
	s.Turn = a.turnID
	if failed := h.config.Failed; failed != nil && why != nil {
		_ = contained(func() error { failed(a.seed, why); return nil })
	}
	if f.Code = a.loaded.Next.Outcome.Code; why != nil {
		f.Code = codeOf(why)
		s.Code = f.Code
	}
	if why != nil && !final {
		f.NotBefore = now.Add(min(firstRetry<<min(a.number-1, 20), MaxRetryPause))
		h.count(func(c *Counters) { c.Retries++ })
	}
	ending, cancel := lasting(ctx)
	defer cancel()
	if err := a.keep(ending, f); err != nil {
		if errors.Is(err, adk.E_SESSION_LEASE_LOST) {
			return a.dropped(ctx, err)
		}
		return err
	}
	if final {
		s.Kind = StepFailed
	}
	h.tell(s)
	if !final {
		return nil
	}
	v, o := a.visit, Outcome{Delivery: a.loaded.Next.DeliveryID(), Seq: a.seed.Seq, State: Failed, Attempt: a.number, TurnID: a.turnID, Code: f.Code}
	if !f.Told {
		v.notify(ending, o, v.isLast(o.Seq))
	}
	v.settles(o)
	return nil
}

// keep has the store store a failure. If the store does not answer, keep looks what became of it
// and asks again, as commit does.
func (a *attempt) keep(ctx context.Context, f Failure) error {
	for p := (patience{host: a.host, most: min(ending, a.host.config.Lease)}); ; {
		err := a.host.config.Store.Fail(ctx, a.claim, f)
		lost := errors.Is(err, adk.E_SESSION_LEASE_LOST)
		switch {
		case err == nil, (lost || !isRefused(err)) && a.isKept(ctx, f):
			return nil
		case isRefused(err) || !p.wait(ctx):
			return err
		}
	}
}

// isKept reports whether the store has a failure that it did not answer.
func (a *attempt) isKept(ctx context.Context, f Failure) bool {
	next, epoch := a.loaded.Next, a.claim.Epoch
	if a.number == next.Attempts { // the attempt had begun before the session was loaded
		epoch = next.Epoch
	}
	found, known, err := a.host.config.Store.Find(ctx, next.DeliveryID())
	switch {
	case err != nil || !known || found.Epoch != epoch:
		return false
	case f.Final:
		return found.State == Failed && found.Outcome.Attempt == a.number
	case f.GiveBack:
		return found.State == Unsettled && found.Attempts == a.number-1
	}
	return found.State == Unsettled && found.Attempts == a.number && found.Outcome.Code == f.Code
}

// lease renews a claim while a turn runs (SES-26).
type lease struct {
	attempt *attempt
	ctx     context.Context
	done    func()

	mu      sync.Mutex
	over    bool
	lost    bool
	stop    func() bool
	renewal sync.WaitGroup
}

// keepLease renews the lease every third of its time, until end is called. If the lease is lost,
// the turn is aborted.
func (h *Host) keepLease(ctx context.Context, a *attempt) *lease {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &lease{attempt: a, ctx: ctx, done: cancel}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arm()
	return l
}

// arm sets the timer. The caller holds mu.
func (l *lease) arm() {
	h := l.attempt.host
	l.stop = h.config.Agent.Clock.AfterFunc(h.config.Lease/3, func() {
		go l.renew() // a timer's callback must not wait for a store
	})
}

func (l *lease) renew() {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return
	}
	l.renewal.Add(1)
	l.mu.Unlock()
	defer l.renewal.Done()
	a := l.attempt
	now := a.host.now()
	err := contained(func() error {
		return a.host.config.Store.Renew(l.ctx, a.claim, now, now.Add(a.host.config.Lease))
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, adk.E_SESSION_LEASE_LOST) && !l.over {
		l.lost = true
		a.cancel(errLeaseLost)
		return
	}
	if !l.over { // a store that is away may be back before the lease is over
		l.arm()
	}
}

// end stops the renewals, and waits for one that is under way. It may be called again.
func (l *lease) end() {
	l.mu.Lock()
	l.over = true
	l.stop()
	l.mu.Unlock()
	l.done()
	l.renewal.Wait()
}

func (l *lease) isLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}
