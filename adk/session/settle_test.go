package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/storagetest"
)

var errBroken = errors.New("broken")

// SES-11: with NoWait, a session that another host has claimed is busy, and the delivery stays accepted.
func TestBusySession(t *testing.T) {
	w := newWorld(t)
	c := w.config(counting)
	c.NoWait = true
	h := w.host(c)
	deliver(t, h, delivery("one", "a"))
	other, err := w.kept.Sessions().Claim(t.Context(), delivery("one", "a").SessionID(), "other", w.clock.Now(), w.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	_, err = h.Deliver(t.Context(), delivery("one", "b"))
	assert.ErrorIs(t, err, adk.E_SESSION_BUSY)
	assert.ErrorContains(t, err, "waits for what is under way in its session", "which may be this host's too")
	n, err := h.Resume(t.Context(), 10)
	assert.NoError(t, err)
	assert.Zero(t, n, "the lease is not over")
	w.clock.Advance(time.Minute)
	n, err = h.Resume(t.Context(), 10)
	assert.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, "2", w.counted(h, "one"))
	_, err = w.kept.Sessions().Load(t.Context(), other)
	assert.ErrorIs(t, err, adk.E_SESSION_LEASE_LOST)
}

// SES-11: without NoWait the host waits, by the config's clock, as long as its caller does.
func TestWaitingForASession(t *testing.T) {
	w := newWorld(t)
	h := w.host(w.config(counting))
	deliver(t, h, delivery("one", "a"))
	_, err := w.kept.Sessions().Claim(t.Context(), delivery("one", "a").SessionID(), "other", w.clock.Now(), w.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBroken)
	_, err = h.Deliver(ctx, delivery("one", "a"))
	assert.ErrorIs(t, err, errBroken)
	done := make(chan session.Outcome)
	go func() {
		o, err := h.Deliver(t.Context(), delivery("one", "b"))
		assert.NoError(t, err)
		done <- o
	}()
	for {
		select {
		case o := <-done:
			assert.EqualValues(t, 2, o.Revision)
			assert.False(t, w.clock.Now().Before(fakes.Epoch.Add(time.Minute)))
			return
		default:
			w.clock.Advance(time.Second)
		}
	}
}

// SES-12: concurrent deliveries count in the order in which they were accepted.
func TestDeliveriesAtOnce(t *testing.T) {
	w := newWorld(t)
	h := w.host(w.config(counting))
	outcomes := make([]session.Outcome, 16)
	var all sync.WaitGroup
	for i := range outcomes {
		all.Go(func() {
			o, err := h.Deliver(context.Background(), delivery("one", string(rune('a'+i))))
			assert.NoError(t, err)
			outcomes[i] = o
		})
	}
	all.Wait()
	for _, o := range outcomes {
		assert.Equal(t, o.Seq, o.Revision, "of %s", o.Delivery)
	}
	assert.Equal(t, "16", w.counted(h, "one"))
}

// SES-13: a host that does not have the channel leaves the delivery to others, without an attempt.
func TestUnknownChannel(t *testing.T) {
	w := newWorld(t)
	c := w.config(counting)
	older := c
	older.Channels = map[string]func(json.RawMessage) (session.Channel, error){"mail": newChatChannel}
	h := w.host(older)
	_, err := h.Deliver(t.Context(), delivery("one", "a"))
	require.ErrorIs(t, err, adk.E_SESSION_UNKNOWN_CHANNEL)
	assert.ErrorContains(t, err, `session "one" of tenant "shop"`)
	n, err := h.Resume(t.Context(), 5)
	require.NoError(t, err)
	assert.Zero(t, n)
	o := deliver(t, w.host(c), delivery("one", "a"))
	assert.Equal(t, session.Committed, o.State)
	assert.Equal(t, 1, o.Attempt)
	assert.False(t, o.Duplicate)
}

// SES-13, SES-30: values that no key can have set prevent the session from going on. Values of keys
// that the host does not know are kept.
func TestValuesOfOthers(t *testing.T) {
	w := newWorld(t)
	store := w.kept.Sessions()
	put := func(in, id string, revision int64, values map[string]session.Value) {
		_, err := store.Accept(t.Context(), delivery(in, id), w.clock.Now())
		require.NoError(t, err)
		claim, err := store.Claim(t.Context(), delivery(in, id).SessionID(), "by hand", w.clock.Now(), w.clock.Now().Add(time.Hour))
		require.NoError(t, err)
		attempt, err := store.Begin(t.Context(), claim, id)
		require.NoError(t, err)
		require.NoError(t, store.Commit(t.Context(), claim, session.Commit{Delivery: id, Attempt: attempt, Revision: revision, Puts: values, Told: true}))
		require.NoError(t, store.Release(t.Context(), claim))
	}
	kept := session.Value{Version: 9, Body: json.RawMessage(`{ "z": 1 }`)}
	put("one", "a", 0, map[string]session.Value{"other.key": kept})
	h := w.host(w.config(counting))
	deliver(t, h, delivery("one", "b"))
	l, _, err := store.Look(t.Context(), delivery("one", "a").SessionID())
	require.NoError(t, err)
	assert.Equal(t, kept, l.Values["other.key"])
	state, err := h.State(t.Context(), "shop", "one")
	require.NoError(t, err)
	assert.Equal(t, session.KeyState{Name: "other.key", Version: 9, Size: 10}, state.Keys[0], "SES-30: no value of a key that the host does not know")

	for in, broken := range map[string]session.Value{"no version": {Version: 0, Body: json.RawMessage(`1`)}, "no JSON": {Version: 1, Body: json.RawMessage(`{`)}} {
		put(in, "c", 0, map[string]session.Value{"test.count": broken})
		_, err = h.Deliver(t.Context(), delivery(in, "d"))
		assert.ErrorIs(t, err, adk.E_INVALID_SESSION_STATE, in)
		assert.ErrorContains(t, err, `session "`+in+`" of tenant "shop"`)
		assert.ErrorContains(t, err, "test.count", in)
		found, _, err := store.Find(t.Context(), delivery(in, "d").DeliveryID())
		require.NoError(t, err)
		assert.Equal(t, session.Unsettled, found.State, in)
		assert.Zero(t, found.Attempts, in)
	}
}

// SES-13: a session or a delivery with content that cannot be read keeps the delivery waiting, without
// an attempt.
func TestUnreadableSessions(t *testing.T) {
	for says, change := range map[string]func(*session.Delivery){
		"the channel's state":         func(d *session.Delivery) { d.ChannelState = json.RawMessage(`{`) },
		"the initiator":               func(d *session.Delivery) { d.Initiator = json.RawMessage(`{`) },
		"the auth of the delivery":    func(d *session.Delivery) { d.Auth = json.RawMessage(`{`) },
		"the payload of the delivery": func(d *session.Delivery) { d.Payload = nil },
	} {
		w := newWorld(t)
		d := delivery("one", "a")
		d.Auth, d.Initiator = nil, nil
		change(&d)
		_, err := w.kept.Sessions().Accept(t.Context(), d, w.clock.Now())
		require.NoError(t, err)
		_, err = w.host(w.config(counting)).Resume(t.Context(), 1)
		assert.ErrorIs(t, err, adk.E_INVALID_SESSION_STATE)
		assert.ErrorContains(t, err, `session "one" of tenant "shop"`)
		assert.ErrorContains(t, err, says)
		found, _, err := w.kept.Sessions().Find(t.Context(), d.DeliveryID())
		require.NoError(t, err)
		assert.Equal(t, session.Unsettled, found.State)
		assert.Zero(t, found.Attempts)
	}
}

// SES-9, SES-25: the errors of a database, which do not name a session, are returned with the name of the
// delivery or the session.
func TestErrorsOfStoresAreNamed(t *testing.T) {
	for _, says := range []error{errors.New("the disk is full"), &adk.Error{Code: adk.E_STORAGE_BUSY, Message: "others were busy"}} {
		w := newWorld(t)
		_, err := w.kept.Sessions().Accept(t.Context(), delivery("one", "a"), w.clock.Now())
		require.NoError(t, err)
		c := w.config(counting)
		c.Store = &faultyStore{Store: c.Store, before: func(call string) error {
			if call == "Pending" { // which is about no session
				return nil
			}
			return says
		}}
		h := w.host(c)
		_, err = h.Deliver(t.Context(), delivery("one", "a"))
		assert.ErrorIs(t, err, says)
		assert.ErrorContains(t, err, `session: delivery "a" of session "one" of tenant "shop": `)
		_, err = h.Resume(t.Context(), 1)
		assert.ErrorIs(t, err, says)
		assert.ErrorContains(t, err, `session: session "one" of tenant "shop": `)
		_, err = h.State(t.Context(), "shop", "one")
		assert.ErrorIs(t, err, says)
		assert.ErrorContains(t, err, `session: session "one" of tenant "shop": `)
	}
}

// SES-20: a commit waits for its store as long as its caller does, and ten seconds more, because a
// thousand hosts that commit to one file wait for one another.
func TestCommitsWaitForTheirStore(t *testing.T) {
	for _, c := range []struct {
		took   time.Duration
		leaves bool
		state  session.DeliveryState
	}{
		{time.Minute, false, session.Committed},
		{9 * time.Second, true, session.Committed},
		{11 * time.Second, true, session.Unsettled},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			config := w.config(counting)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			config.Store = &faultyStore{Store: config.Store, before: func(call string) error {
				if call == "Commit" {
					if c.leaves {
						leave()
					}
					time.Sleep(c.took) // in the time of the synctest bubble
				}
				return nil
			}}
			o, err := w.host(config).Deliver(ctx, delivery("one", "a"))
			found, _, failure := w.kept.Sessions().Find(t.Context(), delivery("one", "a").DeliveryID())
			require.NoError(t, failure)
			assert.Equal(t, c.state, found.State, c.took)
			if c.state == session.Committed {
				assert.NoError(t, err)
				assert.Equal(t, c.state, o.State)
			} else {
				assert.Error(t, err)
			}
		})
	}
}

// SES-14: a child is accepted with its parent's commit, and only then. It has the initiator of its
// parent and its own session.
func TestDelegate(t *testing.T) {
	w := newWorld(t)
	var h *session.Host
	var child session.DeliveryID
	seeds := map[string]session.Seed{}
	fail := true
	c := w.config(func(_ context.Context, dc *adk.DispatchContext) error {
		seed, err := session.SeedOf(dc)
		require.NoError(t, err)
		seeds[seed.Session] = seed
		if seed.Parent != nil {
			return nil
		}
		_, err = h.Delegate(dc, session.Delivery{Tenant: "other", Kind: "chat", Payload: json.RawMessage(`"x"`)})
		assert.ErrorIs(t, err, adk.E_INVALID_DELIVERY)
		_, err = h.Delegate(dc, session.Delivery{Session: "one", Kind: "chat", Payload: json.RawMessage(`"x"`)})
		assert.ErrorIs(t, err, adk.E_INVALID_DELIVERY)
		_, err = h.Delegate(dc, session.Delivery{Kind: "chat"})
		assert.ErrorContains(t, err, "Payload is missing")
		child, err = h.Delegate(dc, session.Delivery{Kind: "chat", Payload: json.RawMessage(`"look it up"`), Initiator: json.RawMessage(`"somebody"`)})
		require.NoError(t, err)
		if fail {
			return errBroken
		}
		return nil
	})
	c.NoWait = true
	h = w.host(c)
	d := delivery("one", "a")
	d.Auth, d.Initiator = json.RawMessage(`"ada"`), json.RawMessage(`"grace"`)
	_, err := h.Deliver(t.Context(), d)
	require.ErrorIs(t, err, adk.E_SESSION_BUSY, "the retry is not due")
	n, err := h.Resume(t.Context(), 10)
	require.NoError(t, err)
	assert.Zero(t, n, "nothing is delegated by an attempt that failed")
	fail = false
	w.clock.Advance(time.Second)
	o := deliver(t, h, d)
	assert.Equal(t, 2, o.Attempt)
	n, err = h.Resume(t.Context(), 10)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	seed := seeds[child.Session]
	assert.Equal(t, &session.DeliveryID{SessionID: session.SessionID{Tenant: "shop", Session: "one"}, Delivery: "a"}, seed.Parent)
	assert.JSONEq(t, `"grace"`, string(seed.Initiator))
	assert.JSONEq(t, `"ada"`, string(seed.Auth))
	assert.Equal(t, child.Delivery, seed.Delivery)
	later := delivery("one", "b")
	later.Auth = json.RawMessage(`"eve"`)
	deliver(t, h, later)
	assert.JSONEq(t, `"eve"`, string(seeds["one"].Auth))
	assert.JSONEq(t, `"grace"`, string(seeds["one"].Initiator))
}

// hurried is a clock on which a host's pauses pass at once.
type hurried struct {
	*fakes.Clock
	passed func() // called for each pause
}

func (c hurried) AfterFunc(d time.Duration, fire func()) (stop func() bool) {
	stop = c.Clock.AfterFunc(d, fire)
	if d <= 2*time.Second {
		c.Advance(d)
		c.passed()
	}
	return stop
}

// SES-20: when the store does not answer a commit, the host looks whether the commit was made, and
// repeats one that was not, for ten seconds.
func TestCommitWithoutAnAnswer(t *testing.T) {
	for _, made := range []bool{true, false} {
		w := newWorld(t)
		c := w.config(counting)
		s := &faultyStore{Store: c.Store}
		c.Store, c.Agent.Clock = s, hurried{w.clock, func() {}}
		s.before = func(call string) error {
			if call == "Commit" && !made {
				return errBroken
			}
			return nil
		}
		s.after = func(call string) error {
			if call == "Commit" {
				return errBroken
			}
			return nil
		}
		h := w.host(c)
		o, err := h.Deliver(t.Context(), delivery("one", "a"))
		if made {
			require.NoError(t, err)
			assert.Equal(t, session.Committed, o.State)
			continue
		}
		require.ErrorIs(t, err, errBroken)
		waited := w.clock.Now().Sub(fakes.Epoch)
		assert.True(t, waited >= 10*time.Second && waited < 13*time.Second, "it waited for %s", waited)
		s.before, s.after = nil, nil
		assert.Equal(t, 2, deliver(t, h, delivery("one", "a")).Attempt)
		assert.Equal(t, "1", w.counted(h, "one"))
	}
}

// SES-20: a store that is away for a while costs no turn: the host repeats the commit after growing pauses,
// as long as its caller waits. It stops when another host has claimed the session meanwhile.
func TestCommitToAStoreThatIsAway(t *testing.T) {
	for name, end := range map[string]func(s *faultyStore, leave func()) error{
		"it comes back":   func(*faultyStore, func()) error { return nil },
		"the caller left": func(_ *faultyStore, leave func()) error { leave(); return nil },
		"it was claimed":  func(s *faultyStore, _ func()) error { return s.RaiseEpochs(context.Background()) },
	} {
		w := newWorld(t)
		c := w.config(counting)
		s := &faultyStore{Store: c.Store}
		asked, pauses := 0, 0
		ctx, leave := context.WithCancelCause(t.Context())
		away := true
		s.before = func(call string) error {
			if call == "Commit" {
				asked++
			}
			if away {
				return errBroken
			}
			return nil
		}
		c.Store, c.NoWait = s, true
		run := c.Agent.Executor.Run
		c.Agent.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, help *adk.Helpers) error {
			away = true
			return run(ctx, dc, help)
		}
		away = false
		c.Agent.Clock = hurried{w.clock, func() {
			if pauses++; pauses == 5 {
				require.NoError(t, end(s, func() { leave(errBroken) }), name)
				away = false
			}
		}}
		o, err := w.host(c).Deliver(ctx, delivery("one", "a"))
		assert.Equal(t, 5, pauses, name)
		if name == "it was claimed" {
			require.ErrorIs(t, err, adk.E_SESSION_BUSY, name)
			assert.Equal(t, 7, asked, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, []any{session.Committed, 1, 7}, []any{o.State, o.Attempt, asked}, name)
		assert.Equal(t, fakes.Epoch.Add(31*50*time.Millisecond), w.clock.Now(), name)
	}
}

// SES-20: a commit that was lost once is repeated, and its turn does not run again. A commit that
// arrives while the host looks for it counts once.
func TestCommitThatWasLostOnce(t *testing.T) {
	for _, late := range []bool{false, true} {
		w := newWorld(t)
		c := w.config(counting)
		s := &faultyStore{Store: c.Store}
		c.Store = s
		lost, last := 0, func() {}
		s.before = func(call string) error {
			if call != "Commit" || lost > 0 {
				return nil
			}
			lost++
			return errBroken
		}
		if late {
			s.lost = func(commit func()) { last = commit }
			s.after = func(call string) error {
				if call == "Find" { // it has seen nothing yet
					last()
				}
				return nil
			}
		}
		h := w.host(c)
		assert.Equal(t, 1, deliver(t, h, delivery("one", "a")).Attempt, "late %v", late)
		assert.Equal(t, "1", w.counted(h, "one"))
		assert.Equal(t, 1, lost)
	}
}

// SES-20: a host that has lost its lease does not take another host's commit for its own: it reports
// nothing about that commit, and returns the outcome as it is.
func TestCommitOfAnother(t *testing.T) {
	w := newWorld(t)
	next := w.config(counting)
	next.Name, next.NoWait, next.Notify = "next", true, nil
	other := w.host(next)
	c := w.config(counting)
	s := &faultyStore{Store: c.Store}
	taken := false
	s.before = func(call string) error {
		if call != "Commit" || taken {
			return nil
		}
		taken = true
		require.NoError(t, s.RaiseEpochs(t.Context()))
		assert.Equal(t, 2, deliver(t, other, delivery("one", "a")).Attempt)
		return nil
	}
	c.Store = s
	h := w.host(c)
	o := deliver(t, h, delivery("one", "a"))
	assert.Equal(t, session.Committed, o.State)
	assert.Equal(t, 2, o.Attempt)
	assert.Equal(t, "1", w.counted(h, "one"))
	assert.EqualValues(t, 1, h.Counters().LeaseLosses)
	assert.Empty(t, w.told)
	committed := 0
	for _, kind := range w.kinds() {
		if kind == session.StepCommitted {
			committed++
		}
	}
	assert.Equal(t, 1, committed)
}

// SES-20: a commit writes the keys that were changed, and no others.
func TestCommitOfWhatWasChanged(t *testing.T) {
	w := newWorld(t)
	deliver(t, w.host(w.config(counting)), delivery("one", "a"))
	for id, turn := range map[string]func(context.Context, *adk.DispatchContext) error{
		"reads": func(_ context.Context, dc *adk.DispatchContext) error { _, err := count.Get(dc); return err },
		"same":  func(_ context.Context, dc *adk.DispatchContext) error { return count.Set(dc, 1) },
	} {
		w.steps = nil
		deliver(t, w.host(w.config(turn)), delivery("one", id))
		at := slices.IndexFunc(w.steps, func(s session.Step) bool { return s.Kind == session.StepCommitted })
		require.GreaterOrEqual(t, at, 0, id)
		assert.Empty(t, w.steps[at].Keys, id)
	}
}

// SES-42: when the start of a delivery is not answered, for instance because its caller has left, no
// attempt is counted and no host has to wait for a lease to end.
func TestStartWithoutAnAnswer(t *testing.T) {
	w := newWorld(t)
	c := w.config(counting)
	c.Store = &faultyStore{Store: c.Store, after: func(call string) error {
		if call == "Start" {
			return errBroken
		}
		return nil
	}}
	_, err := w.host(c).Deliver(t.Context(), delivery("one", "a"))
	require.ErrorIs(t, err, errBroken)
	next := w.config(counting)
	next.Name, next.NoWait = "next", true
	assert.Equal(t, 1, deliver(t, w.host(next), delivery("one", "a")).Attempt)
}

// SES-13, SES-42: a host that cannot work with a session gives the begun attempt back.
func TestStartOfALaterRelease(t *testing.T) {
	w := newWorld(t)
	later := w.config(counting)
	key := must(session.NewKey[int](session.KeyInit{Name: "test.count", Version: 2, Upgrade: func(_ int, old json.RawMessage) (json.RawMessage, error) { return old, nil }}))
	later.Keys = []session.AnyKey{key}
	later.Agent.Executor.Run = func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		return errors.Join(key.Set(dc, 1), dc.Ack())
	}
	deliver(t, w.host(later), delivery("one", "a"))
	_, err := w.host(w.config(counting)).Deliver(t.Context(), delivery("one", "b"))
	require.ErrorIs(t, err, adk.E_SESSION_STATE_NEWER)
	later.NoWait, later.Name = true, "later"
	assert.Equal(t, 1, deliver(t, w.host(later), delivery("one", "b")).Attempt)
}

// SES-21: an attempt that fails is repeated after growing pauses, and not after the last attempt.
func TestRetries(t *testing.T) {
	w := newWorld(t)
	c := w.config(func(context.Context, *adk.DispatchContext) error { return errBroken })
	c.NoWait, c.Attempts = true, 12
	h := w.host(c)
	_, err := h.Deliver(t.Context(), delivery("one", "a"))
	require.ErrorIs(t, err, adk.E_SESSION_BUSY)
	wait := time.Second
	for attempt := 2; attempt <= 12; attempt++ {
		w.clock.Advance(wait - time.Millisecond)
		n, err := h.Resume(t.Context(), 1)
		require.NoError(t, err)
		require.Zero(t, n)
		w.clock.Advance(time.Millisecond)
		n, err = h.Resume(t.Context(), 1)
		require.NoError(t, err)
		found, _, err := w.kept.Sessions().Find(t.Context(), delivery("one", "a").DeliveryID())
		require.NoError(t, err)
		require.Equal(t, attempt, found.Attempts)
		assert.Equal(t, attempt == 12, n == 1)
		wait = min(2*wait, 5*time.Minute)
	}
	o := deliver(t, h, delivery("one", "a"))
	assert.Equal(t, session.Failed, o.State)
	assert.Equal(t, adk.E_LLM_EXECUTION_EXECUTOR_ERROR, o.Code)
	assert.True(t, o.Duplicate)
	assert.EqualValues(t, 11, h.Counters().Retries)
	assert.Equal(t, session.Failed, w.told[0].State, "SES-22: a failure is an outcome too")
}

// SES-21: a failure with a fatal code is final at once.
func TestFatalFailure(t *testing.T) {
	w := newWorld(t)
	c := w.config(counting)
	c.Prompt = func(session.Seed) (string, []string, error) { return "", nil, nil }
	o := deliver(t, w.host(c), delivery("one", "a"))
	assert.Equal(t, adk.E_INVALID_TURN_CONTEXT, o.Code)
	assert.Equal(t, 1, o.Attempt)
	c.Prompt = func(session.Seed) (string, []string, error) { panic("no prompt") }
	c.Attempts = 1
	assert.Equal(t, adk.E_INPUT_PIPELINE_ERROR, deliver(t, w.host(c), delivery("one", "b")).Code)
}

// SES-21: the error of a channel is a failure of its stage, whatever it wraps. The delivery is tried as
// often as any other, and then fails for good.
func TestChannelCannotEndADelivery(t *testing.T) {
	w := newWorld(t)
	c, tried := w.config(counting), 0
	c.NoWait, c.Attempts = true, 2
	c.Channels["chat"] = func(state json.RawMessage) (session.Channel, error) {
		return unusable{state, func() { tried++ }}, nil
	}
	h := w.host(c)
	_, err := h.Deliver(t.Context(), delivery("one", "a"))
	for ; errors.Is(err, adk.E_SESSION_BUSY); _, err = h.Deliver(t.Context(), delivery("one", "a")) {
		w.clock.Advance(time.Second)
	}
	require.NoError(t, err)
	o := deliver(t, h, delivery("one", "a"))
	assert.Equal(t, []any{2, session.Failed, adk.E_INPUT_PIPELINE_ERROR, true}, []any{tried, o.State, o.Code, o.Duplicate})
}

// unusable is a channel that fails with a fatal code.
type unusable struct {
	state json.RawMessage
	told  func()
}

func (r unusable) State() (json.RawMessage, error) { return r.state, nil }

func (r unusable) Deliver(context.Context, *adk.TurnContext, session.Delivery) error {
	r.told()
	return &adk.Error{Code: adk.E_INVALID_SESSION_VALUE, Message: "nobody can use this"}
}

// SES-21: a retry that was delayed by a clock far ahead is due as soon as the clock is set right.
func TestRetryOfAClockThatRanBack(t *testing.T) {
	w := newWorld(t)
	store, id := w.kept.Sessions(), delivery("one", "a").DeliveryID()
	_, err := store.Accept(t.Context(), delivery("one", "a"), w.clock.Now())
	require.NoError(t, err)
	for _, c := range []struct {
		ahead time.Duration
		waits bool
	}{{2 * session.MaxRetryPause, true}, {2*session.MaxRetryPause + time.Millisecond, false}} {
		claim, err := store.Claim(t.Context(), id.SessionID, "ahead", w.clock.Now(), w.clock.Now().Add(time.Minute))
		require.NoError(t, err)
		n, err := store.Begin(t.Context(), claim, "a")
		require.NoError(t, err)
		require.NoError(t, store.Fail(t.Context(), claim, session.Failure{Delivery: "a", Attempt: n, Code: adk.E_INPUT_PIPELINE_ERROR, NotBefore: w.clock.Now().Add(c.ahead)}))
		require.NoError(t, store.Release(t.Context(), claim))
		config := w.config(counting)
		config.NoWait = true
		o, err := w.host(config).Deliver(t.Context(), delivery("one", "a"))
		if c.waits {
			assert.ErrorIs(t, err, adk.E_SESSION_BUSY)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, session.Committed, o.State)
	}
}

// SES-21: when the caller aborts, the attempt is given back.
func TestCallerThatLeaves(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	c := w.config(func(context.Context, *adk.DispatchContext) error {
		cancel(errBroken)
		return nil
	})
	h := w.host(c)
	_, err := h.Deliver(ctx, delivery("one", "a"))
	require.ErrorIs(t, err, errBroken)
	found, _, err := w.kept.Sessions().Find(t.Context(), delivery("one", "a").DeliveryID())
	require.NoError(t, err)
	assert.Zero(t, found.Attempts)
	assert.Equal(t, session.Unsettled, found.State)
	assert.True(t, found.NotBefore.IsZero(), "it is due at once")
}

// SES-19: a caller that leaves during the turn output, after the answer, undoes nothing.
func TestCallerThatLeavesInTheOutput(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	c := w.config(counting)
	c.Agent.TurnOutput = []adk.TurnMiddleware{{Name: "mail", Run: func(ctx context.Context, _ *adk.TurnContext, next adk.Next) error {
		cancel(errBroken)
		next(ctx)
		return nil
	}}}
	h := w.host(c)
	o, err := h.Deliver(ctx, delivery("one", "a"))
	require.NoError(t, err)
	assert.Equal(t, session.Committed, o.State)
	assert.Equal(t, "1", w.counted(h, "one"))
}

// SES-7, SES-21: when a dispatch within a turn fails, its caller decides what that means: its code is not the
// turn's code.
func TestFailureOfADispatchWithin(t *testing.T) {
	w := newWorld(t)
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		_, err := subAgent(ctx, dc, session.Dispatch, func(*adk.DispatchContext) error { return errBroken })
		assert.ErrorIs(t, err, errBroken)
		return dc.Abort(nil)
	})
	c.Attempts = 1
	o := deliver(t, w.host(c), delivery("one", "a"))
	assert.Equal(t, session.Failed, o.State)
	assert.Equal(t, adk.E_TURN_ABORTED, o.Code)
}

// SES-21: an input that ends the process does so once for each attempt, and then the delivery has
// failed.
func TestInputThatEndsTheProcess(t *testing.T) {
	w := newWorld(t)
	store, id := w.kept.Sessions(), delivery("one", "a").SessionID()
	_, err := store.Accept(t.Context(), delivery("one", "a"), w.clock.Now())
	require.NoError(t, err)
	for range 3 {
		claim, err := store.Claim(t.Context(), id, "gone", w.clock.Now(), w.clock.Now().Add(time.Minute))
		require.NoError(t, err)
		_, err = store.Begin(t.Context(), claim, "a")
		require.NoError(t, err)
		w.clock.Advance(time.Minute)
	}
	h := w.host(w.config(counting))
	o := deliver(t, h, delivery("one", "b"))
	assert.EqualValues(t, 1, o.Revision)
	failed := deliver(t, h, delivery("one", "a"))
	assert.Equal(t, session.Failed, failed.State)
	assert.Equal(t, adk.E_SESSION_LEASE_LOST, failed.Code)
}

// SES-22, SES-25: an outcome that Notify has refused is reported again by Resume, and when the
// delivery comes again, until Notify accepts it.
func TestNotifyAgain(t *testing.T) {
	w := newWorld(t)
	refusals, told := 3, 0
	c := w.config(counting)
	c.Notify = func(context.Context, session.Outcome) error {
		if refusals--; refusals >= 0 {
			if refusals == 0 {
				panic(errBroken)
			}
			return errBroken
		}
		told++
		return nil
	}
	h := w.host(c)
	deliver(t, h, delivery("one", "a"))
	assert.True(t, deliver(t, h, delivery("one", "a")).Duplicate)
	for range 3 {
		n, err := h.Resume(t.Context(), 5)
		require.NoError(t, err)
		assert.Zero(t, n)
	}
	assert.Equal(t, 1, told)
	assert.EqualValues(t, 3, h.Counters().NotifyFailures)
	assert.Equal(t, "1", w.counted(h, "one"))
}

// SES-24: the part of the seed that a tool can pass to other services is the same in each attempt.
func TestSeedOfRetries(t *testing.T) {
	w := newWorld(t)
	var seen []session.Seed
	c := w.config(func(_ context.Context, dc *adk.DispatchContext) error {
		seed, err := session.SeedOf(dc)
		require.NoError(t, err)
		if seen = append(seen, seed); len(seen) == 1 {
			return errBroken
		}
		return nil
	})
	c.NoWait = true
	h := w.host(c)
	_, err := h.Deliver(t.Context(), delivery("one", "a"))
	require.ErrorIs(t, err, adk.E_SESSION_BUSY)
	w.clock.Advance(time.Second)
	deliver(t, h, delivery("one", "a"))
	require.Len(t, seen, 2)
	assert.Equal(t, "a", seen[1].Delivery)
	assert.Equal(t, seen[0].Delivery, seen[1].Delivery)
	assert.Equal(t, 2, seen[1].Attempt)
}

// SES-25: Resume settles up to its limit, the oldest deliveries first.
func TestResume(t *testing.T) {
	w := newWorld(t)
	for i, session := range []string{"b", "a", "c"} {
		for _, id := range []string{"1", "2"} {
			_, err := w.kept.Sessions().Accept(t.Context(), delivery(session, id), w.clock.Now().Add(time.Duration(i)*time.Second))
			require.NoError(t, err)
		}
	}
	h := w.host(w.config(counting))
	n, err := h.Resume(t.Context(), 3)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	assert.Equal(t, "2", w.counted(h, "b"))
	assert.Equal(t, "1", w.counted(h, "a"))
	unsettled, oldest, err := h.Backlog(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, unsettled)
	assert.Equal(t, fakes.Epoch.Add(time.Second), oldest)
	n, err = h.Resume(t.Context(), 10)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	n, err = h.Resume(t.Context(), 10)
	require.NoError(t, err)
	assert.Zero(t, n)
}

// armedClock reports each timer of a given length once it is set.
type armedClock struct {
	*fakes.Clock
	after time.Duration
	armed chan bool
}

func (c *armedClock) AfterFunc(d time.Duration, fire func()) (stop func() bool) {
	stop = c.Clock.AfterFunc(d, fire)
	if d == c.after {
		c.armed <- true
	}
	return stop
}

// SES-26: the lease is renewed while a turn waits. When the lease is lost, the turn is aborted.
func TestLease(t *testing.T) {
	for _, lost := range []bool{false, true} {
		w := newWorld(t)
		c := w.config(nil)
		s := &faultyStore{Store: c.Store}
		clock := &armedClock{Clock: w.clock, after: time.Minute, armed: make(chan bool, 16)}
		if lost {
			s.before = func(call string) error {
				if call == "Renew" {
					return s.RaiseEpochs(context.Background())
				}
				return nil
			}
		}
		c.Store, c.NoWait, c.Lease, c.Agent.Clock = s, true, 3*time.Minute, clock
		var cause error
		c.Agent.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
			if !lost {
				for range 5 { // longer than the lease
					<-clock.armed
					w.clock.Advance(time.Minute)
				}
				<-clock.armed // the last renewal was before this
				_, err := s.Claim(ctx, delivery("one", "a").SessionID(), "other", w.clock.Now(), w.clock.Now().Add(time.Minute))
				assert.ErrorIs(t, err, adk.E_SESSION_BUSY)
				return errors.Join(counting(ctx, dc), dc.Ack())
			}
			w.clock.Advance(time.Minute)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return cause
		}
		h := w.host(c)
		o, err := h.Deliver(t.Context(), delivery("one", "a"))
		if !lost {
			require.NoError(t, err)
			assert.Equal(t, session.Committed, o.State)
			continue
		}
		require.ErrorIs(t, err, adk.E_SESSION_BUSY)
		assert.ErrorIs(t, cause, adk.E_SESSION_LEASE_LOST)
		assert.EqualValues(t, 1, h.Counters().LeaseLosses)
		found, _, err := w.kept.Sessions().Find(t.Context(), delivery("one", "a").DeliveryID())
		require.NoError(t, err)
		assert.Equal(t, 1, found.Attempts, "it counts as an attempt")
		assert.Empty(t, w.counted(h, "one"))
	}
}

// SES-26: the lease is renewed between turns too, when many short turns run in one visit.
func TestLeaseOfManyTurns(t *testing.T) {
	w := newWorld(t)
	renewals := 0
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		w.clock.Advance(50 * time.Second)
		return counting(ctx, dc)
	})
	s := &faultyStore{Store: c.Store, before: func(call string) error {
		if call == "Renew" {
			renewals++
		}
		return nil
	}}
	c.Store, c.Lease = s, 3*time.Minute
	h := w.host(c)
	for i := range 8 {
		_, err := w.kept.Sessions().Accept(t.Context(), delivery("one", string(rune('a'+i))), w.clock.Now())
		require.NoError(t, err)
	}
	n, err := h.Resume(t.Context(), 10)
	require.NoError(t, err)
	assert.Equal(t, 8, n)
	assert.Equal(t, 3, renewals)
	assert.Zero(t, h.Counters().LeaseLosses)
}

// setBack is a clock that a test can set back.
type setBack struct {
	*fakes.Clock
	by *time.Duration
}

func (c setBack) Now() time.Time { return c.Clock.Now().Add(-*c.by) }

// SES-26: a host whose clock was set back between two turns renews its lease at once, so that the lease
// does not look like one from a clock that was ahead.
func TestLeaseOfTurnsWhoseClockRanBack(t *testing.T) {
	w := newWorld(t)
	var back time.Duration
	renewals := 0
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		back = time.Hour
		return counting(ctx, dc)
	})
	c.Agent.Clock = setBack{w.clock, &back}
	c.Store = &faultyStore{Store: c.Store, after: func(call string) error {
		if call == "Renew" {
			renewals++
		}
		return nil
	}}
	for _, id := range []string{"a", "b", "c"} {
		_, err := w.kept.Sessions().Accept(t.Context(), delivery("one", id), w.clock.Now())
		require.NoError(t, err)
	}
	h := w.host(c)
	n, err := h.Resume(t.Context(), 10)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	assert.Equal(t, 1, renewals, "before the second turn, and not before the third")
	assert.Zero(t, h.Counters().LeaseLosses)
}

// SES-32: the journal learns what an attempt changed, without the values. A journal that panics
// disturbs nothing.
func TestJournal(t *testing.T) {
	w := newWorld(t)
	c := w.config(counting)
	hear := c.Journal
	c.Journal = func(s session.Step) { hear(s); panic("full") }
	h := w.host(c)
	d := delivery("one", "a")
	o := deliver(t, h, d)
	empty := session.Digest(nil)
	assert.Equal(t, session.Digest(map[string]session.Value{}), empty)
	one := session.Digest(map[string]session.Value{"test.count": {Version: 1, Body: json.RawMessage(`1`)}})
	at := func(kind session.StepKind, n int64) session.Step {
		return session.Step{Kind: kind, N: n, At: fakes.Epoch, Host: "host", SessionID: d.SessionID(), Epoch: 1, Delivery: "a", Seq: 1, Attempt: 1}
	}
	steps := []session.Step{at("accepted", 1), at("claimed", 2), at("hydrated", 3), at("ran", 4), at("committed", 5), at("notified", 6)}
	steps[0].Epoch, steps[0].Attempt, steps[0].Payload = 0, 0, d.Digest()
	steps[1].Delivery, steps[1].Seq, steps[1].Attempt = "", 0, 0
	steps[2].Bag = empty
	steps[3].Turn, steps[3].Status = o.TurnID, adk.StatusAck
	steps[4].Turn, steps[4].Revision, steps[4].Bag, steps[4].Keys = o.TurnID, 1, one, []string{"test.count"}
	steps[4].Records = w.steps[4].Records
	steps[5].Attempt = 0
	assert.Equal(t, steps, w.steps)
	assert.Len(t, w.steps[4].Records, 2)
	assert.Regexp(t, `^messages\.store [^ ]+ [0-9a-f]{16}$`, w.steps[4].Records[0])
}

// SES-23: what a turn stores is visible only to that turn until the commit, in the order and with the
// limit that the storage will apply.
func TestStagedRecords(t *testing.T) {
	w := newWorld(t)
	text := func(dc *adk.DispatchContext, id, text string) *adk.Message {
		m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: text, CreatedAt: dc.Now(), UpdatedAt: dc.Now()})
		require.NoError(t, err)
		return m
	}
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		require.NoError(t, dc.Stash().Set("storage.tenant", "others"))
		require.NoError(t, dc.Stash().Set("storage.session", 7))
		fetched := func() (texts []string) {
			all, err := dc.Messages().Fetch(ctx)
			require.NoError(t, err)
			for _, m := range all {
				texts = append(texts, m.Content().String())
			}
			return texts
		}
		require.NoError(t, dc.Messages().Store(ctx, text(dc, "2", "two")))
		require.NoError(t, dc.Messages().Store(ctx, text(dc, "3", "three")))
		require.NoError(t, dc.Messages().Mutate(ctx, text(dc, "2", "zwei")))
		assert.Equal(t, []string{"a", "zwei", "three"}, fetched())
		require.NoError(t, dc.Messages().Delete(ctx, "2"))
		require.NoError(t, dc.Messages().Store(ctx, text(dc, "2", "two again")))
		require.NoError(t, dc.Messages().Delete(ctx, "none"))
		assert.Equal(t, []string{"a", "three", "two again"}, fetched())
		assert.Empty(t, w.said("one"), "nothing is stored before the commit")
		if seed, err := session.SeedOf(dc); err != nil || seed.Attempt == 1 {
			return errBroken
		}
		return nil
	})
	c.NoWait = true
	h := w.host(c)
	_, err := h.Deliver(t.Context(), delivery("one", "a"))
	require.ErrorIs(t, err, adk.E_SESSION_BUSY)
	assert.Empty(t, w.said("one"), "an attempt that failed leaves nothing")
	w.clock.Advance(time.Second)
	deliver(t, h, delivery("one", "a"))
	assert.Equal(t, []string{"a", "three", "two again"}, w.said("one"))
}

// SES-23: a record beyond the limit keeps its place when it is replaced.
func TestStagedRecordsWithALimit(t *testing.T) {
	w := newWorld(t)
	limited, err := storage.New(storage.Config{Limit: map[adk.CollectionName]int{adk.Messages: 2}}, w.kept)
	require.NoError(t, err)
	var seen []string
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		all, err := dc.Messages().Fetch(ctx)
		seen = nil
		for _, m := range all {
			seen = append(seen, m.Content().String())
		}
		return err
	})
	c.Agent.Storage = limited
	h := w.host(c)
	for _, id := range []string{"a", "b", "c"} {
		deliver(t, h, delivery("one", id))
	}
	assert.Equal(t, []string{"b", "c"}, seen)
	first := fetchAll(t, w, "one")[0]
	c.Agent.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		m, err := adk.NewMessage(adk.MessageInit{ID: first.ID(), Role: adk.RoleUser, Content: "changed", CreatedAt: dc.Now(), UpdatedAt: dc.Now()})
		require.NoError(t, err)
		require.NoError(t, dc.Messages().Mutate(ctx, m))
		all, err := dc.Messages().Fetch(ctx)
		require.NoError(t, err)
		assert.Equal(t, "c", all[0].Content().String())
		assert.Len(t, all, 2)
		return dc.Ack()
	}
	deliver(t, w.host(c), delivery("one", "d"))
	assert.Equal(t, []string{"changed", "b", "c", "d"}, w.said("one"))
}

// SES-23: whatever a turn writes, a fetch with a limit returns what a fetch after the commit returns,
// and reads no more rows than the limit and the turn's own writes.
func TestStagedFetchIsThatAfterTheCommit(t *testing.T) {
	const limit = 3
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		rows := &storagetest.Counted{Rows: w.kept}
		limited, err := storage.New(storage.Config{Limit: map[adk.CollectionName]int{adk.Messages: limit}}, rows)
		require.NoError(t, err)
		stored := rapid.IntRange(0, 12).Draw(t, "stored")
		writes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) int { return rapid.IntRange(-10, 15).Draw(t, "write") }), 1, 8).Draw(t, "writes")
		var seen []string
		c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
			write := func(n int) error {
				if n < 0 {
					return dc.Messages().Delete(ctx, fmt.Sprint("m", -n))
				}
				m, err := adk.NewMessage(adk.MessageInit{ID: fmt.Sprint("m", n), Role: adk.RoleUser, Content: dc.NewID(), CreatedAt: dc.Now(), UpdatedAt: dc.Now()})
				return errors.Join(err, dc.Messages().Store(ctx, m))
			}
			if seed, err := session.SeedOf(dc); err != nil || seed.Seq == 1 {
				for n := range stored {
					err = errors.Join(err, write(n))
				}
				return err
			}
			for _, n := range writes {
				if err := write(n); err != nil {
					return err
				}
				rows.Reset()
				all, err := dc.Messages().Fetch(ctx)
				if err != nil {
					return err
				}
				assert.LessOrEqual(t, rows.Read(), limit+2*len(writes)+1) // the channel has stored one record
				seen = nil
				for _, m := range all {
					seen = append(seen, m.Content().String())
				}
			}
			return nil
		})
		c.Agent.Storage, c.Channels = limited, map[string]func(json.RawMessage) (session.Channel, error){"chat": newSilentChannel}
		h := w.host(c)
		for _, id := range []string{"a", "b"} {
			_, err := h.Deliver(context.Background(), delivery("one", id))
			require.NoError(t, err)
		}
		said := w.said("one")
		assert.Equal(t, strings.Join(said[max(0, len(said)-limit):], " "), strings.Join(seen, " "))
	})
}

// silentChannel stores nothing of a delivery.
type silentChannel struct{}

func newSilentChannel(json.RawMessage) (session.Channel, error) { return silentChannel{}, nil }

func (silentChannel) State() (json.RawMessage, error) { return nil, nil }

func (silentChannel) Deliver(context.Context, *adk.TurnContext, session.Delivery) error { return nil }

func fetchAll(t *testing.T, w *world, of string) []*adk.Message {
	all, err := w.kept.Storage().Messages.Fetch(t.Context(), storage.Partition{Tenant: "shop", Session: of}.Scope())
	require.NoError(t, err)
	return all
}

// SES-23: records that are kept in another storage are written after the commit. If that fails, Resume
// writes them before the session's next turn. Records that a tenant shares are written at once.
func TestRecordsElsewhere(t *testing.T) {
	w := newWorld(t)
	elsewhere := fakes.NewStorage()
	down := true
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		m, err := adk.NewMemory(adk.MemoryInit{ID: "m", Content: "it rains", Confidence: new(1.0), Importance: new(1.0), CreatedAt: dc.Now(), UpdatedAt: dc.Now()})
		require.NoError(t, err)
		require.NoError(t, dc.Memories().Store(ctx, m))
		return counting(ctx, dc)
	})
	c.Agent.Storage = elsewhere.Storage()
	store := c.Agent.Storage.Messages
	c.Agent.Storage.Messages = refusing{store, &down}
	h := w.host(c)
	_, err := h.Deliver(t.Context(), delivery("one", "a"))
	require.ErrorIs(t, err, errBroken)
	found, _, err := w.kept.Sessions().Find(t.Context(), delivery("one", "a").DeliveryID())
	require.NoError(t, err)
	assert.Equal(t, session.Committed, found.State, "it counts all the same")
	assert.Len(t, found.Writes, 2)
	scope := storage.Partition{}.Scope()
	memories, err := c.Agent.Storage.Memories.Fetch(t.Context(), scope)
	require.NoError(t, err)
	assert.Len(t, memories, 1)
	_, err = h.Deliver(t.Context(), delivery("one", "b"))
	require.ErrorIs(t, err, errBroken, "the next turn would not see what was stored")
	down = false
	n, err := h.Resume(t.Context(), 5)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	messages, err := c.Agent.Storage.Messages.Fetch(t.Context(), scope)
	require.NoError(t, err)
	assert.Len(t, messages, 4)
}

// refusing is a collection of messages whose storage fails while down is set.
type refusing struct {
	adk.Collection[*adk.Message]
	down *bool
}

func (r refusing) Store(ctx context.Context, scope adk.Scope, m *adk.Message) error {
	if *r.down {
		return errBroken
	}
	return r.Collection.Store(ctx, scope, m)
}

// SES-23: with Direct, the records of a failed attempt stay, and its values do
// not.
func TestDirectRecords(t *testing.T) {
	w := newWorld(t)
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		require.NoError(t, dc.Stash().Set("storage.tenant", "others"))
		return errors.Join(counting(ctx, dc), errBroken)
	})
	c.Persist, c.Attempts = session.Direct, 1
	h := w.host(c)
	assert.Equal(t, session.Failed, deliver(t, h, delivery("one", "a")).State)
	assert.Equal(t, []string{"a", "that makes 1"}, w.said("one"))
	assert.Empty(t, w.counted(h, "one"))
}

// SES-23, SES-40: a wrapper around the storage works outside of the staging: bodies are spooled at once, and
// are erased with their records.
func TestWrap(t *testing.T) {
	w := newWorld(t)
	spool := artifact.NewMemorySpool()
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		media, err := artifact.Text(ctx, adk.NewTokenizable("a long report"))
		require.NoError(t, err)
		call, err := adk.NewToolCall(adk.ToolCallInit{ID: "call", Tool: "report", Args: map[string]any{}, Results: media, CreatedAt: dc.Now(), UpdatedAt: dc.Now(), CompletedAt: dc.Now()})
		require.NoError(t, err)
		return dc.ToolCalls().Store(ctx, call)
	})
	c.Wrap = func(s adk.Storage) adk.Storage { return artifact.Spooling(s, spool, artifact.SpoolingOptions{}) }
	h := w.host(c)
	deliver(t, h, delivery("one", "a"))
	keys := func() (n int) {
		for _, err := range spool.List(t.Context(), "") {
			require.NoError(t, err)
			n++
		}
		return n
	}
	assert.Equal(t, 1, keys())
	require.NoError(t, h.EraseSession(t.Context(), "shop", "one"))
	assert.Zero(t, keys())
	assert.Empty(t, w.said("one"))
}

// SES-40: of an erased tenant only the marks of erased sessions stay. Other tenants keep what they have.
func TestEraseTenant(t *testing.T) {
	w := newWorld(t)
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		require.NoError(t, dc.Instructions().Store(ctx, adk.NewTokenizable("Be brief.")))
		return counting(ctx, dc)
	})
	h := w.host(c)
	other := delivery("one", "a")
	other.Tenant = "other"
	deliver(t, h, other)
	deliver(t, h, delivery("one", "a"))
	deliver(t, h, delivery("two", "a"))
	require.NoError(t, h.EraseTenant(t.Context(), "shop"))
	for _, of := range []string{"one", "two"} {
		assert.Empty(t, w.said(of))
		state, err := h.State(t.Context(), "shop", of)
		require.NoError(t, err)
		assert.Equal(t, session.State{SessionID: session.SessionID{Tenant: "shop", Session: of}}, state)
		_, err = h.Deliver(t.Context(), delivery(of, "b"))
		assert.ErrorIs(t, err, adk.E_SESSION_ERASED)
	}
	instructions := func(tenant string) int {
		all, err := w.kept.Storage().Instructions.Fetch(t.Context(), storage.Partition{Tenant: tenant, Session: "one"}.Scope())
		require.NoError(t, err)
		return len(all)
	}
	assert.Zero(t, instructions("shop"))
	assert.Equal(t, 1, instructions("other"))
	assert.True(t, deliver(t, h, other).Duplicate)
	purged, err := h.Purge(t.Context(), w.clock.Now().Add(time.Hour))
	require.NoError(t, err)
	assert.Equal(t, 1, purged)
	page, err := h.History(t.Context(), storage.Partition{Tenant: "other", Session: "one"}, 0, 10)
	require.NoError(t, err)
	assert.Empty(t, page)
}

// SES-41: after all epochs were raised, no earlier attempt can commit.
func TestRaisedEpochs(t *testing.T) {
	w := newWorld(t)
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		if seed, err := session.SeedOf(dc); err != nil || seed.Attempt == 1 {
			require.NoError(t, w.kept.Sessions().RaiseEpochs(ctx))
		}
		return counting(ctx, dc)
	})
	c.NoWait = true
	h := w.host(c)
	_, err := h.Deliver(t.Context(), delivery("one", "a"))
	require.ErrorIs(t, err, adk.E_SESSION_BUSY)
	assert.Empty(t, w.counted(h, "one"))
	assert.Equal(t, 2, deliver(t, h, delivery("one", "a")).Attempt)
}

// SES-14, SES-32: the journal learns of the deliveries that a commit has accepted, with their sequence
// numbers in their own sessions.
func TestChildrenAreTold(t *testing.T) {
	w := newWorld(t)
	var h *session.Host
	h = w.host(w.config(func(_ context.Context, dc *adk.DispatchContext) error {
		seed, err := session.SeedOf(dc)
		if err != nil || seed.Parent != nil {
			return err
		}
		_, err = h.Delegate(dc, session.Delivery{Session: "child", ID: "c", Kind: "chat", Payload: json.RawMessage(`"c"`)})
		return err
	}))
	deliver(t, h, delivery("one", "a"))
	var told []session.Step
	for _, s := range w.steps {
		if s.Kind == session.StepAccepted {
			told = append(told, s)
		}
	}
	require.Len(t, told, 2)
	child := told[1]
	assert.Equal(t, session.SessionID{Tenant: "shop", Session: "child"}, child.SessionID)
	assert.Equal(t, []any{"c", int64(1), session.Delivery{Payload: json.RawMessage(`"c"`)}.Digest()}, []any{child.Delivery, child.Seq, child.Payload})
}

// failsOnce is a collection of messages in which the first deletion fails.
type failsOnce struct {
	adk.Collection[*adk.Message]
	failed *bool
}

func (f failsOnce) Delete(ctx context.Context, scope adk.Scope, key string) error {
	if !*f.failed {
		*f.failed = true
		return errBroken
	}
	return f.Collection.Delete(ctx, scope, key)
}

// SES-40: when erasing a tenant was interrupted after a session was marked, a second call erases the
// tenant, and nothing of it stays.
func TestEraseTenantAgain(t *testing.T) {
	w := newWorld(t)
	failed := false
	c := w.config(counting)
	c.Wrap = func(s adk.Storage) adk.Storage {
		s.Messages = failsOnce{s.Messages, &failed}
		return s
	}
	h := w.host(c)
	for _, of := range []string{"one", "two"} {
		deliver(t, h, delivery(of, "a"))
	}
	require.ErrorIs(t, h.EraseTenant(t.Context(), "shop"), errBroken)
	assert.NotEmpty(t, w.said("one"))
	require.NoError(t, h.EraseTenant(t.Context(), "shop"))
	assert.Empty(t, w.said("one"))
	assert.Empty(t, w.said("two"))
	assert.Equal(t, session.Committed, deliver(t, h, delivery("three", "a")).State, "its name is free")
}

// SES-40: what a turn writes directly after its session was erased is deleted when the turn ends. If that
// fails, Deliver returns the error, and a second erasure deletes it.
func TestEraseBehindATurn(t *testing.T) {
	for _, down := range []bool{false, true} {
		w := newWorld(t)
		var h *session.Host
		failed := !down
		c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
			deleted := failed
			failed = true
			require.NoError(t, h.EraseSession(context.WithoutCancel(ctx), "shop", "one"))
			failed = deleted
			return counting(ctx, dc)
		})
		c.Persist = session.Direct
		c.Wrap = func(s adk.Storage) adk.Storage {
			s.Messages = failsOnce{s.Messages, &failed}
			return s
		}
		h = w.host(c)
		_, err := h.Deliver(t.Context(), delivery("one", "a"))
		if down {
			assert.ErrorIs(t, err, errBroken)
			assert.NotEmpty(t, w.said("one"))
			require.NoError(t, h.EraseSession(t.Context(), "shop", "one"))
		} else {
			assert.ErrorIs(t, err, adk.E_SESSION_ERASED)
		}
		assert.Empty(t, w.said("one"))
	}
}

// SES-40: a host that has lost its lease deletes no records: another host has the session, which was not erased.
func TestRecordsOfALostLeaseStay(t *testing.T) {
	w := newWorld(t)
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		require.NoError(t, w.kept.Sessions().RaiseEpochs(ctx))
		return counting(ctx, dc)
	})
	c.Persist, c.NoWait = session.Direct, true
	_, err := w.host(c).Deliver(t.Context(), delivery("one", "a"))
	require.ErrorIs(t, err, adk.E_SESSION_BUSY)
	assert.Equal(t, []string{"a", "that makes 1"}, w.said("one"))
}

// SES-22, SES-25: outcomes that Notify refuses delay no other session's turn. Resume visits no more sessions
// than its limit, visits those without progress last, and never leaves one out for good.
func TestResumeBehindUntoldOutcomes(t *testing.T) {
	w := newWorld(t)
	down, calls, asked := true, 0, 0
	c := w.config(counting)
	c.Notify = func(context.Context, session.Outcome) error {
		calls++
		if down {
			return errBroken
		}
		return nil
	}
	c.Store = &faultyStore{Store: c.Store, before: func(call string) error {
		if call == "Pending" {
			asked++
		}
		return nil
	}}
	h := w.host(c)
	const many = 24
	for n := range many {
		deliver(t, h, delivery(fmt.Sprint("untold", n), "a"))
	}
	next := w.host(c) // a new host, which remembers nothing of them
	for n := range many {
		_, err := w.kept.Sessions().Accept(t.Context(), delivery(fmt.Sprint("due", n), "a"), w.clock.Now().Add(time.Second))
		require.NoError(t, err)
	}
	for _, host := range []*session.Host{h, next} {
		settled := 0
		for rounds := 0; settled < many/2; rounds++ {
			calls, asked = 0, 0
			n, err := host.Resume(t.Context(), 1)
			require.NoError(t, err)
			require.Equal(t, []int{1, 1}, []int{calls, asked})
			settled += n
			require.Less(t, rounds, 3*many)
		}
	}
	down = false
	for _, of := range []int{0, many - 1} { // eight turns in one visit each
		id := delivery(fmt.Sprint("untold", of), "a").DeliveryID()
		for rounds := 0; ; rounds++ {
			found, _, err := w.kept.Sessions().Find(t.Context(), id)
			require.NoError(t, err)
			if !found.NotifiedAt.IsZero() {
				break
			}
			_, err = w.kept.Sessions().Accept(t.Context(), delivery(fmt.Sprint("more", of, rounds), "a"), w.clock.Now())
			require.NoError(t, err)
			_, err = next.Resume(t.Context(), 1)
			require.NoError(t, err)
			require.Less(t, rounds, 20*many)
		}
	}
}

// SES-25: a turn that lasts until the caller of Resume leaves does not delay other sessions in the next Resume.
func TestResumeBehindATurnThatHangs(t *testing.T) {
	w := newWorld(t)
	var leave context.CancelCauseFunc
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		if seed, err := session.SeedOf(dc); err != nil || seed.Session == "hangs" {
			leave(errBroken)
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return counting(ctx, dc)
	})
	h := w.host(c)
	for _, of := range []string{"hangs", "works"} {
		_, err := w.kept.Sessions().Accept(t.Context(), delivery(of, "a"), w.clock.Now())
		require.NoError(t, err)
		w.clock.Advance(time.Second)
	}
	for want := range 2 {
		var ctx context.Context
		ctx, leave = context.WithCancelCause(t.Context())
		defer leave(nil)
		n, err := h.Resume(ctx, 10)
		assert.ErrorIs(t, err, errBroken)
		assert.Equal(t, want, n)
		assert.NotContains(t, err.Error(), `session "works"`, "nobody goes there any more")
	}
}

// SES-32, SES-40: the journal learns that a session was erased, with an epoch above all claimed ones. It
// learns nothing about a session that never began.
func TestEpochOfAnErasing(t *testing.T) {
	w := newWorld(t)
	h := w.host(w.config(counting))
	deliver(t, h, delivery("one", "a"))
	deliver(t, h, delivery("one", "b"))
	w.steps = nil
	require.NoError(t, h.EraseSession(t.Context(), "shop", "one"))
	require.NoError(t, h.EraseSession(t.Context(), "shop", "none"))
	require.Len(t, w.steps, 1)
	assert.Equal(t, session.StepErased, w.steps[0].Kind)
	assert.EqualValues(t, 3, w.steps[0].Epoch)
}

// SES-21, SES-32: when the store does not answer a failure, the host looks whether the failure was kept, and
// repeats one that was not. The journal learns of it, and it counts once.
func TestFailureWithoutAnAnswer(t *testing.T) {
	for _, made := range []bool{true, false} {
		for _, attempts := range []int{1, 2} {
			for _, leaves := range []bool{false, true} {
				w := newWorld(t)
				ctx, leave := context.WithCancelCause(t.Context())
				c := w.config(func(ctx context.Context, _ *adk.DispatchContext) error {
					if leaves {
						leave(errBroken)
						<-ctx.Done()
					}
					return errBroken
				})
				unanswered := 0
				fail := func(call string) error {
					if unanswered++; call == "Fail" && unanswered == 1 {
						return errBroken
					}
					if call != "Fail" {
						unanswered--
					}
					return nil
				}
				s := &faultyStore{Store: c.Store, before: fail}
				if made {
					s.before, s.after = nil, fail
				}
				c.Store, c.NoWait, c.Attempts = s, true, attempts
				o, err := w.host(c).Deliver(ctx, delivery("one", "a"))
				found, _, failure := w.kept.Sessions().Find(t.Context(), delivery("one", "a").DeliveryID())
				require.NoError(t, failure)
				kinds := w.kinds()
				switch {
				case leaves:
					assert.ErrorIs(t, err, errBroken)
					assert.Zero(t, found.Attempts)
					assert.Equal(t, session.StepDropped, kinds[len(kinds)-1])
				case attempts == 1:
					require.NoError(t, err)
					assert.Equal(t, session.Failed, o.State)
					assert.Contains(t, kinds, session.StepFailed)
					assert.Len(t, w.told, 1)
				default:
					assert.ErrorIs(t, err, adk.E_SESSION_BUSY)
					assert.Equal(t, 1, found.Attempts)
					assert.Equal(t, session.StepDropped, kinds[len(kinds)-1])
				}
			}
		}
	}
}

// SES-21: Failed is called with the reason of a failed attempt, also outside of its turn, and is not called
// when the attempt did not fail.
func TestFailed(t *testing.T) {
	for says, prompt := range map[string]func(session.Seed) (string, []string, error){
		"broken":    func(session.Seed) (string, []string, error) { return "", nil, errBroken },
		"no prompt": func(session.Seed) (string, []string, error) { panic("no prompt") },
		"executor":  func(session.Seed) (string, []string, error) { return "You fail.", nil, nil },
	} {
		w := newWorld(t)
		c := w.config(func(context.Context, *adk.DispatchContext) error { return errors.New("executor") })
		var told []string
		c.Prompt, c.Attempts = prompt, 1
		c.Failed = func(s session.Seed, why error) {
			told = append(told, s.Delivery+": "+why.Error())
			panic("full")
		}
		assert.Equal(t, session.Failed, deliver(t, w.host(c), delivery("one", "a")).State)
		require.Len(t, told, 1)
		assert.Contains(t, told[0], says)
		c.Agent.Executor.Run = func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error { return dc.Ack() }
		c.Prompt = func(session.Seed) (string, []string, error) { return "You count.", nil, nil }
		assert.Equal(t, session.Committed, deliver(t, w.host(c), delivery("one", "b")).State)
		assert.Len(t, told, 1)
	}
}

// SES-11: a delivery that would wait for itself is refused: within a turn of the session, in a turn that such
// a turn waits for, or in Notify. Nothing is lost, and a turn may wait for another session.
func TestDeliveryFromWithinItsSession(t *testing.T) {
	w := newWorld(t)
	var h *session.Host
	var within, notified error
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		seed, err := session.SeedOf(dc)
		if err != nil {
			return err
		}
		switch seed.Delivery {
		case "first":
			_, err = h.Deliver(ctx, delivery("two", "asked"))
		case "asked":
			_, within = h.Deliver(ctx, delivery("one", "back"))
		}
		return errors.Join(err, counting(ctx, dc))
	})
	c.Notify = func(ctx context.Context, o session.Outcome) error {
		if o.Delivery.Delivery == "first" {
			_, notified = h.Deliver(ctx, delivery("one", "behind"))
		}
		return nil
	}
	h = w.host(c)
	deliver(t, h, delivery("one", "first"))
	for _, err := range []error{within, notified} {
		assert.ErrorIs(t, err, adk.E_SESSION_BUSY)
		assert.ErrorContains(t, err, "would wait for the turn that delivers it: Accept does not wait, and Resume settles it")
	}
	n, err := h.Resume(t.Context(), 10)
	assert.NoError(t, err)
	assert.Equal(t, 2, n, "both are accepted")
	assert.Equal(t, "3", w.counted(h, "one"))
	assert.Equal(t, "1", w.counted(h, "two"))
}

// SES-13, SES-24: Resume skips a session that its host cannot work with, and takes it up when that has
// changed: when a delivery shows it, or after a while.
func TestRefusedSessionThatIsWellAgain(t *testing.T) {
	for name, well := range map[string]func(w *world, h *session.Host, settle func(id string, version int), asks func(limit, settles int)){
		"it has delivered": func(w *world, h *session.Host, settle func(string, int), asks func(int, int)) {
			asks(11, 0)
			settle("b", 1)
			deliver(t, h, delivery("one", "c"))
		},
		"later": func(w *world, _ *session.Host, settle func(string, int), asks func(int, int)) {
			settle("b", 1)
			w.clock.Advance(session.MaxRetryPause - time.Millisecond)
			asks(11, 0)
			w.clock.Advance(time.Millisecond)
			asks(10, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			store, c := w.kept.Sessions(), w.config(counting)
			limits := &limitsOfPending{Store: store}
			c.Store = limits
			h := w.host(c)
			accept := func(id string) {
				_, err := store.Accept(t.Context(), delivery("one", id), w.clock.Now())
				require.NoError(t, err)
			}
			revision := int64(0)
			settle := func(id string, version int) {
				claim, err := store.Claim(t.Context(), delivery("one", id).SessionID(), "by hand", w.clock.Now(), w.clock.Now().Add(time.Hour))
				require.NoError(t, err)
				attempt, err := store.Begin(t.Context(), claim, id)
				require.NoError(t, err)
				values := map[string]session.Value{"test.count": {Version: version, Body: json.RawMessage(`1`)}}
				require.NoError(t, store.Commit(t.Context(), claim, session.Commit{Delivery: id, Attempt: attempt, Revision: revision, Puts: values, Told: true, At: w.clock.Now()}))
				require.NoError(t, store.Release(t.Context(), claim))
				revision++
			}
			asks := func(limit, settles int) {
				t.Helper()
				limits.asked = nil
				n, err := h.Resume(t.Context(), 10)
				require.NoError(t, err)
				assert.Equal(t, settles, n)
				assert.Equal(t, limit, limits.asked[0], "one more for each that it leaves to others")
			}
			accept("a")
			settle("a", 9)
			accept("b")
			accept("c")
			_, err := h.Deliver(t.Context(), delivery("one", "b"))
			require.ErrorIs(t, err, adk.E_SESSION_STATE_NEWER)
			well(w, h, settle, asks)
			accept("d")
			asks(10, 1)
		})
	}
}

// limitsOfPending is a store that keeps the limits with which Pending was called.
type limitsOfPending struct {
	session.Store
	asked []int
}

func (l *limitsOfPending) Pending(ctx context.Context, now time.Time, limit int) ([]session.SessionID, error) {
	l.asked = append(l.asked, limit)
	return l.Store.Pending(ctx, now, limit)
}

// SES-25: a host remembers a bounded number of refused sessions, and asks the store for a bounded number.
func TestRefusedSessionsAreBounded(t *testing.T) {
	w := newWorld(t)
	c := w.config(counting)
	limits := &limitsOfPending{Store: c.Store}
	c.Store, c.Journal = limits, nil
	c.Channels = map[string]func(json.RawMessage) (session.Channel, error){"mail": newChatChannel}
	h := w.host(c)
	const most = 10_000
	for n := range most + 1 {
		_, err := h.Deliver(t.Context(), delivery(fmt.Sprint("of", n), "a"))
		require.ErrorIs(t, err, adk.E_SESSION_UNKNOWN_CHANNEL)
	}
	_, err := h.Resume(t.Context(), 1)
	require.ErrorIs(t, err, adk.E_SESSION_UNKNOWN_CHANNEL, "of the last one")
	assert.Equal(t, most+1, limits.asked[0])
}
