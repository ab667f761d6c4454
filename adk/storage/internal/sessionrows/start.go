package sessionrows

import (
	"context"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
)

// Shortcut is implemented by tables behind a network: they do each step of the usual way of a
// delivery in one round trip. In all other cases they change nothing, and the general code decides.
type Shortcut interface {
	// Start adds a session, or raises epoch and numbers of the existing one and gives it the new
	// lease, and adds its delivery. It fills s and d with what the tables then have, and returns
	// the session's values. done is true if the delivery is new, and if the session is either new
	// or free, with nothing to do, and of the kind and, if given is set, the channel state in s.
	Start(ctx context.Context, s *Session, d *Delivery, given bool, lease time.Duration) (values map[string]session.Value, done bool, err error)
	// Commit makes a change without children, and sets the delivery to d. done is true if the
	// session's epoch, owner and revision and the delivery's attempt are those of the claim and the
	// change.
	Commit(ctx context.Context, c session.Claim, change session.Commit, d *Delivery) (done bool, err error)
	// Notified marks a settled delivery as notified. If n.Release is set and the claim still has
	// the session, it ends the lease.
	Notified(ctx context.Context, c session.Claim, n session.Notice) error
}

// Start implements session.Store.
func (t store) Start(ctx context.Context, d session.Delivery, owner string, now, until time.Time) (started session.Started, err error) {
	lease := until.Sub(now)
	if t.shortcut != nil {
		if started, err = t.startShort(ctx, d, owner, now, lease); started.Begun || err != nil {
			return started, err
		}
	}
	err = t.Transact(ctx, now, func(tx Tx) error {
		started = session.Started{}
		if started.Accepted, err = accept(ctx, tx, d, now); err != nil || started.Known {
			return err
		}
		return begin(ctx, tx, &started, owner, lease)
	}, d.SessionID())
	return started, err
}

// begin begins the first attempt at the accepted delivery, if its session has nothing else to do.
func begin(ctx context.Context, tx Tx, started *session.Started, owner string, lease time.Duration) error {
	s, err := tx.Session(ctx, started.SessionID())
	if err != nil || s.Unsettled > 1 {
		return err
	}
	left, err := tx.Open(ctx, s.ID)
	if err != nil || len(left) > 0 {
		return err
	}
	c, err := claimed(ctx, tx, s, owner, lease)
	if err != nil {
		return unless(err, adk.E_SESSION_BUSY)
	}
	row, err := tx.Delivery(ctx, started.DeliveryID())
	if err != nil {
		return err
	}
	row.Attempts, row.Epoch = 1, c.Epoch
	if err := tx.PutSession(ctx, s); err != nil {
		return err
	}
	if err := tx.PutDelivery(ctx, row); err != nil {
		return err
	}
	values, err := tx.Values(ctx, s.ID)
	begun(started, c, s, row, values)
	return err
}

// begun fills started for an attempt that has begun.
func begun(started *session.Started, c session.Claim, s *Session, d *Delivery, values map[string]session.Value) {
	started.Accepted, started.Begun, started.Claim, started.Loaded = d.Accepted, true, c, loadedOf(s)
	started.Loaded.Values, started.Loaded.Next = values, &d.Accepted
}

// startShort is Start through the shortcut.
func (t store) startShort(ctx context.Context, d session.Delivery, owner string, now time.Time, lease time.Duration) (started session.Started, err error) {
	now, d = millis(now), cloned(d)
	s, row := newSession(d, now), newDelivery(d, 1, now)
	s.Owner, s.Epoch, s.NextSeq, s.Unsettled, s.UpdatedAt = owner, 1, 2, 1, now
	row.Attempts = 1
	values, done, err := t.shortcut.Start(ctx, s, row, len(d.ChannelState) > 0, lease)
	if !done || err != nil {
		return started, err
	}
	row.Seq, row.Epoch = s.NextSeq-1, s.Epoch
	begun(&started, session.Claim{SessionID: s.ID, Owner: owner, Epoch: s.Epoch, Lease: lease}, s, row, values)
	return started, nil
}

// settledBy returns the delivery as a commit leaves it, without what it was accepted with.
func settledBy(c session.Claim, change session.Commit) *Delivery {
	d := &Delivery{}
	d.Tenant, d.Session, d.ID, d.Attempts, d.Epoch = c.Tenant, c.Session, change.Delivery, change.Attempt, c.Epoch
	settled(&Session{}, d, session.Committed, change.TurnID, change.At, change.Told)
	d.Outcome.Revision, d.Outcome.OutputFailed = change.Revision+1, change.OutputFailed
	if !change.Held {
		d.Writes = change.Writes
	}
	return d
}
