package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/postgrestest"
	"github.com/adkreplay/adkreplay/internal/storagetest"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

// counted is a host that counts its turns, and calls then after each.
func counted(t *testing.T, dsn string, turns *int, then func(), change ...func(*session.Config)) *session.Host {
	db := open(t, dsn, storage.Config{})
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return storagetest.SessionHost(t, db.Storage(), db.Sessions(), func(c *session.Config) {
		c.Notify = func(context.Context, session.Outcome) error { return nil }
		c.Agent.Executor = adk.Executor{Name: "counts", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			*turns++
			if then != nil {
				then()
			}
			return dc.Ack()
		}}
		for _, one := range change {
			one(c)
		}
	})
}

// settledOnce checks that a session has one delivery, which counts once.
func settledOnce(t *testing.T, dsn string, h *session.Host, of string, attempts int) {
	state, err := h.State(t.Context(), "shop", of)
	require.NoError(t, err)
	require.Len(t, state.Deliveries, 1)
	assert.EqualValues(t, 1, state.Revision)
	assert.Equal(t, session.Committed, state.Deliveries[0].State)
	assert.Equal(t, attempts, state.Deliveries[0].Attempts)
	require.Len(t, state.Keys, 1)
	assert.Equal(t, "1", string(state.Keys[0].Value))
	var records int
	require.NoError(t, plainSQL(t, dsn).QueryRow("select count(*) from records where session = $1", of).Scan(&records))
	assert.Equal(t, 1, records)
}

// SES-20, SES-42: a connection that is cut at any round trip of a delivery, before the server receives
// the request or after it, loses nothing, does nothing twice, and costs no turn.
func TestCutConnections(t *testing.T) {
	dsn := postgrestest.Database(t)
	p, through := newProxy(t, dsn)
	turns := 0
	h, other := counted(t, through, &turns, nil), counted(t, dsn, &turns, nil)
	for at := 1; at <= 3; at++ {
		for _, forwarded := range []bool{false, true} {
			of := fmt.Sprint("trip", at, forwarded)
			t.Run(of, func(t *testing.T) {
				p.cutAt(nil)
				delivered(t, h, "before "+of, "d") // so that the connection has prepared its statements
				turns = 0
				left := at
				p.cutAt(func([]pgproto3.FrontendMessage) (bool, bool) {
					left--
					return left == 0, forwarded
				})
				o, err := h.Deliver(t.Context(), number(of, "d"))
				if at == 1 { // its sender gets the error
					require.Error(t, err)
					assert.Zero(t, turns)
					o, err = other.Deliver(t.Context(), number(of, "d"))
				}
				require.NoError(t, err)
				assert.Equal(t, session.Outcome{Delivery: number(of, "d").DeliveryID(), Seq: 1, State: session.Committed, Attempt: 1, TurnID: o.TurnID, Revision: 1}, o)
				assert.LessOrEqual(t, left, 0, "the connection was cut")
				assert.Equal(t, 1, turns)
				settledOnce(t, dsn, other, of, 1)
			})
		}
	}
}

// SES-20, SES-22, SES-25: when the server goes away during a commit and does not come back in time, the
// delivery is left to other hosts: they run it if the commit was not made, and report its
// outcome if it was.
func TestServerThatStaysAway(t *testing.T) {
	thorough.Long(t)
	dsn := postgrestest.Database(t)
	p, through := newProxy(t, dsn)
	turns := 0
	h := counted(t, through, &turns, nil, func(c *session.Config) { c.Lease = time.Second }) // how long a commit waits
	other := counted(t, dsn, &turns, nil)
	for _, forwarded := range []bool{false, true} {
		of := fmt.Sprint("away", forwarded)
		p.cutAt(nil)
		delivered(t, h, "before "+of, "d") // so that the connection has prepared its statements
		left := 2
		p.cutAt(func([]pgproto3.FrontendMessage) (bool, bool) {
			left--
			return left <= 0, forwarded && left == 0
		})
		turns = 0
		_, err := h.Deliver(t.Context(), number(of, "d"))
		require.Error(t, err)
		_, err = plainSQL(t, dsn).Exec("update sessions set lease_until = 1 where id = $1", of) // as if time had passed
		require.NoError(t, err)
		_, err = other.Resume(t.Context(), 10)
		require.NoError(t, err)
		o, err := other.Deliver(t.Context(), number(of, "d"))
		require.NoError(t, err)
		want := 2
		if forwarded {
			want = 1
		}
		assert.True(t, o.Duplicate)
		assert.Equal(t, want, o.Attempt)
		assert.Equal(t, want, turns)
		settledOnce(t, dsn, other, of, want)
		var untold int
		require.NoError(t, plainSQL(t, dsn).QueryRow("select count(*) from deliveries where pending = 1").Scan(&untold))
		assert.Zero(t, untold)
	}
}

// SES-20: a backend that is terminated in the middle of a commit has committed nothing, and the
// commit is repeated.
func TestBackendLostInTheCommit(t *testing.T) {
	dsn := postgrestest.Database(t)
	turns := 0
	h := counted(t, dsn, &turns, nil)
	raw := plainSQL(t, dsn)
	for _, statement := range []string{
		"create sequence deaths", // which is not rolled back with a transaction
		`create function dies() returns trigger language plpgsql as $$ begin
			if nextval('deaths') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if;
			return new; end $$`,
		"create trigger dies before insert on records for each row execute function dies()",
	} {
		_, err := raw.Exec(statement)
		require.NoError(t, err)
	}
	assert.Equal(t, 1, delivered(t, h, "one", "d").Attempt)
	assert.Equal(t, 1, turns)
	settledOnce(t, dsn, h, "one", 1)
	var deaths int
	require.NoError(t, raw.QueryRow("select last_value from deaths").Scan(&deaths))
	assert.Equal(t, 2, deaths)
}

// SES-20: a server restart during a turn does not prevent the turn's commit: lost connections in the
// pool are not used.
func TestServerRestartedInATurn(t *testing.T) {
	dsn := postgrestest.Database(t)
	postgrestest.Own(t)
	turns := 0
	h := counted(t, dsn, &turns, func() { postgrestest.Stop(t); postgrestest.Start(t) })
	assert.Equal(t, 1, delivered(t, h, "one", "d").Attempt)
	assert.Equal(t, 1, turns)
	settledOnce(t, dsn, h, "one", 1)
}

// SES-42: a caller that leaves while its delivery starts leaves no lease behind.
func TestCallerThatLeavesAtTheStart(t *testing.T) {
	dsn := postgrestest.Database(t)
	turns := 0
	h, other := counted(t, dsn, &turns, nil), counted(t, dsn, &turns, nil)
	raw := plainSQL(t, dsn)
	tx, err := raw.Begin()
	require.NoError(t, err)
	_, err = tx.Exec("lock table deliveries in share mode") // the start waits for it
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := h.Deliver(ctx, session.Delivery{Tenant: "shop", Session: "one", ID: "d", Kind: "numbers", Payload: json.RawMessage("1")})
		done <- err
	}()
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, raw.QueryRow("select count(*) from pg_locks where not granted and relation = 'deliveries'::regclass").Scan(&waiting))
		return waiting > 0
	}, patience.Long, time.Millisecond)
	cancel()
	require.NoError(t, tx.Rollback())
	require.ErrorIs(t, <-done, context.Canceled)
	assert.Equal(t, 1, delivered(t, other, "one", "d").Attempt)
	settledOnce(t, dsn, other, "one", 1)
}
