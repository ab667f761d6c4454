package sqlite_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/database"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/adk/storage/sqlite"
	"github.com/adkreplay/adkreplay/fakes"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// childVariable tells a child process of this test which file to open, and the child's name.
const childVariable = "ADKREPLAY_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if path, name, ok := strings.Cut(os.Getenv(childVariable), "|"); ok {
		if err := child(path, name); err != nil {
			log.Fatal(err)
		}
		return
	}
	os.Exit(m.Run())
}

func open(t require.TestingT, path string, config storage.Config) *database.DB {
	db, err := sqlite.Open(context.Background(), path, database.Config{Config: config})
	require.NoError(t, err)
	return db
}

// STO-1: SQLite passes the suite of all storages, also reopened and after faults.
func TestSuite(t *testing.T) {
	config, path := storage.Config{Strict: new(false)}, filepath.Join(storagetest.TempDir(t), "a.db")
	require.NoError(t, open(t, path, config).Close())
	raw := plainSQL(t, path)
	all := &storagetest.Lasting{Config: config, Fresh: func(storagetest.Opened) (func() (storagetest.Opened, error), bool) {
		_, err := raw.Exec("delete from records; delete from positions")
		require.NoError(t, err)
		return func() (storagetest.Opened, error) {
			return sqlite.Open(t.Context(), path, database.Config{Config: config})
		}, true
	}}
	newStorage, suite := all.Suite(t)
	assert.NoError(t, fakes.TestStorageWith(newStorage, suite))
	assert.NoError(t, all.Close())
}

// STO-1: SQLite gives the same answers as the storage in memory.
func TestAgainstMemory(t *testing.T) {
	for name, config := range map[string]storage.Config{"usual": {Strict: new(false)}, "sharing": storagetest.Sharing()} {
		t.Run(name, func(t *testing.T) {
			db := open(t, filepath.Join(storagetest.TempDir(t), "a.db"), config)
			model, err := memory.New(config)
			require.NoError(t, err)
			rapid.Check(t, func(t *rapid.T) { storagetest.Differ(t, model.Storage(), db.Storage()) })
			assert.NoError(t, db.Close())
		})
	}
}

// STO-2, STO-15: with plain SQL one can read the record's own JSON, the hash of its key and
// its digest.
func TestRows(t *testing.T) {
	path, of := filepath.Join(storagetest.TempDir(t), "a.db"), adk.Messages
	db := open(t, path, storage.Config{})
	record := samples.Records[of][0].(*adk.Message)
	require.NoError(t, db.Storage().Messages.Store(t.Context(), storagetest.ScopeOf("shop", "one"), record))
	raw := plainSQL(t, path)
	var tenant, session, collection, turn, dispatch string
	var key, body, digest []byte
	var position, written int64
	require.NoError(t, raw.QueryRow("select * from records").Scan(&tenant, &session, &collection, &key, &position, &body, &digest, &turn, &dispatch, &written))
	assert.Equal(t, []string{"shop", "one", "messages", "turn", "dispatch"}, []string{tenant, session, collection, turn, dispatch})
	want, err := record.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, string(want), string(body))
	hash, sum := storage.HashOf(record.Key()), record.Digest()
	assert.Equal(t, hash[:], key)
	assert.Equal(t, sum[:], digest)
	assert.EqualValues(t, 1, position)
	assert.Positive(t, written)
	require.NoError(t, db.Close())
}

func plainSQL(t *testing.T, path string) *sql.DB {
	raw, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, raw.Close()) })
	return raw
}

// STO-2: a row that was changed from outside is detected, whatever was changed. Other rows can still be deleted.
func TestChangedRows(t *testing.T) {
	for _, change := range []string{
		"update records set body = cast(replace(cast(body as text), 'one', 'two') as blob) where pos = 1",
		"update records set body = substr(body, 1, 30) where pos = 1",
		"update records set body = x'' where pos = 1",
		"update records set digest = x'00' where pos = 1",
		"update records set key_hash = zeroblob(32) where pos = 1",
		"update records set key_hash = x'' where pos = 1",
		"update records set (body, digest) = (select body, digest from records where pos = 2) where pos = 1",
	} {
		path, scope := filepath.Join(storagetest.TempDir(t), "a.db"), storagetest.ScopeOf("shop", "one")
		db := open(t, path, storage.Config{})
		messages := db.Storage().Messages
		for _, record := range samples.Records[adk.Messages][:2] {
			require.NoError(t, messages.Store(t.Context(), scope, record.(*adk.Message)))
		}
		_, err := plainSQL(t, path).Exec(change)
		require.NoError(t, err, change)
		_, err = messages.Fetch(t.Context(), scope)
		assert.ErrorIs(t, err, adk.E_STORAGE_CORRUPT, change)
		assert.ErrorContains(t, err, "messages", change)
		require.NoError(t, messages.Delete(t.Context(), scope, "r2"))
		assert.NoError(t, db.Close())
	}
}

// A path that names no file, a file that is not a database, or another program's database gives an
// error, and the file stays unchanged.
func TestFilesThatAreNone(t *testing.T) {
	dir := storagetest.TempDir(t)
	text := filepath.Join(dir, "a.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("no database\n", 1000)), 0o600))
	before := hashOf(t, text)
	for _, path := range []string{"", ":memory:", dir, filepath.Join(dir, "nowhere", "a.db"), text} {
		_, err := sqlite.Open(t.Context(), path, database.Config{})
		assert.Error(t, err, path)
	}
	assert.Equal(t, before, hashOf(t, text))
	_, err := sqlite.Open(t.Context(), filepath.Join(dir, "a.db"), database.Config{Config: storage.Config{Limit: map[adk.CollectionName]int{"x": 1}}})
	assert.ErrorIs(t, err, adk.E_INVALID_STORAGE_CONFIG)
}

func hashOf(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// A path is used as a file name, whatever characters it has, and only its user can read the file.
func TestPaths(t *testing.T) {
	dir := storagetest.TempDir(t)
	for _, name := range []string{"a b.db", "a?mode=memory", "a#b.db", "100%.db", "%41.db", "é🎉.db", "a&b=c;d", "file:x"} {
		db := open(t, filepath.Join(dir, name), storage.Config{Strict: new(false)})
		require.NoError(t, db.Storage().Instructions.Store(t.Context(), adk.Scope{}, adk.NewTokenizable(name)))
		require.NoError(t, db.Close())
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Positive(t, info.Size(), name)
		if runtime.GOOS != "windows" {
			assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
		}
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 16, "a database and a lock for each")
}

// STO-3: a database is strict by default.
func TestStrict(t *testing.T) {
	db := open(t, filepath.Join(storagetest.TempDir(t), "a.db"), storage.Config{})
	assert.ErrorIs(t, db.Storage().Instructions.Store(t.Context(), adk.Scope{}, adk.NewTokenizable("x")), adk.E_STORAGE_PARTITION)
	assert.NoError(t, db.Close())
}

// STO-14: a write is on the disk when it returns, and readers can read during writes.
func TestPragmas(t *testing.T) {
	db := open(t, filepath.Join(storagetest.TempDir(t), "a.db"), storage.Config{})
	require.NoError(t, db.Tx(t.Context(), func(w *database.Writes) error {
		w.Do(func(ctx context.Context, tx *sql.Tx) error {
			for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "5000", "secure_delete": "1"} {
				var got string
				if err := tx.QueryRowContext(ctx, "pragma "+pragma).Scan(&got); err != nil {
					return err
				}
				assert.Equal(t, want, got, pragma)
			}
			return nil
		})
		return nil
	}))
	assert.NoError(t, db.Close())
}

func said(id, text string) *adk.Message {
	return samples.Must(adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: text, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch}))
}

// Deleted or overwritten data is in no file after the last process has closed the database.
func TestDeletedBytes(t *testing.T) {
	dir, scope := storagetest.TempDir(t), storagetest.ScopeOf("shop", "one")
	db := open(t, filepath.Join(dir, "a.db"), storage.Config{})
	long := strings.Repeat("the secret word ", 1000) // long enough for pages of its own
	for i, text := range []string{"the secret word", long, "the secret word again"} {
		require.NoError(t, db.Storage().Messages.Store(t.Context(), scope, said(fmt.Sprint("m", i), text)))
	}
	require.NoError(t, db.Storage().Messages.Mutate(t.Context(), scope, said("m0", "nothing")))
	for i := range 2 {
		require.NoError(t, db.Storage().Messages.Delete(t.Context(), scope, fmt.Sprint("m", i+1)))
	}
	require.NoError(t, db.Close())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		assert.NotContains(t, string(data), "the secret word", e.Name())
	}
}

// STO-6: a full disk accepts nothing more, and loses nothing.
func TestFullDisk(t *testing.T) {
	path, scope := filepath.Join(storagetest.TempDir(t), "a.db"), storagetest.ScopeOf("shop", "one")
	require.NoError(t, open(t, path, storage.Config{}).Close())
	full, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(wal)&_pragma=max_page_count(40)")
	require.NoError(t, err)
	db, err := database.Open(t.Context(), database.Source{Dialect: database.SQLite, Writer: full}, database.Config{})
	require.NoError(t, err)
	instructions := db.Storage().Instructions
	stored := 0
	for ; err == nil; stored++ {
		require.Less(t, stored, 1000, "the disk is never full")
		err = instructions.Store(t.Context(), scope, adk.NewTokenizable(strings.Repeat("🎉", 1000)+fmt.Sprint(stored)))
	}
	assert.ErrorContains(t, err, "full")
	assert.ErrorContains(t, err, `storage: instructions: store "🎉`)
	require.NoError(t, db.Close())

	db = open(t, path, storage.Config{})
	fetched, err := db.Storage().Instructions.Fetch(t.Context(), scope)
	require.NoError(t, err)
	assert.Len(t, fetched, stored-1)
	require.NoError(t, db.Storage().Instructions.Store(t.Context(), scope, adk.NewTokenizable("there is room")))
	assert.NoError(t, db.Close())
}

// STO-6, STO-19: the same holds for a full file system.
func TestFullFileSystem(t *testing.T) {
	dir := storagetest.SmallDisk(t)
	storagetest.FillDisk(t, dir, func() (storagetest.Opened, adk.Storage) {
		db := open(t, filepath.Join(dir, "a.db"), storage.Config{})
		return db, db.Storage()
	})
}

// child opens a database, concurrently with other processes, and stores records under its own keys
// and under one key that all share.
func child(path, name string) error {
	db, err := sqlite.Open(context.Background(), path, database.Config{})
	if err != nil {
		return err
	}
	if name == "killed" {
		return storagetest.KeepUntilKilled(db.Storage())
	}
	return errors.Join(storagetest.KeepBesideOthers(db.Storage(), name), db.Close())
}

// STO-11, STO-16: processes that open a new file at the same moment make its tables once, and none
// of them loses a record.
func TestProcesses(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	storagetest.Processes(t, func(name string) string { return childVariable + "=" + path + "|" + name })
	db := open(t, path, storage.Config{})
	storagetest.HoldsOfAll(t, db.Storage())
	assert.NoError(t, db.Close())
}

// STO-6: a process that is killed in the middle of a write has kept everything that was confirmed
// to it.
func TestKilled(t *testing.T) {
	path := filepath.Join(storagetest.TempDir(t), "a.db")
	kept := storagetest.Kill(t, childVariable+"="+path+"|killed")
	db := open(t, path, storage.Config{})
	storagetest.HoldsKept(t, db.Storage(), kept)
	assert.NoError(t, db.Close())
}

// What one process has stored, the next one fetches.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, scope := context.Background(), adk.Scope{}
	for range 2 {
		db, err := sqlite.Open(ctx, filepath.Join(dir, "agent.db"), database.Config{Config: storage.Config{Strict: new(false)}})
		if err != nil {
			log.Fatal(err)
		}
		known, err := db.Storage().Instructions.Fetch(ctx, scope)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("known:", known)
		if err := db.Storage().Instructions.Store(ctx, scope, adk.NewTokenizable("Be brief.")); err != nil {
			log.Fatal(err)
		}
		if err := db.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// known: []
	// known: [Be brief.]
}
