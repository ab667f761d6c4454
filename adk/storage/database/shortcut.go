package database

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage/internal/sessionrows"
)

// shortTables are tables behind a network: each step of the usual way of a delivery is one
// pipeline. In other cases the pipeline changes nothing, and the rules of package sessionrows
// decide row by row.
type shortTables struct{ sessionTables }

var _ sessionrows.Shortcut = shortTables{}

// pipe runs statements after locking a session, so that each sees what transactions that had the
// lock before have done. If a statement does not find what it requires, nothing is done and done is
// false.
func (t shortTables) pipe(ctx context.Context, id session.SessionID, all ...Statement) (done bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	db := t.db
	err = db.run(ctx, append([]Statement{db.statement(db.source.Dialect.lockSession, id.Tenant, id.Session)}, all...))
	var failed interface{ SQLState() string }
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &failed) && failed.SQLState() == noneMade:
		return false, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	}
	return false, err
}

// Start implements sessionrows.Shortcut.
func (t shortTables) Start(ctx context.Context, s *sessionrows.Session, d *sessionrows.Delivery, given bool,
	lease time.Duration) (values map[string]session.Value, started bool, err error) {
	parent, err := asJSON(d.Parent, d.Parent == session.DeliveryID{})
	if err != nil {
		return nil, false, err
	}
	start := t.db.statement(startSession, s.ID.Tenant, s.ID.Session, s.Format, s.Owner, lease.Milliseconds(), []byte(s.Initiator), s.Kind, []byte(s.ChannelState), millisOf(s.CreatedAt), given,
		d.ID, []byte(d.Payload), d.Digest, []byte(d.Auth), parent)
	start.Take = func(scan func(...any) error) error {
		var initiator, state, internal []byte
		if err := scan(&s.Revision, &s.Epoch, &s.NextSeq, &initiator, &state, &internal); err != nil {
			return err
		}
		s.Initiator, s.ChannelState, started = initiator, state, true
		return fromJSON(s.ID, "internal", internal, &s.Snapshots)
	}
	read := t.db.statement(selectStartedValues, s.ID.Tenant, s.ID.Session, d.ID)
	read.Take = takeValues(&values)
	done, err := t.pipe(ctx, s.ID, start, read)
	return values, done && started, err
}

// Commit implements sessionrows.Shortcut.
func (t shortTables) Commit(ctx context.Context, c session.Claim, change session.Commit, d *sessionrows.Delivery) (done bool, err error) {
	snapshots, err := asJSON(change.Snapshots, len(change.Snapshots) == 0)
	if err != nil {
		return false, err
	}
	writes, err := asJSON(d.Writes, len(d.Writes) == 0)
	if err != nil {
		return false, err
	}
	id, at, o := c.SessionID, millisOf(d.SettledAt), d.Outcome
	all := []Statement{
		t.db.statement(commitSession, id.Tenant, id.Session, sessionrows.Format, c.Epoch, c.Owner, change.Revision, snapshots, at, change.Release),
		t.db.statement(commitDelivery, id.Tenant, id.Session, d.ID, d.Attempts, d.Epoch, asNumber(d.IsOpen()), readableID(o.TurnID), o.Revision, asNumber(o.OutputFailed), writes, at, millisOf(d.NotifiedAt)),
	}
	for _, key := range slices.Sorted(maps.Keys(change.Puts)) {
		value := change.Puts[key]
		all = append(all, t.db.statement(putValue, id.Tenant, id.Session, key, value.Version, []byte(value.Body), at))
	}
	for _, key := range change.Deletes {
		all = append(all, t.db.statement(deleteValue, id.Tenant, id.Session, key))
	}
	if change.Held {
		all = append(all, t.db.written(sessionrows.Records(change))...)
	}
	return t.pipe(ctx, id, all...)
}

// Notified implements sessionrows.Shortcut.
func (t shortTables) Notified(ctx context.Context, c session.Claim, n session.Notice) error {
	all := []Statement{t.db.statement(noteNotified, c.Tenant, c.Session, n.Delivery, millisOf(n.At))}
	if n.Release {
		all = append(all, t.db.statement(endLease, c.Tenant, c.Session, sessionrows.Format, c.Epoch, c.Owner))
	}
	_, err := t.pipe(ctx, c.SessionID, all...)
	return err
}

// takeValues returns a function that reads rows of selectValues.
func takeValues(into *map[string]session.Value) func(func(...any) error) error {
	*into = nil
	return func(scan func(...any) error) error {
		var key string
		var value session.Value
		if err := scan(&key, &value.Version, (*[]byte)(&value.Body)); err != nil {
			return err
		}
		if *into == nil {
			*into = map[string]session.Value{}
		}
		(*into)[key] = value
		return nil
	}
}

// noneMade is Postgres's code for a division by zero, which must causes if a statement changes no
// row. SQL has no other way to end a transaction without a round trip.
const (
	noneMade = "22012"
	must     = `with made as (`
	orNone   = ` returning 1) select 1 / count(*) from made`
)

// The statements of pipelines, which run only on databases that have pipelines.
const (
	startSession = `with s as (insert into sessions (tenant, id, format, revision, epoch, lease_owner, lease_until, next_seq, unsettled, initiator, channel_kind, channel_state,
		internal, created_at, updated_at, erased_at, lease_taken) values ($1, $2, $3, 0, 1, $4, {now} + $5, 2, 1, $6, $7, $8, null, $9, $9, 0, {now})
		on conflict (tenant, id) do update set epoch = sessions.epoch + 1, lease_owner = excluded.lease_owner, lease_until = excluded.lease_until, lease_taken = excluded.lease_taken,
		next_seq = sessions.next_seq + 1, unsettled = 1, updated_at = excluded.updated_at
		where sessions.format = excluded.format and sessions.erased_at = 0 and sessions.unsettled = 0 and (sessions.lease_owner = '' or sessions.lease_until <= {now}
			or sessions.lease_taken - {now} > sessions.lease_until - sessions.lease_taken)
		and sessions.channel_kind = excluded.channel_kind and (not $10 or sessions.channel_state = excluded.channel_state)
		and not exists (select from deliveries where tenant = $1 and session = $2 and pending = 1)
		and not exists (select from deliveries where tenant = $1 and session = $2 and id = $11)
		returning revision, epoch, next_seq, initiator, channel_state, internal),
		d as (insert into deliveries (tenant, session, id, seq, state, pending, payload, digest, auth, parent, attempts, epoch, turn_id, revision, code,
		output_failed, writes, not_before, accepted_at, settled_at, applied_at, notified_at)
		select $1, $2, $11, next_seq - 1, 'accepted', 1, $12, $13, $14, $15, 1, epoch, '', 0, '', 0, null, 0, $9, 0, 0, 0 from s)
		select revision, epoch, next_seq, initiator, channel_state, internal from s`
	selectStartedValues = selectValues + ` and exists (select from deliveries where tenant = $1 and session = $2 and id = $3 and state = 'accepted')`
	commitSession       = must + `update sessions set revision = revision + 1, unsettled = unsettled - 1, internal = coalesce($7, internal), updated_at = $8,
		lease_owner = case when $9 then '' else lease_owner end, lease_until = case when $9 then 0 else lease_until end,
		lease_taken = case when $9 then 0 else lease_taken end
		where tenant = $1 and id = $2 and format = $3 and erased_at = 0 and epoch = $4 and lease_owner = $5 and revision = $6` + orNone
	commitDelivery = must + `update deliveries set state = 'committed', pending = $6, turn_id = $7, revision = $8, code = '', output_failed = $9, writes = $10,
		not_before = 0, settled_at = $11, notified_at = $12
		where tenant = $1 and session = $2 and id = $3 and state = 'accepted' and attempts = $4 and epoch = $5` + orNone
	noteNotified = `update deliveries set notified_at = $4, pending = case when writes is null then 0 else 1 end
		where tenant = $1 and session = $2 and id = $3 and state <> 'accepted'`
	endLease = `update sessions set lease_owner = '', lease_until = 0, lease_taken = 0 where tenant = $1 and id = $2 and format = $3 and epoch = $4 and lease_owner = $5`
)
