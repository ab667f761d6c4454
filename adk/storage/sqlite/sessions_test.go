package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/storagetest"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

// SES-27: the session store on SQLite passes the suite of all stores.
func TestSessionStore(t *testing.T) {
	db := open(t, filepath.Join(storagetest.TempDir(t), "a.db"), storage.Config{})
	assert.NoError(t, session.TestStore(db.Sessions))
	assert.NoError(t, db.Close())
}

// SES-10, SES-11, SES-12, SES-20: two hosts that have each opened the file settle each delivery
// once.
func TestHostsOfOneFile(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	one, other := open(t, path, storage.Config{}), open(t, path, storage.Config{})
	storagetest.SettleAll(t, []*session.Host{storagetest.SessionHost(t, one.Storage(), one.Sessions()), storagetest.SessionHost(t, other.Storage(), other.Sessions())}, one.Storage())
	assert.NoError(t, one.Close())
	assert.NoError(t, other.Close())
}

// SES-20: when the database refuses a record, the delivery, the values and the revision stay as they
// were.
func TestCommitWithARefusedRecord(t *testing.T) {
	thorough.Long(t)
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	db := open(t, path, storage.Config{})
	raw := plainSQL(t, path)
	h := storagetest.SessionHost(t, db.Storage(), db.Sessions(), func(c *session.Config) { c.Lease = time.Second })
	_, err := raw.Exec("create trigger no before insert on records begin select raise(abort, 'no room'); end")
	require.NoError(t, err)
	d := session.Delivery{Tenant: "shop", Session: "one", ID: "a", Kind: "numbers", Payload: []byte(`1`)}
	_, err = h.Deliver(t.Context(), d)
	require.ErrorContains(t, err, "no room")
	state, err := h.State(t.Context(), "shop", "one")
	require.NoError(t, err)
	assert.Zero(t, state.Revision)
	assert.Empty(t, state.Keys)
	_, err = raw.Exec("drop trigger no")
	require.NoError(t, err)
	o, err := h.Deliver(t.Context(), d)
	require.NoError(t, err)
	assert.Equal(t, 2, o.Attempt)
	assert.NoError(t, db.Close())
}

// SES-13, SES-28: hosts of two releases share a database.
func TestTwoReleases(t *testing.T) {
	db := open(t, filepath.Join(storagetest.TempDir(t), "a.db"), storage.Config{})
	storagetest.TwoReleases(t, db.Storage(), db.Sessions())
	assert.NoError(t, db.Close())
}

// SES-20: when the disk is full at a turn's commit, nothing of the turn is kept. When there is room
// again, the delivery runs again, once.
func TestFullDiskAtTheCommit(t *testing.T) {
	thorough.Long(t)
	dir := storagetest.SmallDisk(t)
	db := open(t, filepath.Join(dir, "a.db"), storage.Config{})
	ballast, turns := filepath.Join(dir, "ballast"), 0
	h := storagetest.SessionHost(t, db.Storage(), db.Sessions(), func(c *session.Config) {
		c.Lease = time.Second
		c.Agent.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if turns++; turns == 1 {
				file, err := os.Create(ballast)
				require.NoError(t, err)
				for err == nil {
					_, err = file.Write(make([]byte, 4<<10))
				}
				require.NoError(t, file.Close())
			}
			return errors.Join(dc.Instructions().Store(ctx, adk.NewTokenizable(strings.Repeat("much ", 10_000))), dc.Ack())
		}
	})
	d := session.Delivery{Tenant: "shop", Session: "one", ID: "a", Kind: "numbers", Payload: []byte(`1`)}
	_, err := h.Deliver(t.Context(), d)
	require.Error(t, err)
	assert.Regexp(t, "no space left|disk is full|disk I/O", err.Error())
	require.NoError(t, os.Remove(ballast))
	state, err := h.State(t.Context(), "shop", "one")
	require.NoError(t, err)
	assert.Zero(t, state.Revision)
	assert.Empty(t, state.Keys)
	_, err = plainSQL(t, filepath.Join(dir, "a.db")).Exec("update sessions set lease_until = 1") // as if time had passed
	require.NoError(t, err)
	o, err := h.Deliver(t.Context(), d)
	require.NoError(t, err)
	assert.Equal(t, 2, o.Attempt)
	assert.EqualValues(t, 1, o.Revision)
	assert.NoError(t, db.Close())
}

// SES-20, STO-11: a commit waits for another writer of the file, and is made when that one has ended.
func TestCommitWhileOthersWrite(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	db, raw := open(t, path, storage.Config{}), plainSQL(t, path)
	commits := make(chan struct{})
	var other sync.WaitGroup
	h := storagetest.SessionHost(t, db.Storage(), announced{db.Sessions(), commits}, func(c *session.Config) {
		c.Agent.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			writer, err := raw.Conn(ctx)
			require.NoError(t, err)
			_, err = writer.ExecContext(ctx, "begin immediate")
			require.NoError(t, err)
			other.Go(func() {
				<-commits
				_, err := writer.ExecContext(context.WithoutCancel(ctx), "commit")
				assert.NoError(t, errors.Join(err, writer.Close()))
			})
			return dc.Ack()
		}
	})
	o, err := h.Deliver(t.Context(), session.Delivery{Tenant: "shop", Session: "one", ID: "a", Kind: "numbers", Payload: []byte(`1`)})
	require.NoError(t, err)
	assert.Equal(t, 1, o.Attempt)
	other.Wait()
	assert.NoError(t, db.Close())
}

// announced is a store that announces each commit.
type announced struct {
	session.Store
	commits chan struct{}
}

func (a announced) Commit(ctx context.Context, c session.Claim, change session.Commit) error {
	close(a.commits)
	return a.Store.Commit(ctx, c, change)
}

// STO-2, SES-13: when rows of a session were changed from outside, its next delivery does not run and
// stays accepted. The error says what was changed, and nothing waits for ever.
func TestChangedSessionRows(t *testing.T) {
	for _, c := range []struct {
		change string
		code   adk.Code
		says   string
	}{
		{"update session_context set body = x''", adk.E_INVALID_SESSION_STATE, `"storagetest.sum"`},
		{"update session_context set body = x'00'", adk.E_INVALID_SESSION_STATE, `"storagetest.sum"`},
		{"update session_context set version = 0", adk.E_INVALID_SESSION_STATE, `"storagetest.sum"`},
		{"update sessions set initiator = x'7b'", adk.E_INVALID_SESSION_STATE, "the initiator"},
		{"update sessions set channel_state = x'7b'", adk.E_INVALID_SESSION_STATE, "the channel's state"},
		{"update sessions set internal = x'7b'", adk.E_STORAGE_CORRUPT, "the column internal"},
		{"update sessions set internal = cast('[]' as blob)", adk.E_STORAGE_CORRUPT, "the column internal"},
		{"update deliveries set payload = x'' where id = 'b'", adk.E_INVALID_SESSION_STATE, "the payload of the delivery"},
		{"update deliveries set auth = x'7b' where id = 'b'", adk.E_INVALID_SESSION_STATE, "the auth of the delivery"},
		{"update deliveries set parent = x'7b' where id = 'b'", adk.E_STORAGE_CORRUPT, "the column parent"},
		{"update deliveries set writes = x'7b' where id = 'b'", adk.E_STORAGE_CORRUPT, "the column writes"},
		{"update deliveries set state = 'done' where id = 'b'", adk.E_STORAGE_CORRUPT, "the column state"},
		{"update deliveries set pending = 0 where id = 'b'", adk.E_STORAGE_CORRUPT, "the store does not give it to be run"},
	} {
		path := filepath.Join(storagetest.TempDir(t), "a.db")
		db := open(t, path, storage.Config{})
		h := storagetest.SessionHost(t, db.Storage(), db.Sessions())
		d := session.Delivery{Tenant: "shop", Session: "one", ID: "a", Kind: "numbers", Payload: []byte(`1`)}
		_, err := h.Deliver(t.Context(), d)
		require.NoError(t, err)
		d.ID = "b"
		_, err = db.Sessions().Accept(t.Context(), d, time.Now())
		require.NoError(t, err)
		raw := plainSQL(t, path)
		_, err = raw.Exec(c.change)
		require.NoError(t, err, c.change)
		_, err = h.Deliver(t.Context(), d)
		assert.ErrorIs(t, err, c.code, c.change)
		assert.ErrorContains(t, err, `session "one" of tenant "shop"`, c.change)
		assert.ErrorContains(t, err, c.says, c.change)
		var attempts int
		require.NoError(t, raw.QueryRow("select attempts from deliveries where id = 'b'").Scan(&attempts))
		assert.Zero(t, attempts, c.change)
		assert.NoError(t, db.Close())
	}
}

// SES-9, SES-20: when the disk is full, a delivery that was not accepted is named in the error and leaves
// nothing behind. When there is room again it counts, like all others.
func TestSessionsOnAFullDisk(t *testing.T) {
	thorough.Long(t)
	dir := storagetest.SmallDisk(t)
	storagetest.FillDiskBySessions(t, dir, func() (storagetest.Opened, adk.Storage, session.Store) {
		db := open(t, filepath.Join(dir, "a.db"), storage.Config{})
		return db, db.Storage(), db.Sessions()
	})
}

// SES-11, SES-12: a thousand concurrent deliveries to a thousand sessions wait for one another at the
// file, and none fails.
func TestManyDeliveriesAtOnce(t *testing.T) {
	thorough.Long(t)
	many := thorough.Of(1000, 1000, 100)
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	db := open(t, path, storage.Config{})
	h := storagetest.SessionHost(t, db.Storage(), db.Sessions())
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			o, err := h.Deliver(t.Context(), session.Delivery{Tenant: "shop", Session: fmt.Sprint(i), ID: "a", Kind: "numbers", Payload: []byte(`1`)})
			assert.NoError(t, err)
			assert.Equal(t, session.Committed, o.State)
		})
	}
	all.Wait()
	var sessions, records int
	require.NoError(t, plainSQL(t, path).QueryRow("select (select count(*) from sessions where revision = 1), (select count(*) from records)").Scan(&sessions, &records))
	assert.Equal(t, []int{many, many}, []int{sessions, records})
	assert.NoError(t, db.Close())
}

// SES-11: no host waits for a lease from a clock that was set back since.
func TestClockThatRanBack(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	db, raw := open(t, path, storage.Config{}), plainSQL(t, path)
	storagetest.ClockRanBack(t, db.Storage(), db.Sessions(), func(statement string) {
		_, err := raw.Exec(statement)
		require.NoError(t, err)
	})
	assert.NoError(t, db.Close())
}

// SES-23: a fetch after a write reads no more than the limit of its collection.
func TestFetchBehindWrites(t *testing.T) {
	db := open(t, filepath.Join(storagetest.TempDir(t), "a.db"), storage.Config{})
	storagetest.FetchBehindWrites(t, db, db.Sessions())
	assert.NoError(t, db.Close())
}
