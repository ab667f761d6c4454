package session_test

import (
	"context"
	"time"

	"github.com/adkreplay/adkreplay/adk/session"
)

// faultyStore is a store whose calls fail before or after they have done their work.
type faultyStore struct {
	session.Store
	before, after func(call string) error
	// lost gets a commit that before has failed, so that a test can make it later.
	lost func(commit func())
}

// around makes a call. What the call has done stays done, also when it fails afterwards.
func around[T any](s *faultyStore, call string, f func() (T, error)) (result T, err error) {
	if s.before != nil {
		if err := s.before(call); err != nil {
			return result, err
		}
	}
	result, err = f()
	if s.after != nil {
		if failure := s.after(call); failure != nil {
			var none T
			return none, failure
		}
	}
	return result, err
}

func (s *faultyStore) do(call string, f func() error) error {
	_, err := around(s, call, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (s *faultyStore) Accept(ctx context.Context, d session.Delivery, now time.Time) (session.Accepted, error) {
	return around(s, "Accept", func() (session.Accepted, error) { return s.Store.Accept(ctx, d, now) })
}

func (s *faultyStore) Start(ctx context.Context, d session.Delivery, owner string, now, until time.Time) (session.Started, error) {
	return around(s, "Start", func() (session.Started, error) { return s.Store.Start(ctx, d, owner, now, until) })
}

func (s *faultyStore) Claim(ctx context.Context, id session.SessionID, owner string, now, until time.Time) (session.Claim, error) {
	return around(s, "Claim", func() (session.Claim, error) { return s.Store.Claim(ctx, id, owner, now, until) })
}

func (s *faultyStore) Load(ctx context.Context, c session.Claim) (session.Loaded, error) {
	return around(s, "Load", func() (session.Loaded, error) { return s.Store.Load(ctx, c) })
}

func (s *faultyStore) Begin(ctx context.Context, c session.Claim, id string) (int, error) {
	return around(s, "Begin", func() (int, error) { return s.Store.Begin(ctx, c, id) })
}

func (s *faultyStore) Renew(ctx context.Context, c session.Claim, now, until time.Time) error {
	return s.do("Renew", func() error { return s.Store.Renew(ctx, c, now, until) })
}

func (s *faultyStore) Release(ctx context.Context, c session.Claim) error {
	return s.do("Release", func() error { return s.Store.Release(ctx, c) })
}

func (s *faultyStore) Commit(ctx context.Context, c session.Claim, change session.Commit) error {
	made := false
	err := s.do("Commit", func() error { made = true; return s.Store.Commit(ctx, c, change) })
	if !made && s.lost != nil {
		s.lost(func() { _ = s.Store.Commit(ctx, c, change) }) // a second call is refused
	}
	return err
}

func (s *faultyStore) Fail(ctx context.Context, c session.Claim, f session.Failure) error {
	return s.do("Fail", func() error { return s.Store.Fail(ctx, c, f) })
}

func (s *faultyStore) Applied(ctx context.Context, id session.DeliveryID, at time.Time) error {
	return s.do("Applied", func() error { return s.Store.Applied(ctx, id, at) })
}

func (s *faultyStore) Notified(ctx context.Context, c session.Claim, n session.Notice) error {
	return s.do("Notified", func() error { return s.Store.Notified(ctx, c, n) })
}

func (s *faultyStore) Pending(ctx context.Context, now time.Time, limit int) ([]session.SessionID, error) {
	return around(s, "Pending", func() ([]session.SessionID, error) { return s.Store.Pending(ctx, now, limit) })
}

func (s *faultyStore) Find(ctx context.Context, id session.DeliveryID) (a session.Accepted, found bool, err error) {
	a, err = around(s, "Find", func() (session.Accepted, error) {
		var a session.Accepted
		a, found, err = s.Store.Find(ctx, id)
		return a, err
	})
	return a, found, err
}

func (s *faultyStore) Look(ctx context.Context, id session.SessionID) (l session.Loaded, found bool, err error) {
	err = s.do("Look", func() (err error) { l, found, err = s.Store.Look(ctx, id); return err })
	return l, found, err
}
