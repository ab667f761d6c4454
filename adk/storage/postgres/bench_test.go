package postgres_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/postgrestest"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// What a store, and a fetch of 1,000 records, cost beside plain SQL for the same rows: at most
// storagetest.MostTimes of it.
func BenchmarkBesidePlainSQL(b *testing.B) {
	dsn := postgrestest.Database(b)
	db := open(b, dsn, storage.Config{})
	raw, err := sql.Open("pgx", dsn)
	require.NoError(b, err)
	raw.SetMaxOpenConns(1)
	bench := storagetest.Bench{DB: db, Raw: raw, Statement: func(s string) string { return s }}
	b.Run("store", func(b *testing.B) { bench.Stores(b) })
	b.Run("fetch", func(b *testing.B) { bench.Fetches(b) })
	require.NoError(b, raw.Close())
	require.NoError(b, db.Close())
}
