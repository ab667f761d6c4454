package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/postgrestest"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// BenchmarkBesidePlainSQL compares a store, and a fetch of 1,000 records, with plain SQL for the same rows.
// x-plain should be at most 1.5. It fails no test, since other load on the machine counts too.
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

const (
	// turnTakes is how long a turn of the benchmark waits for its model.
	turnTakes = 50 * time.Millisecond
	// senders is the number of concurrent deliveries.
	senders = 200
)

// BenchmarkDeliveries compares concurrent deliveries to a host with deliveries one after the other: turns
// wait for their models without holding a connection. x-one should be at least 10.
func BenchmarkDeliveries(b *testing.B) {
	db := open(b, postgrestest.Database(b), storage.Config{})
	h := storagetest.SessionHost(b, db.Storage(), db.Sessions(), func(c *session.Config) {
		c.Agent.Executor.Run = func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			time.Sleep(turnTakes)
			return dc.Ack()
		}
	})
	const each = 10
	perSecond := func(senders, round int) float64 {
		began := time.Now()
		var all sync.WaitGroup
		for sender := range senders {
			all.Go(func() {
				for n := range each {
					_, err := h.Deliver(b.Context(), number(fmt.Sprint(senders, " ", sender), fmt.Sprint(round, " ", n)))
					assert.NoError(b, err)
				}
			})
		}
		all.Wait()
		return float64(senders*each) / time.Since(began).Seconds()
	}
	var one, many float64
	for round := 0; b.Loop(); round++ {
		one, many = max(one, perSecond(1, round)), max(many, perSecond(senders, round))
	}
	b.ReportMetric(one, "one/s")
	b.ReportMetric(many, "many/s")
	b.ReportMetric(many/one, "x-one")
	require.NoError(b, db.Close())
}
