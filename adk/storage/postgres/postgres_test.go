package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/database"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/adk/storage/postgres"
	"github.com/adkreplay/adkreplay/fakes"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/postgrestest"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// childVariable tells a child process of this test which database to open, and the child's name.
const childVariable = "ADKREPLAY_POSTGRES_CHILD"

func TestMain(m *testing.M) {
	if dsn, name, ok := strings.Cut(os.Getenv(childVariable), "|"); ok {
		if err := child(dsn, name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(postgrestest.Main(m))
}

func open(t require.TestingT, dsn string, config storage.Config) *database.DB {
	db, err := postgres.Open(context.Background(), dsn, database.Config{Config: config})
	require.NoError(t, err)
	return db
}

// STO-1, STO-13: Postgres passes the suite of all storages, also reopened and after faults.
func TestSuite(t *testing.T) {
	dsn, config := postgrestest.Database(t), storage.Config{Strict: new(false)}
	require.NoError(t, open(t, dsn, config).Close())
	raw := plainSQL(t, dsn)
	all := &storagetest.Lasting{Config: config, Fresh: func(storagetest.Opened) (func() (storagetest.Opened, error), bool) {
		_, err := raw.Exec("delete from records; delete from positions")
		require.NoError(t, err)
		return func() (storagetest.Opened, error) {
			return postgres.Open(t.Context(), dsn, database.Config{Config: config})
		}, true
	}}
	newStorage, suite := all.Suite(t)
	assert.NoError(t, fakes.TestStorageWith(newStorage, suite))
	assert.NoError(t, all.Close())
}

func plainSQL(t *testing.T, dsn string) *sql.DB {
	raw, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, raw.Close()) })
	return raw
}

// STO-1: Postgres gives the same answers as the storage in memory.
func TestAgainstMemory(t *testing.T) {
	for name, config := range map[string]storage.Config{"usual": {Strict: new(false)}, "sharing": storagetest.Sharing()} {
		t.Run(name, func(t *testing.T) {
			db := open(t, postgrestest.Database(t), config)
			model, err := memory.New(config)
			require.NoError(t, err)
			rapid.Check(t, func(t *rapid.T) { storagetest.Differ(t, model.Storage(), db.Storage()) })
			assert.NoError(t, db.Close())
		})
	}
}

// SPL-11, STO-15: the spool of a database passes the suite of all spools.
func TestSpool(t *testing.T) {
	dsn := postgrestest.Database(t)
	db, raw := open(t, dsn, storage.Config{}), plainSQL(t, dsn)
	assert.NoError(t, fakes.TestSpool(func() artifact.Spool {
		_, err := raw.Exec("delete from spool_entries; delete from spool_chunks")
		require.NoError(t, err)
		return db.Spool()
	}))
	assert.NoError(t, db.Close())
}

// STO-2, STO-15: with plain SQL one can read the record's own JSON, the hash of its key and
// its digest.
func TestRows(t *testing.T) {
	dsn := postgrestest.Database(t)
	db := open(t, dsn, storage.Config{})
	record := samples.Records[adk.Messages][0].(*adk.Message)
	require.NoError(t, db.Storage().Messages.Store(t.Context(), storagetest.ScopeOf("shop", "one"), record))
	var tenant, session, collection, turn, dispatch string
	var key, body, digest []byte
	var position, written int64
	require.NoError(t, plainSQL(t, dsn).QueryRow("select * from records").Scan(&tenant, &session, &collection, &key, &position, &body, &digest, &turn, &dispatch, &written))
	assert.Equal(t, []string{"shop", "one", "messages", "turn", "dispatch"}, []string{tenant, session, collection, turn, dispatch})
	want, err := record.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, string(want), string(body))
	hash, sum := storage.HashOf(record.Key()), record.Digest()
	assert.Equal(t, hash[:], key)
	assert.Equal(t, sum[:], digest)
	assert.EqualValues(t, 1, position)
	assert.Positive(t, written)
	assert.NoError(t, db.Close())
}

// STO-2: a row that was changed from outside is detected, whatever was changed.
func TestChangedRows(t *testing.T) {
	dsn := postgrestest.Database(t)
	db, raw := open(t, dsn, storage.Config{}), plainSQL(t, dsn)
	for i, change := range []string{
		"set body = substring(body from 1 for 30)", "set body = ''", `set digest = '\x00'`, "set key_hash = ''", `set key_hash = decode(repeat('00', 32), 'hex')`,
		"set body = convert_to(replace(convert_from(body, 'UTF8'), 'one', 'two'), 'UTF8')",
	} {
		scope := storagetest.ScopeOf("shop", fmt.Sprint(i))
		require.NoError(t, db.Storage().Messages.Store(t.Context(), scope, samples.Records[adk.Messages][0].(*adk.Message)))
		_, err := raw.Exec("update records "+change+" where session = $1", fmt.Sprint(i))
		require.NoError(t, err, change)
		_, err = db.Storage().Messages.Fetch(t.Context(), scope)
		assert.ErrorIs(t, err, adk.E_STORAGE_CORRUPT, change)
	}
	assert.NoError(t, db.Close())
}

// STO-16: tables that a later release has marked as unusable for this one are refused. So are missing
// tables with NoMigrate.
func TestVersions(t *testing.T) {
	dsn := postgrestest.Database(t)
	_, err := postgres.Open(t.Context(), dsn, database.Config{NoMigrate: true})
	assert.ErrorIs(t, err, adk.E_STORAGE_SCHEMA)
	require.NoError(t, open(t, dsn, storage.Config{}).Close())
	db, err := postgres.Open(t.Context(), dsn, database.Config{NoMigrate: true})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	raw := plainSQL(t, dsn)
	_, err = raw.Exec("insert into goose_db_version (version_id, is_applied) values (99, true)")
	require.NoError(t, err)
	require.NoError(t, open(t, dsn, storage.Config{}).Close())
	_, err = raw.Exec("update schema_compat set min_version = 99")
	require.NoError(t, err)
	_, err = postgres.Open(t.Context(), dsn, database.Config{})
	assert.ErrorIs(t, err, adk.E_STORAGE_SCHEMA)
}

// STO-14: transactions that touch the same collections in different orders do not deadlock, and none
// has to be repeated.
func TestTransactionsInEveryOrder(t *testing.T) {
	dsn := postgrestest.Database(t)
	db := open(t, dsn, storage.Config{})
	storagetest.InEveryOrder(t, db)
	assert.NoError(t, db.Close())
	var deadlocks int
	require.NoError(t, plainSQL(t, dsn).QueryRow("select deadlocks from pg_stat_database where datname = current_database()").Scan(&deadlocks))
	assert.Zero(t, deadlocks)
}

// child opens a database, concurrently with other processes, and stores records under its own keys
// and under one key that all share.
func child(dsn, name string) error {
	db, err := postgres.Open(context.Background(), dsn, database.Config{})
	if err != nil {
		return err
	}
	return errors.Join(storagetest.KeepBesideOthers(db.Storage(), name), db.Close())
}

// STO-11, STO-16: processes that open a new database at the same moment make its tables once, and none
// of them loses a record.
func TestProcesses(t *testing.T) {
	dsn := postgrestest.Database(t)
	storagetest.Processes(t, func(name string) string { return childVariable + "=" + dsn + "|" + name })
	db := open(t, dsn, storage.Config{})
	storagetest.HoldsOfAll(t, db.Storage())
	assert.NoError(t, db.Close())
}

// STO-6: when the context ends while a write waits for another write, the write ends with the context's
// cause and has changed nothing.
func TestCancelledWhileWaiting(t *testing.T) {
	dsn, scope := postgrestest.Database(t), storagetest.ScopeOf("shop", "one")
	db := open(t, dsn, storage.Config{})
	require.NoError(t, db.Storage().Instructions.Store(t.Context(), scope, adk.NewTokenizable("a")))
	locked, err := plainSQL(t, dsn).BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = locked.Exec("select * from positions for update")
	require.NoError(t, err)
	over := errors.New("the shop closes")
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { err = db.Storage().Instructions.Store(ctx, scope, adk.NewTokenizable("b")) })
	waiting := plainSQL(t, dsn)
	require.Eventually(t, func() bool {
		var n int
		require.NoError(t, waiting.QueryRow("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()").Scan(&n))
		return n > 0
	}, patience.Long, time.Millisecond)
	cancel(over)
	wg.Wait()
	assert.ErrorIs(t, err, over)
	require.NoError(t, locked.Rollback())
	fetched, err := db.Storage().Instructions.Fetch(t.Context(), scope)
	require.NoError(t, err)
	assert.Len(t, fetched, 1)
	assert.NoError(t, db.Close())
}

// STO-6: a server that goes away in the middle of writes has kept everything that it confirmed, and an
// open storage goes on when the server is back.
func TestServerGoesAway(t *testing.T) {
	dsn, scope := postgrestest.Database(t), storagetest.ScopeOf("shop", "one")
	postgrestest.Own(t)
	db := open(t, dsn, storage.Config{})
	const writers, before = 8, 100
	var wg sync.WaitGroup
	var all atomic.Int64
	enough := make(chan struct{})
	kept := make([]int, writers)
	for w := range writers {
		wg.Go(func() {
			for {
				if db.Storage().Instructions.Store(t.Context(), scope, adk.NewTokenizable(fmt.Sprintf("%d-%d", w, kept[w]))) != nil {
					return
				}
				kept[w]++
				if all.Add(1) == before {
					close(enough)
				}
			}
		})
	}
	<-enough
	postgrestest.Stop(t)
	wg.Wait()
	_, err := db.Storage().Instructions.Fetch(t.Context(), scope)
	require.Error(t, err)
	postgrestest.Start(t)
	fetched, err := db.Storage().Instructions.Fetch(t.Context(), scope)
	require.NoError(t, err)
	found := make([]int, writers)
	for _, one := range fetched {
		var w, n int
		_, err := fmt.Sscanf(one.String(), "%d-%d", &w, &n)
		require.NoError(t, err)
		assert.Equal(t, found[w], n, "in the order in which they were written")
		found[w]++
	}
	for w := range writers {
		assert.Contains(t, []int{kept[w], kept[w] + 1}, found[w], "the one that the server went away in may be there")
	}
	require.NoError(t, db.Storage().Instructions.Store(t.Context(), scope, adk.NewTokenizable("again")))
	assert.NoError(t, db.Close())
}

// A server that cannot be reached, or an invalid DSN, gives an error without the password.
func TestNoServer(t *testing.T) {
	for _, dsn := range []string{"host=/nowhere user=agent password=secret", "postgres://agent:secret@[::1", "port=secret"} {
		_, err := postgres.Open(t.Context(), dsn, database.Config{})
		assert.Error(t, err)
		if dsn != "port=secret" {
			assert.NotContains(t, err.Error(), "secret")
		}
	}
}

// Open says what is wrong before a turn needs its storage.
func ExampleOpen() {
	_, err := postgres.Open(context.Background(), "host=/nowhere user=agent", database.Config{})
	fmt.Println("no server:", strings.Contains(err.Error(), "/nowhere"))
	// Output: no server: true
}
