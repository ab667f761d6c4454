package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/fakes"
	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
)

// crashing is a host whose process can end at any call of its store, and within its turns.
type crashing struct {
	*session.Host
	world *world
	// at is the number of the call at which the process ends, before or after the call is made.
	// It is counted from the next call; 0 is none.
	at    int
	after bool
	// errs makes the call fail instead of ending the process.
	errs bool
	dead bool
	// name is the name of the call that was hit.
	name string
	// turn is what the next turn does in addition to counting.
	turn func(dc *adk.DispatchContext) error
}

var errDead = errors.New("the process has ended")

// hit ends the process, or fails, if this is the call to hit.
func (c *crashing) hit(call string, after bool) error {
	if c.dead {
		return errDead
	}
	if !after {
		c.at--
	}
	if c.at != 0 || c.after != after {
		return nil
	}
	c.name = call
	if c.errs {
		return errBroken
	}
	c.dead = true
	runtime.Goexit()
	return nil
}

// newCrashing makes a host that uses the world's store.
func newCrashing(w *world, change func(*session.Config)) *crashing {
	c := &crashing{world: w, at: -1}
	config := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		if err := counting(ctx, dc); err != nil || c.turn == nil {
			return err
		}
		return c.turn(dc)
	})
	config.Store = &faultyStore{Store: config.Store,
		before: func(call string) error { return c.hit(call, false) },
		after:  func(call string) error { return c.hit(call, true) }}
	config.NoWait, config.Lease = true, time.Minute
	notify := config.Notify
	config.Notify = func(ctx context.Context, o session.Outcome) error {
		found, known, err := w.kept.Sessions().Find(ctx, o.Delivery)
		require.NoError(w.t, err)
		require.True(w.t, known && found.State.Settled(), "%s was told before it was settled", o.Delivery)
		return notify(ctx, o)
	}
	if change != nil {
		change(&config)
	}
	c.Host = w.host(config)
	return c
}

// do calls f as a process that may end within it; alive reports whether it has not ended.
func (c *crashing) do(f func()) (alive bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
		alive = !c.dead
	}()
	<-done
	return alive
}

// ways are how a host gets a delivery: a new one, one that was accepted before, and one that
// another host has left.
var ways = map[string]func(*crashing){
	"new": func(c *crashing) { _, _ = c.Deliver(context.Background(), delivery("one", "a")) },
	"accepted": func(c *crashing) {
		c.accepted()
		_, _ = c.Deliver(context.Background(), delivery("one", "a"))
	},
	"left": func(c *crashing) {
		c.accepted()
		_, _ = c.Resume(context.Background(), 10)
	},
}

// accepted makes another host accept the delivery, and leave it.
func (c *crashing) accepted() {
	_, err := c.world.kept.Sessions().Accept(context.Background(), delivery("one", "a"), c.world.clock.Now())
	require.NoError(c.world.t, err)
}

// The table of crashes: at whichever call of the store the process ends, before the call or after
// it, the next host settles the delivery, once.
//
// SES-10, SES-20, SES-21, SES-22, SES-23, SES-25: the state that a crash leaves.
func TestCrashes(t *testing.T) {
	calls := map[string][]string{
		"new":      {"Start", "Commit", "Notified"},
		"accepted": {"Start", "Claim", "Load", "Begin", "Commit", "Notified"},
		"left":     {"Pending", "Claim", "Load", "Begin", "Commit", "Notified", "Release"},
	}
	for way, work := range ways {
		for _, elsewhere := range []bool{false, true} {
			seen := map[string]bool{}
			for n := 1; crashAt(t, work, elsewhere, n, seen); n++ {
			}
			for _, call := range calls[way] {
				assert.True(t, seen[call], "%s: a process ended at %s", way, call)
			}
			assert.Equal(t, elsewhere, seen["Applied"])
		}
	}
}

// crashAt ends the process at the n-th call of its store, before the call and after it, and reports
// whether the process made that many calls.
func crashAt(t *testing.T, work func(*crashing), elsewhere bool, n int, seen map[string]bool) (hit bool) {
	for _, after := range []bool{false, true} {
		w := newWorld(t)
		records := w.kept.Storage()
		place := func(c *session.Config) {
			if elsewhere {
				c.Agent.Storage = records
			}
		}
		if elsewhere {
			records = fakes.NewStorage().Storage()
		}
		first := newCrashing(w, place)
		first.at, first.after = n, after
		if first.do(func() { work(first) }) {
			continue
		}
		hit = true
		seen[first.name] = true
		settlesOnce(t, w, newCrashing(w, place), records, fmt.Sprintf("%s, after it %v, elsewhere %v", first.name, after, elsewhere))
	}
	return hit
}

// settlesOnce checks that another host settles what is left, and that delivering again gives that outcome.
func settlesOnce(t *testing.T, w *world, next *crashing, records adk.Storage, name string) {
	ctx := t.Context()
	w.clock.Advance(time.Hour)
	_, err := next.Resume(ctx, 10)
	require.NoError(t, err, name)
	o, err := next.Deliver(ctx, delivery("one", "a"))
	require.NoError(t, err, name)
	assert.Equal(t, session.Committed, o.State, name)
	assert.EqualValues(t, 1, o.Revision, name)
	assert.Equal(t, "1", w.counted(next.Host, "one"), name)
	messages, err := records.Messages.Fetch(ctx, storage.Partition{Tenant: "shop", Session: "one"}.Scope())
	require.NoError(t, err)
	assert.Len(t, messages, 2, name)
	assert.NotEmpty(t, w.told, name)
	pending, err := w.kept.Sessions().Pending(ctx, w.clock.Now().Add(time.Hour), 10)
	require.NoError(t, err)
	assert.Empty(t, pending, name)
}

// SES-21: a process that ends within a turn leaves one counted attempt, and nothing else.
func TestCrashInTheTurn(t *testing.T) {
	w := newWorld(t)
	first := newCrashing(w, nil)
	first.turn = func(*adk.DispatchContext) error {
		first.dead = true
		runtime.Goexit()
		return nil
	}
	require.False(t, first.do(func() { _, _ = first.Deliver(context.Background(), delivery("one", "a")) }))
	next := newCrashing(w, nil)
	n, err := next.Resume(t.Context(), 1)
	require.NoError(t, err)
	assert.Zero(t, n, "the lease is not over")
	settlesOnce(t, w, next, w.kept.Storage(), "in the turn")
	o, err := next.Deliver(t.Context(), delivery("one", "a"))
	require.NoError(t, err)
	assert.Equal(t, 2, o.Attempt)
}

// machine checks what is true of sessions, whatever happens to their hosts.
type machine struct {
	*world
	hosts []*crashing
	// sent are the deliveries by session, and given are the outcomes that Deliver has returned.
	sent  map[string][]string
	given map[session.DeliveryID]session.Outcome
}

var sessions = []string{"one", "two"}

// host draws a host. If its process has ended, a new one takes its place.
func (m *machine) host(t *rapid.T) *crashing {
	i := rapid.IntRange(0, len(m.hosts)-1).Draw(t, "host")
	if m.hosts[i].dead {
		m.hosts[i] = newCrashing(m.world, nil)
	}
	c := m.hosts[i]
	c.at, c.errs, c.turn = -1, false, nil
	switch rapid.SampledFrom([]string{"", "", "crash", "error", "turn"}).Draw(t, "fault") {
	case "crash":
		c.at, c.after = rapid.IntRange(1, 12).Draw(t, "call"), rapid.Bool().Draw(t, "after")
	case "error":
		c.at, c.after, c.errs = rapid.IntRange(1, 12).Draw(t, "call"), rapid.Bool().Draw(t, "after"), true
	case "turn":
		c.turn = rapid.SampledFrom([]func(*adk.DispatchContext) error{
			func(*adk.DispatchContext) error { return errBroken },
			func(*adk.DispatchContext) error { panic("broken") },
			func(dc *adk.DispatchContext) error { return dc.Abort(nil) },
			func(dc *adk.DispatchContext) error { return dc.Nack(nil) },
			func(dc *adk.DispatchContext) error { return dc.Stash().Set("session.own", 1) },
			func(*adk.DispatchContext) error { c.dead = true; runtime.Goexit(); return nil },
		}).Draw(t, "turn")
	}
	return c
}

// deliver sends a delivery, and compares its outcome with an earlier one of the same delivery.
func (m *machine) deliver(t *rapid.T, d session.Delivery) {
	c := m.host(t)
	c.do(func() {
		o, err := c.Deliver(context.Background(), d)
		if err != nil {
			return
		}
		before, known := m.given[d.DeliveryID()]
		if before.Duplicate, o.Duplicate = false, false; known && before != o {
			t.Errorf("the outcome of %s was %+v, and is %+v", d.DeliveryID(), before, o)
		}
		m.given[d.DeliveryID()] = o
	})
}

// check checks what is true after each action.
func (m *machine) check(t *rapid.T) {
	store := m.kept.Sessions()
	for _, of := range sessions {
		id := session.SessionID{Tenant: "shop", Session: of}
		all, err := store.History(context.Background(), id, 0, 1000)
		require.NoError(t, err)
		slices.Reverse(all)
		var said []string
		revision, unsettled := int64(0), false
		for i, a := range all {
			require.EqualValues(t, i+1, a.Seq)
			require.False(t, a.State.Settled() && unsettled, "%s was settled before one that came before it", a.ID)
			unsettled = unsettled || !a.State.Settled()
			if a.State == session.Committed {
				revision++
				require.Equal(t, revision, a.Outcome.Revision, "commits are in the order of acceptance")
				said = append(said, a.ID, fmt.Sprint("that makes ", revision))
			}
			require.LessOrEqual(t, a.Attempts, 3)
		}
		l, found, err := store.Look(context.Background(), id)
		require.NoError(t, err)
		require.Equal(t, revision, l.Revision)
		if revision > 0 {
			require.Equal(t, fmt.Sprint(revision), string(l.Values[count.Name()].Body), "each commit adds the changes of its attempt, once")
		} else if found {
			require.Empty(t, l.Values)
		}
		require.Equal(t, said, m.said(of), "records are those of the attempts that were committed, in order")
	}
	others, found, err := store.Look(context.Background(), session.SessionID{Tenant: "other", Session: "one"})
	require.NoError(t, err)
	require.True(t, found)
	require.EqualValues(t, 1, others.Revision, "nothing of another tenant has changed")
}

// end stops the faults, and checks that everything is settled and reported.
func (m *machine) end(t *rapid.T) {
	last := newCrashing(m.world, nil)
	for range 10 {
		m.clock.Advance(time.Hour)
		if _, err := last.Resume(context.Background(), 1000); err != nil {
			t.Fatal(err)
		}
	}
	m.check(t)
	told := map[session.DeliveryID]bool{}
	for _, o := range m.told {
		told[o.Delivery] = true
	}
	for _, of := range sessions {
		all, err := m.kept.Sessions().History(context.Background(), session.SessionID{Tenant: "shop", Session: of}, 0, 1000)
		require.NoError(t, err)
		for _, a := range all {
			require.True(t, a.State.Settled(), "%s is settled in the end", a.DeliveryID())
			require.True(t, told[a.DeliveryID()], "%s was told", a.DeliveryID())
		}
	}
}

// SES-11, SES-12, SES-19 to SES-25: two hosts whose processes may end anywhere, whose stores may fail
// anywhere and whose turns may do anything settle each delivery once, in order.
func TestSessionsUnderFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		m := &machine{world: w, hosts: []*crashing{newCrashing(w, nil), newCrashing(w, nil)}, sent: map[string][]string{}, given: map[session.DeliveryID]session.Outcome{}}
		other := delivery("one", "a")
		other.Tenant = "other"
		_, err := m.hosts[0].Deliver(context.Background(), other)
		require.NoError(t, err)
		ids := 0
		t.Repeat(map[string]func(*rapid.T){
			"deliver": func(t *rapid.T) {
				of := rapid.SampledFrom(sessions).Draw(t, "session")
				ids++
				id := fmt.Sprint("d", ids)
				m.sent[of] = append(m.sent[of], id)
				m.deliver(t, delivery(of, id))
			},
			"deliver again": func(t *rapid.T) {
				of := rapid.SampledFrom(sessions).Draw(t, "session")
				if len(m.sent[of]) == 0 {
					t.Skip("nothing was sent")
				}
				m.deliver(t, delivery(of, rapid.SampledFrom(m.sent[of]).Draw(t, "id")))
			},
			"deliver another": func(t *rapid.T) {
				all, err := m.kept.Sessions().History(context.Background(), session.SessionID{Tenant: "shop", Session: "one"}, 0, 1)
				require.NoError(t, err)
				if len(all) == 0 {
					t.Skip("nothing was accepted")
				}
				d := delivery("one", all[0].ID)
				d.Payload = json.RawMessage(`"another"`)
				_, err = newCrashing(w, nil).Deliver(context.Background(), d)
				require.ErrorIs(t, err, adk.E_DELIVERY_CONFLICT)
			},
			"resume": func(t *rapid.T) {
				c, limit := m.host(t), rapid.IntRange(1, 5).Draw(t, "limit")
				c.do(func() { _, _ = c.Resume(context.Background(), limit) })
			},
			"let time pass": func(t *rapid.T) {
				w.clock.Advance(time.Duration(rapid.SampledFrom([]int{1, 2, 70, 400}).Draw(t, "seconds")) * time.Second)
			},
			"": m.check,
		})
		m.end(t)
	})
}

// SES-32: the same schedule makes the same journal.
func TestJournalsAreEqual(t *testing.T) {
	run := func() string {
		w := newWorld(t)
		h := w.host(w.config(counting))
		for _, id := range []string{"a", "b", "a"} {
			deliver(t, h, delivery("one", id))
		}
		text, err := json.Marshal(w.steps)
		require.NoError(t, err)
		return strings.TrimSpace(string(text))
	}
	assert.JSONEq(t, run(), run())
}

// mute is a store that does what it is asked for, and fails to answer the given number of times.
type mute struct {
	session.Store
	starts, finds int
}

func (m *mute) Start(ctx context.Context, d session.Delivery, owner string, now, until time.Time) (session.Started, error) {
	s, err := m.Store.Start(ctx, d, owner, now, until)
	if m.starts--; m.starts >= 0 {
		return session.Started{}, errBroken
	}
	return s, err
}

func (m *mute) Find(ctx context.Context, id session.DeliveryID) (session.Accepted, bool, error) {
	if m.finds--; m.finds >= 0 {
		return session.Accepted{}, false, errBroken
	}
	return m.Store.Find(ctx, id)
}

// SES-32: a host that got no answer whether a delivery is accepted reports that to the journal when it sees
// the delivery next, and does not report it twice.
func TestAcceptedWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		finds  int
		resume bool
	}{"it looks at once": {0, false}, "it comes again": {1, false}, "it is resumed": {1, true}} {
		w := newWorld(t)
		store := &mute{w.kept.Sessions(), 1, c.finds}
		config := w.config(counting)
		config.Store = store
		h := w.host(config)
		_, err := h.Deliver(t.Context(), delivery("one", "a"))
		require.ErrorIs(t, err, errBroken, name)
		w.clock.Advance(time.Hour)
		if c.resume {
			_, err = h.Resume(t.Context(), 10)
			require.NoError(t, err)
		}
		deliver(t, h, delivery("one", "a"))
		deliver(t, h, delivery("one", "a"))
		var kinds []session.StepKind
		for _, s := range w.steps {
			kinds = append(kinds, s.Kind)
		}
		require.NotEmpty(t, kinds, name)
		assert.Contains(t, kinds, session.StepAccepted, name)
		assert.Less(t, slices.Index(kinds, session.StepAccepted), slices.Index(kinds, session.StepHydrated), name)
		kinds = slices.DeleteFunc(kinds, func(k session.StepKind) bool { return k != session.StepAccepted })
		assert.Len(t, kinds, 1, name)
	}
}
