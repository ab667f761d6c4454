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

// Store keeps sessions: memory.Memory.Sessions, files.Dir.Sessions and database.DB.Sessions
// give one each. Every method is one transaction, done or not there, and safe for concurrent
// use by all hosts that share the sessions. TestStore checks one.
//
// Times are the host's; but a store that many machines share ends leases by a clock of its
// own, by which they last as long as from now until until. Any clock may run back: a lease
// that was taken further ahead than it lasts is over, and what waits for one is due that waits
// for longer than any would (Accepted.Due).
//
// Methods that take a claim are E_SESSION_LEASE_LOST where somebody else has claimed the
// session since, and then nothing has changed. A session of a format that is not known is
// E_SESSION_FORMAT.
type Store interface {
	// Accept keeps a delivery that Delivery.Check has passed, and makes its session if
	// there is none (SES-10). One that is known is given as it is, if its payload is the
	// same, and is E_DELIVERY_CONFLICT otherwise. Other errors are
	// E_SESSION_CHANNEL_STATE_CHANGED, E_SESSION_FULL and E_SESSION_ERASED.
	Accept(ctx context.Context, d Delivery, now time.Time) (Accepted, error)
	// Start is Accept. Where the delivery is new and its session is free and has nothing
	// else to do, it is Claim, Load and Begin too, at once: the ordinary way of a delivery.
	// A store may always leave that to those.
	Start(ctx context.Context, d Delivery, owner string, now, until time.Time) (Started, error)
	// Find gives a delivery; found reports whether it is known.
	Find(ctx context.Context, id DeliveryID) (a Accepted, found bool, err error)
	// Claim takes the lease of a session, if it is free or over, and raises its epoch
	// (SES-11). Otherwise it is E_SESSION_BUSY.
	Claim(ctx context.Context, id SessionID, owner string, now, until time.Time) (Claim, error)
	// Renew makes the lease last until until.
	Renew(ctx context.Context, c Claim, now, until time.Time) error
	// Release ends a lease. One that is lost is no error.
	Release(ctx context.Context, c Claim) error
	// Load gives the session, its values and its first unsettled delivery, as they were at
	// one moment (SES-13).
	Load(ctx context.Context, c Claim) (Loaded, error)
	// Begin counts an attempt at the delivery, and gives its number (SES-21). It has no code
	// until it fails.
	Begin(ctx context.Context, c Claim, delivery string) (attempt int, err error)
	// Commit makes the delivery of an attempt count, with all that the attempt changed
	// (SES-20), and ends the lease if it is to. Where the revision or the attempt are others
	// it is E_SESSION_LEASE_LOST.
	// A child that cannot be accepted is the error of Accept, and one of the same session
	// E_INVALID_DELIVERY.
	Commit(ctx context.Context, c Claim, change Commit) error
	// Fail keeps that an attempt did not commit (SES-21).
	Fail(ctx context.Context, c Claim, f Failure) error
	// Applied keeps that the writes of a committed delivery have been made.
	Applied(ctx context.Context, id DeliveryID, at time.Time) error
	// Notified keeps that somebody was told of a delivery's outcome, also where the claim
	// is lost; one that is not lost it ends, if it is to.
	Notified(ctx context.Context, c Claim, n Notice) error
	// Pending gives sessions whose lease is free or over and that have something to do:
	// a delivery to run, when it is due, writes to apply, outcomes to tell. The one that
	// has waited longest comes first.
	Pending(ctx context.Context, now time.Time, limit int) ([]SessionID, error)
	// Look gives a session and its values; found reports whether there is one.
	Look(ctx context.Context, id SessionID) (l Loaded, found bool, err error)
	// History gives deliveries of a session whose Seq is below before, or any where that
	// is 0: the latest first, at most limit.
	History(ctx context.Context, id SessionID, before int64, limit int) ([]Accepted, error)
	// Sessions gives the sessions of a tenant that are not erased, in order, behind after.
	Sessions(ctx context.Context, tenant, after string, limit int) ([]SessionID, error)
	// Erased gives those that are erased, likewise.
	Erased(ctx context.Context, tenant, after string, limit int) ([]SessionID, error)
	// Erase forgets all of a session but its name, its epoch and that it was erased. What
	// others do with it from then on is E_SESSION_ERASED, or E_SESSION_LEASE_LOST. epoch is that
	// which it has from then on, above all that were claimed; 0 where there was none.
	Erase(ctx context.Context, id SessionID, now time.Time) (epoch int64, err error)
	// Purge forgets deliveries that were settled before a time and have nothing left to
	// do, and gives how many. One that comes again then is a new one.
	Purge(ctx context.Context, before time.Time) (purged int, err error)
	// Backlog gives how many deliveries are unsettled, and when the oldest of them was
	// accepted; the zero time where there is none.
	Backlog(ctx context.Context) (unsettled int, oldest time.Time, err error)
	// RaiseEpochs raises the epoch of every session and ends its lease: for who has put a
	// copy in the place of a store, while hosts may be at work.
	RaiseEpochs(ctx context.Context) error
	// Holds reports whether the records of a storage are kept here, so that Commit writes
	// them in its transaction.
	Holds(s adk.Storage) bool
}

// Claim is a lease of a session.
type Claim struct {
	SessionID
	Owner string
	// Epoch is how often the session was claimed.
	Epoch int64
	// Lease is how long it lasts from when it was taken or renewed.
	Lease time.Duration
}

// String is the claim as messages show it.
func (c Claim) String() string {
	return fmt.Sprintf("claim of %s: owner %.64q, epoch %d, lease %s", c.SessionID, c.Owner, c.Epoch, c.Lease)
}

// Value is what a session holds under a key.
type Value struct {
	// Version is that of the value's shape, and Body the value as JSON.
	Version int             `json:"v"`
	Body    json.RawMessage `json:"x"`
}

// Accepted is a delivery as a store has it, with times in whole milliseconds UTC.
type Accepted struct {
	// Delivery is without Kind, ChannelState and Initiator, which are the session's.
	Delivery
	Seq   int64
	State DeliveryState
	// Known says, of what Accept gives, that the delivery had come before.
	Known bool
	// Attempts is how many were begun and not given back, Epoch that of the last of them.
	Attempts int
	Epoch    int64
	// Outcome is what became of it. Of one that is not settled it has no more than the Code of
	// its last attempt, which is empty where that did not come to an end.
	Outcome Outcome
	// NotBefore is when the next attempt is due; the zero time is at once.
	NotBefore time.Time
	// AcceptedAt, SettledAt, AppliedAt and NotifiedAt are zero where that was not yet, and
	// AppliedAt also where nothing is kept elsewhere.
	AcceptedAt, SettledAt, AppliedAt, NotifiedAt time.Time
	// Writes are those of a committed delivery that have not been applied.
	Writes []Write
}

// Due reports whether an attempt may begin. No pause before a retry is longer than
// MaxRetryPause: one that seems to be twice as long is of a clock that has run back.
func (a Accepted) Due(now time.Time) bool {
	wait := a.NotBefore.Sub(now)
	return wait <= 0 || wait > 2*MaxRetryPause
}

// Started is what Store.Start gives.
type Started struct {
	Accepted
	// Begun says that the first attempt at the delivery has begun: then Claim is the lease,
	// and Loaded the session, whose Next is the delivery with its one attempt.
	Begun  bool
	Claim  Claim
	Loaded Loaded
}

// Loaded is a session.
type Loaded struct {
	SessionID
	Kind                    string
	ChannelState, Initiator json.RawMessage
	// Revision is how many deliveries were committed.
	Revision int64
	// Values are those of all keys, whoever knows them, and Snapshots those of providers.
	Values    map[string]Value
	Snapshots map[string]json.RawMessage
	// Next is the first unsettled delivery; nil where there is none.
	Next *Accepted
	// Unapplied are committed deliveries with writes to apply, and Untold settled ones of
	// whose outcome nobody was told, in order.
	Unapplied, Untold []Accepted
}

// String says what is there, and none of the values, payloads and auths.
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
	// Place is where the storage keeps it. Of a storage that package storage did not make
	// the session is always that of the delivery.
	Place storage.Place `json:"place"`
	// Verb is store, mutate or delete.
	Verb string `json:"verb"`
	Key  string `json:"key"`
	// Body is the record's MarshalJSON; nothing for a delete.
	Body json.RawMessage `json:"body,omitempty"`
	// TurnID and DispatchID say who wrote it.
	TurnID     string `json:"turnId,omitempty"`
	DispatchID string `json:"dispatchId,omitempty"`

	change storage.Change // what a store that holds the records writes
	record adk.Record     // with its readers, while the attempt's process lives
}

// Change is what a store writes that holds the records.
func (w Write) Change() storage.Change { return w.change }

// Commit is what an attempt changes.
type Commit struct {
	Delivery string
	Attempt  int
	// Revision is the one that was loaded.
	Revision int64
	TurnID   string
	// Puts and Deletes are the values that the attempt changed. Snapshots are those of all
	// providers from now on; nil where none has changed.
	Puts      map[string]Value
	Deletes   []string
	Snapshots map[string]json.RawMessage
	// Writes are made in the transaction if Held, and otherwise kept until they are
	// applied.
	Writes []Write
	Held   bool
	// Children are deliveries to accept.
	Children     []Delivery
	OutputFailed bool
	// Told says that nobody wants to be told of the outcome.
	Told bool
	// Release ends the lease.
	Release bool
	At      time.Time
}

// Notice is that somebody was told of the outcome of a delivery.
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
	// Final settles the delivery. Otherwise its next attempt is due at NotBefore.
	Final     bool
	NotBefore time.Time
	// GiveBack takes the attempt back, as if it had not begun: Code is that of the one before.
	GiveBack bool
	// Told says that nobody wants to be told of the outcome.
	Told bool
	At   time.Time
}
