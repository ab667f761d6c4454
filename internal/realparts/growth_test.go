package realparts_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/database"
	"github.com/adkreplay/adkreplay/adk/storage/postgres"
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/postgrestest"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// sessionsVariable sets the number of sessions.
const sessionsVariable = "ADKREPLAY_SESSIONS"

// grown are statements that insert this many sessions, as plain rows. Of each session three deliveries are
// settled, with one value and six messages. Every thousandth session has a delivery
// that waits.
var grown = []string{
	`insert into sessions select 'grown', 's' || n, 1, 3, 3, '', 0, 4, 0, '"ada"', 'numbers', 'null', null, 1, 1, 0 from generate_series(1, %d) n`,
	`insert into deliveries select 'grown', 's' || n, 'd' || i, i, 'committed', 0, '1', '` + digestOfOne + `', null, null, 1, i, 'turn' || n || '-' || i, i, '', 0, null, 0, 1, 1, 0, 1 from generate_series(1, %d) n, generate_series(1, 3) i`,
	`insert into session_context select 'grown', 's' || n, 'storagetest.sum', 1, '6', 1 from generate_series(1, %d) n`,
	`insert into positions select 'grown', 's' || n, 'messages', 6 from generate_series(1, %d) n`,
	`insert into records select 'grown', 's' || n, 'messages', sha256(convert_to(n || '-' || i, 'UTF8')), i, convert_to(repeat('{"content":"what was said"}', 10), 'UTF8'), sha256(''), 'turn', 'dispatch', 1 from generate_series(1, %d) n, generate_series(1, 6) i`,
	`update sessions set next_seq = 5, unsettled = 1 where id in (select 's' || 1000 * n from generate_series(1, least(%d / 1000, 20)) n)`,
	`insert into deliveries select 'grown', 's' || 1000 * n, 'waits', 4, 'accepted', 1, '1', '` + digestOfOne + `', null, null, 0, 0, '', 0, '', 0, null, 0, 1, 0, 0, 0 from generate_series(1, least(%d / 1000, 20)) n`,
}

// digestOfOne is the SHA-256 of the payload 1.
const digestOfOne = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"

// SES-42, STO-15: the cost of a session does not depend on the number of sessions. No statement for a delivery,
// or for finding work, scans a table, and a delivery touches few
// blocks.
func TestSessionsGrow(t *testing.T) {
	n := 20_000
	if text := os.Getenv(sessionsVariable); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	dsn := postgrestest.Database(t)
	db, err := postgres.Open(t.Context(), dsn, database.Config{})
	require.NoError(t, err)
	raw, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	raw.SetMaxIdleConns(0) // a connection is counted when it ends; before that, some seconds late
	quiet(t, raw)
	for _, statement := range grown {
		_, err := raw.Exec(fmt.Sprintf(statement, n))
		require.NoError(t, err, statement)
	}
	_, err = raw.Exec("analyze")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	of := func(i int) int { return 1 + 1000*(i%(n/1000)) + i/(n/1000) } // sessions without a waiting delivery
	for _, one := range []struct {
		what string
		call func(db *database.DB, h *session.Host, i int) error
	}{
		{"a delivery to a session", func(_ *database.DB, h *session.Host, i int) error { return settle(t, h, fmt.Sprint("s", of(i))) }},
		{"a delivery that begins one", func(_ *database.DB, h *session.Host, i int) error { return settle(t, h, fmt.Sprint("new", i)) }},
		{"finding what waits", func(db *database.DB, _ *session.Host, _ int) error {
			found, err := db.Sessions().Pending(t.Context(), time.Now(), 100)
			assert.Len(t, found, 20)
			return err
		}},
		{"counting what waits", func(_ *database.DB, h *session.Host, _ int) error {
			waiting, _, err := h.Backlog(t.Context())
			assert.Equal(t, 20, waiting)
			return err
		}},
	} {
		blocks, took := measured(t, dsn, raw, one.call)
		t.Logf("%s: %d blocks, %s", one.what, blocks, took)
		assert.Less(t, blocks, 200, one.what)
	}
	var bytes int
	require.NoError(t, raw.QueryRow("select sum(pg_total_relation_size(c.oid)) from pg_class c join pg_namespace s on s.oid = c.relnamespace where s.nspname = 'public' and c.relkind = 'r'").Scan(&bytes))
	t.Logf("%d sessions: %d bytes of tables and indexes each", n, bytes/n)
	assert.NoError(t, raw.Close())
}

// settle delivers a number to a session.
func settle(t *testing.T, h *session.Host, of string) error {
	o, err := h.Deliver(t.Context(), session.Delivery{Tenant: "grown", Session: of, ID: "new", Kind: "numbers", Payload: json.RawMessage("1")})
	assert.Equal(t, session.Committed, o.State)
	return err
}

// measured makes many calls, and reports how many blocks each touches and how long it takes. No call may
// scan a table.
func measured(t *testing.T, dsn string, raw *sql.DB, call func(db *database.DB, h *session.Host, i int) error) (blocks int, took string) {
	const many = 200
	before := workOf(t, raw)
	db, err := postgres.Open(t.Context(), dsn, database.Config{})
	require.NoError(t, err)
	h := storagetest.SessionHost(t, db.Storage(), db.Sessions(), func(c *session.Config) {
		c.Notify = func(context.Context, session.Outcome) error { return nil }
	})
	var all []time.Duration
	for i := range many {
		began := time.Now()
		require.NoError(t, call(db, h, i))
		all = append(all, time.Since(began))
	}
	require.NoError(t, db.Close()) // the work of a connection is counted when it ends
	after := workOf(t, raw)
	assert.Equal(t, before.scans, after.scans, "scans of whole tables")
	slices.Sort(all)
	return (after.blocks - before.blocks) / many, fmt.Sprintf("%s in the middle, one in a hundred %s", all[many/2].Round(10*time.Microsecond), all[many*99/100].Round(10*time.Microsecond))
}

// STO-8: reading the last 50 messages of 100,000 touches as many blocks as reading the last of 1,000.
func TestTheLastOfManyMessages(t *testing.T) {
	dsn := postgrestest.Database(t)
	raw, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	raw.SetMaxIdleConns(0) // a connection is counted when it ends; before that, some seconds late
	const last, fetches = 50, 20
	blocks := func(of string, earlier int) int {
		config := database.Config{Config: storage.Config{Limit: map[adk.CollectionName]int{adk.Messages: last}}}
		db, err := postgres.Open(t.Context(), dsn, config)
		require.NoError(t, err)
		quiet(t, raw)
		for _, statement := range []string{ // rows that nobody reads and that are no messages
			"insert into records select 'shop', $1, 'messages', sha256(convert_to(n::text, 'UTF8')), n, 'earlier', '', '', '', 1 from generate_series(1, $2::bigint) n",
			"insert into positions values ('shop', $1, 'messages', $2)",
		} {
			_, err := raw.Exec(statement, of, earlier)
			require.NoError(t, err)
		}
		scope := storagetest.ScopeOf("shop", of)
		for n := range last {
			m, err := adk.NewMessage(adk.MessageInit{ID: fmt.Sprint("last", n), Role: adk.RoleUser, Content: "Hello.", CreatedAt: time.UnixMilli(1), UpdatedAt: time.UnixMilli(1)})
			require.NoError(t, err)
			require.NoError(t, db.Storage().Messages.Store(t.Context(), scope, m))
		}
		_, err = raw.Exec("analyze")
		require.NoError(t, err)
		require.NoError(t, db.Close())
		before := workOf(t, raw)
		db, err = postgres.Open(t.Context(), dsn, config)
		require.NoError(t, err)
		for range fetches {
			fetched, err := db.Storage().Messages.Fetch(t.Context(), scope)
			require.NoError(t, err)
			require.Len(t, fetched, last)
		}
		require.NoError(t, db.Close())
		return (workOf(t, raw).blocks - before.blocks) / fetches
	}
	few, many := blocks("short", 1_000), blocks("long", 100_000)
	t.Logf("blocks that a fetch of %d touches: %d of 1,000, %d of 100,000", last, few, many)
	assert.LessOrEqual(t, many, 4*few, "an index is deeper where there are more, and no more than that")
	assert.NoError(t, raw.Close())
}

// counted are the tables whose blocks are counted.
var counted = []string{"sessions", "deliveries", "session_context", "positions", "records"}

// quiet stops the server from vacuuming the tables on its own, because it also counts the blocks that
// it touches then.
func quiet(t *testing.T, raw *sql.DB) {
	for _, table := range counted {
		_, err := raw.Exec("alter table " + table + " set (autovacuum_enabled = false)")
		require.NoError(t, err)
	}
}

// work is what the server has done.
type work struct{ scans, blocks int }

func workOf(t *testing.T, raw *sql.DB) (w work) {
	require.Eventually(t, func() bool { // connections end at their own time
		var open int
		require.NoError(t, raw.QueryRow("select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'").Scan(&open))
		return open == 0
	}, patience.Long, 10*time.Millisecond)
	tables := "relname in ('" + strings.Join(counted, "', '") + "')"
	require.NoError(t, errors.Join(
		raw.QueryRow("select sum(seq_scan) from pg_stat_user_tables where "+tables).Scan(&w.scans),
		raw.QueryRow("select sum(coalesce(heap_blks_read, 0) + coalesce(heap_blks_hit, 0) + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0)) from pg_statio_user_tables where "+tables).Scan(&w.blocks)))
	return w
}
