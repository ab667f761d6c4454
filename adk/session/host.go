package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
)

// Host runs deliveries. It is safe for concurrent use, and any number of hosts may share
// the sessions of a store.
type Host struct {
	config  Config
	agent   adk.Config // with the host's own middlewares and storage
	runner  *adk.Runner
	keys    map[string]*keyInfo
	plan    storage.Plan // of the agent's storage, if planned
	planned bool
	held    bool // the store writes the records itself

	company company // admits the attempts under way

	mu      sync.Mutex
	turns   map[string]*turn // under way, by their ids
	places  map[SessionID]*place
	refused map[SessionID]time.Time // sessions that only another release can settle, by when that was noted
	// stalled has the sessions whose last visit failed, with the number of that failed visit (see
	// stalls): the lowest was tried the longest ago. resumed counts the visits of Resume.
	stalled         map[SessionID]int64
	stalls, resumed int64
	// acceptances has what the journal may still have to hear of an acceptance when an attempt
	// begins.
	acceptances map[DeliveryID]acceptance
	counts      Counters

	told  sync.Mutex // held while the journal is called
	steps int64
}

// Counters count what a host has seen since it began.
type Counters struct {
	// LeaseLosses counts attempts whose session another host took over, Retries failed attempts
	// that were not the last, and NotifyFailures errors of Config.Notify.
	LeaseLosses, Retries, NotifyFailures int64
}

const (
	// ending is how long a host tries to store the result of an attempt after its caller has left.
	ending = 10 * time.Second
	// firstPause is how long a host waits before it asks again for a session that another host has
	// claimed. Each pause is twice as long as the one before, up to lastPause.
	firstPause, lastPause = 50 * time.Millisecond, 2 * time.Second
	// firstRetry is the pause before the second attempt. Each pause is twice as long as the one
	// before, up to MaxRetryPause.
	firstRetry = time.Second
)

// lasting returns a context for storing the result of an attempt. It ends when ctx has been over
// for the time ending; as long as the caller still waits, so does the host.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	kept, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		late, done := context.WithTimeout(kept, ending)
		defer done()
		<-late.Done()
		cancel(late.Err())
	})
	return kept, func() {
		stop()
		cancel(nil)
	}
}

func (h *Host) now() time.Time { return h.config.Agent.Clock.Now() }

// Deliver runs a delivery until it is settled. It accepts the delivery, which runs when those
// before it in its session are settled. A delivery that was settled before gives its stored
// outcome, with Duplicate set. A delivery that failed for good is an outcome too. An error says
// what kept the delivery from being settled, or its records from being written if the store does
// not hold them; the caller may deliver it again, or leave it to Resume.
//
// Deliver waits for what is under way in the session. If ctx belongs to a turn of that session, or
// to its Config.Notify, Deliver would wait for itself: it then stores the delivery, for Resume to
// settle, and returns E_SESSION_BUSY. A child (Delegate) has a session of its own.
//
// Errors are E_INVALID_DELIVERY, those of Store.Accept, E_SESSION_BUSY with NoWait and as above,
// E_SESSION_UNKNOWN_CHANNEL, E_SESSION_STATE_NEWER, E_INVALID_SESSION_STATE for stored state that
// cannot be read, those of the store, and the cause of ctx, which the turn gets too.
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

// check returns the error of a delivery that the host cannot run, or nil.
func (h *Host) check(d Delivery) error {
	if err := d.Check(); err != nil || d.Tenant != "" || !h.planned || !h.plan.Strict() {
		return err
	}
	f := faults{code: adk.E_INVALID_DELIVERY}
	f.add("Tenant", "is missing: the agent's storage is strict, and keeps nothing without one")
	return f.err()
}

func (h *Host) acceptAndSettle(ctx context.Context, d Delivery) (Outcome, error) {
	a, v, err := h.start(ctx, d)
	if err != nil {
		return Outcome{}, err
	}
	h.tellAccepted(a, !a.Known)
	if !a.State.Settled() {
		return h.await(ctx, a, v)
	}
	if len(a.Writes) > 0 || a.NotifiedAt.IsZero() {
		if _, err := h.visit(ctx, a.SessionID(), 0, math.MaxInt, false); err != nil && !errors.Is(err, adk.E_SESSION_BUSY) {
			return Outcome{}, err
		}
	}
	a.Outcome.Duplicate = true
	return a.Outcome, nil
}

// start accepts a delivery. If no other call is at work on its session, start also begins a visit
// with the first attempt; otherwise v is nil.
func (h *Host) start(ctx context.Context, d Delivery) (a Accepted, v *visit, err error) {
	leave, err := h.enter(ctx, d.SessionID(), false)
	var g *guest
	if err == nil {
		if g = h.company.slip(); g == nil {
			leave()
		}
	}
	if g == nil { // another call of this host is at the session, or an attempt has to be alone
		a, err = h.keep(ctx, d)
		return a, nil, err
	}
	defer func() {
		if v == nil {
			h.company.leave(g)
			leave()
		}
	}()
	now := h.now()
	s, err := h.config.Store.Start(ctx, d, h.config.Name, now, now.Add(h.config.Lease))
	if isUnanswered(err) {
		h.doubt(d.DeliveryID())
		h.recant(ctx, d.DeliveryID())
	}
	if err == nil && s.Begun {
		v = &visit{host: h, leave: leave, guest: g, claim: s.Claim, renewed: now, upTo: s.Seq, most: math.MaxInt, started: &s.Loaded}
	}
	return s.Accepted, v, err
}

// recant gives back an attempt that the store may have begun without having answered, for example
// since the caller has left. Otherwise no host could run the delivery until the lease is over.
func (h *Host) recant(ctx context.Context, id DeliveryID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
	defer cancel()
	a, found, err := h.config.Store.Find(ctx, id)
	if err != nil || !found {
		return
	}
	if h.tellAccepted(a, false); a.State.Settled() || a.Attempts == 0 {
		return
	}
	c := Claim{SessionID: id.SessionID, Owner: h.config.Name, Epoch: a.Epoch}
	if h.config.Store.Fail(ctx, c, Failure{Delivery: id.Delivery, Attempt: a.Attempts, GiveBack: true, At: asMillis(h.now())}) == nil {
		_ = h.config.Store.Release(ctx, c) // if this fails, the lease ends by itself
	}
}

// isUnanswered reports whether an error leaves open what the store has done.
func isUnanswered(err error) bool { return err != nil && !errors.As(err, new(*adk.Error)) }

// acceptance is what a host knows about the acceptance of a delivery; the zero value means nothing.
type acceptance int

const (
	doubted acceptance = iota + 1 // the store may have accepted it, though it has not answered
	told                          // the journal has the acceptance of a delivery that another delivery's turn made
)

// mostAcceptances bounds what the host remembers, since a store may be away for long, and other
// hosts may run what this one remembers.
const mostAcceptances = 10_000

// doubt notes that the store did not say whether it accepted a delivery. The journal gets the
// acceptance when the host sees the delivery next.
func (h *Host) doubt(id DeliveryID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remember(id, doubted)
}

func (h *Host) remember(id DeliveryID, what acceptance) {
	if h.config.Journal != nil && len(h.acceptances) < mostAcceptances {
		h.acceptances[id] = what
	}
}

// recall returns and forgets what was remembered of a delivery.
func (h *Host) recall(id DeliveryID) acceptance {
	was := h.acceptances[id]
	delete(h.acceptances, id)
	return was
}

// tellAccepted journals the acceptance of a delivery if this host made it (did), or may have made
// it. Another host may have journaled it too.
func (h *Host) tellAccepted(a Accepted, did bool) {
	h.mu.Lock()
	was := h.recall(a.DeliveryID())
	did = did || was == doubted
	if a.Parent != (DeliveryID{}) && (did || was == told) {
		h.remember(a.DeliveryID(), told)
	}
	h.mu.Unlock()
	if did {
		h.tellAcceptance(a)
	}
}

// tellBegun journals the acceptance of a delivery whose attempt begins with the given number. It
// does so if this host may have accepted the delivery, or if another delivery's turn made it, this
// is the first attempt, and this host has not journaled it yet.
func (h *Host) tellBegun(a Accepted, number int) {
	h.mu.Lock()
	was := h.recall(a.DeliveryID())
	h.mu.Unlock()
	if was == doubted || was != told && number == 1 && a.Parent != (DeliveryID{}) {
		h.tellAcceptance(a)
	}
}

func (h *Host) tellAcceptance(a Accepted) {
	h.tell(Step{Kind: StepAccepted, SessionID: a.SessionID(), Delivery: a.ID, Seq: a.Seq, Payload: a.Digest()})
}

// await visits the session until the delivery is settled. It begins with v, a visit that is under
// way already, unless v is nil.
func (h *Host) await(ctx context.Context, a Accepted, v *visit) (o Outcome, err error) {
	itself := isSettling(ctx, a.SessionID())
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if v != nil {
			err = v.work(ctx)
		} else {
			v, err = h.visit(ctx, a.SessionID(), a.Seq, math.MaxInt, !h.config.NoWait && !itself)
		}
		taken := errors.Is(err, adk.E_SESSION_BUSY) || errors.Is(err, adk.E_SESSION_LEASE_LOST)
		if err != nil && !taken {
			return Outcome{}, err
		}
		if v.last.Seq == a.Seq {
			return v.last, nil
		}
		found, known, failure := h.config.Store.Find(ctx, a.DeliveryID())
		switch {
		case failure != nil:
			return Outcome{}, failure
		case !known:
			return Outcome{}, erasedError(a.SessionID())
		case found.State.Settled():
			return found.Outcome, nil
		case !taken && v.due.IsZero():
			return Outcome{}, &adk.Error{Code: adk.E_STORAGE_CORRUPT, Message: a.DeliveryID().String() + " is not settled, and the store does not give it to be run"}
		case itself && taken:
			return Outcome{}, &adk.Error{Code: adk.E_SESSION_BUSY, Message: a.DeliveryID().String() + " is accepted, and would wait " +
				"for the turn that delivers it: Accept does not wait, and Resume settles it", Cause: err}
		case h.config.NoWait && taken:
			return Outcome{}, &adk.Error{Code: adk.E_SESSION_BUSY, Message: a.DeliveryID().String() + " waits for what is under way in its session", Cause: err}
		case h.config.NoWait:
			return Outcome{}, &adk.Error{Code: adk.E_SESSION_BUSY, Message: fmt.Sprintf("%s waits until %s", a.DeliveryID(), v.due.Format(time.RFC3339))}
		}
		wait := pause
		if !taken {
			wait = max(v.due.Sub(h.now()), firstPause)
		}
		if err := h.pause(ctx, wait); err != nil {
			return Outcome{}, err
		}
		v = nil
	}
}

func erasedError(id SessionID) error {
	return &adk.Error{Code: adk.E_SESSION_ERASED, Message: id.String() + " was erased"}
}

// pause waits for d by the config's clock, or until ctx is done.
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

// Resume settles up to limit deliveries that are left over: accepted ones, those of hosts that
// ended, due retries, and outcomes that were not notified yet. It visits at most limit sessions and
// waits for none that is busy. The error joins what kept sessions from going on; the others were
// settled all the same. Sessions whose last visit failed, by an error or because Notify failed,
// come after the others, except that every eighth visit goes to one of them.
func (h *Host) Resume(ctx context.Context, limit int) (settled int, err error) {
	var failures []error
	visited := map[SessionID]bool{}
	for visits := 0; visits < limit && ctx.Err() == nil; {
		most := limit - visits + len(visited) + h.setBack()
		pending, err := h.config.Store.Pending(ctx, h.now(), most)
		if err != nil {
			return settled, errors.Join(append(failures, err)...)
		}
		fresh := h.inTurn(pending, len(pending) < most, visited)
		for _, id := range fresh {
			if visits >= limit || ctx.Err() != nil {
				break
			}
			visited[id] = true
			h.goesTo()
			v, err := h.visit(ctx, id, math.MaxInt64, limit-settled, false)
			settled += v.settled
			visits += max(1, v.settled)
			if err != nil && !errors.Is(err, adk.E_SESSION_BUSY) && !errors.Is(err, adk.E_SESSION_LEASE_LOST) {
				failures = append(failures, named(id, err))
				h.stall(id)
			}
		}
		if len(fresh) == 0 {
			break
		}
	}
	if ctx.Err() != nil {
		failures = append(failures, context.Cause(ctx))
	}
	return settled, errors.Join(failures...)
}

// mostStalled and mostRefused bound how many sessions that cannot go on the host remembers.
const mostStalled, mostRefused = 10_000, 10_000

// refuses notes whether only another release can settle a session.
func (h *Host) refuses(id SessionID, ok bool) {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !ok {
		delete(h.refused, id)
		return
	}
	if _, known := h.refused[id]; known || len(h.refused) < mostRefused {
		h.refused[id] = now
	}
}

// stall notes that a visit to a session failed. The session now counts as the one tried last.
func (h *Host) stall(id SessionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.stalled[id]; ok || len(h.stalled) < mostStalled {
		h.stalls++
		h.stalled[id] = h.stalls
	}
}

// goesTo counts a visit of Resume.
func (h *Host) goesTo() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resumed++
}

// goesOn notes that a session is no longer stalled.
func (h *Host) goesOn(id SessionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.stalled, id)
}

// everyStalled says that every eighth visit of Resume goes to a stalled session, so that neither
// stalled sessions nor the others starve.
const everyStalled = 8

// inTurn returns the pending sessions that were not visited yet, in the order in which Resume
// visits them. Sessions come in the order of pending, the longest waiting first; stalled sessions
// come after them, the one that was tried longest ago first, except for every eighth visit. If
// pending is the whole list (whole), inTurn forgets stalled sessions that are not in it: another
// host has them now, or they are done.
func (h *Host) inTurn(pending []SessionID, whole bool, visited map[SessionID]bool) (all []SessionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var others, stalled []SessionID
	known := make(map[SessionID]int64, len(h.stalled))
	for _, id := range pending {
		_, refused := h.refused[id]
		switch {
		case visited[id] || refused:
		case h.stalled[id] > 0:
			stalled = append(stalled, id)
			known[id] = h.stalled[id]
		default:
			others = append(others, id)
		}
	}
	if whole {
		maps.DeleteFunc(h.stalled, func(id SessionID, _ int64) bool { return known[id] == 0 && !visited[id] })
	}
	slices.SortStableFunc(stalled, func(a, b SessionID) int { return cmp.Compare(h.stalled[a], h.stalled[b]) })
	for n := h.resumed + 1; len(others)+len(stalled) > 0; n++ {
		from := &others
		if len(others) == 0 || len(stalled) > 0 && n%everyStalled == 0 {
			from = &stalled
		}
		all, *from = append(all, (*from)[0]), (*from)[1:]
	}
	return all
}

// setBack returns how many pending sessions may come before the ones that Resume has to visit
// first. It forgets sessions that were refused MaxRetryPause ago: they may work again, and no event
// says so.
func (h *Host) setBack() int {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.refused, func(_ SessionID, since time.Time) bool {
		age := now.Sub(since)
		return age < 0 || age >= MaxRetryPause // clocks run back
	})
	return len(h.refused) + len(h.stalled)
}

// place is where the calls for one session wait for one another within a host.
type place struct {
	token chan struct{}
	users int
}

// enter waits until no other call of this host works on the session. Without wait it returns
// E_SESSION_BUSY instead.
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

func (h *Host) count(what func(*Counters)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	what(&h.counts)
}

// Counters returns what the host has seen since it began.
func (h *Host) Counters() Counters {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}
