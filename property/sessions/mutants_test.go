package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/property/sessions"
)

// careless is a store with one mistake, or the store as a host with a mistake would use it.
type careless struct {
	session.Store
	of     string
	held   map[session.SessionID]bool
	told   func(session.Outcome)
	loaded map[session.SessionID]int64
	until  map[session.SessionID]time.Time
}

func newCareless(of string) func(session.Store) session.Store {
	return func(s session.Store) session.Store {
		return &careless{Store: s, of: of, loaded: map[session.SessionID]int64{}, held: map[session.SessionID]bool{}, until: map[session.SessionID]time.Time{}}
	}
}

// Start only accepts the delivery, and leaves the rest to the separate calls.
func (c *careless) Start(ctx context.Context, d session.Delivery, _ string, now, _ time.Time) (session.Started, error) {
	a, err := c.Accept(ctx, d, now)
	return session.Started{Accepted: a}, err
}

func (c *careless) Accept(ctx context.Context, d session.Delivery, now time.Time) (session.Accepted, error) {
	switch c.of {
	case "another channel is taken":
		d.ChannelState = nil
	case "what comes again is new":
		if _, known, _ := c.Store.Find(ctx, d.DeliveryID()); known {
			d.ID += "-again"
		}
	}
	a, err := c.Store.Accept(ctx, d, now)
	if c.of == "another payload is taken" && errors.Is(err, adk.E_DELIVERY_CONFLICT) {
		a, _, err = c.Store.Find(ctx, d.DeliveryID())
		a.Known = true
	}
	return a, err
}

func (c *careless) Claim(ctx context.Context, id session.SessionID, owner string, now, until time.Time) (session.Claim, error) {
	if c.of == "a wrong clock keeps a lease" && now.Before(c.until[id]) {
		return session.Claim{}, &adk.Error{Code: adk.E_SESSION_BUSY}
	}
	if c.of == "a lease never ends" && c.held[id] {
		return session.Claim{}, &adk.Error{Code: adk.E_SESSION_BUSY}
	}
	claim, err := c.Store.Claim(ctx, id, owner, now, until)
	if c.held[id] = c.held[id] || err == nil; err == nil {
		c.until[id] = until
	}
	if c.of == "a lease is no lease" && errors.Is(err, adk.E_SESSION_BUSY) {
		if err = c.RaiseEpochs(ctx); err == nil {
			claim, err = c.Store.Claim(ctx, id, owner, now, until)
		}
	}
	return claim, err
}

func (c *careless) Release(ctx context.Context, claim session.Claim) error {
	c.held[claim.SessionID] = false
	delete(c.until, claim.SessionID)
	return c.Store.Release(ctx, claim)
}

func (c *careless) Renew(ctx context.Context, claim session.Claim, now, until time.Time) error {
	err := c.Store.Renew(ctx, claim, now, until)
	if c.of == "a renewal takes a lease back" && errors.Is(err, adk.E_SESSION_LEASE_LOST) {
		return nil
	}
	return err
}

func (c *careless) Load(ctx context.Context, claim session.Claim) (session.Loaded, error) {
	l, err := c.Store.Load(ctx, claim)
	c.loaded[claim.SessionID] = l.Revision
	all, _ := c.Store.History(ctx, claim.SessionID, 0, 10)
	switch {
	case c.of == "the last comes first" && l.Next != nil && !all[0].State.Settled():
		l.Next = &all[0]
	case c.of == "a settled one runs again" && l.Next == nil && len(all) > 1:
		l.Next = &all[0]
	case c.of == "a tenant has the values of another":
		other, found, _ := c.Look(ctx, session.SessionID{Tenant: "shop", Session: "one"})
		if found && claim.Tenant != "shop" {
			l.Values = other.Values
		}
	}
	return l, err
}

func (c *careless) Begin(ctx context.Context, claim session.Claim, id string) (int, error) {
	n, err := c.Store.Begin(ctx, claim, id)
	if c.of == "attempts are not counted" && err == nil {
		n = 1
	}
	return n, err
}

func (c *careless) Commit(ctx context.Context, claim session.Claim, change session.Commit) error {
	outcome := session.Outcome{Delivery: session.DeliveryID{SessionID: claim.SessionID, Delivery: change.Delivery}, State: session.Committed}
	switch c.of {
	case "nothing is fenced":
		if err := c.Store.Commit(ctx, claim, change); !errors.Is(err, adk.E_SESSION_LEASE_LOST) {
			return err
		}
		return nil // as if the last writer had won
	case "values are lost":
		change.Puts = nil
	case "snapshots are lost":
		change.Snapshots = nil
	case "deletes are lost":
		change.Deletes = nil
	case "children are lost":
		change.Children = nil
	case "records are lost":
		change.Writes = nil
	case "records are turned round":
		change.Writes = slices.Clone(change.Writes)
		slices.Reverse(change.Writes)
	case "told before the commit":
		c.told(outcome)
	case "committed twice":
		if err := c.Store.Commit(ctx, claim, change); err != nil {
			return err
		}
		again := change
		again.Delivery += "-again"
		again.Puts = maps.Clone(change.Puts)
		_, _ = c.Store.Accept(ctx, session.Delivery{Tenant: claim.Tenant, Session: claim.Session, ID: again.Delivery, Kind: "chat", Payload: json.RawMessage(`"x"`)}, change.At)
		again.Revision++
		again.Attempt, _ = c.Store.Begin(ctx, claim, again.Delivery)
		return c.Store.Commit(ctx, claim, again)
	}
	err := c.Store.Commit(ctx, claim, change)
	if c.of == "a lost lease is ignored" && errors.Is(err, adk.E_SESSION_LEASE_LOST) {
		return nil
	}
	return err
}

func (c *careless) Fail(ctx context.Context, claim session.Claim, f session.Failure) error {
	switch c.of {
	case "nothing is final":
		f.Final = false
	case "what has failed is committed":
		return c.Store.Commit(ctx, claim, session.Commit{Delivery: f.Delivery, Attempt: f.Attempt, Revision: c.loaded[claim.SessionID], TurnID: f.TurnID, At: f.At,
			Puts: map[string]session.Value{heard.Name(): {Version: 1, Body: json.RawMessage(`["half"]`)}}})
	case "an abort counts":
		f.GiveBack = false
	}
	return c.Store.Fail(ctx, claim, f)
}

func (c *careless) Pending(ctx context.Context, now time.Time, limit int) ([]session.SessionID, error) {
	ids, err := c.Store.Pending(ctx, now, limit)
	switch c.of {
	case "nothing is pending":
		return nil, err
	case "who was not told is forgotten":
		ids = slices.DeleteFunc(ids, func(id session.SessionID) bool {
			all, _ := c.Store.History(ctx, id, 0, 10)
			return !slices.ContainsFunc(all, func(a session.Accepted) bool { return !a.State.Settled() })
		})
	}
	return ids, err
}

// mutant is a mistake, and the invariant that finds it.
type mutant struct {
	name, found string
	host        bool
	turn        func(context.Context, *adk.DispatchContext) error
	config      func(func() *session.Host) session.Config
}

// mutants are the mistakes: of stores, or of hosts if host is set.
var mutants = []mutant{
	{name: "another channel is taken", found: "a channel keeps its state"},
	{name: "another payload is taken", found: "a delivery counts once"},
	{name: "what comes again is new", found: "a delivery counts once", host: true},
	{name: "a lease is no lease", found: "one host at a time has a session"},
	{name: "a lease never ends", found: "what was accepted is settled"},
	{name: "a wrong clock keeps a lease", found: "what was accepted is settled"},
	{name: "a renewal takes a lease back", found: "one host at a time has a session"},
	{name: "nothing is fenced", found: "one host at a time has a session"},
	{name: "a lost lease is ignored", found: "values are what commits have left", host: true},
	{name: "the last comes first", found: "deliveries settle in order"},
	{name: "a settled one runs again", found: "deliveries settle in order"},
	{name: "a tenant has the values of another", found: "tenants are kept apart"},
	{name: "attempts are not counted", found: "values are what commits have left", turn: failing},
	{name: "values are lost", found: "values are what commits have left"},
	{name: "deletes are lost", found: "values are what commits have left", turn: deleting},
	{name: "snapshots are lost", found: "values are what commits have left", config: providing},
	{name: "children are lost", found: "what was accepted is settled", config: delegating},
	{name: "records are lost", found: "records are those of commits"},
	{name: "records are turned round", found: "records are those of commits"},
	{name: "told before the commit", found: "outcomes are told when they are settled", host: true},
	{name: "committed twice", found: "a delivery counts once", host: true},
	{name: "nothing is final", found: "deliveries settle in order", turn: failing},
	{name: "what has failed is committed", found: "values are what commits have left", host: true, turn: failing},
	{name: "an abort counts", found: "a delivery counts once"},
	{name: "nothing is pending", found: "what was accepted is settled"},
	{name: "who was not told is forgotten", found: "outcomes are told when they are settled"},
}

// failing is a turn that fails for the second delivery.
func failing(ctx context.Context, dc *adk.DispatchContext) error {
	if seed, err := session.SeedOf(dc); err != nil || seed.Delivery == "d2" {
		return errNotNow
	}
	return hears(ctx, dc)
}

// deleting is a turn that deletes what was heard at the second delivery.
func deleting(ctx context.Context, dc *adk.DispatchContext) error {
	if seed, err := session.SeedOf(dc); err != nil || seed.Delivery == "d2" {
		return heard.Delete(dc)
	}
	return hears(ctx, dc)
}

func mutated(at int) (mutant, twin sessions.Subject) {
	m := mutants[at]
	turn := m.turn
	if turn == nil {
		turn = hears
	}
	config := m.config
	if config == nil {
		config = func(func() *session.Host) session.Config { return agent(turn) }
	}
	twin = kept(m.name, config)
	if m.host {
		return sessions.WithMutant(twin, func(s session.Store, told func(session.Outcome)) session.Store {
			c := newCareless(m.name)(s).(*careless)
			c.told = told
			return c
		}), twin
	}
	return kept(m.name, config, newCareless(m.name)), twin
}

// Every mistake is found by the invariant that it breaks. The Reproduce line fails with the mistake, and passes
// without it.
func TestMutants(t *testing.T) {
	thorough.Long(t)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // an exploration makes much garbage and keeps little, so collect less often
	var table strings.Builder
	fmt.Fprint(&table, "| mistake | found at schedule | shortest |\n| --- | --- | --- |\n")
	var found []int
	for i, m := range mutants {
		mutant, twin := mutated(i)
		result, err := sessions.Explore(t.Context(), mutant, sessions.Options{First: true, Schedules: 400})
		require.NoError(t, err)
		at := slices.IndexFunc(result.Violations, func(b sessions.Breach) bool { return b.Invariant == m.found })
		if !assert.GreaterOrEqual(t, at, 0, "%s: %s", m.name, result) {
			continue
		}
		b := result.Violations[at]
		found = append(found, b.Found)
		fmt.Fprintf(&table, "| %s | %d | `%s` |\n", m.name, b.Found, b.Schedule)
		var with, without quiet
		sessions.Reproduce(&with, mutant, b.Schedule.String())
		sessions.Reproduce(&without, twin, b.Schedule.String())
		assert.NotEmpty(t, with.failures, "%s: %s passes", m.name, b.Test)
		assert.Empty(t, without.failures, "%s: the twin is accused", m.name)
	}
	t.Logf("\n%s", table.String())
	slices.Sort(found)
	page, err := os.ReadFile("../../docs/explore.md")
	require.NoError(t, err)
	for _, line := range []string{
		fmt.Sprintf("| of %d mistakes of hosts and stores | |\n", len(mutants)),
		fmt.Sprintf("| found | %d |\n", len(found)),
		fmt.Sprintf("| schedules until found, in the median | %d |\n", found[len(found)/2]),
		fmt.Sprintf("| schedules until found, at most | %d |\n", found[len(found)-1]),
		fmt.Sprintf("against %d invariants", len(sessions.Invariants())),
	} {
		assert.True(t, strings.Contains(string(page), line), "docs/explore.md quotes them: %s", line)
	}
}
