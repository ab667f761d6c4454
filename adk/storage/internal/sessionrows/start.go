package sessionrows

import (
	"context"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
)

// Shortcut is of tables behind a network: they take the ordinary way of a delivery in one
// round trip a step. What is not ordinary they leave as it is, and the rules decide.
type Shortcut interface {
	// Start puts a session, or raises epoch and numbers of the one that is there, with its
	// new lease, and puts its delivery; the rows get what they have there, and the values
	// are those of the session. It is done if the delivery is new and the session is new, or
	// free, with nothing to do, and of the kind and, where given is, the state of the row.
	Start(ctx context.Context, s *Session, d *Delivery, given bool, lease time.Duration) (values map[string]session.Value, done bool, err error)
	// Commit makes a change without children, and the delivery as the row is. It is done if
	// epoch, owner, revision and attempt are those of the claim and the change.
	Commit(ctx context.Context, c session.Claim, change session.Commit, d *Delivery) (done bool, err error)
	// Notified marks a delivery that is settled, and ends the lease of a claim, if it is to
	// and has it.
	Notified(ctx context.Context, c session.Claim, n session.Notice) error
}

// Start is session.Store's.
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

// begin begins the first attempt at what was accepted, where there is nothing else to do.
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

// begun says that an attempt has begun.
func begun(started *session.Started, c session.Claim, s *Session, d *Delivery, values map[string]session.Value) {
	started.Accepted, started.Begun, started.Claim, started.Loaded = d.Accepted, true, c, loadedOf(s)
	started.Loaded.Values, started.Loaded.Next = values, &d.Accepted
}

// startShort is Start on the ordinary way.
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

// settledBy is the delivery of a commit as it is afterwards, but for what it was accepted with.
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
