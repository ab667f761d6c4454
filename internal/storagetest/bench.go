package storagetest

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/database"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
)

// Bench is what storing and fetching cost on a database, beside plain SQL for the same rows.
type Bench struct {
	DB *database.DB
	// Raw is the same database, and Statement makes a statement with $1 one of its own.
	Raw       *sql.DB
	Statement func(string) string
}

// Records is how many there are to fetch.
const Records = 1000

func message(id string) *adk.Message {
	return samples.Must(adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: "How is the weather in Oslo today, and what shall I wear?", CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch}))
}

// Store keeps the nth record.
func (b Bench) Store(t require.TestingT, n int) {
	require.NoError(t, b.DB.Storage().Messages.Store(context.Background(), ScopeOf("shop", "one"), message(fmt.Sprint(n%Records))))
}

// StorePlain keeps the nth record by hand.
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

// FetchPlain reads the rows of all records by hand, and makes nothing of them.
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

// Run times all four, the ones beside the others.
func (b Bench) Run(t require.TestingT, run func(name string, once func(n int))) {
	run("store/ours", func(n int) { b.Store(t, n) })
	run("store/plain", func(n int) { b.StorePlain(t, n) })
	for n := range Records {
		b.Store(t, n)
	}
	run("fetch/ours", func(int) { b.Fetch(t) })
	run("fetch/plain", func(int) { b.FetchPlain(t) })
}
