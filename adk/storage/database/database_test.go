package database_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/database"
	"github.com/adkreplay/adkreplay/adk/storage/sqlite"
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/storages"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

func open(t *testing.T, path string, config database.Config) *database.DB {
	db, err := sqlite.Open(t.Context(), path, config)
	require.NoError(t, err)
	return db
}

// change runs statements of one's own on a database file.
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

// released are the hashes of the migrations that people have run.
var released = map[string]string{
	"migrations/postgres/00001_records.sql": "e0d3fbc57b4a1db18a562bcda4f3816fa42ad55b9777e175f070438aa7cdb965",
	"migrations/sqlite/00001_records.sql":   "809a104a030fc99731e43f37d8aaba9162559d13813c65d2263b0d180765d005",
}

// STO-16: a migration that was released never changes: a database that has run it would
// have other tables than one that runs it now.
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

// keepVariable has the database of this version made again.
const keepVariable = "ADKREPLAY_KEEP_SCHEMA"

// STO-17: a database of every released version is read as it was written, and written.
func TestReleasedDatabases(t *testing.T) {
	const kept, latest = "testdata/sqlite-*.db", "testdata/sqlite-1.db"
	scope := storagetest.ScopeOf("shop", "one")
	if os.Getenv(keepVariable) != "" {
		require.NoError(t, os.RemoveAll(latest))
		db := open(t, latest, database.Config{})
		for of, records := range samples.Records {
			for _, record := range records {
				require.NoError(t, storages.Each(db.Storage())[of].Write(t.Context(), scope, of, adk.KindStore, record, ""))
			}
		}
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
			want := records // or the last of two that share a key, in the place of the first
			if records[2].Key() == records[0].Key() {
				want = []adk.Record{records[2], records[1]}
			}
			o := storages.Each(db.Storage())[of]
			fetched, err := o.Fetch(t.Context(), scope, of)
			require.NoError(t, err, file)
			assert.Equal(t, storagetest.Digests(want), storagetest.Digests(fetched), "%s in %s", of, file)
			require.NoError(t, o.Write(t.Context(), scope, of, adk.KindStore, records[0], ""))
			require.NoError(t, o.Write(t.Context(), scope, of, adk.KindDelete, nil, records[1].Key()))
		}
		assert.NoError(t, db.Close())
	}
}

// STO-16: tables of which a later release says that this one must not use them are refused,
// and not touched; those that it may use it does.
func TestTablesOfALaterRelease(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	require.NoError(t, open(t, path, database.Config{}).Close())
	change(t, path, "insert into goose_db_version (version_id, is_applied) values (99, 1)", "alter table records add column later text")
	for range 2 { // the release before and the later one take turns
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
		assert.ErrorContains(t, err, "need a release that knows version 99, this one knows 1")
	}
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, sha256.Sum256(before), sha256.Sum256(after))
}

// STO-16: who says that somebody else migrates gets no tables, and those that are there.
func TestNoMigrate(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	_, err := sqlite.Open(t.Context(), path, database.Config{NoMigrate: true})
	assert.ErrorIs(t, err, adk.E_STORAGE_SCHEMA)
	assert.ErrorContains(t, err, "the tables are of version 0, this release needs 1")
	assert.Empty(t, tables(t, path))
	require.NoError(t, open(t, path, database.Config{}).Close())
	assert.Equal(t, []string{"goose_db_version", "positions", "records", "schema_compat"}, tables(t, path))
	require.NoError(t, open(t, path, database.Config{NoMigrate: true}).Close())
}

// STO-16: a migration that fails leaves nothing, and one that was cut short before is made
// again.
func TestAMigrationThatFails(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	change(t, path, "create table records (mine text)")
	_, err := sqlite.Open(t.Context(), path, database.Config{})
	assert.ErrorContains(t, err, "migrating")
	assert.NotContains(t, tables(t, path), "positions")
	change(t, path, "drop table records")
	require.NoError(t, open(t, path, database.Config{}).Close())
}

var shop = storage.Partition{Tenant: "shop", Session: "one"}

// STO-18: a transaction makes all its changes, or none, together with what is done by hand.
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

// STO-14: transactions that touch the same collections in any order do not wait for one
// another.
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
