package storagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
)

// Counted is rows that count how many of them are read.
type Counted struct {
	storage.Rows
	read atomic.Int64
}

// Read returns how many rows were read, and how many keys were looked up, since Reset.
func (c *Counted) Read() int { return int(c.read.Load()) }

// Reset sets the count to zero.
func (c *Counted) Reset() { c.read.Store(0) }

// Fetch counts the rows that it fetches.
func (c *Counted) Fetch(ctx context.Context, place storage.Place, last int) ([]storage.Row, error) {
	rows, err := c.Rows.Fetch(ctx, place, last)
	c.read.Add(int64(len(rows)))
	return rows, err
}

// Has counts the keys that it looks up.
func (c *Counted) Has(ctx context.Context, place storage.Place, keys ...storage.KeyHash) ([]storage.KeyHash, error) {
	c.read.Add(int64(len(keys)))
	return c.Rows.Has(ctx, place, keys...)
}

// FetchBehindWrites checks the cost of a fetch in a turn that has written to a collection with a
// limit: the fetch reads about as many rows as the limit, and not the whole collection.
func FetchBehindWrites(t require.TestingT, rows storage.Rows, store session.Store) {
	const many, limit, written = 300, 10, 3
	counted := &Counted{Rows: rows}
	limited, err := storage.New(storage.Config{Limit: map[adk.CollectionName]int{adk.Messages: limit}}, counted)
	require.NoError(t, err)
	place := storage.Place{Partition: storage.Partition{Tenant: "shop", Session: "long"}, Collection: adk.Messages}
	var all []storage.Change
	message := func(id string) *adk.Message {
		m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: id, CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(1, 0)})
		require.NoError(t, err)
		return m
	}
	for n := range many {
		change, err := storage.Storing(place, message(fmt.Sprint("m", n)))
		require.NoError(t, err)
		all = append(all, change)
	}
	require.NoError(t, rows.Write(context.Background(), all...))
	h := SessionHost(t, limited, store, func(c *session.Config) {
		c.Agent.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			require.NoError(t, dc.Messages().Mutate(ctx, message("m7")))
			require.NoError(t, dc.Messages().Delete(ctx, fmt.Sprint("m", many-1)))
			counted.Reset()
			found, err := dc.Messages().Fetch(ctx)
			require.NoError(t, err)
			require.Len(t, found, limit)
			assert.Equal(t, fmt.Sprint("m", many-limit), found[0].ID())
			assert.Equal(t, "first", found[limit-1].ID(), "what the channel has stored")
			assert.LessOrEqual(t, counted.Read(), limit+written+1)
			return dc.Ack()
		}
	})
	o, err := h.Deliver(context.Background(), session.Delivery{Tenant: "shop", Session: "long", ID: "first", Kind: "numbers", Payload: json.RawMessage(`1`)})
	require.NoError(t, err)
	assert.Equal(t, session.Committed, o.State)
	kept, err := rows.Fetch(context.Background(), place, 0)
	require.NoError(t, err)
	assert.Len(t, kept, many)
}
