package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// BenchmarkBesidePlainSQL compares a store, and a fetch of 1,000 records, with plain SQL for the same rows.
// x-plain should be at most 1.5. It fails no test, since other load on the machine counts too.
func BenchmarkBesidePlainSQL(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.db")
	db := open(b, path, storage.Config{})
	raw, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	require.NoError(b, err)
	raw.SetMaxOpenConns(1)
	bench := storagetest.Bench{DB: db, Raw: raw, Statement: func(s string) string { return strings.ReplaceAll(s, "$", "?") }}
	b.Run("store", func(b *testing.B) { bench.Stores(b) })
	b.Run("fetch", func(b *testing.B) { bench.Fetches(b) })
	require.NoError(b, raw.Close())
	require.NoError(b, db.Close())
}
