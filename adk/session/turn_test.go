package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/memory"
	"github.com/adkreplay/adkreplay/fakes"
)

// input returns a turn input middleware that calls a function.
func input(f func(tc *adk.TurnContext) error) []adk.TurnMiddleware {
	return []adk.TurnMiddleware{{Name: "own", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error {
		if err := f(tc); err != nil {
			return err
		}
		next(ctx)
		return nil
	}}}
}

// subAgent calls a dispatch whose executor calls a function and acks.
func subAgent(ctx context.Context, source adk.Source, call func(context.Context, adk.DispatchInput) (adk.DispatchEnd, error), f func(dc *adk.DispatchContext) error) (adk.DispatchEnd, error) {
	return call(ctx, adk.DispatchInput{Name: "sub", Source: source, Executor: adk.Executor{Name: "sub", Run: func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if err := f(dc); err != nil {
			return err
		}
		return dc.Ack()
	}}})
}

// SES-3, SES-9, SES-15: what a turn begins with, and what its seed holds.
func TestSeed(t *testing.T) {
	w := newWorld(t)
	c := w.config(func(_ context.Context, dc *adk.DispatchContext) error {
		seed, err := session.SeedOf(dc)
		require.NoError(t, err)
		assert.Equal(t, session.Seed{Tenant: "shop", Session: "one", Delivery: "a", Kind: "chat", ChannelState: json.RawMessage(`{"a":1,"b":2}`), Seq: 1, Attempt: 1, Epoch: 1,
			Auth: json.RawMessage(`{"user":"ada"}`), Initiator: json.RawMessage(`{"user":"ada"}`)}, seed)
		assert.Equal(t, []string{"session.auth", "session.dispatch", "session.seed", "storage.session", "storage.tenant"}, dc.Stash().Keys(), "the payload is the channel's alone")
		return nil
	})
	d := delivery("one", "a")
	d.ChannelState, d.Auth = json.RawMessage(`{"b":2, "a":1}`), json.RawMessage(`{"user":"ada"}`)
	deliver(t, w.host(c), d)
}

// SES-9: an invalid delivery is refused, with every fault, and nothing of it is kept.
func TestDeliveriesThatAreNone(t *testing.T) {
	w := newWorld(t)
	h := w.host(w.config(counting))
	for says, change := range map[string]func(*session.Delivery){
		"Session is missing":  func(d *session.Delivery) { d.Session = "" },
		"ID is missing":       func(d *session.Delivery) { d.ID = "" },
		"Kind is missing":     func(d *session.Delivery) { d.Kind = "" },
		"Payload is missing":  func(d *session.Delivery) { d.Payload = nil },
		"Payload is not JSON": func(d *session.Delivery) { d.Payload = json.RawMessage(`{`) },
		"Payload is JSON nested deeper than": func(d *session.Delivery) {
			d.Payload = json.RawMessage(strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001))
		},
		"Payload has 1048577 bytes":                 func(d *session.Delivery) { d.Payload = json.RawMessage(`"` + strings.Repeat("x", 1<<20-1) + `"`) },
		"Auth is not JSON":                          func(d *session.Delivery) { d.Auth = json.RawMessage("\"\xff\"") },
		"Tenant is not UTF-8 without NUL":           func(d *session.Delivery) { d.Tenant = "a\x00b" },
		"ID has 256 bytes, want at most 255":        func(d *session.Delivery) { d.ID = strings.Repeat("x", 256) },
		"Session is missing, want a text; ID is mi": func(d *session.Delivery) { d.Session, d.ID = "", "" },
	} {
		d := delivery("one", "a")
		change(&d)
		_, err := h.Deliver(t.Context(), d)
		require.ErrorIs(t, err, adk.E_INVALID_DELIVERY, says)
		assert.ErrorContains(t, err, says)
	}
	assert.Empty(t, w.kinds())
}

// What contains the name of a session prints more than that name, and nothing that users have said.
func TestWhatIsPrinted(t *testing.T) {
	id := session.SessionID{Tenant: "shop", Session: "one"}
	of := `session "one" of tenant "shop"`
	secret := json.RawMessage(`"SECRET"`)
	next := session.Accepted{Delivery: session.Delivery{ID: "d", Payload: secret, Auth: secret}}
	for want, v := range map[string]any{
		of + `: kind "chat", revision 7, keys ["a" "b"], the latest 1 of its deliveries`: session.State{SessionID: id, Kind: "chat", ChannelState: secret, Revision: 7,
			Keys: []session.KeyState{{Name: "a", Value: secret}, {Name: "b"}}, Deliveries: []session.Accepted{next}},
		of + `: kind "chat", revision 7, keys ["a" "b"], next "d", unapplied 0, untold 1`: session.Loaded{SessionID: id, Kind: "chat", Initiator: secret, Revision: 7,
			Values: map[string]session.Value{"b": {}, "a": {Body: secret}}, Next: &next, Untold: []session.Accepted{next}},
		of + `: kind "", revision 0, keys [], next none, unapplied 0, untold 0`: session.Loaded{SessionID: id},
		"claim of " + of + `: owner "h", epoch 3, lease 1m0s`:                   session.Claim{SessionID: id, Owner: "h", Epoch: 3, Lease: time.Minute},
		`{"step":"claimed","n":2,"at":"1970-01-01T00:00:01Z","host":"h","tenant":"shop","session":"one","epoch":3}`: session.Step{Kind: session.StepClaimed, N: 2,
			At: time.Unix(1, 0).UTC(), Host: "h", SessionID: id, Epoch: 3},
		`claimed of ` + of: session.Step{Kind: session.StepClaimed, SessionID: id, At: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		assert.Equal(t, want, fmt.Sprint(v))
		assert.Equal(t, want, fmt.Sprintf("%+v", v))
	}
}

// SES-9: where the storage keeps no record without a tenant, a delivery without a tenant is refused,
// because its turns would fail.
func TestStrictStoragesWantTenants(t *testing.T) {
	w := newWorld(t)
	h := w.host(w.config(counting))
	d := delivery("one", "a")
	d.Tenant = ""
	_, err := h.Deliver(t.Context(), d)
	require.ErrorIs(t, err, adk.E_INVALID_DELIVERY)
	assert.ErrorContains(t, err, "Tenant is missing: the agent's storage is strict")
	assert.Empty(t, w.kinds())

	c := w.config(counting)
	c.Agent.Storage = must(memory.New(storage.Config{Strict: new(true), Partition: func(adk.Scope) (storage.Partition, error) {
		return storage.Partition{Tenant: "shop", Session: "all"}, nil
	}})).Storage()
	assert.Equal(t, session.Committed, deliver(t, w.host(c), d).State, "its own partition says whose records they are")
}

// SES-6: a value that a dispatch sets is visible at once, in the turn output after an ack, and in
// the next turn. After the ack the values are sealed.
func TestDispatchSetsValues(t *testing.T) {
	w := newWorld(t)
	inOutput := -1
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		require.NoError(t, counting(ctx, dc))
		n, err := count.Get(dc)
		assert.NoError(t, err)
		assert.Equal(t, 1, n)
		_, err = dc.OnAck("late", func(_ context.Context, dc *adk.DispatchContext) {
			assert.ErrorIs(t, count.Set(dc, 7), adk.E_SESSION_SEALED)
			assert.ErrorIs(t, count.Delete(dc), adk.E_SESSION_SEALED)
		})
		return err
	})
	c.Agent.TurnOutput = []adk.TurnMiddleware{{Name: "look", Run: func(ctx context.Context, tc *adk.TurnContext, next adk.Next) (err error) {
		inOutput, err = count.Get(tc)
		assert.NoError(t, count.Set(tc, inOutput+10), "a turn may set to its end")
		next(ctx)
		return err
	}}}
	h := w.host(c)
	deliver(t, h, delivery("one", "a"))
	assert.Equal(t, 1, inOutput)
	assert.Equal(t, "11", w.counted(h, "one"))
}

// SES-6: after a nack no value is kept, also when an ack came before the failure.
func TestNackKeepsNothing(t *testing.T) {
	for name, end := range map[string]func(dc *adk.DispatchContext) error{
		"nack":             func(dc *adk.DispatchContext) error { return dc.Nack(errors.New("no")) },
		"fails":            func(*adk.DispatchContext) error { return errors.New("broken") },
		"panics":           func(*adk.DispatchContext) error { panic("broken") },
		"aborts":           func(dc *adk.DispatchContext) error { return dc.Abort(nil) },
		"fails when acked": func(dc *adk.DispatchContext) error { return errors.Join(dc.Ack(), errors.New("after the ack")) },
	} {
		w := newWorld(t)
		c := w.config(counting)
		c.Attempts = 1
		c.Agent.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			return errors.Join(counting(ctx, dc), end(dc))
		}
		h := w.host(c)
		assert.Equal(t, session.Failed, deliver(t, h, delivery("one", "a")).State, name)
		assert.Empty(t, w.counted(h, "one"), name)
		assert.Empty(t, w.said("one"), name)
	}
}

// SES-7: a dispatch other than the main one reads values and sets none. A dispatch that session.Dispatch
// calls may set them; its caller gets these values after the ack.
func TestDispatchesWithin(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("broken")
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		require.NoError(t, count.Set(dc, 1))
		_, err := subAgent(ctx, dc, adk.Dispatch, func(dc *adk.DispatchContext) error {
			n, err := count.Get(dc)
			assert.NoError(t, err)
			assert.Equal(t, 1, n)
			assert.ErrorIs(t, count.Set(dc, 2), adk.E_SESSION_SEALED)
			return nil
		})
		require.NoError(t, err)
		_, err = subAgent(ctx, dc, session.Dispatch, func(sub *adk.DispatchContext) error {
			assert.NoError(t, count.Set(sub, 3))
			_, err := subAgent(ctx, sub, session.Dispatch, func(deeper *adk.DispatchContext) error { return count.Set(deeper, 4) })
			return err
		})
		require.NoError(t, err)
		n, err := count.Get(dc)
		assert.NoError(t, err)
		assert.Equal(t, 4, n)
		end, err := subAgent(ctx, dc, session.Dispatch, func(sub *adk.DispatchContext) error {
			return errors.Join(count.Set(sub, 5), sub.Ack(), broken)
		})
		assert.ErrorIs(t, err, broken)
		assert.Equal(t, adk.StatusNack, end.Status, "the ack did not stand")
		n, _ = count.Get(dc)
		assert.Equal(t, 4, n)
		require.NoError(t, dc.Ack())
		_, err = subAgent(ctx, dc, session.Dispatch, func(*adk.DispatchContext) error { panic("nothing is kept of it") })
		assert.ErrorIs(t, err, adk.E_SESSION_SEALED)
		return nil
	})
	run := c.Agent.Executor.Run
	c.Agent.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		if err := run(ctx, dc, h); !errors.Is(err, adk.E_LLM_EXECUTION_ALREADY_SIGNALLED) {
			return err
		}
		return nil
	}
	c.Agent.TurnInput = input(func(tc *adk.TurnContext) error {
		_, err := subAgent(t.Context(), tc, session.Dispatch, func(dc *adk.DispatchContext) error { return shortKey.Set(dc, "input") })
		return err
	})
	c.Keys = append(c.Keys, shortKey)
	h := w.host(c)
	deliver(t, h, delivery("one", "a"))
	state, err := h.State(t.Context(), "shop", "one")
	require.NoError(t, err)
	assert.Equal(t, []session.KeyState{{Name: "test.count", Version: 1, Size: 1, Value: json.RawMessage("4")}, {Name: "test.short", Version: 1, Size: 7, Value: json.RawMessage(`"input"`)}}, state.Keys)
	_, err = session.Dispatch(t.Context(), adk.DispatchInput{Name: "none"})
	assert.ErrorIs(t, err, adk.E_SESSION_OUTSIDE)
}

// SES-8: when strands set one key the last value stays, and with two keys no value is lost.
func TestStrandsSetValues(t *testing.T) {
	w := newWorld(t)
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		var strands []*adk.Strand
		for i := range 8 {
			s, err := dc.Fork(ctx, fmt.Sprint(i), func(_ context.Context, dc *adk.DispatchContext) error {
				return errors.Join(count.Set(dc, i), shortKey.Set(dc, "s"))
			})
			require.NoError(t, err)
			strands = append(strands, s)
		}
		for _, s := range strands {
			require.NoError(t, s.Wait())
		}
		return nil
	})
	c.Keys = append(c.Keys, shortKey)
	c.Agent = fakes.Deterministic(c.Agent)
	h := w.host(c)
	deliver(t, h, delivery("one", "a"))
	assert.Equal(t, "7", w.counted(h, "one"))
}

// lastPart is a provider that counts its commits, and shows the number in the turn.
type lastPart struct {
	fails error
	panic bool
}

var partsKey = must(session.NewRuntimeKey[string]("test.parts"))

func (lastPart) Name() string    { return "parts" }
func (lastPart) Needs() []string { return nil }

func (p lastPart) Create(_ context.Context, tc *adk.TurnContext, snapshot json.RawMessage) (bool, error) {
	return true, partsKey.Set(tc, string(snapshot))
}

func (p lastPart) Commit(_ context.Context, tc *adk.TurnContext) (json.RawMessage, error) {
	if p.panic {
		panic("no snapshot")
	}
	held, err := partsKey.Get(tc)
	return json.RawMessage(fmt.Sprintf(`[%s]`, held)), errors.Join(err, p.fails)
}

// SES-16: a provider gets its snapshot of the last commit. A provider that fails to make a new snapshot
// fails the turn output, which undoes nothing.
func TestProviders(t *testing.T) {
	w := newWorld(t)
	var seen []string
	provider := lastPart{}
	hostOf := func() *session.Host {
		c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
			held, err := partsKey.Get(dc)
			seen = append(seen, held)
			return errors.Join(err, counting(ctx, dc))
		})
		c.Keys = append(c.Keys, partsKey)
		c.Providers = []session.Provider{provider, named{"idle", []string{"parts"}}}
		return w.host(c)
	}
	deliver(t, hostOf(), delivery("one", "a"))
	deliver(t, hostOf(), delivery("one", "b"))
	provider = lastPart{fails: errors.New("no room")}
	assert.True(t, deliver(t, hostOf(), delivery("one", "c")).OutputFailed)
	provider = lastPart{panic: true}
	assert.True(t, deliver(t, hostOf(), delivery("one", "d")).OutputFailed)
	provider = lastPart{}
	deliver(t, hostOf(), delivery("one", "e"))
	assert.Equal(t, []string{"", "[]", "[[]]", "[[]]", "[[]]"}, seen)
	assert.Equal(t, "5", w.counted(hostOf(), "one"))
}

// resting is a provider that is active only when it has no snapshot.
type resting struct{ seen *[]string }

func (resting) Name() string    { return "resting" }
func (resting) Needs() []string { return nil }

func (r resting) Create(_ context.Context, _ *adk.TurnContext, snapshot json.RawMessage) (bool, error) {
	*r.seen = append(*r.seen, string(snapshot))
	return snapshot == nil, nil
}

func (resting) Commit(context.Context, *adk.TurnContext) (json.RawMessage, error) {
	return json.RawMessage(`"once"`), nil
}

// SES-16: the snapshot of an inactive provider is kept when other providers make new ones.
func TestSnapshotOfAProviderAtRest(t *testing.T) {
	w := newWorld(t)
	var seen []string
	c := w.config(counting)
	c.Providers = []session.Provider{lastPart{}, resting{&seen}}
	h := w.host(c)
	for _, id := range []string{"a", "b", "c"} {
		assert.False(t, deliver(t, h, delivery("one", id)).OutputFailed)
	}
	assert.Equal(t, []string{"", `"once"`, `"once"`}, seen)
}

// failing is a provider whose Create fails.
type failing struct{ named }

func (failing) Create(context.Context, *adk.TurnContext, json.RawMessage) (bool, error) {
	return false, errors.New("no sandbox")
}

// SES-16, SES-21: a provider that fails makes the turn input fail, with the provider's name in the error.
func TestProviderThatFails(t *testing.T) {
	w := newWorld(t)
	c := w.config(counting)
	c.Attempts = 1
	c.Providers = []session.Provider{failing{named{"sandbox", nil}}}
	told := ""
	c.Listen = func(session.Seed) (adk.Functional, adk.Observability) {
		return adk.Functional{}, adk.Observability{Error: func(e adk.ErrorEvent) { told = e.Error.Error() }}
	}
	o := deliver(t, w.host(c), delivery("one", "a"))
	assert.Equal(t, adk.E_INPUT_PIPELINE_ERROR, o.Code)
	assert.Contains(t, told, `provider "sandbox": no sandbox`)
}

// SES-17: Goexit in the turn output counts as a crash: nothing is committed, and the claim is free.
func TestGoexitInTurnOutput(t *testing.T) {
	w := newWorld(t)
	exits := true
	c := w.config(counting)
	c.Agent.TurnOutput = []adk.TurnMiddleware{{Name: "exit", Run: func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error {
		if exits {
			runtime.Goexit()
		}
		next(ctx)
		return nil
	}}}
	h := w.host(c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = h.Deliver(t.Context(), delivery("one", "a"))
	}()
	<-done
	assert.Empty(t, w.counted(h, "one"))
	assert.Empty(t, w.said("one"))
	exits = false
	o := deliver(t, h, delivery("one", "a"))
	assert.Equal(t, 2, o.Attempt)
	assert.Equal(t, "1", w.counted(h, "one"))
}

// moving is a channel whose state changes.
type moving struct {
	chatChannel
	when string
	now  *string
}

func (m *moving) State() (json.RawMessage, error) {
	if m.when == "made" || m.when == "run" && *m.now == "run" {
		return json.RawMessage(`{"moved":true}`), nil
	}
	return m.chatChannel.State()
}

func (m *moving) Deliver(ctx context.Context, tc *adk.TurnContext, d session.Delivery) error {
	if m.when == "hook" {
		m.state = json.RawMessage(`2`)
	}
	return m.chatChannel.Deliver(ctx, tc, d)
}

// SES-18: a channel whose state changes, at whatever time, fails the delivery at once.
func TestChannelStateIsFixed(t *testing.T) {
	for _, when := range []string{"made", "hook", "run", ""} {
		w := newWorld(t)
		now := ""
		c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
			now = "run"
			return counting(ctx, dc)
		})
		c.Channels["chat"] = func(state json.RawMessage) (session.Channel, error) {
			return &moving{chatChannel{state}, when, &now}, nil
		}
		h := w.host(c)
		d := delivery("one", "a")
		d.ChannelState = json.RawMessage(`{"b":1,"a":2}`)
		o := deliver(t, h, d)
		if when == "" {
			assert.Equal(t, session.Committed, o.State)
			continue
		}
		assert.Equal(t, session.Failed, o.State, when)
		assert.Equal(t, adk.E_SESSION_CHANNEL_STATE_CHANGED, o.Code, when)
		assert.Equal(t, 1, o.Attempt, when)
		assert.Empty(t, w.counted(h, "one"), when)
	}
}

// SES-19: a turn output that fails undoes nothing.
func TestTurnOutputThatFails(t *testing.T) {
	for name, f := range map[string]func(ctx context.Context, tc *adk.TurnContext, next adk.Next) error{
		"fails":   func(context.Context, *adk.TurnContext, adk.Next) error { return errors.New("no mail") },
		"panics":  func(context.Context, *adk.TurnContext, adk.Next) error { panic("no mail") },
		"aborts":  func(_ context.Context, tc *adk.TurnContext, _ adk.Next) error { return tc.Abort(nil) },
		"shorts":  func(context.Context, *adk.TurnContext, adk.Next) error { return nil },
		"is fine": func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error { next(ctx); return nil },
	} {
		w := newWorld(t)
		c := w.config(counting)
		c.Agent.TurnOutput = []adk.TurnMiddleware{{Name: "mail", Run: f}}
		h := w.host(c)
		o := deliver(t, h, delivery("one", "a"))
		assert.Equal(t, session.Committed, o.State, name)
		assert.Equal(t, name != "is fine", o.OutputFailed, name)
		assert.Equal(t, "1", w.counted(h, "one"), name)
		assert.Len(t, w.said("one"), 2, name)
	}
}

// SES-2, SES-19: a value that code has written by hand below the session's own leaves of the stash is
// reported at the commit, and fails the delivery.
func TestStashByHand(t *testing.T) {
	for path, value := range map[string]any{
		"session.context.test.count":  "1",
		"session.context.test":        json.RawMessage(`{"v":1,"x":1}`),
		"session.context.other":       json.RawMessage(`{"v":1,"x":1}`),
		"session.context":             map[string]any{"test": map[string]any{"count": json.RawMessage(`{"v":1,"x":"one"}`)}},
		"session.context.test.counts": json.RawMessage(`{"v":1,"x":1,"y":2}`),
		"session.seed":                json.RawMessage(`{}`),
		"session.auth":                json.RawMessage(`{}`),
		"session.own":                 1,
		"session.internal.parts":      json.RawMessage(`1`),
	} {
		w := newWorld(t)
		c := w.config(func(context.Context, *adk.DispatchContext) error { return nil })
		c.Agent.TurnInput = input(func(tc *adk.TurnContext) error { return tc.Stash().Set(path, value) })
		h := w.host(c)
		o := deliver(t, h, delivery("one", "a"))
		assert.Equal(t, adk.E_INVALID_SESSION_STATE, o.Code, path)
		assert.Equal(t, 1, o.Attempt, path)
	}
}

// SES-29: the values of a session together may not exceed a number of bytes.
func TestLargeSessions(t *testing.T) {
	w := newWorld(t)
	large := make([]*session.Key[string], 17)
	c := w.config(func(_ context.Context, dc *adk.DispatchContext) error {
		for _, key := range large {
			if err := key.Set(dc, strings.Repeat("x", 63<<10)); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range large {
		large[i] = must(session.NewKey[string](session.KeyInit{Name: fmt.Sprint("large.", i)}))
		c.Keys = append(c.Keys, large[i])
	}
	c.Attempts = 1
	o := deliver(t, w.host(c), delivery("one", "a"))
	assert.Equal(t, adk.E_SESSION_TOO_LARGE, o.Code)
}
