// Package sessionrows makes a session.Store from tables. It contains the rules of sessions once;
// memory, files and databases only have to store rows.
package sessionrows

import (
	"context"
	"encoding/json"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
)

// Format is the format of the sessions that this release writes.
const Format = 1

// Session is a row of the table of sessions.
type Session struct {
	ID           session.SessionID          `json:"id"`
	Format       int                        `json:"format"`
	Revision     int64                      `json:"revision"`
	Epoch        int64                      `json:"epoch"`
	Owner        string                     `json:"owner,omitempty"`
	LeaseUntil   time.Time                  `json:"leaseUntil,omitzero"`
	LeaseTaken   time.Time                  `json:"leaseTaken,omitzero"` // or renewed; zero if an older release took the lease
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

// leases starts or extends a lease at the time present.
func (s *Session) leases(present time.Time, lease time.Duration) {
	s.LeaseTaken, s.LeaseUntil = millis(present), millis(present.Add(lease))
}

// isLeased reports whether a host has the session. A lease that was taken further in the future
// than it lasts was taken by a clock that has run back since. It does not count, because it would
// last for as long as the clock was wrong. So no host waits longer than twice a lease, whatever
// clocks do.
func (s *Session) isLeased(present time.Time) bool {
	return s.Owner != "" && s.LeaseUntil.After(present) && s.LeaseTaken.Sub(present) <= s.LeaseUntil.Sub(s.LeaseTaken)
}

// Delivery is a row of the table of deliveries.
type Delivery struct {
	session.Accepted
	// Digest is the digest of the payload.
	Digest string
}

// Tx reads and writes rows in a transaction. Session and Delivery must return what the transaction
// has put; the other readers need not.
type Tx interface {
	// Now returns the current time by the clock that ends leases.
	Now(ctx context.Context) (time.Time, error)
	// Session and Delivery return a row; nil if there is none.
	Session(ctx context.Context, id session.SessionID) (*Session, error)
	Delivery(ctx context.Context, id session.DeliveryID) (*Delivery, error)
	// Next returns the first unsettled delivery of a session; nil if there is none.
	Next(ctx context.Context, id session.SessionID) (*Delivery, error)
	// Open returns the settled deliveries of a session with writes to apply or an outcome to
	// notify, in order.
	Open(ctx context.Context, id session.SessionID) ([]Delivery, error)
	// History returns deliveries with a number below before, the latest first; 0 means all.
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

// Tables store rows. They are safe for concurrent use.
type Tables interface {
	// Transact calls f with a transaction during which no other transaction changes the named
	// sessions; ids are sorted. It then makes what f put, all or nothing. If f fails, nothing is
	// made and Transact returns the error. f may be called again. now is the host's time.
	Transact(ctx context.Context, now time.Time, f func(Tx) error, ids ...session.SessionID) error
	// Pending returns sessions that are not erased, have something to do that is due, and whose
	// lease is over, by the host's time or by the clock of the tables.
	Pending(ctx context.Context, now time.Time, limit int) ([]session.SessionID, error)
	// Sessions returns those of a tenant that are not erased and come after after, by name.
	Sessions(ctx context.Context, tenant, after string, limit int) ([]session.SessionID, error)
	// Erased returns the erased ones in the same way.
	Erased(ctx context.Context, tenant, after string, limit int) ([]session.SessionID, error)
	// Purge deletes deliveries that were settled before a time and have nothing left to do.
	Purge(ctx context.Context, before time.Time) (int, error)
	// Backlog counts the unsettled deliveries, and returns when the oldest was accepted.
	Backlog(ctx context.Context) (int, time.Time, error)
	// RaiseEpochs raises the epoch of every session, and ends its lease.
	RaiseEpochs(ctx context.Context) error
	// Holds reports whether the records of a storage are in the same tables.
	Holds(s adk.Storage) bool
}
