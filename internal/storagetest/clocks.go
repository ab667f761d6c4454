package storagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
)

// ClockRanBack checks that no host waits for a lease that was taken further in the future than its
// duration, by a clock that was corrected since then, whether the host delivers or resumes. A lease
// that was taken less far in the future is respected, since the clocks of two machines may differ
// (SES-11). exec executes a statement on the store's database.
func ClockRanBack(t require.TestingT, records adk.Storage, store session.Store, exec func(statement string)) {
	h := SessionHost(t, records, store, func(c *session.Config) { c.NoWait = true })
	deliver := func(id string) error {
		_, err := h.Deliver(context.Background(), session.Delivery{Tenant: "shop", Session: "clocks", ID: id, Kind: "numbers", Payload: json.RawMessage(`1`)})
		return err
	}
	require.NoError(t, deliver("first"))
	leased := func(ahead time.Duration) {
		taken := time.Now().Add(ahead).UnixMilli()
		exec(fmt.Sprintf("update sessions set lease_owner = 'gone', lease_taken = %d, lease_until = %d where id = 'clocks'", taken, taken+time.Hour.Milliseconds()))
	}
	leased(365 * 24 * time.Hour)
	assert.NoError(t, deliver("started"), "a year passes before that lease is over")
	leased(30 * time.Minute)
	assert.ErrorIs(t, deliver("resumed"), adk.E_SESSION_BUSY, "clocks of two machines may differ")
	settled, err := h.Resume(context.Background(), 10)
	assert.NoError(t, err)
	assert.Zero(t, settled)
	leased(365 * 24 * time.Hour)
	settled, err = h.Resume(context.Background(), 10)
	assert.NoError(t, err)
	assert.Equal(t, 1, settled)
}
