package database

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/internal/sessionrows"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// Sessions returns the store of sessions in this database: what a turn stores and what its session
// keeps are written in one transaction. Any number of processes, and on Postgres of machines, may
// share it; leases end by the clock of the database.
func (db *DB) Sessions() session.Store {
	if db.source.Pipeline != nil {
		return sessionrows.Of(shortTables{sessionTables{db}})
	}
	return sessionrows.Of(sessionTables{db})
}

// sessionTables are the tables sessions, session_context and deliveries.
type sessionTables struct{ db *DB }

var _ sessionrows.Tables = sessionTables{}

// Transact implements sessionrows.Tables. It locks sessions by their names first, so that of two
// transactions that begin a session, one waits.
func (t sessionTables) Transact(ctx context.Context, _ time.Time, f func(sessionrows.Tx) error, ids ...session.SessionID) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	pool := t.db.source.Writer
	if len(ids) == 0 {
		pool = t.db.source.Reader
	}
	err := t.db.transactOn(ctx, pool, func(tx *sql.Tx) error {
		s := sessionTx{t.db, tx}
		if lock := t.db.source.Dialect.lockSession; lock != "" {
			for _, id := range ids {
				if err := s.exec(ctx, lock, id.Tenant, id.Session); err != nil {
					return err
				}
			}
		}
		return f(s)
	})
	if err != nil && ctx.Err() != nil && !errors.As(err, new(*adk.Error)) {
		return context.Cause(ctx)
	}
	return err
}

// read runs a query and calls take for each row.
func (t sessionTables) read(ctx context.Context, take func(*sql.Rows) error, statement string, args ...any) error {
	return t.Transact(ctx, time.Time{}, func(tx sessionrows.Tx) error { return tx.(sessionTx).query(ctx, take, statement, args...) })
}

// Pending implements sessionrows.Tables.
func (t sessionTables) Pending(ctx context.Context, now time.Time, limit int) (ids []session.SessionID, err error) {
	err = t.read(ctx, takeIDs(&ids), selectPending, millisOf(now), max(limit, 0), millisOf(now.Add(2*session.MaxRetryPause)))
	return ids, err
}

func takeIDs(ids *[]session.SessionID) func(*sql.Rows) error {
	*ids = nil
	return func(rows *sql.Rows) error {
		var id session.SessionID
		err := rows.Scan(&id.Tenant, &id.Session)
		*ids = append(*ids, id)
		return err
	}
}

// Sessions implements sessionrows.Tables.
func (t sessionTables) Sessions(ctx context.Context, tenant, after string, limit int) (ids []session.SessionID, err error) {
	err = t.read(ctx, takeIDs(&ids), selectSessions, tenant, after, max(limit, 0))
	return ids, err
}

// Erased implements sessionrows.Tables.
func (t sessionTables) Erased(ctx context.Context, tenant, after string, limit int) (ids []session.SessionID, err error) {
	err = t.read(ctx, takeIDs(&ids), selectErased, tenant, after, max(limit, 0))
	return ids, err
}

// Purge implements sessionrows.Tables.
func (t sessionTables) Purge(ctx context.Context, before time.Time) (purged int, err error) {
	err = t.db.retry(ctx, func() error {
		result, err := t.db.source.Writer.ExecContext(ctx, t.db.source.Dialect.sql(purgeDeliveries), millisOf(before))
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		purged = int(n)
		return err
	})
	return purged, err
}

// Backlog implements sessionrows.Tables.
func (t sessionTables) Backlog(ctx context.Context) (unsettled int, oldest time.Time, err error) {
	var at sql.NullInt64
	err = t.read(ctx, func(rows *sql.Rows) error { return rows.Scan(&unsettled, &at) }, selectBacklog)
	return unsettled, timeOf(at.Int64), err
}

// RaiseEpochs implements sessionrows.Tables.
func (t sessionTables) RaiseEpochs(ctx context.Context) error {
	return t.db.retry(ctx, func() error {
		_, err := t.db.source.Writer.ExecContext(ctx, raiseEpochs)
		return err
	})
}

// Holds implements sessionrows.Tables.
func (t sessionTables) Holds(s adk.Storage) bool {
	plan, ok := storage.PlanOf(s)
	return ok && plan.Rows() == storage.Rows(t.db)
}

// millisOf and timeOf convert times to and from the form in tables; the zero time is 0.
func millisOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}

// sessionTx implements sessionrows.Tx.
type sessionTx struct {
	db *DB
	tx *sql.Tx
}

func (s sessionTx) exec(ctx context.Context, statement string, args ...any) error {
	_, err := s.tx.ExecContext(ctx, s.db.source.Dialect.sql(statement), args...)
	return err
}

func (s sessionTx) query(ctx context.Context, take func(*sql.Rows) error, statement string, args ...any) (err error) {
	rows, err := s.tx.QueryContext(ctx, s.db.source.Dialect.sql(statement), args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Now returns the time by the clock of the database.
func (s sessionTx) Now(ctx context.Context) (time.Time, error) {
	var millis int64
	err := s.tx.QueryRowContext(ctx, s.db.source.Dialect.sql("select {now}")).Scan(&millis)
	return timeOf(millis), err
}

func (s sessionTx) Session(ctx context.Context, id session.SessionID) (found *sessionrows.Session, err error) {
	err = s.query(ctx, func(rows *sql.Rows) error {
		row := &sessionrows.Session{ID: id}
		var until, taken, created, updated, erased int64
		var initiator, state, internal []byte
		if err := rows.Scan(&row.Format, &row.Revision, &row.Epoch, &row.Owner, &until, &row.NextSeq, &row.Unsettled, &initiator, &row.Kind, &state, &internal, &created, &updated, &erased, &taken); err != nil {
			return err
		}
		row.Initiator, row.ChannelState = initiator, state
		row.LeaseUntil, row.LeaseTaken, row.CreatedAt, row.UpdatedAt, row.ErasedAt = timeOf(until), timeOf(taken), timeOf(created), timeOf(updated), timeOf(erased)
		found = row
		return fromJSON(id, "internal", internal, &row.Snapshots)
	}, selectSession, id.Tenant, id.Session)
	return found, err
}

// asJSON returns a value in the form of a column; nil if it is empty.
func asJSON(value any, empty bool) ([]byte, error) {
	if empty {
		return nil, nil
	}
	return unescaped.Marshal(value)
}

// fromJSON reads a column of the row of a session or a delivery.
func fromJSON(of fmt.Stringer, name string, column []byte, into any) error {
	if column == nil {
		return nil
	}
	if err := json.Unmarshal(column, into); err != nil {
		return corrupt(of, name, err)
	}
	return nil
}

func corrupt(of fmt.Stringer, column string, cause error) error {
	return &adk.Error{Code: adk.E_STORAGE_CORRUPT, Message: fmt.Sprintf("%s: the column %s is not as it was written", of, column), Cause: cause}
}

func (s sessionTx) PutSession(ctx context.Context, row *sessionrows.Session) error {
	internal, err := asJSON(row.Snapshots, len(row.Snapshots) == 0)
	if err != nil {
		return err
	}
	return s.exec(ctx, putSession, row.ID.Tenant, row.ID.Session, row.Format, row.Revision, row.Epoch, row.Owner, millisOf(row.LeaseUntil), row.NextSeq, row.Unsettled,
		[]byte(row.Initiator), row.Kind, []byte(row.ChannelState), internal, millisOf(row.CreatedAt), millisOf(row.UpdatedAt), millisOf(row.ErasedAt), millisOf(row.LeaseTaken))
}

// deliveries returns the deliveries of a session that a condition selects.
func (s sessionTx) deliveries(ctx context.Context, id session.SessionID, where string, args ...any) (all []sessionrows.Delivery, err error) {
	err = s.query(ctx, func(rows *sql.Rows) error {
		d := sessionrows.Delivery{}
		d.Tenant, d.Session = id.Tenant, id.Session
		var payload, auth, parent, writes []byte
		var notBefore, accepted, settled, applied, notified, failed int64
		o := &d.Outcome
		if err := rows.Scan(&d.ID, &d.Seq, &d.State, &payload, &d.Digest, &auth, &parent, &d.Attempts, &d.Epoch, &o.TurnID, &o.Revision, &o.Code, &failed, &writes,
			&notBefore, &accepted, &settled, &applied, &notified); err != nil {
			return err
		}
		d.Payload, d.Auth = payload, auth
		d.NotBefore, d.AcceptedAt, d.SettledAt, d.AppliedAt, d.NotifiedAt = timeOf(notBefore), timeOf(accepted), timeOf(settled), timeOf(applied), timeOf(notified)
		if d.State.Settled() {
			o.Delivery, o.Seq, o.State, o.Attempt, o.OutputFailed = d.DeliveryID(), d.Seq, d.State, d.Attempts, failed != 0
		}
		if d.State != session.Unsettled && !d.State.Settled() {
			return corrupt(d.DeliveryID(), "state", nil)
		}
		err := errors.Join(fromJSON(d.DeliveryID(), "parent", parent, &d.Parent), fromJSON(d.DeliveryID(), "writes", writes, &d.Writes))
		all = append(all, d)
		return err
	}, selectDeliveries+where, append([]any{id.Tenant, id.Session}, args...)...)
	return all, err
}

// one returns the first of the deliveries, or nil.
func one(all []sessionrows.Delivery, err error) (*sessionrows.Delivery, error) {
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func (s sessionTx) Delivery(ctx context.Context, id session.DeliveryID) (*sessionrows.Delivery, error) {
	return one(s.deliveries(ctx, id.SessionID, ` and id = $3`, id.Delivery))
}

func (s sessionTx) Next(ctx context.Context, id session.SessionID) (*sessionrows.Delivery, error) {
	return one(s.deliveries(ctx, id, ` and pending = 1 and state = 'accepted' order by seq limit 1`))
}

func (s sessionTx) Open(ctx context.Context, id session.SessionID) ([]sessionrows.Delivery, error) {
	return s.deliveries(ctx, id, ` and pending = 1 and state <> 'accepted' order by seq`)
}

func (s sessionTx) History(ctx context.Context, id session.SessionID, before int64, limit int) ([]sessionrows.Delivery, error) {
	return s.deliveries(ctx, id, ` and ($3 = 0 or seq < $3) order by seq desc limit $4`, before, max(limit, 0))
}

func (s sessionTx) PutDelivery(ctx context.Context, d *sessionrows.Delivery) error {
	parent, err := asJSON(d.Parent, d.Parent == session.DeliveryID{})
	if err != nil {
		return err
	}
	writes, err := asJSON(d.Writes, len(d.Writes) == 0)
	if err != nil {
		return err
	}
	return s.exec(ctx, putDelivery, d.Tenant, d.Session, d.ID, d.Seq, string(d.State), asNumber(!d.State.Settled() || d.IsOpen()), []byte(d.Payload), d.Digest, []byte(d.Auth), parent,
		d.Attempts, d.Epoch, readableID(d.Outcome.TurnID), d.Outcome.Revision, string(d.Outcome.Code), asNumber(d.Outcome.OutputFailed), writes,
		millisOf(d.NotBefore), millisOf(d.AcceptedAt), millisOf(d.SettledAt), millisOf(d.AppliedAt), millisOf(d.NotifiedAt))
}

func asNumber(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

// readableID returns the id of a turn in a form that databases accept; a user's ids may be any
// text.
func readableID(id string) string {
	return string(bytes.ReplaceAll(bytes.ToValidUTF8([]byte(id), []byte("\uFFFD")), []byte{0}, []byte("\uFFFD")))
}

func (s sessionTx) Values(ctx context.Context, id session.SessionID) (map[string]session.Value, error) {
	var values map[string]session.Value
	take := takeValues(&values)
	err := s.query(ctx, func(rows *sql.Rows) error { return take(rows.Scan) }, selectValues, id.Tenant, id.Session)
	return values, err
}

func (s sessionTx) PutValue(ctx context.Context, id session.SessionID, key string, value session.Value, at time.Time) error {
	return s.exec(ctx, putValue, id.Tenant, id.Session, key, value.Version, []byte(value.Body), millisOf(at))
}

func (s sessionTx) DeleteValue(ctx context.Context, id session.SessionID, key string) error {
	return s.exec(ctx, deleteValue, id.Tenant, id.Session, key)
}

func (s sessionTx) Clear(ctx context.Context, id session.SessionID) error {
	if err := s.exec(ctx, clearValues, id.Tenant, id.Session); err != nil {
		return err
	}
	return s.exec(ctx, clearDeliveries, id.Tenant, id.Session)
}

func (s sessionTx) Write(ctx context.Context, changes []storage.Change) error {
	return s.db.apply(ctx, s.tx, changes)
}

// The statements for sessions, in the form for Postgres. {now} is the current time, and {for
// update} locks a row for the transaction.
const (
	selectSession = `select format, revision, epoch, lease_owner, lease_until, next_seq, unsettled, initiator, channel_kind, channel_state, internal,
		created_at, updated_at, erased_at, lease_taken from sessions where tenant = $1 and id = $2 {for update}`
	putSession = `insert into sessions (tenant, id, format, revision, epoch, lease_owner, lease_until, next_seq, unsettled, initiator, channel_kind, channel_state,
		internal, created_at, updated_at, erased_at, lease_taken) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
		on conflict (tenant, id) do update set format = excluded.format, revision = excluded.revision, epoch = excluded.epoch, lease_owner = excluded.lease_owner,
		lease_until = excluded.lease_until, next_seq = excluded.next_seq, unsettled = excluded.unsettled, initiator = excluded.initiator,
		channel_kind = excluded.channel_kind, channel_state = excluded.channel_state, internal = excluded.internal, updated_at = excluded.updated_at,
		erased_at = excluded.erased_at, lease_taken = excluded.lease_taken`
	selectSessions = `select tenant, id from sessions where tenant = $1 and id > $2 and erased_at = 0 order by id limit $3`
	selectErased   = `select tenant, id from sessions where tenant = $1 and id > $2 and erased_at <> 0 order by id limit $3`
	raiseEpochs    = `update sessions set epoch = epoch + 1, lease_owner = '', lease_until = 0, lease_taken = 0`

	selectDeliveries = `select id, seq, state, payload, digest, auth, parent, attempts, epoch, turn_id, revision, code, output_failed, writes,
		not_before, accepted_at, settled_at, applied_at, notified_at from deliveries where tenant = $1 and session = $2`
	putDelivery = `insert into deliveries (tenant, session, id, seq, state, pending, payload, digest, auth, parent, attempts, epoch, turn_id, revision, code,
		output_failed, writes, not_before, accepted_at, settled_at, applied_at, notified_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
		on conflict (tenant, session, id) do update set state = excluded.state, pending = excluded.pending, attempts = excluded.attempts, epoch = excluded.epoch,
		turn_id = excluded.turn_id, revision = excluded.revision, code = excluded.code, output_failed = excluded.output_failed, writes = excluded.writes,
		not_before = excluded.not_before, settled_at = excluded.settled_at, applied_at = excluded.applied_at, notified_at = excluded.notified_at`
	clearDeliveries = `delete from deliveries where tenant = $1 and session = $2`
	purgeDeliveries = `delete from deliveries where pending = 0 and settled_at < $1`
	selectBacklog   = `select count(*), min(accepted_at) from deliveries where pending = 1 and state = 'accepted'`
	selectPending   = `select d.tenant, d.session from deliveries d join sessions s on s.tenant = d.tenant and s.id = d.session
		where d.pending = 1 and (s.lease_owner = '' or s.lease_until <= {now} or s.lease_taken - {now} > s.lease_until - s.lease_taken) and s.erased_at = 0
		and (d.state <> 'accepted' or (d.not_before <= $1 or d.not_before > $3) and not exists (select 1 from deliveries e
			where e.tenant = d.tenant and e.session = d.session and e.pending = 1 and e.state = 'accepted' and e.seq < d.seq))
		group by d.tenant, d.session order by min(d.accepted_at), d.tenant, d.session limit $2`

	selectValues = `select key, version, body from session_context where tenant = $1 and id = $2`
	putValue     = `insert into session_context (tenant, id, key, version, body, updated_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (tenant, id, key) do update set version = excluded.version, body = excluded.body, updated_at = excluded.updated_at`
	deleteValue = `delete from session_context where tenant = $1 and id = $2 and key = $3`
	clearValues = `delete from session_context where tenant = $1 and id = $2`
)
