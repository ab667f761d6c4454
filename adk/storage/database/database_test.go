package database_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/database"
	"github.com/adkreplay/adkreplay/adk/storage/sqlite"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/storages"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

func open(t *testing.T, path string, config database.Config) *database.DB {
	db, err := sqlite.Open(t.Context(), path, config)
	require.NoError(t, err)
	return db
}

// change runs SQL statements on a database file.
func change(t *testing.T, path string, statements ...string) {
	raw, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	for _, one := range statements {
		_, err := raw.Exec(one)
		require.NoError(t, err, one)
	}
	require.NoError(t, raw.Close())
}

func tables(t *testing.T, path string) (names []string) {
	raw, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	rows, err := raw.Query("select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name")
	require.NoError(t, err)
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, raw.Close())
	return names
}

// released are the hashes of the migrations that were released.
var released = map[string]string{
	"migrations/postgres/00001_records.sql":     "e0d3fbc57b4a1db18a562bcda4f3816fa42ad55b9777e175f070438aa7cdb965",
	"migrations/postgres/00002_spool.sql":       "ad62c7f4541505bc2f46912c015cc3a5f92cf85bfa589c9d459a62f4ad354d46",
	"migrations/postgres/00003_sessions.sql":    "7d120e62b77c386c71501c81f5558c4cf09b9866dec779dd294c69f794dc3616",
	"migrations/postgres/00004_lease_taken.sql": "bd559a170c6ee479c31290fac283e0d4b43bb4a08b06a7669d22ebf2630282c8",
	"migrations/sqlite/00001_records.sql":       "809a104a030fc99731e43f37d8aaba9162559d13813c65d2263b0d180765d005",
	"migrations/sqlite/00002_spool.sql":         "4e7012f00d13389b3e8d246aed7a9273df24b4061a2060c5a51fc3bab327ab65",
	"migrations/sqlite/00003_sessions.sql":      "4d6da29ba7c56d9d9aee6b8613f309cb355de9802fb2fac010b07e501e37cf6c",
	"migrations/sqlite/00004_lease_taken.sql":   "95ce48573b9ad6bddf994925bb8a02f5862b1fdb48ddb92d94cc4042ffb3d01f",
}

// STO-16: a released migration never changes: otherwise a database that has run it would have other
// tables than one that runs it now.
func TestReleasedMigrations(t *testing.T) {
	files, err := filepath.Glob("migrations/*/*.sql")
	require.NoError(t, err)
	assert.Len(t, files, len(released))
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, released[filepath.ToSlash(file)], fmt.Sprintf("%x", sha256.Sum256(text)), file)
	}
}

// keepVariable names the environment variable that makes the test rebuild this version's database.
const keepVariable = "ADKREPLAY_KEEP_SCHEMA"

// STO-17: a database of every released version is read as it was written, and can be written.
func TestReleasedDatabases(t *testing.T) {
	const kept, latest = "testdata/sqlite-*.db", "testdata/sqlite-4.db"
	scope := storagetest.ScopeOf("shop", "one")
	if os.Getenv(keepVariable) != "" {
		require.NoError(t, os.RemoveAll(latest))
		db := open(t, latest, database.Config{})
		for of, records := range samples.Records {
			for _, record := range records {
				require.NoError(t, storages.Each(db.Storage())[of].Write(t.Context(), scope, of, adk.KindStore, record, ""))
			}
		}
		_, err := db.Spool().Write(t.Context(), "kept", strings.NewReader("a body"))
		require.NoError(t, err)
		_, err = storagetest.SessionHost(t, db.Storage(), db.Sessions()).Deliver(t.Context(), inSession("kept"))
		require.NoError(t, err)
		require.NoError(t, db.Close())
		require.NoError(t, os.Remove(latest+".lock"))
	}
	databases, err := filepath.Glob(kept)
	require.NoError(t, err)
	require.Contains(t, databases, filepath.FromSlash(latest), "%s=1 go test makes it", keepVariable)
	for _, file := range databases {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		path := filepath.Join(storagetest.TempDir(t), "a.db")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		db := open(t, path, database.Config{})
		for of, records := range samples.Records {
			want := records // or the last of two records that share a key, in the place of the first
			if records[2].Key() == records[0].Key() {
				want = []adk.Record{records[2], records[1]}
			}
			o := storages.Each(db.Storage())[of]
			fetched, err := o.Fetch(t.Context(), scope, of)
			require.NoError(t, err, file)
			if later := of.Mark() != (adk.Digest{}); later && len(fetched) == 0 {
				want = nil // this release did not have the collection
			}
			assert.Equal(t, storagetest.Digests(want), storagetest.Digests(fetched), "%s in %s", of, file)
			require.NoError(t, o.Write(t.Context(), scope, of, adk.KindStore, records[0], ""))
			require.NoError(t, o.Write(t.Context(), scope, of, adk.KindDelete, nil, records[1].Key()))
		}
		host := storagetest.SessionHost(t, db.Storage(), db.Sessions())
		o, err := host.Deliver(t.Context(), inSession("kept"))
		require.NoError(t, err)
		assert.Equal(t, filepath.Base(file) >= "sqlite-3.db", o.Duplicate, file)
		o, err = host.Deliver(t.Context(), inSession("now"))
		require.NoError(t, err)
		assert.EqualValues(t, 2, o.Revision, file)
		assert.NoError(t, db.Close())
	}
}

// inSession is a delivery to a host of storagetest.
func inSession(id string) session.Delivery {
	return session.Delivery{Tenant: "shop", Session: "kept", ID: id, Kind: "numbers", Payload: json.RawMessage(`1`)}
}

// STO-16: tables of another program are recognized, and no tables are added to them.
func TestTablesOfAnotherProgram(t *testing.T) {
	for table, statements := range map[string][]string{
		"sessions":         {"create table sessions (cookie text)"},
		"records":          {"create table records (artist text)"},
		"goose_db_version": {"create table goose_db_version (version_id integer, is_applied integer)", "insert into goose_db_version values (20240101, 1)"},
	} {
		path := filepath.Join(storagetest.TempDir(t), "a.db")
		change(t, path, statements...)
		_, err := sqlite.Open(t.Context(), path, database.Config{})
		require.ErrorIs(t, err, adk.E_STORAGE_SCHEMA, table)
		assert.ErrorContains(t, err, "the table "+table+" is there, and is another program's")
		assert.Equal(t, []string{table}, tables(t, path))
	}
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	change(t, path, "create table customers (name text)") // a name that is none of ours
	require.NoError(t, open(t, path, database.Config{}).Close())
}

// STO-16: tables are refused, and not changed, if a later release has marked them as unusable for this
// one. Tables of a later release without that mark are used.
func TestTablesOfALaterRelease(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	require.NoError(t, open(t, path, database.Config{}).Close())
	change(t, path, "insert into goose_db_version (version_id, is_applied) values (99, 1)", "alter table records add column later text")
	for range 2 { // the earlier release and the later one take turns
		db := open(t, path, database.Config{})
		require.NoError(t, db.Storage().Instructions.Store(t.Context(), storagetest.ScopeOf("shop", "one"), adk.NewTokenizable("Be brief.")))
		require.NoError(t, db.Close())
	}

	change(t, path, "update schema_compat set min_version = 99")
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, never := range []bool{false, true} {
		_, err = sqlite.Open(t.Context(), path, database.Config{NoMigrate: never})
		assert.ErrorIs(t, err, adk.E_STORAGE_SCHEMA)
		assert.ErrorContains(t, err, "need a release that knows version 99, this one knows 4")
	}
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, sha256.Sum256(before), sha256.Sum256(after))
}

// STO-16: with NoMigrate no tables are made, and tables that exist are used.
func TestNoMigrate(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	_, err := sqlite.Open(t.Context(), path, database.Config{NoMigrate: true})
	assert.ErrorIs(t, err, adk.E_STORAGE_SCHEMA)
	assert.ErrorContains(t, err, "the tables are of version 0, this release needs 4")
	assert.Empty(t, tables(t, path))
	require.NoError(t, open(t, path, database.Config{}).Close())
	assert.Equal(t, []string{"deliveries", "goose_db_version", "positions", "records", "schema_compat", "session_context", "sessions", "spool_chunks", "spool_entries"}, tables(t, path))
	require.NoError(t, open(t, path, database.Config{NoMigrate: true}).Close())
}

// STO-16: a migration that fails leaves nothing behind, and one that was interrupted is
// repeated.
func TestAMigrationThatFails(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	change(t, path, "create view records as select 1")
	_, err := sqlite.Open(t.Context(), path, database.Config{})
	assert.ErrorContains(t, err, "migrating")
	assert.NotContains(t, tables(t, path), "positions")
	change(t, path, "drop view records")
	require.NoError(t, open(t, path, database.Config{}).Close())
}

var shop = storage.Partition{Tenant: "shop", Session: "one"}

// STO-18: a transaction makes all its changes or none, including the SQL of its functions.
func TestTx(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	db := open(t, path, database.Config{})
	scope, refused := storagetest.ScopeOf("shop", "one"), errors.New("not this one")
	held := func() (texts []string) {
		fetched, err := db.Storage().Instructions.Fetch(t.Context(), scope)
		require.NoError(t, err)
		for _, one := range fetched {
			texts = append(texts, one.String())
		}
		return texts
	}
	change(t, path, "create table mine (n integer)")
	mine := func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "insert into mine values (1)")
		return err
	}
	all := func(last func(*database.Writes) error) func(*database.Writes) error {
		return func(w *database.Writes) error {
			w.Do(mine)
			return errors.Join(
				w.Store(shop, adk.Instructions, adk.NewTokenizable("a")), w.Store(shop, adk.Messages, samples.Records[adk.Messages][0]),
				w.Store(shop, adk.Instructions, adk.NewTokenizable("b")), w.Delete(shop, adk.Instructions, "a"),
				w.Store(shop, adk.Instructions, adk.NewTokenizable("c")), w.Store(shop, adk.Instructions, adk.NewTokenizable("a")), last(w))
		}
	}
	for name, last := range map[string]func(*database.Writes) error{
		"refused": func(*database.Writes) error { return refused },
		"fails": func(w *database.Writes) error {
			w.Do(func(context.Context, *sql.Tx) error { return refused })
			return nil
		},
		"no partition": func(w *database.Writes) error {
			return w.Store(storage.Partition{}, adk.Messages, samples.Records[adk.Messages][0])
		},
		"no record": func(w *database.Writes) error { return w.Store(shop, adk.Memories, samples.Records[adk.Messages][0]) },
	} {
		assert.Error(t, db.Tx(t.Context(), all(last)), name)
		assert.Empty(t, held(), name)
	}
	for _, when := range []string{"before", "in the middle"} {
		ended, end := context.WithCancelCause(t.Context())
		if when == "before" {
			end(refused)
		}
		assert.ErrorIs(t, db.Tx(ended, all(func(w *database.Writes) error {
			w.Do(func(context.Context, *sql.Tx) error { end(refused); return nil })
			return nil
		})), refused, when)
		assert.Empty(t, held(), when)
	}

	require.NoError(t, db.Tx(t.Context(), all(func(*database.Writes) error { return nil })))
	assert.Equal(t, []string{"b", "c", "a"}, held())
	raw, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	var n int
	require.NoError(t, raw.QueryRow("select count(*) from mine").Scan(&n))
	assert.Equal(t, 1, n, "what was done by hand is gone with what failed")
	assert.NoError(t, errors.Join(raw.Close(), db.Close()))
}

// STO-18: a caller's function that does not return leaves no open transaction, which would block all
// other writers, and no file.
func TestTxOfWhatDoesNotReturn(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary) // for Windows
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	db := open(t, path, database.Config{})
	change(t, path, "create table mine (n integer)")
	for name, leave := range map[string]func(){"panic": func() { panic("gone") }, "Goexit": runtime.Goexit} {
		for what, gather := range map[string]func(*database.Writes) error{
			"by hand": func(w *database.Writes) error {
				_, err := w.Body(t.Context(), "k", strings.NewReader("whole"))
				w.Do(func(ctx context.Context, tx *sql.Tx) error {
					_, err := tx.ExecContext(ctx, "insert into mine values (1)")
					assert.NoError(t, err)
					leave()
					return nil
				})
				return err
			},
			"a body": func(w *database.Writes) error {
				_, err := w.Body(t.Context(), "k", io.MultiReader(strings.NewReader("half"), leaving(leave)))
				return err
			},
		} {
			var wg sync.WaitGroup
			wg.Go(func() {
				defer func() { _ = recover() }()
				assert.NoError(t, db.Tx(t.Context(), gather))
				t.Errorf("%s, %s: it returned", name, what)
			})
			wg.Wait()
			change(t, path, "insert into mine values (2)") // does not have to wait for a lock
			left, err := filepath.Glob(filepath.Join(temporary, "adkreplay-body-*"))
			require.NoError(t, err)
			assert.Empty(t, left, "%s, %s", name, what)
		}
	}
	require.NoError(t, db.Tx(t.Context(), func(w *database.Writes) error {
		w.Do(func(ctx context.Context, tx *sql.Tx) error {
			var ones int
			assert.NoError(t, tx.QueryRowContext(ctx, "select count(*) from mine where n = 1").Scan(&ones))
			assert.Zero(t, ones)
			return nil
		})
		return nil
	}))
	assert.NoError(t, db.Close())
}

// leaving is a reader that does not return.
type leaving func()

func (l leaving) Read([]byte) (int, error) {
	l()
	return 0, io.EOF
}

// STO-14: transactions that touch the same
// collections in different orders do not deadlock.
func TestTransactionsInEveryOrder(t *testing.T) {
	db := open(t, filepath.Join(storagetest.TempDir(t), "a.db"), database.Config{})
	storagetest.InEveryOrder(t, db)
	assert.NoError(t, db.Close())
}

// STO-8: the last records of a session are found by an index, however many there are.
func TestLastRecordsAreFoundByAnIndex(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	require.NoError(t, open(t, path, database.Config{}).Close())
	raw, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	for name, statement := range map[string]string{"all": database.SelectRecords, "last": database.SelectLast} {
		rows, err := raw.Query("explain query plan "+strings.ReplaceAll(statement, "$", "?"), "shop", "one", "messages", 50)
		require.NoError(t, err, name)
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
			plan = append(plan, detail)
		}
		require.NoError(t, rows.Err())
		assert.Equal(t, []string{"SEARCH records USING INDEX sqlite_autoindex_records_2 (tenant=? AND session=? AND collection=?)"}, plan, name)
	}
	assert.NoError(t, raw.Close())
}

// SPL-11, STO-15: the spool of a database passes the suite of all spools.
func TestSpool(t *testing.T) {
	dir, n := storagetest.TempDir(t), 0
	err := fakes.TestSpool(func() artifact.Spool {
		n++
		db := open(t, filepath.Join(dir, fmt.Sprint(n)), database.Config{})
		t.Cleanup(func() { assert.NoError(t, db.Close()) })
		return db.Spool()
	})
	assert.NoError(t, err)
}

// SPL-7: a body longer than is allowed is refused, and what was there stays.
func TestSpoolIsBounded(t *testing.T) {
	db := open(t, filepath.Join(storagetest.TempDir(t), "a.db"), database.Config{MaxBody: 10})
	_, err := db.Spool().Write(t.Context(), "k", strings.NewReader("0123456789"))
	require.NoError(t, err)
	_, err = db.Spool().Write(t.Context(), "k", strings.NewReader("0123456789a"))
	assert.ErrorIs(t, err, adk.E_SPOOL_TOO_LARGE)
	assert.Equal(t, "0123456789", body(t, db, "k"))
	assert.NoError(t, db.Close())
}

// STO-11: a list of bodies is asked for again where others are busy, as a body is.
func TestSpoolIsAskedAgain(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	require.NoError(t, open(t, path, database.Config{}).Close())
	writer, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	reader, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	asked, refused := 0, false
	db, err := database.Open(t.Context(), database.Source{Dialect: database.SQLite, Writer: writer, Reader: reader, Busy: func(error) bool {
		asked++
		return refused
	}}, database.Config{})
	require.NoError(t, err)
	require.NoError(t, reader.Close()) // every question fails, and is told to be of others
	refused, asked = true, 0
	_, _, err = db.Spool().Read(t.Context(), "k")
	assert.ErrorIs(t, err, adk.E_STORAGE_BUSY)
	reads := asked
	asked = 0
	for _, err := range db.Spool().List(t.Context(), "") {
		assert.ErrorIs(t, err, adk.E_STORAGE_BUSY)
	}
	assert.Equal(t, reads, asked)
	assert.NoError(t, db.Close())
}

func body(t *testing.T, db *database.DB, key string) string {
	reader, found, err := db.Spool().Read(t.Context(), key)
	require.NoError(t, err)
	require.True(t, found)
	stream, err := reader.Open(t.Context())
	require.NoError(t, err)
	data, err := io.ReadAll(stream)
	require.NoError(t, errors.Join(err, stream.Close()))
	return string(data)
}

// STO-2: a body of which a row is gone, or shorter, is an error, and never a shorter body.
func TestSpoolThatSomebodyChanged(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	db := open(t, path, database.Config{})
	for _, statement := range []string{"delete from spool_chunks where n = 1", "update spool_chunks set data = x'' where n = 1", "update spool_chunks set data = x'00' where n = 0"} {
		_, err := db.Spool().Write(t.Context(), "k", strings.NewReader(strings.Repeat("a", 600_000)))
		require.NoError(t, err)
		change(t, path, statement)
		reader, _, err := db.Spool().Read(t.Context(), "k")
		require.NoError(t, err)
		stream, err := reader.Open(t.Context())
		require.NoError(t, err)
		_, err = io.ReadAll(stream)
		assert.ErrorIs(t, err, adk.E_ARTIFACT_CHANGED, statement)
	}
	assert.NoError(t, db.Close())
}

// SPL-2: a reader from before does not go on in a body of the same length that replaced its
// own.
func TestSpoolThatWasReplaced(t *testing.T) {
	db := open(t, filepath.Join(storagetest.TempDir(t), "a.db"), database.Config{})
	_, err := db.Spool().Write(t.Context(), "k", strings.NewReader(strings.Repeat("a", 300_000)))
	require.NoError(t, err)
	reader, _, err := db.Spool().Read(t.Context(), "k")
	require.NoError(t, err)
	stream, err := reader.Open(t.Context())
	require.NoError(t, err)
	_, err = io.ReadFull(stream, make([]byte, 10))
	require.NoError(t, err)
	_, err = db.Spool().Write(t.Context(), "k", strings.NewReader(strings.Repeat("b", 300_000)))
	require.NoError(t, err)
	_, err = io.ReadAll(stream)
	assert.ErrorIs(t, err, adk.E_ARTIFACT_CHANGED)
	assert.NoError(t, errors.Join(stream.Close(), db.Close()))
}

// STO-18: a body is kept together with its record, or neither is.
func TestBodiesInATransaction(t *testing.T) {
	temporary := storagetest.TempDir(t)
	t.Setenv("TMPDIR", temporary)
	db := open(t, filepath.Join(storagetest.TempDir(t), "a.db"), database.Config{})
	refused := errors.New("not this one")
	for _, last := range []error{refused, nil} {
		err := db.Tx(t.Context(), func(w *database.Writes) error {
			for _, key := range []string{"b", "a"} {
				entry, err := w.Body(t.Context(), key, strings.NewReader("body of "+key))
				require.NoError(t, err)
				assert.EqualValues(t, 9, entry.Bytes)
			}
			w.Do(func(context.Context, *sql.Tx) error { return last })
			return w.Store(shop, adk.Instructions, adk.NewTokenizable("Read the body."))
		})
		assert.ErrorIs(t, err, last)
		_, found, err := db.Spool().Read(t.Context(), "a")
		require.NoError(t, err)
		assert.Equal(t, last == nil, found)
	}
	assert.Equal(t, "body of b", body(t, db, "b"))
	_, err := db.Spool().Write(t.Context(), "../a", strings.NewReader("x"))
	assert.ErrorIs(t, err, adk.E_SPOOL_KEY)
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.NoError(t, db.Close())
}

// Two records are kept together, or none of them is.
func ExampleDB_Tx() {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sqlite.Open(context.Background(), filepath.Join(dir, "agent.db"), database.Config{})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Tx(context.Background(), func(w *database.Writes) error {
		ada := storage.Partition{Tenant: "shop", Session: "ada"}
		return errors.Join(
			w.Store(ada, adk.Instructions, adk.NewTokenizable("Be brief.")),
			w.Delete(ada, adk.Instructions, "Be exact."))
	})
	fmt.Println(err, db.Close())
	// Output: <nil> <nil>
}
