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

// What a store and a fetch of 1,000 records cost, beside plain SQL for the same rows.
func BenchmarkBesidePlainSQL(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.db")
	db := open(b, path, storage.Config{})
	raw, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	require.NoError(b, err)
	raw.SetMaxOpenConns(1)
	bench := storagetest.Bench{DB: db, Raw: raw, Statement: func(s string) string { return strings.ReplaceAll(s, "$", "?") }}
	bench.Run(b, func(name string, once func(int)) {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				once(i)
			}
		})
	})
	require.NoError(b, raw.Close())
	require.NoError(b, db.Close())
}
