package storagetest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/database"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
)

// Bench measures storing and fetching on a database, compared with plain SQL for the same rows.
type Bench struct {
	DB *database.DB
	// Raw is the same database. Statement converts a statement with placeholders such as $1 to the
	// database's syntax.
	Raw       *sql.DB
	Statement func(string) string
}

// Records is how many records there are to fetch.
const Records = 1000

func message(id string) *adk.Message {
	return samples.Must(adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: "How is the weather in Oslo today, and what shall I wear?", CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch}))
}

// Store stores the n-th record.
func (b Bench) Store(t require.TestingT, n int) {
	require.NoError(t, b.DB.Storage().Messages.Store(context.Background(), ScopeOf("shop", "one"), message(fmt.Sprint(n%Records))))
}

// StorePlain stores the n-th record with plain SQL.
func (b Bench) StorePlain(t require.TestingT, n int) {
	ctx, m := context.Background(), message(fmt.Sprint(n%Records))
	body, err := m.MarshalJSON()
	require.NoError(t, err)
	hash, sum := storage.HashOf(m.Key()), m.Digest()
	tx, err := b.Raw.BeginTx(ctx, nil)
	require.NoError(t, err)
	var next int64
	require.NoError(t, tx.QueryRowContext(ctx, `insert into positions values ('plain', 'one', 'messages', 1)
		on conflict (tenant, session, collection) do update set next = positions.next + 1 returning next`).Scan(&next))
	_, err = tx.ExecContext(ctx, b.Statement(`insert into records values ('plain', 'one', 'messages', $1, $2, $3, $4, '', '', $5)
		on conflict (tenant, session, collection, key_hash) do update set body = excluded.body, digest = excluded.digest`),
		hash[:], next, body, sum[:], time.Now().UnixMilli())
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
}

// Fetch fetches all records.
func (b Bench) Fetch(t require.TestingT) {
	fetched, err := b.DB.Storage().Messages.Fetch(context.Background(), ScopeOf("shop", "one"))
	require.NoError(t, err)
	require.Len(t, fetched, Records)
}

// FetchPlain reads the rows of all records with plain SQL, without decoding them.
func (b Bench) FetchPlain(t require.TestingT) {
	rows, err := b.Raw.QueryContext(context.Background(), "select key_hash, body, digest from records where tenant = 'shop' and session = 'one' and collection = 'messages' order by pos")
	require.NoError(t, err)
	n := 0
	for ; rows.Next(); n++ {
		var key, body, digest []byte
		require.NoError(t, rows.Scan(&key, &body, &digest))
	}
	require.NoError(t, rows.Close())
	require.Equal(t, Records, n)
}

// leastRounds is the smallest number of rounds that gives a reliable result.
const leastRounds = 200

// Rounds is a benchmark.
type Rounds interface {
	require.TestingT
	Loop() bool
	ReportMetric(n float64, unit string)
}

// Stores measures both ways to store, alternately.
func (b Bench) Stores(r Rounds) {
	beside(r, func(n int) { b.Store(r, n) }, func(n int) { b.StorePlain(r, n) })
}

// Fetches measures both ways to fetch.
func (b Bench) Fetches(r Rounds) {
	for n := range Records {
		b.Store(r, n)
	}
	b.Fetch(r) // reads them once before the measurement
	beside(r, func(int) { b.Fetch(r) }, func(int) { b.FetchPlain(r) })
}

// beside measures two ways to do the same, one after the other in each round, and reports the
// shortest time of each, because other activity on the machine can only add time.
func beside(r Rounds, ours, plain func(n int)) {
	var tookOurs, tookPlain []time.Duration
	took := func(f func(int), n int) time.Duration {
		began := time.Now()
		f(n)
		return time.Since(began)
	}
	for n, more := 0, true; more || n < leastRounds; n++ {
		more = more && r.Loop() // Loop must not be called again after it has returned false
		tookOurs, tookPlain = append(tookOurs, took(ours, n)), append(tookPlain, took(plain, n))
	}
	least, leastPlain := float64(slices.Min(tookOurs)), float64(slices.Min(tookPlain))
	r.ReportMetric(least, "ours-ns")
	r.ReportMetric(leastPlain, "plain-ns")
	r.ReportMetric(least/leastPlain, "x-plain")
}
