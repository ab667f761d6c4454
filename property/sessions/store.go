package sessions

import (
	"context"
	"errors"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
)

// This file wraps the store of a process. Every call of it is a point, at which the process may end
// or stand still, and the call may fail. What was done is reported to the ledger.

// errBroken is the error of what is broken on purpose.
var errBroken = errors.New("broken by the explorer")

// errDead is the answer of the store to a process that has ended, in case deferred code asks.
var errDead = errors.New("the process has ended")

// pointedStore is a store with points. It does not embed the store, so that a new method must be
// written here, with what it reports to the ledger.
type pointedStore struct {
	inner session.Store
	p     *process
}

var _ session.Store = pointedStore{}

// at makes a call at a point, and reports its result with tell. A call that fails afterwards at the
// point has been made all the same, and is reported.
func at[T any](s pointedStore, name string, call func() (T, error), tell func(*ledger, T, error)) (result T, err error) {
	point, err := s.p.arrive(name)
	if err != nil {
		return result, err
	}
	result, err = call()
	s.p.run.ledger.telling(s.p, func(l *ledger) { tell(l, result, err) })
	if failure := s.p.depart(point); failure != nil {
		var none T
		return none, failure
	}
	return result, err
}

// none is the result of a call that returns only an error.
type none struct{}

func (s pointedStore) do(name string, call func() error, tell func(*ledger)) error {
	_, err := at(s, name, func() (none, error) { return none{}, call() }, func(l *ledger, _ none, err error) {
		if err == nil {
			tell(l)
		}
	})
	return err
}

func (s pointedStore) Accept(ctx context.Context, d session.Delivery, now time.Time) (session.Accepted, error) {
	return at(s, "Accept", func() (session.Accepted, error) { return s.inner.Accept(ctx, d, now) },
		func(l *ledger, a session.Accepted, err error) {
			if err == nil {
				l.accepted(d, a)
			}
		})
}

func (s pointedStore) Start(ctx context.Context, d session.Delivery, owner string, now, until time.Time) (session.Started, error) {
	return at(s, "Start", func() (session.Started, error) { return s.inner.Start(ctx, d, owner, now, until) },
		func(l *ledger, got session.Started, err error) {
			if err == nil {
				l.started(d, got, now, until)
			}
		})
}

func (s pointedStore) Claim(ctx context.Context, id session.SessionID, owner string, now, until time.Time) (session.Claim, error) {
	return at(s, "Claim", func() (session.Claim, error) { return s.inner.Claim(ctx, id, owner, now, until) },
		func(l *ledger, c session.Claim, err error) {
			if err == nil {
				l.claimed(id, c, now, until)
			}
		})
}

func (s pointedStore) Load(ctx context.Context, c session.Claim) (session.Loaded, error) {
	return at(s, "Load", func() (session.Loaded, error) { return s.inner.Load(ctx, c) },
		func(l *ledger, loaded session.Loaded, err error) {
			if err == nil {
				l.loaded(c, loaded)
			}
		})
}

func (s pointedStore) Begin(ctx context.Context, c session.Claim, id string) (int, error) {
	return at(s, "Begin", func() (int, error) { return s.inner.Begin(ctx, c, id) },
		func(l *ledger, attempt int, err error) {
			if err == nil {
				l.begun(c, id, attempt)
			}
		})
}

func (s pointedStore) Renew(ctx context.Context, c session.Claim, now, until time.Time) error {
	return s.do("Renew", func() error { return s.inner.Renew(ctx, c, now, until) }, func(l *ledger) { l.renewed(c, now, until) })
}

func (s pointedStore) Release(ctx context.Context, c session.Claim) error {
	return s.do("Release", func() error { return s.inner.Release(ctx, c) }, func(l *ledger) { l.released(c) })
}

func (s pointedStore) Commit(ctx context.Context, c session.Claim, change session.Commit) error {
	return s.do("Commit", func() error { return s.inner.Commit(ctx, c, change) }, func(l *ledger) { l.committed(c, change) })
}

func (s pointedStore) Fail(ctx context.Context, c session.Claim, f session.Failure) error {
	return s.do("Fail", func() error { return s.inner.Fail(ctx, c, f) }, func(l *ledger) { l.failed(c, f) })
}

func (s pointedStore) Applied(ctx context.Context, id session.DeliveryID, at time.Time) error {
	return s.do("Applied", func() error { return s.inner.Applied(ctx, id, at) }, func(l *ledger) { l.applied(id) })
}

func (s pointedStore) Notified(ctx context.Context, c session.Claim, n session.Notice) error {
	return s.do("Notified", func() error { return s.inner.Notified(ctx, c, n) }, func(l *ledger) {
		if n.Release {
			l.released(c)
		}
	})
}

func (s pointedStore) Pending(ctx context.Context, now time.Time, limit int) ([]session.SessionID, error) {
	return at(s, "Pending", func() ([]session.SessionID, error) { return s.inner.Pending(ctx, now, limit) },
		func(*ledger, []session.SessionID, error) {})
}

func (s pointedStore) Find(ctx context.Context, id session.DeliveryID) (a session.Accepted, found bool, err error) {
	a, err = at(s, "Find", func() (a session.Accepted, err error) {
		a, found, err = s.inner.Find(ctx, id)
		return a, err
	}, func(l *ledger, a session.Accepted, err error) {
		if err == nil {
			l.found(id, a, found)
		}
	})
	return a, found, err
}

// What only looks, or cleans up, is no point.

func (s pointedStore) Look(ctx context.Context, id session.SessionID) (session.Loaded, bool, error) {
	return s.inner.Look(ctx, id)
}

func (s pointedStore) History(ctx context.Context, id session.SessionID, before int64, limit int) ([]session.Accepted, error) {
	return s.inner.History(ctx, id, before, limit)
}

func (s pointedStore) Sessions(ctx context.Context, tenant, after string, limit int) ([]session.SessionID, error) {
	return s.inner.Sessions(ctx, tenant, after, limit)
}

func (s pointedStore) Erased(ctx context.Context, tenant, after string, limit int) ([]session.SessionID, error) {
	return s.inner.Erased(ctx, tenant, after, limit)
}

func (s pointedStore) Erase(ctx context.Context, id session.SessionID, now time.Time) (int64, error) {
	return at(s, "Erase", func() (int64, error) { return s.inner.Erase(ctx, id, now) }, func(l *ledger, _ int64, err error) {
		if err == nil {
			l.erased(id)
		}
	})
}

func (s pointedStore) Purge(ctx context.Context, before time.Time) (int, error) {
	return s.inner.Purge(ctx, before)
}

func (s pointedStore) Backlog(ctx context.Context) (int, time.Time, error) {
	return s.inner.Backlog(ctx)
}

func (s pointedStore) RaiseEpochs(ctx context.Context) error { return s.inner.RaiseEpochs(ctx) }

func (s pointedStore) Holds(storage adk.Storage) bool { return s.inner.Holds(storage) }
