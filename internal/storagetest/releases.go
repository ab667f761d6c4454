package storagetest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
)

// newerSum is the value of sum in a later release, which adds a unit.
type newerSum struct {
	Sum  int    `json:"sum"`
	Unit string `json:"unit"`
}

var newer, errNewer = session.NewKey[newerSum](session.KeyInit{Name: "storagetest.sum", Version: 2, Upgrade: func(_ int, old json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"sum": old, "unit": "apples"})
}})

var times, errTimes = session.NewKey[int](session.KeyInit{Name: "storagetest.times"})

// newerNumbers is the channel of the later release. It also counts deliveries under another key.
type newerNumbers struct{ numbers }

func (newerNumbers) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	var number int
	if err := json.Unmarshal(d.Payload, &number); err != nil {
		return err
	}
	held, err := newer.Ensure(tc, func() newerSum { return newerSum{Unit: "apples"} })
	if err != nil {
		return err
	}
	held.Sum += number
	if err := newer.Set(tc, held); err != nil {
		return err
	}
	return counter{}.Deliver(ctx, tc, d)
}

// counter is a channel that counts deliveries and knows no other key.
type counter struct{ numbers }

func (counter) Deliver(_ context.Context, tc *adk.TurnContext, _ session.Delivery) error {
	n, err := times.Ensure(tc, func() int { return 0 })
	if err != nil {
		return err
	}
	return times.Set(tc, n+1)
}

// TwoReleases runs hosts of a later and an earlier release on one store. The earlier one must
// refuse a session that only the later one can read, and leave it to the later one. Each must keep
// the keys that only the other one knows.
func TwoReleases(t require.TestingT, records adk.Storage, store session.Store) {
	require.NoError(t, errNewer)
	require.NoError(t, errTimes)
	ctx := context.Background()
	release := func(name string, channel session.Channel, keys ...session.AnyKey) *session.Host {
		return SessionHost(t, records, store, func(c *session.Config) {
			c.Name, c.Keys, c.NoWait = name, keys, true
			c.Channels = map[string]func(json.RawMessage) (session.Channel, error){"numbers": func(json.RawMessage) (session.Channel, error) { return channel, nil }}
		})
	}
	earlier, later := release("earlier", numbers{}, sum), release("later", newerNumbers{}, newer, times)
	deliver := func(h *session.Host, to string, n int) (session.Outcome, error) {
		return h.Deliver(ctx, session.Delivery{Tenant: "shop", Session: to, ID: fmt.Sprint("d", n), Kind: "numbers", Payload: json.RawMessage(fmt.Sprint(n))})
	}
	committed := func(h *session.Host, to string, n int) {
		o, err := deliver(h, to, n)
		require.NoError(t, err)
		require.Equal(t, session.Committed, o.State)
	}
	committed(earlier, "moved", 1)
	committed(later, "moved", 2)
	refused := func() {
		_, err := deliver(earlier, "moved", 3)
		require.ErrorIs(t, err, adk.E_SESSION_STATE_NEWER)
		n, err := earlier.Resume(ctx, 10)
		require.NoError(t, err)
		require.Zero(t, n, "it is left to the later release")
	}
	refused()
	committed(earlier, "stays", 1) // its other sessions go on
	refused()
	history, err := store.History(ctx, session.SessionID{Tenant: "shop", Session: "moved"}, 0, 1)
	require.NoError(t, err)
	assert.Zero(t, history[0].Attempts, "what was refused is no attempt")
	n, err := later.Resume(ctx, 10)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	committed(release("other", counter{}, times), "moved", 4) // this release does not know the sum
	loaded, found, err := store.Look(ctx, session.SessionID{Tenant: "shop", Session: "moved"})
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, map[string]session.Value{
		"storagetest.sum":   {Version: 2, Body: json.RawMessage(`{"sum":6,"unit":"apples"}`)},
		"storagetest.times": {Version: 1, Body: json.RawMessage(`3`)},
	}, loaded.Values)
}
