package sessionrows_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage/internal/sessionrows"
)

func newTables() *sessionrows.Memory {
	return &sessionrows.Memory{
		Persist: func(context.Context, sessionrows.Changes) error { return nil },
		Mine:    func(adk.Storage) bool { return false },
	}
}

// SES-10, SES-11, SES-20, SES-21, SES-27, SES-42: the store's rules, over tables in memory.
func TestTables(t *testing.T) {
	assert.NoError(t, session.TestStore(func() session.Store { return sessionrows.Of(newTables()) }))
}

// SES-28: a session of another format is never changed, whatever the store is asked for.
func TestFormat(t *testing.T) {
	id, now := session.SessionID{Tenant: "shop", Session: "one"}, time.UnixMilli(1).UTC()
	tables := newTables()
	tables.Put(sessionrows.Changes{Sessions: []*sessionrows.Session{{ID: id, Format: 2, NextSeq: 7, Epoch: 3, Owner: "later"}}})
	tables.Persist = func(_ context.Context, c sessionrows.Changes) error {
		assert.Empty(t, c, "nothing is written")
		return nil
	}
	store, ctx := sessionrows.Of(tables), t.Context()
	claim := session.Claim{SessionID: id, Owner: "later", Epoch: 3}
	d := session.Delivery{Tenant: "shop", Session: "one", ID: "a", Kind: "chat", Payload: json.RawMessage(`1`)}
	_, accept := store.Accept(ctx, d, now)
	_, start := store.Start(ctx, d, "me", now, now.Add(time.Hour))
	_, claims := store.Claim(ctx, id, "me", now, now.Add(time.Hour))
	_, load := store.Load(ctx, claim)
	_, begin := store.Begin(ctx, claim, "a")
	_, _, look := store.Look(ctx, id)
	_, erase := store.Erase(ctx, id, now)
	for name, err := range map[string]error{
		"Accept": accept, "Start": start, "Claim": claims, "Load": load, "Begin": begin, "Look": look,
		"Renew":  store.Renew(ctx, claim, now, now.Add(time.Hour)),
		"Commit": store.Commit(ctx, claim, session.Commit{Delivery: "a"}),
		"Fail":   store.Fail(ctx, claim, session.Failure{Delivery: "a"}),
		"Erase":  erase,
	} {
		assert.ErrorIs(t, err, adk.E_SESSION_FORMAT, name)
		assert.ErrorContains(t, err, `session "one" of tenant "shop"`, name)
	}
}

// SES-11: a lease that begins further in the future than it lasts is over: the clock was set back, and
// the former owner is fenced. The same holds for a lease that was renewed.
func TestLeaseOfAClockThatRanBack(t *testing.T) {
	store, ctx, now := sessionrows.Of(newTables()), t.Context(), time.UnixMilli(1e12).UTC()
	d := session.Delivery{Session: "one", ID: "a", Kind: "chat", Payload: json.RawMessage(`1`)}
	ahead := now.Add(24 * time.Hour)
	_, err := store.Accept(ctx, d, now)
	require.NoError(t, err)
	claims := func(at time.Time) (session.Claim, error) {
		return store.Claim(ctx, d.SessionID(), "me", at, at.Add(time.Hour))
	}
	first, err := claims(ahead)
	require.NoError(t, err)
	for _, before := range []time.Duration{0, time.Minute, time.Hour} {
		_, err = claims(ahead.Add(-before))
		require.ErrorIs(t, err, adk.E_SESSION_BUSY, before)
		pending, err := store.Pending(ctx, ahead.Add(-before), 10)
		require.NoError(t, err)
		assert.Empty(t, pending, before)
	}
	pending, err := store.Pending(ctx, now, 10)
	require.NoError(t, err)
	assert.Len(t, pending, 1)
	second, err := claims(now)
	require.NoError(t, err)
	assert.ErrorIs(t, store.Renew(ctx, first, ahead, ahead.Add(time.Hour)), adk.E_SESSION_LEASE_LOST)
	require.NoError(t, store.Renew(ctx, second, ahead, ahead.Add(time.Hour)))
	_, err = claims(ahead.Add(-time.Hour))
	require.ErrorIs(t, err, adk.E_SESSION_BUSY)
	_, err = claims(now)
	assert.NoError(t, err)
}

// SES-29: the number of a session's unsettled deliveries is bounded.
func TestFullSession(t *testing.T) {
	id := session.SessionID{Session: "one"}
	tables := newTables()
	tables.Put(sessionrows.Changes{Sessions: []*sessionrows.Session{{ID: id, Format: sessionrows.Format, Kind: "chat", NextSeq: 7, Unsettled: session.MaxUnsettled}}})
	_, err := sessionrows.Of(tables).Accept(t.Context(), session.Delivery{Session: "one", ID: "a", Kind: "chat", Payload: json.RawMessage(`1`)}, time.Now())
	require.ErrorIs(t, err, adk.E_SESSION_FULL)
}
