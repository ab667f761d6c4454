package session

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
)

// Store stores sessions: memory.Memory.Sessions, files.Dir.Sessions and database.DB.Sessions return
// one each. Every method is one transaction that happens as a whole or not at all, and is safe for
// concurrent use by all hosts that share the sessions. TestStore checks an implementation.
//
// Times are the host's. A store that many machines share, however, ends leases by its own clock; a
// lease then lasts as long as from now until until. Any clock may run back. A lease that was taken
// further in the future than it lasts is therefore over, and a delivery that waits for longer than
// any pause lasts is due (Accepted.Due).
//
// Methods that take a claim return E_SESSION_LEASE_LOST, without changing anything, if another host
// has claimed the session since. A session in an unknown format is E_SESSION_FORMAT.
type Store interface {
	// Accept stores a delivery that Delivery.Check has passed, and creates its session if there is
	// none (SES-10). A known delivery is returned as it is if its payload is the same; otherwise
	// the error is E_DELIVERY_CONFLICT. Other errors are E_SESSION_CHANNEL_STATE_CHANGED,
	// E_SESSION_FULL and E_SESSION_ERASED.
	Accept(ctx context.Context, d Delivery, now time.Time) (Accepted, error)
	// Start is Accept. If the delivery is new, and its session is free and has nothing else to do,
	// Start is Claim, Load and Begin as well, in the same transaction: the usual case. A store may
	// always do no more than Accept.
	Start(ctx context.Context, d Delivery, owner string, now, until time.Time) (Started, error)
	// Find returns a delivery; found reports whether it is known.
	Find(ctx context.Context, id DeliveryID) (a Accepted, found bool, err error)
	// Claim takes the lease of a session, if it is free or over, and raises its epoch (SES-11).
	// Otherwise the error is E_SESSION_BUSY.
	Claim(ctx context.Context, id SessionID, owner string, now, until time.Time) (Claim, error)
	// Renew makes the lease end at until.
	Renew(ctx context.Context, c Claim, now, until time.Time) error
	// Release ends a lease. Releasing a lost lease is no error.
	Release(ctx context.Context, c Claim) error
	// Load returns the session, its values and its first unsettled delivery, all of one moment
	// (SES-13).
	Load(ctx context.Context, c Claim) (Loaded, error)
	// Begin counts an attempt at the delivery, and returns its number (SES-21). The delivery's code
	// is empty until the attempt fails.
	Begin(ctx context.Context, c Claim, delivery string) (attempt int, err error)
	// Commit makes the delivery count, with all that the attempt changed (SES-20), and ends the
	// lease if change.Release is set. If the revision or the attempt differs from the stored one,
	// the error is E_SESSION_LEASE_LOST. If a child cannot be accepted, the error is that of
	// Accept; a child of the same session is E_INVALID_DELIVERY.
	Commit(ctx context.Context, c Claim, change Commit) error
	// Fail stores that an attempt did not commit (SES-21).
	Fail(ctx context.Context, c Claim, f Failure) error
	// Applied stores that the writes of a committed delivery have been made.
	Applied(ctx context.Context, id DeliveryID, at time.Time) error
	// Notified stores that a delivery's outcome was notified, even if the claim is lost. If the
	// claim is not lost and n.Release is set, it ends the lease.
	Notified(ctx context.Context, c Claim, n Notice) error
	// Pending returns sessions whose lease is free or over and that have something to do: a
	// delivery that is due, writes to apply, or outcomes to notify. The one that has waited longest
	// comes first.
	Pending(ctx context.Context, now time.Time, limit int) ([]SessionID, error)
	// Look returns a session and its values; found reports whether there is one.
	Look(ctx context.Context, id SessionID) (l Loaded, found bool, err error)
	// History returns at most limit deliveries of a session, the latest first: those whose Seq is
	// below before, or any if before is 0.
	History(ctx context.Context, id SessionID, before int64, limit int) ([]Accepted, error)
	// Sessions returns the sessions of a tenant that are not erased and come after after, in order.
	Sessions(ctx context.Context, tenant, after string, limit int) ([]SessionID, error)
	// Erased returns the erased sessions in the same way.
	Erased(ctx context.Context, tenant, after string, limit int) ([]SessionID, error)
	// Erase deletes all of a session except its name, its epoch and the fact that it was erased.
	// Later calls for it return E_SESSION_ERASED or E_SESSION_LEASE_LOST. epoch is the session's
	// new epoch, above all that were claimed; 0 if there was no session.
	Erase(ctx context.Context, id SessionID, now time.Time) (epoch int64, err error)
	// Purge deletes deliveries that were settled before a time and have nothing left to do, and
	// returns how many. If one of them comes again, it is a new delivery.
	Purge(ctx context.Context, before time.Time) (purged int, err error)
	// Backlog returns how many deliveries are unsettled, and when the oldest of them was accepted;
	// the zero time if there is none.
	Backlog(ctx context.Context) (unsettled int, oldest time.Time, err error)
	// RaiseEpochs raises the epoch of every session and ends its lease. It is for replacing a store
	// by a copy while hosts may be at work.
	RaiseEpochs(ctx context.Context) error
	// Holds reports whether this store also keeps the records of s, so that Commit writes them in
	// its transaction.
	Holds(s adk.Storage) bool
}

// Claim is a lease of a session.
type Claim struct {
	SessionID
	Owner string
	// Epoch rises with each claim of the session.
	Epoch int64
	// Lease is how long the lease lasts after it was taken or renewed.
	Lease time.Duration
}

// String formats the claim for messages.
func (c Claim) String() string {
	return fmt.Sprintf("claim of %s: owner %.64q, epoch %d, lease %s", c.SessionID, c.Owner, c.Epoch, c.Lease)
}

// Value is what a session holds under a key.
type Value struct {
	// Version is the version of the value's shape, and Body the value as JSON.
	Version int             `json:"v"`
	Body    json.RawMessage `json:"x"`
}

// Accepted is a delivery as a store has it. Times are in UTC and whole milliseconds.
type Accepted struct {
	// Delivery has no Kind, ChannelState and Initiator, which belong to the session.
	Delivery
	Seq   int64
	State DeliveryState
	// Known says, in a result of Accept, that the delivery had come before.
	Known bool
	// Attempts counts the attempts that were begun and not given back. Epoch is the epoch of the
	// last of them.
	Attempts int
	Epoch    int64
	// Outcome is the delivery's result. For an unsettled delivery only Code is set, to that of its
	// last attempt; it is empty if that attempt did not end.
	Outcome Outcome
	// NotBefore is when the next attempt is due; the zero time means at once.
	NotBefore time.Time
	// AcceptedAt, SettledAt, AppliedAt and NotifiedAt are zero if that has not happened yet.
	// AppliedAt is zero also if the store itself holds the records.
	AcceptedAt, SettledAt, AppliedAt, NotifiedAt time.Time
	// Writes are those of a committed delivery that have not been applied yet.
	Writes []Write
}

// Due reports whether an attempt may begin. No pause before a retry is longer than MaxRetryPause,
// so a pause that seems to be more than twice that long means that the clock has run back.
func (a Accepted) Due(now time.Time) bool {
	wait := a.NotBefore.Sub(now)
	return wait <= 0 || wait > 2*MaxRetryPause
}

// Started is the result of Store.Start.
type Started struct {
	Accepted
	// Begun says that the first attempt at the delivery has begun. Then Claim is the lease and
	// Loaded the session, whose Next is the delivery with Attempts 1.
	Begun  bool
	Claim  Claim
	Loaded Loaded
}

// Loaded is a session as a store has it.
type Loaded struct {
	SessionID
	Kind                    string
	ChannelState, Initiator json.RawMessage
	// Revision counts the committed deliveries.
	Revision int64
	// Values has the values of all keys, also those that the host does not know. Snapshots has
	// those of the providers.
	Values    map[string]Value
	Snapshots map[string]json.RawMessage
	// Next is the first unsettled delivery; nil if there is none.
	Next *Accepted
	// Unapplied has the committed deliveries with writes to apply, and Untold the settled ones
	// whose outcome was not notified, both in order.
	Unapplied, Untold []Accepted
}

// String describes the session without its values, payloads and auths.
func (l Loaded) String() string {
	next := "none"
	if l.Next != nil {
		next = fmt.Sprintf("%.64q", l.Next.ID)
	}
	return fmt.Sprintf("%s: kind %.64q, revision %d, keys %q, next %s, unapplied %d, untold %d",
		l.SessionID, l.Kind, l.Revision, slices.Sorted(maps.Keys(l.Values)), next, len(l.Unapplied), len(l.Untold))
}

// Write is what an attempt stored, mutated or deleted.
type Write struct {
	// Place is where the storage keeps the record. If package storage did not make the storage, the
	// session in it is always that of the delivery.
	Place storage.Place `json:"place"`
	// Verb is store, mutate or delete.
	Verb string `json:"verb"`
	Key  string `json:"key"`
	// Body is the record's MarshalJSON; empty for a delete.
	Body json.RawMessage `json:"body,omitempty"`
	// TurnID and DispatchID name the writer.
	TurnID     string `json:"turnId,omitempty"`
	DispatchID string `json:"dispatchId,omitempty"`

	change storage.Change // for a store that holds the records
	record adk.Record     // with its readers; only in the process of the attempt
}

// Change returns what a store that holds the records has to write.
func (w Write) Change() storage.Change { return w.change }

// Commit has what an attempt changes.
type Commit struct {
	Delivery string
	Attempt  int
	// Revision is the session's revision when it was loaded.
	Revision int64
	TurnID   string
	// Puts and Deletes are the values that the attempt changed. Snapshots are the new snapshots of
	// all providers; nil if none has changed.
	Puts      map[string]Value
	Deletes   []string
	Snapshots map[string]json.RawMessage
	// Writes are made in the transaction if Held is set; otherwise the store keeps them until they
	// are applied.
	Writes []Write
	Held   bool
	// Children are deliveries to accept in the same transaction.
	Children     []Delivery
	OutputFailed bool
	// Told says that the outcome needs no notification.
	Told bool
	// Release ends the lease.
	Release bool
	At      time.Time
}

// Notice says that the outcome of a delivery was notified.
type Notice struct {
	Delivery string
	// Release ends the lease.
	Release bool
	At      time.Time
}

// Failure is an attempt that did not commit.
type Failure struct {
	Delivery string
	Attempt  int
	TurnID   string
	Code     adk.Code
	// Final settles the delivery as failed. Otherwise its next attempt is due at NotBefore.
	Final     bool
	NotBefore time.Time
	// GiveBack undoes the attempt, as if it had not begun; Code is then that of the attempt before.
	GiveBack bool
	// Told says that the outcome needs no notification.
	Told bool
	At   time.Time
}
