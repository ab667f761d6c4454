package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/postgrestest"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// SES-27: the session store on Postgres passes the suite of all stores.
func TestSessionStore(t *testing.T) {
	db := open(t, postgrestest.Database(t), storage.Config{})
	assert.NoError(t, session.TestStore(db.Sessions))
	assert.NoError(t, db.Close())
}

// SES-10, SES-11, SES-12, SES-20: two hosts with separate connections settle each delivery
// once.
func TestHostsOfOneDatabase(t *testing.T) {
	dsn := postgrestest.Database(t)
	one, other := open(t, dsn, storage.Config{}), open(t, dsn, storage.Config{})
	storagetest.SettleAll(t, []*session.Host{storagetest.SessionHost(t, one.Storage(), one.Sessions()), storagetest.SessionHost(t, other.Storage(), other.Sessions())}, one.Storage())
	assert.NoError(t, one.Close())
	assert.NoError(t, other.Close())
}

// SES-13, SES-28: hosts of two releases share a database.
func TestTwoReleases(t *testing.T) {
	db := open(t, postgrestest.Database(t), storage.Config{})
	storagetest.TwoReleases(t, db.Storage(), db.Sessions())
	assert.NoError(t, db.Close())
}

// SES-12, SES-26: a turn holds no connection while it runs: a host runs twenty times as many turns at once
// as it has connections.
func TestTurnsHoldNoConnection(t *testing.T) {
	const many = 20 * 10 // twenty times the number of connections
	db := open(t, postgrestest.Database(t), storage.Config{})
	var running sync.WaitGroup
	running.Add(many)
	h := storagetest.SessionHost(t, db.Storage(), db.Sessions(), func(c *session.Config) {
		c.Agent.Executor.Run = func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			running.Done()
			running.Wait() // for all of them
			return dc.Ack()
		}
	})
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			o, err := h.Deliver(t.Context(), number(fmt.Sprint(i), "a"))
			assert.NoError(t, err)
			assert.Equal(t, 1, o.Attempt)
		})
	}
	all.Wait()
	assert.NoError(t, db.Close())
}

// SES-11: no host waits for a lease from a clock that was set back since.
func TestClockThatRanBack(t *testing.T) {
	dsn := postgrestest.Database(t)
	db, raw := open(t, dsn, storage.Config{}), plainSQL(t, dsn)
	storagetest.ClockRanBack(t, db.Storage(), db.Sessions(), func(statement string) {
		_, err := raw.Exec(statement)
		assert.NoError(t, err)
	})
	assert.NoError(t, db.Close())
}

// SES-23: a fetch after a write reads no more than the limit of its collection.
func TestFetchBehindWrites(t *testing.T) {
	db := open(t, postgrestest.Database(t), storage.Config{})
	storagetest.FetchBehindWrites(t, db, db.Sessions())
	assert.NoError(t, db.Close())
}
