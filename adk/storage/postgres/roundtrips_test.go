package postgres_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/internal/postgrestest"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// delivered delivers a number to a session.
func delivered(t *testing.T, h *session.Host, of, id string) session.Outcome {
	o, err := h.Deliver(t.Context(), number(of, id))
	require.NoError(t, err)
	require.Equal(t, session.Committed, o.State)
	return o
}

func number(of, id string) session.Delivery {
	return session.Delivery{Tenant: "shop", Session: of, ID: id, Kind: "numbers", Payload: json.RawMessage("1")}
}

// SES-42: a delivery waits for the database three times, for its start, its commit and the mark that Notify
// was called, however much its turn sets and stores. Without Notify it waits
// twice.
func TestRoundTripsOfADelivery(t *testing.T) {
	p, dsn := newProxy(t, postgrestest.Database(t))
	db := open(t, dsn, storage.Config{})
	for name, notify := range map[string]func(context.Context, session.Outcome) error{
		"nobody is told": nil,
		"told":           func(context.Context, session.Outcome) error { return nil },
	} {
		most := 2
		if notify != nil {
			most = 3
		}
		t.Run(name, func(t *testing.T) {
			h := storagetest.SessionHost(t, db.Storage(), db.Sessions(), func(c *session.Config) { c.Notify = notify })
			for i := range 3 { // so that the connection has prepared its statements
				delivered(t, h, name+"first", fmt.Sprint(i))
			}
			for i := range 3 {
				trips := p.during(func() { delivered(t, h, name, fmt.Sprint(i)) })
				assert.Equal(t, most, trips, "delivery %d of a session", i)
			}
		})
	}
	assert.NoError(t, db.Close())
}
