// Package sessionrows makes a session.Store of tables: the rules of sessions stand here
// once, and memory, files and databases do no more than keep rows.
package sessionrows

import (
	"context"
	"encoding/json"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
)

// Format is that of the sessions that this release writes.
const Format = 1

// Session is a row of the sessions.
type Session struct {
	ID           session.SessionID          `json:"id"`
	Format       int                        `json:"format"`
	Revision     int64                      `json:"revision"`
	Epoch        int64                      `json:"epoch"`
	Owner        string                     `json:"owner,omitempty"`
	LeaseUntil   time.Time                  `json:"leaseUntil,omitzero"`
	LeaseTaken   time.Time                  `json:"leaseTaken,omitzero"` // or renewed; zero where an older release has
	NextSeq      int64                      `json:"nextSeq"`
	Unsettled    int                        `json:"unsettled"`
	Kind         string                     `json:"kind"`
	ChannelState json.RawMessage            `json:"channelState,omitempty"`
	Initiator    json.RawMessage            `json:"initiator,omitempty"`
	Snapshots    map[string]json.RawMessage `json:"snapshots,omitempty"`
	CreatedAt    time.Time                  `json:"createdAt"`
	UpdatedAt    time.Time                  `json:"updatedAt"`
	ErasedAt     time.Time                  `json:"erasedAt,omitzero"`
}

// leases has the session be a host's from the present on.
func (s *Session) leases(present time.Time, lease time.Duration) {
	s.LeaseTaken, s.LeaseUntil = millis(present), millis(present.Add(lease))
}

// isLeased reports whether somebody has the session. One who has it from further ahead than
// it lasts has it by a clock that has run back since: he would have it for as long as that was
// wrong. So nobody waits for longer than twice a lease, whatever clocks do.
func (s *Session) isLeased(present time.Time) bool {
	return s.Owner != "" && s.LeaseUntil.After(present) && s.LeaseTaken.Sub(present) <= s.LeaseUntil.Sub(s.LeaseTaken)
}

// Delivery is a row of the deliveries.
type Delivery struct {
	session.Accepted
	// Digest is that of the payload.
	Digest string
}

// Tx is what a transaction does with rows. Session and Delivery show what it has put; its
// other readers need not.
type Tx interface {
	// Now is the present, by the clock that ends leases.
	Now(ctx context.Context) (time.Time, error)
	// Session and Delivery give a row; nil where there is none.
	Session(ctx context.Context, id session.SessionID) (*Session, error)
	Delivery(ctx context.Context, id session.DeliveryID) (*Delivery, error)
	// Next gives the first unsettled delivery of a session; nil where there is none.
	Next(ctx context.Context, id session.SessionID) (*Delivery, error)
	// Open gives the settled deliveries of a session with writes to apply or an outcome to
	// tell, in order.
	Open(ctx context.Context, id session.SessionID) ([]Delivery, error)
	// History gives deliveries below a number, the latest first; 0 is below none.
	History(ctx context.Context, id session.SessionID, before int64, limit int) ([]Delivery, error)
	Values(ctx context.Context, id session.SessionID) (map[string]session.Value, error)

	PutSession(ctx context.Context, s *Session) error
	PutDelivery(ctx context.Context, d *Delivery) error
	PutValue(ctx context.Context, id session.SessionID, key string, value session.Value, at time.Time) error
	DeleteValue(ctx context.Context, id session.SessionID, key string) error
	// Clear deletes the values and the deliveries of a session.
	Clear(ctx context.Context, id session.SessionID) error
	// Write writes records.
	Write(ctx context.Context, changes []storage.Change) error
}

// Tables keep rows, for many goroutines at once.
type Tables interface {
	// Transact calls f with a transaction in which nobody else changes the sessions named,
	// which are in order, and makes what it put, all or nothing. Where f fails nothing is
	// made, and its error is the answer. f may be called again. now is the host's time.
	Transact(ctx context.Context, now time.Time, f func(Tx) error, ids ...session.SessionID) error
	// Pending gives sessions that are not erased, with something to do that is due, whose
	// lease is over: by the host's time, or by the clock of the tables.
	Pending(ctx context.Context, now time.Time, limit int) ([]session.SessionID, error)
	// Sessions gives those of a tenant that are not erased, by name, behind after.
	Sessions(ctx context.Context, tenant, after string, limit int) ([]session.SessionID, error)
	// Erased gives those that are, likewise.
	Erased(ctx context.Context, tenant, after string, limit int) ([]session.SessionID, error)
	// Purge deletes deliveries that were settled before a time and are not open.
	Purge(ctx context.Context, before time.Time) (int, error)
	// Backlog counts the unsettled deliveries, and finds the oldest.
	Backlog(ctx context.Context) (int, time.Time, error)
	// RaiseEpochs raises the epoch of every session, and ends its lease.
	RaiseEpochs(ctx context.Context) error
	// Holds reports whether the records of a storage are in these tables.
	Holds(s adk.Storage) bool
}
