package sessionrows

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
)

// Of makes a store from tables.
func Of(t Tables) session.Store {
	shortcut, _ := t.(Shortcut)
	return store{t, shortcut}
}

type store struct {
	Tables
	shortcut Shortcut // nil if the tables have none
}

func fault(code adk.Code, format string, args ...any) error {
	return &adk.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// known returns the error of a row that cannot be used, or nil.
func known(s *Session, id session.SessionID) error {
	switch {
	case s == nil:
		return fault(adk.E_SESSION_LEASE_LOST, "there is no %s", id)
	case s.Format != Format:
		return fault(adk.E_SESSION_FORMAT, "%s is of format %d, this release knows %d", id, s.Format, Format)
	case !s.ErasedAt.IsZero():
		return fault(adk.E_SESSION_ERASED, "%s was erased", id)
	}
	return nil
}

// fenced returns the session of a claim, if the claim still has it.
func fenced(ctx context.Context, tx Tx, c session.Claim) (*Session, error) {
	s, err := tx.Session(ctx, c.SessionID)
	if err != nil {
		return nil, err
	}
	if s != nil && !s.ErasedAt.IsZero() || s == nil {
		return nil, lost(c)
	}
	if err := known(s, c.SessionID); err != nil {
		return nil, err
	}
	if s.Epoch != c.Epoch || s.Owner != c.Owner {
		return nil, lost(c)
	}
	return s, nil
}

func lost(c session.Claim) error {
	return fault(adk.E_SESSION_LEASE_LOST, "%s is another host's now", c.SessionID)
}

// Accept implements session.Store.
func (t store) Accept(ctx context.Context, d session.Delivery, now time.Time) (a session.Accepted, err error) {
	err = t.Transact(ctx, now, func(tx Tx) error {
		a, err = accept(ctx, tx, d, now)
		return err
	}, d.SessionID())
	return a, err
}

func accept(ctx context.Context, tx Tx, d session.Delivery, now time.Time) (a session.Accepted, err error) {
	now, d = millis(now), cloned(d)
	s, err := tx.Session(ctx, d.SessionID())
	if err != nil {
		return a, err
	}
	if s == nil {
		s = newSession(d, now)
	}
	if err := known(s, s.ID); err != nil {
		return a, err
	}
	before, err := tx.Delivery(ctx, d.DeliveryID())
	if err != nil {
		return a, err
	}
	if before != nil {
		if before.Digest != d.Digest() {
			return a, fault(adk.E_DELIVERY_CONFLICT, "%s came before with another payload", d.DeliveryID())
		}
		before.Known = true
		return before.Accepted, nil
	}
	changed := len(d.ChannelState) > 0 && string(session.Canonical(d.ChannelState)) != string(session.Canonical(s.ChannelState))
	switch {
	case d.Kind != s.Kind || changed:
		return a, fault(adk.E_SESSION_CHANNEL_STATE_CHANGED, "%s began with another kind or state of its channel", d.SessionID())
	case s.Unsettled >= session.MaxUnsettled:
		return a, fault(adk.E_SESSION_FULL, "%s has %d deliveries that are not settled", d.SessionID(), s.Unsettled)
	}
	row := newDelivery(d, s.NextSeq, now)
	s.NextSeq++
	s.Unsettled++
	s.UpdatedAt = now
	if err := tx.PutSession(ctx, s); err != nil {
		return a, err
	}
	return row.Accepted, tx.PutDelivery(ctx, row)
}

// newSession returns the row of a session that begins with a delivery, before that is accepted.
func newSession(d session.Delivery, now time.Time) *Session {
	s := &Session{ID: d.SessionID(), Format: Format, NextSeq: 1, Kind: d.Kind, ChannelState: session.Canonical(d.ChannelState), Initiator: d.Initiator, CreatedAt: now}
	if len(s.Initiator) == 0 {
		s.Initiator = d.Auth
	}
	return s
}

// newDelivery returns the row of a new delivery.
func newDelivery(d session.Delivery, seq int64, now time.Time) *Delivery {
	d.Kind, d.ChannelState, d.Initiator = "", nil, nil // kept with the session
	return &Delivery{Digest: d.Digest(), Accepted: session.Accepted{Delivery: d, Seq: seq, State: session.Unsettled, AcceptedAt: now}}
}

// cloned returns a delivery that shares no bytes with the caller's.
func cloned(d session.Delivery) session.Delivery {
	for _, raw := range []*json.RawMessage{&d.ChannelState, &d.Payload, &d.Auth, &d.Initiator} {
		*raw = slices.Clone(*raw)
	}
	return d
}

func millis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Find implements session.Store.
func (t store) Find(ctx context.Context, id session.DeliveryID) (a session.Accepted, found bool, err error) {
	err = t.Transact(ctx, time.Time{}, func(tx Tx) error {
		row, err := tx.Delivery(ctx, id)
		if found = err == nil && row != nil; found {
			a = row.Accepted
		}
		return err
	})
	return a, found, err
}

// Claim implements session.Store.
func (t store) Claim(ctx context.Context, id session.SessionID, owner string, now, until time.Time) (c session.Claim, err error) {
	err = t.Transact(ctx, now, func(tx Tx) error {
		s, err := tx.Session(ctx, id)
		if err == nil {
			err = known(s, id)
		}
		if err != nil {
			return err
		}
		if c, err = claimed(ctx, tx, s, owner, until.Sub(now)); err != nil {
			return err
		}
		return tx.PutSession(ctx, s)
	}, id)
	return c, err
}

// claimed takes the lease of a session that is free.
func claimed(ctx context.Context, tx Tx, s *Session, owner string, lease time.Duration) (c session.Claim, err error) {
	present, err := tx.Now(ctx)
	if err != nil {
		return c, err
	}
	if s.isLeased(present) {
		return c, fault(adk.E_SESSION_BUSY, "%s has a host until %s", s.ID, s.LeaseUntil.Format(time.RFC3339))
	}
	s.Owner = owner
	s.leases(present, lease)
	s.Epoch++
	return session.Claim{SessionID: s.ID, Owner: owner, Epoch: s.Epoch, Lease: lease}, nil
}

// Renew implements session.Store.
func (t store) Renew(ctx context.Context, c session.Claim, now, until time.Time) error {
	return t.change(ctx, c, now, func(tx Tx, s *Session) error {
		present, err := tx.Now(ctx)
		s.leases(present, until.Sub(now))
		return err
	})
}

// change changes the session of a claim.
func (t store) change(ctx context.Context, c session.Claim, now time.Time, f func(Tx, *Session) error) error {
	return t.Transact(ctx, now, func(tx Tx) error {
		s, err := fenced(ctx, tx, c)
		if err != nil {
			return err
		}
		if err := f(tx, s); err != nil {
			return err
		}
		return tx.PutSession(ctx, s)
	}, c.SessionID)
}

// Release implements session.Store.
func (t store) Release(ctx context.Context, c session.Claim) error {
	err := t.change(ctx, c, time.Time{}, func(_ Tx, s *Session) error {
		released(s)
		return nil
	})
	return unless(err, adk.E_SESSION_LEASE_LOST)
}

// unless returns err, or nil if it has the code.
func unless(err error, code adk.Code) error {
	if errors.Is(err, code) {
		return nil
	}
	return err
}

func released(s *Session) { s.Owner, s.LeaseUntil, s.LeaseTaken = "", time.Time{}, time.Time{} }

// Load implements session.Store.
func (t store) Load(ctx context.Context, c session.Claim) (l session.Loaded, err error) {
	err = t.Transact(ctx, time.Time{}, func(tx Tx) error {
		s, err := fenced(ctx, tx, c)
		if err != nil {
			return err
		}
		l, err = loaded(ctx, tx, s)
		return err
	}, c.SessionID)
	return l, err
}

// loadedOf returns the part of a loaded session that is in its row.
func loadedOf(s *Session) session.Loaded {
	return session.Loaded{SessionID: s.ID, Kind: s.Kind, ChannelState: s.ChannelState, Initiator: s.Initiator, Revision: s.Revision, Snapshots: s.Snapshots}
}

func loaded(ctx context.Context, tx Tx, s *Session) (l session.Loaded, err error) {
	l = loadedOf(s)
	if l.Values, err = tx.Values(ctx, s.ID); err != nil {
		return l, err
	}
	next, err := tx.Next(ctx, s.ID)
	if err != nil {
		return l, err
	}
	if next != nil {
		l.Next = &next.Accepted
	}
	left, err := tx.Open(ctx, s.ID)
	for _, d := range left {
		if len(d.Writes) > 0 {
			l.Unapplied = append(l.Unapplied, d.Accepted)
		}
		if d.NotifiedAt.IsZero() {
			l.Untold = append(l.Untold, d.Accepted)
		}
	}
	return l, err
}

// Look implements session.Store.
func (t store) Look(ctx context.Context, id session.SessionID) (l session.Loaded, found bool, err error) {
	err = t.Transact(ctx, time.Time{}, func(tx Tx) error {
		s, err := tx.Session(ctx, id)
		if err != nil || s == nil || !s.ErasedAt.IsZero() {
			return err
		}
		if err := known(s, id); err != nil {
			return err
		}
		found = true
		l, err = loaded(ctx, tx, s)
		return err
	}, id)
	return l, found, err
}

// Begin implements session.Store.
func (t store) Begin(ctx context.Context, c session.Claim, delivery string) (attempt int, err error) {
	err = t.onDelivery(ctx, c, delivery, 0, time.Time{}, func(_ Tx, _ *Session, d *Delivery) error {
		d.Attempts++
		d.Epoch, d.Outcome.Code, attempt = c.Epoch, "", d.Attempts
		return nil
	})
	return attempt, err
}

// onDelivery changes an unsettled delivery of a claimed session. The delivery's attempt must be the
// given one, unless that is 0.
func (t store) onDelivery(ctx context.Context, c session.Claim, delivery string, attempt int, now time.Time,
	f func(Tx, *Session, *Delivery) error, others ...session.SessionID) error {
	ids := append(others, c.SessionID)
	slices.SortFunc(ids, compareIDs)
	return t.Transact(ctx, now, func(tx Tx) error {
		s, err := fenced(ctx, tx, c)
		if err != nil {
			return err
		}
		d, err := tx.Delivery(ctx, session.DeliveryID{SessionID: c.SessionID, Delivery: delivery})
		if err != nil {
			return err
		}
		if d == nil || d.State != session.Unsettled || attempt != 0 && (d.Attempts != attempt) {
			return lost(c)
		}
		if err := f(tx, s, d); err != nil {
			return err
		}
		if err := tx.PutDelivery(ctx, d); err != nil {
			return err
		}
		return tx.PutSession(ctx, s)
	}, slices.Compact(ids)...)
}

func compareIDs(a, b session.SessionID) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Session, b.Session))
}

// Commit implements session.Store.
func (t store) Commit(ctx context.Context, c session.Claim, change session.Commit) error {
	for _, child := range change.Children {
		if child.SessionID() == c.SessionID {
			return fault(adk.E_INVALID_DELIVERY, "child %.64q is one of %s itself, want another", child.ID, c.SessionID)
		}
	}
	if t.shortcut != nil && len(change.Children) == 0 {
		if done, err := t.shortcut.Commit(ctx, c, change, settledBy(c, change)); done || err != nil {
			return err
		}
	}
	var children []session.SessionID
	for _, d := range change.Children {
		children = append(children, d.SessionID())
	}
	return t.onDelivery(ctx, c, change.Delivery, change.Attempt, change.At, func(tx Tx, s *Session, d *Delivery) error {
		if s.Revision != change.Revision || d.Epoch != c.Epoch {
			return lost(c)
		}
		s.Revision++
		settled(s, d, session.Committed, change.TurnID, change.At, change.Told)
		d.Outcome.Revision, d.Outcome.OutputFailed = s.Revision, change.OutputFailed
		if len(change.Snapshots) > 0 {
			s.Snapshots = change.Snapshots
		}
		if !change.Held && len(change.Writes) > 0 {
			d.Writes = change.Writes
		}
		if change.Release {
			released(s)
		}
		return commitRest(ctx, tx, c, change)
	}, children...)
}

// commitRest makes the parts of a commit other than the delivery and its session.
func commitRest(ctx context.Context, tx Tx, c session.Claim, change session.Commit) error {
	for _, key := range slices.Sorted(maps.Keys(change.Puts)) {
		if err := tx.PutValue(ctx, c.SessionID, key, change.Puts[key], change.At); err != nil {
			return err
		}
	}
	for _, key := range change.Deletes {
		if err := tx.DeleteValue(ctx, c.SessionID, key); err != nil {
			return err
		}
	}
	if change.Held && len(change.Writes) > 0 {
		if err := tx.Write(ctx, Records(change)); err != nil {
			return err
		}
	}
	for _, child := range change.Children {
		if _, err := accept(ctx, tx, child, change.At); err != nil {
			return err
		}
	}
	return nil
}

// Records returns what a commit writes to the storage that its store holds.
func Records(change session.Commit) []storage.Change {
	changes := make([]storage.Change, len(change.Writes))
	for i, w := range change.Writes {
		changes[i] = w.Change()
	}
	return changes
}

// settled marks a delivery as settled.
func settled(s *Session, d *Delivery, state session.DeliveryState, turnID string, at time.Time, told bool) {
	d.State, d.SettledAt, d.NotBefore = state, millis(at), time.Time{}
	d.Outcome = session.Outcome{Delivery: d.DeliveryID(), Seq: d.Seq, State: state, Attempt: d.Attempts, TurnID: turnID}
	if told {
		d.NotifiedAt = d.SettledAt
	}
	s.Unsettled--
	s.UpdatedAt = d.SettledAt
}

// Fail implements session.Store.
func (t store) Fail(ctx context.Context, c session.Claim, f session.Failure) error {
	return t.onDelivery(ctx, c, f.Delivery, f.Attempt, f.At, func(_ Tx, s *Session, d *Delivery) error {
		switch {
		case f.GiveBack:
			d.Attempts--
			d.Outcome.Code = f.Code
		case f.Final:
			settled(s, d, session.Failed, f.TurnID, f.At, f.Told)
			d.Outcome.Code = f.Code
		default:
			d.NotBefore, d.Outcome.Code = millis(f.NotBefore), f.Code
		}
		return nil
	})
}

// Applied implements session.Store.
func (t store) Applied(ctx context.Context, id session.DeliveryID, at time.Time) error {
	return t.Transact(ctx, time.Time{}, func(tx Tx) error {
		return mark(ctx, tx, id, func(d *Delivery) bool {
			d.Writes, d.AppliedAt = nil, millis(at)
			return d.State == session.Committed
		})
	}, id.SessionID)
}

// Notified implements session.Store.
func (t store) Notified(ctx context.Context, c session.Claim, n session.Notice) error {
	if t.shortcut != nil {
		return t.shortcut.Notified(ctx, c, n)
	}
	return t.Transact(ctx, time.Time{}, func(tx Tx) error {
		if err := mark(ctx, tx, session.DeliveryID{SessionID: c.SessionID, Delivery: n.Delivery}, func(d *Delivery) bool {
			d.NotifiedAt = millis(n.At)
			return d.State.Settled()
		}); err != nil || !n.Release {
			return err
		}
		s, err := fenced(ctx, tx, c)
		if err != nil {
			return unless(err, adk.E_SESSION_LEASE_LOST)
		}
		released(s)
		return tx.PutSession(ctx, s)
	}, c.SessionID)
}

// mark changes a delivery, if f reports that the change applies.
func mark(ctx context.Context, tx Tx, id session.DeliveryID, f func(*Delivery) bool) error {
	d, err := tx.Delivery(ctx, id)
	if err != nil || d == nil || !f(d) {
		return err
	}
	return tx.PutDelivery(ctx, d)
}

// History implements session.Store.
func (t store) History(ctx context.Context, id session.SessionID, before int64, limit int) (all []session.Accepted, err error) {
	err = t.Transact(ctx, time.Time{}, func(tx Tx) error {
		rows, err := tx.History(ctx, id, before, limit)
		all = make([]session.Accepted, len(rows))
		for i, row := range rows {
			all[i] = row.Accepted
		}
		return err
	})
	return all, err
}

// Erase implements session.Store.
func (t store) Erase(ctx context.Context, id session.SessionID, now time.Time) (epoch int64, err error) {
	err = t.Transact(ctx, now, func(tx Tx) error {
		epoch = 0
		s, err := tx.Session(ctx, id)
		if err != nil || s == nil {
			return err
		}
		if s.Format != Format {
			return known(s, id)
		}
		if err := tx.Clear(ctx, id); err != nil {
			return err
		}
		at := millis(now)
		epoch = s.Epoch + 1
		return tx.PutSession(ctx, &Session{ID: id, Format: Format, Revision: s.Revision, Epoch: epoch, NextSeq: s.NextSeq, Kind: s.Kind,
			CreatedAt: s.CreatedAt, UpdatedAt: at, ErasedAt: at})
	}, id)
	return epoch, err
}
