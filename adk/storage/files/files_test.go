package files_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/files"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/fakes"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
	"github.com/adkreplay/adkreplay/internal/samples"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// childVariable tells a child process of this test which directory to open.
const childVariable = "ADKREPLAY_FILES_CHILD"

func TestMain(m *testing.M) {
	if dir, ok := os.LookupEnv(childVariable); ok {
		d, err := files.Open(dir, storage.Config{})
		if err == nil {
			err = storagetest.KeepUntilKilled(d.Storage())
		}
		log.Fatal(err)
	}
	os.Exit(m.Run())
}

func open(t require.TestingT, dir string, config storage.Config) *files.Dir {
	d, err := files.Open(dir, config)
	require.NoError(t, err)
	return d
}

// STO-1: the storage in files passes the suite of all storages, also reopened and after faults.
func TestSuite(t *testing.T) {
	n, all := 0, &storagetest.Lasting{}
	dir := storagetest.TempDir(t)
	all.Fresh = func(storagetest.Opened) (open func() (storagetest.Opened, error), same bool) {
		n++
		own := filepath.Join(dir, fmt.Sprint(n))
		return func() (storagetest.Opened, error) { return files.Open(own, storage.Config{}) }, false
	}
	newStorage, suite := all.Suite(t)
	assert.NoError(t, fakes.TestStorageWith(newStorage, suite))
	assert.NoError(t, all.Close())
}

// STO-1: the storage in files gives the same answers as the one in memory.
func TestAgainstMemory(t *testing.T) {
	for name, config := range map[string]storage.Config{"usual": {}, "sharing": storagetest.Sharing()} {
		t.Run(name, func(t *testing.T) {
			d := open(t, storagetest.TempDir(t), config)
			model, err := memory.New(config)
			require.NoError(t, err)
			rapid.Check(t, func(t *rapid.T) { storagetest.Differ(t, model.Storage(), d.Storage()) })
			assert.NoError(t, d.Close())
		})
	}
}

// STO-2, STO-12: each record is a file, whose first line is the record's own JSON.
func TestFiles(t *testing.T) {
	dir := storagetest.TempDir(t)
	d := open(t, dir, storage.Config{})
	record := samples.Records[adk.Messages][0].(*adk.Message)
	require.NoError(t, d.Storage().Messages.Store(t.Context(), storagetest.ScopeOf("Shop", ""), record))
	names, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*"))
	require.NoError(t, err)
	require.Len(t, names, 1)
	assert.Equal(t, filepath.Join(dir, "%53hop", "-", "messages", fmt.Sprintf("000000000001-%x.json", storage.HashOf("r1"))), names[0])
	data, err := os.ReadFile(names[0])
	require.NoError(t, err)
	want, err := record.MarshalJSON()
	require.NoError(t, err)
	lines := strings.SplitAfter(string(data), "\n")
	require.Len(t, lines, 3)
	assert.Equal(t, string(want)+"\n", lines[0])
	assert.Regexp(t, `^\{"digest":"`+record.Digest().String()+`","turnId":"turn","dispatchId":"dispatch","writtenAt":"20\d\d-.*Z"\}\n$`, lines[1])
	assert.NoError(t, d.Close())
}

// STO-12: a directory can be opened only once until it is closed.
func TestOneProcess(t *testing.T) {
	dir := storagetest.TempDir(t)
	d := open(t, dir, storage.Config{})
	_, err := files.Open(dir, storage.Config{})
	assert.ErrorIs(t, err, adk.E_STORAGE_BUSY)
	assert.ErrorContains(t, err, "is open already, in this process or another one")
	require.NoError(t, d.Close())
	require.NoError(t, open(t, dir, storage.Config{}).Close())
}

// STO-12: a closed storage reads and writes nothing, since the directory may be another's, and says why.
func TestClosed(t *testing.T) {
	d := open(t, storagetest.TempDir(t), storage.Config{})
	record, err := adk.NewMessage(adk.MessageInit{ID: "m", Role: adk.RoleUser, Content: "text", CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
	require.NoError(t, err)
	s, scope := d.Storage(), storagetest.ScopeOf("", "")
	require.NoError(t, s.Messages.Store(t.Context(), scope, record))
	require.NoError(t, d.Close())
	_, err = s.Messages.Fetch(t.Context(), scope)
	assert.ErrorIs(t, err, fs.ErrClosed)
	assert.ErrorContains(t, err, "storage: messages: fetch: the storage was closed")
	_, err = s.Thoughts.Fetch(t.Context(), scope)
	assert.ErrorContains(t, err, "the storage was closed")
	assert.ErrorContains(t, s.Messages.Store(t.Context(), scope, record), "the storage was closed")
	assert.ErrorContains(t, s.Messages.Delete(t.Context(), scope, record.Key()), "the storage was closed")
}

// STO-12: opening a directory removes files that were written and not yet renamed to their
// final names.
func TestLeftovers(t *testing.T) {
	dir := storagetest.TempDir(t)
	require.NoError(t, open(t, dir, storage.Config{}).Close())
	left := filepath.Join(dir, ".tmp", "7")
	require.NoError(t, os.WriteFile(left, []byte("half a rec"), 0o600))
	d := open(t, dir, storage.Config{})
	assert.NoFileExists(t, left)
	assert.NoError(t, d.Close())
}

// STO-2: a file that was changed from outside is detected, whatever was changed.
func TestChangedFiles(t *testing.T) {
	for name, change := range map[string]func(file string, data []byte) error{
		"a byte":    func(file string, data []byte) error { data[30] ^= 1; return os.WriteFile(file, data, 0o600) },
		"cut":       func(file string, data []byte) error { return os.WriteFile(file, data[:len(data)-40], 0o600) },
		"empty":     func(file string, _ []byte) error { return os.WriteFile(file, nil, 0o600) },
		"formatted": func(file string, data []byte) error { return os.WriteFile(file, append([]byte(" "), data...), 0o600) },
		"no digest": func(file string, data []byte) error {
			return os.WriteFile(file, []byte(strings.Replace(string(data), `"digest":"`, `"digest":"zz`, 1)), 0o600)
		},
		"gone": func(file string, _ []byte) error { return os.Remove(file) },
		"under another": func(file string, _ []byte) error {
			return os.Rename(file, renamed(file, "000000000009", storage.HashOf("x")))
		},
		"twice": func(file string, data []byte) error {
			return os.WriteFile(renamed(file, "000000000009", storage.HashOf("r1")), data, 0o600)
		},
		"no name": func(file string, _ []byte) error {
			return os.Rename(file, filepath.Join(filepath.Dir(file), "copy.json"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, scope := storagetest.TempDir(t), storagetest.ScopeOf("shop", "one")
			d := open(t, dir, storage.Config{})
			for _, record := range samples.Records[adk.Messages][:2] {
				require.NoError(t, d.Storage().Messages.Store(t.Context(), scope, record.(*adk.Message)))
			}
			if name != "gone" { // while it is in the cache
				require.NoError(t, d.Close())
				d = open(t, dir, storage.Config{})
			}
			names, err := filepath.Glob(filepath.Join(dir, "shop", "one", "messages", "000000000001-*"))
			require.NoError(t, err)
			require.Len(t, names, 1)
			data, err := os.ReadFile(names[0])
			require.NoError(t, err)
			require.NoError(t, change(names[0], data))
			_, err = d.Storage().Messages.Fetch(t.Context(), scope)
			assert.ErrorIs(t, err, adk.E_STORAGE_CORRUPT)
			assert.ErrorContains(t, err, "messages")
			assert.NoError(t, d.Close())
		})
	}
}

func renamed(file, position string, key storage.KeyHash) string {
	return filepath.Join(filepath.Dir(file), fmt.Sprintf("%s-%x.json", position, key))
}

// Opening what is not a directory is an error.
func TestOpenFails(t *testing.T) {
	file := filepath.Join(storagetest.TempDir(t), "a")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := files.Open(file, storage.Config{})
	assert.Error(t, err)
	_, err = files.Open(storagetest.TempDir(t), storage.Config{Limit: map[adk.CollectionName]int{"x": 1}})
	assert.ErrorIs(t, err, adk.E_INVALID_STORAGE_CONFIG)
}

// Collections beyond the size of the cache are listed from disk again, and none is forgotten.
func TestManySessions(t *testing.T) {
	d := open(t, storagetest.TempDir(t), storage.Config{Share: map[adk.CollectionName]bool{adk.Instructions: false}})
	const sessions = 1100
	for i := range sessions {
		require.NoError(t, d.Storage().Instructions.Store(t.Context(), storagetest.ScopeOf("", fmt.Sprint(i)), adk.NewTokenizable("a")))
	}
	for _, i := range []int{0, 500, sessions - 1} {
		scope := storagetest.ScopeOf("", fmt.Sprint(i))
		require.NoError(t, d.Storage().Instructions.Store(t.Context(), scope, adk.NewTokenizable("b")))
		fetched, err := d.Storage().Instructions.Fetch(t.Context(), scope)
		require.NoError(t, err)
		assert.Len(t, fetched, 2)
	}
	assert.NoError(t, d.Close())
}

// STO-6, STO-12: a process that is killed in the middle of a write has kept everything that was confirmed
// to it, and its directory can be opened.
func TestKilled(t *testing.T) {
	dir := storagetest.TempDir(t)
	kept := storagetest.Kill(t, childVariable+"="+dir)
	d := open(t, dir, storage.Config{})
	storagetest.HoldsKept(t, d.Storage(), kept)
	assert.NoError(t, d.Close())
}

// STO-6, STO-19: a full file system accepts nothing more, and loses nothing.
func TestFullFileSystem(t *testing.T) {
	dir := storagetest.SmallDisk(t)
	storagetest.FillDisk(t, dir, func() (storagetest.Opened, adk.Storage) {
		d := open(t, filepath.Join(dir, "agent"), storage.Config{})
		return d, d.Storage()
	})
}

// A record is a file that a person can read.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d, err := files.Open(dir, storage.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := d.Storage().Instructions.Store(context.Background(), adk.Scope{}, adk.NewTokenizable("Be brief.")); err != nil {
		log.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*", "*", "instructions", "*.json"))
	if err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		log.Fatal(err)
	}
	first, _, _ := strings.Cut(string(data), "\n")
	fmt.Println(len(names), first, d.Close())
	// Output: 1 "Be brief." <nil>
}
