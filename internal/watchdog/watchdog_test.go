package watchdog

import (
	"context"
	"math"
	"net"
	"net/http"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adkreplay/adkreplay/internal/allocs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

// begin starts a run that ends with the test, and returns its label.
func begin(run func()) Label {
	label := NewLabel()
	begun := make(chan struct{})
	go func() {
		defer label.Begin()()
		close(begun)
		run()
	}()
	<-begun
	return label
}

// calm waits until nothing that earlier tests left behind is running, because a dog would assume that it may
// hold what a run waits for.
func calm(t *testing.T) {
	require.True(t, patience.Until(func() bool { return allWait(false) }))
}

// arrives waits until all these goroutines are in this state, by the runtime's name, and not on their way
// there any more. Without a state, it waits until there are none.
func arrives(t *testing.T, state string, who func() []Goroutine) {
	require.True(t, patience.Until(func() bool {
		all := who()
		return (len(all) > 0) == (state != "") && !slices.ContainsFunc(all, func(g Goroutine) bool { return g.State != state })
	}), state)
}

// numbered returns a function that looks for one goroutine.
func numbered(id int) func() []Goroutine {
	return func() []Goroutine {
		return slices.DeleteFunc(All(), func(g Goroutine) bool { return g.ID != id })
	}
}

// of returns a function that looks for the goroutines of a run. It returns none before it finds all of them.
func of(label Label, goroutines int) func() []Goroutine {
	return func() []Goroutine {
		all := Of(label)
		if len(all) != goroutines {
			return nil
		}
		return all
	}
}

// visits visits a run that makes no progress until an action ends it, and returns all actions.
// Time is the dog's own, and not the system's.
func visits(d *Dog, label Label) (actions []Action, last Finding) {
	now := time.Unix(0, 0)
	for range 10_000 {
		now = now.Add(Often)
		if last = d.Visit(1, now, label); last.Action != Nothing {
			actions = append(actions, last.Action)
		}
		if last.Action >= Deadlock {
			label.Lose()
			break
		}
	}
	return actions, last
}

// toTheEnd are the actions for a run that stays blocked.
var toTheEnd = []Action{PassOn, MoveTime, Cancel, Deadlock}

// How patient the dog is depends on what the goroutines wait for.
func TestVisits(t *testing.T) {
	calm(t)
	var lock sync.Mutex
	lock.Lock()
	t.Cleanup(lock.Unlock)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	connection := silent(t)
	var once sync.Once
	making := make(chan struct{})
	go once.Do(func() { close(making); <-never }) // as another run does
	<-making
	for name, c := range map[string]struct {
		run     func()
		actions []Action
		least   time.Duration
		state   string
	}{
		"a lock":     {func() { lock.Lock(); defer lock.Unlock() }, toTheEnd, lockPatience, "sync.Mutex.Lock"},
		"a Once":     {func() { once.Do(func() {}) }, toTheEnd, Usual, "sync.Mutex.Lock"},
		"a channel":  {func() { <-never }, toTheEnd, Usual, "chan receive"},
		"a deadline": {func() { time.Sleep(time.Hour) }, []Action{Cancel, Hang}, systemPatience + Usual, "sleep"},
		"the system": {func() { _, _ = connection.Read(make([]byte, 1)) }, []Action{Cancel, Hang}, systemPatience + Usual, "IO wait"},
	} {
		label := begin(c.run)
		arrives(t, c.state, of(label, 1))
		actions, last := visits(&Dog{}, label)
		assert.Equal(t, c.actions, actions, name)
		assert.GreaterOrEqual(t, last.Silence, c.least, name)
		assert.Contains(t, Describe(last.Goroutines), c.state+" in watchdog.TestVisits", name)
	}
}

// A goroutine outside of the run that holds a lock, but gets no core or sleeps, may still release it. So it
// takes much time, and many looks, to decide that it will not.
func TestWhoHasALock(t *testing.T) {
	t.Cleanup(func(before int) func() { return func() { runtime.GOMAXPROCS(before) } }(runtime.GOMAXPROCS(1)))
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	connection := silent(t)
	for _, c := range []struct {
		name  string
		hold  func(over *atomic.Bool)
		state string // of the holder; empty if the holder has ended
		least time.Duration
		most  time.Duration
	}{
		{"nobody, any more", func(*atomic.Bool) {}, "", lockPatience, Usual},
		{"who waits himself", func(*atomic.Bool) { <-never }, "chan receive", lockPatience, Usual},
		{"who gets no core", spin, "runnable", patienceOfSleepers * Usual, time.Minute},
		{"who waits for the system", func(*atomic.Bool) { _, _ = connection.Read(make([]byte, 1)) }, "IO wait", Usual, patienceOfSleepers * Usual},
	} {
		t.Run(c.name, func(t *testing.T) {
			calm(t)
			var lock sync.Mutex
			var over atomic.Bool
			var spinning sync.WaitGroup
			t.Cleanup(func() { over.Store(true); spinning.Wait() })
			held := make(chan int)
			hold := func() {
				lock.Lock() // and never unlocks
				held <- ID()
				c.hold(&over)
			}
			if c.least > Usual {
				spinning.Go(hold)
				for range 4 {
					spinning.Go(func() { spin(&over) })
				}
			} else {
				go hold()
			}
			arrives(t, c.state, numbered(<-held))
			label := begin(func() { lock.Lock(); defer lock.Unlock() })
			arrives(t, "sync.Mutex.Lock", of(label, 1))
			actions, last := visits(&Dog{}, label)
			assert.Equal(t, toTheEnd, actions)
			assert.GreaterOrEqual(t, last.Silence, c.least)
			assert.Less(t, last.Silence, c.most)
		})
	}
}

// A goroutine that holds a lock and computes is at another place at each look, and still holds the lock.
func TestWhoHasALockMayMove(t *testing.T) {
	calm(t)
	t.Cleanup(func(before int) func() { return func() { runtime.GOMAXPROCS(before) } }(runtime.GOMAXPROCS(1)))
	var lock sync.Mutex
	var turn, seen atomic.Int64
	over := make(chan struct{})
	held := make(chan struct{})
	go func() {
		lock.Lock()
		defer close(over)
		defer lock.Unlock()
		close(held)
		for here := true; turn.Load() >= 0; here = !here {
			if here {
				awaitTurn(&turn, &seen)
			} else {
				awaitTurn(&turn, &seen)
			}
		}
	}()
	<-held
	label := begin(func() { lock.Lock(); defer lock.Unlock() })
	arrives(t, "sync.Mutex.Lock", of(label, 1))
	var d Dog
	now := time.Unix(0, 0)
	for range 30 {
		turn.Add(1)
		require.True(t, patience.Until(func() bool { return seen.Load() == turn.Load() }))
		now = now.Add(rarestLook)
		last := d.Visit(1, now, label)
		assert.LessOrEqual(t, last.Action, PassOn, "%s", last.Silence)
	}
	turn.Store(-1)
	<-over
}

// awaitTurn computes until the turn changes.
func awaitTurn(turn, seen *atomic.Int64) {
	last := turn.Load()
	seen.Store(last)
	for turn.Load() == last {
	}
}

// If the process gets no core for long, no goroutine of it runs. Such time does not count against a
// run.
func TestTimeInWhichNobodyLooksIsNone(t *testing.T) {
	calm(t)
	connection := silent(t)
	label := begin(func() { _, _ = connection.Read(make([]byte, 1)) })
	arrives(t, "IO wait", of(label, 1))
	var d Dog
	now := time.Unix(0, 0)
	for range 500 {
		now = now.Add(time.Minute)
		f := d.Visit(1, now, label)
		require.Equal(t, Nothing, f.Action, f.Silence)
	}
	for range 10_000 {
		now = now.Add(Often)
		if f := d.Visit(1, now, label); f.Action == Hang {
			return
		}
	}
	assert.Fail(t, "it waits for the system, and is given up by nobody")
}

// Rest is over when all goroutines wait. If one of them could still go on, it is over once the process has used
// the processors for as long as it would wait on an idle machine.
func TestRest(t *testing.T) {
	thorough.Long(t)
	t.Cleanup(func(before int) func() { return func() { runtime.GOMAXPROCS(before) } }(runtime.GOMAXPROCS(1)))
	had := time.Duration(0)
	long := func() *Rest {
		r := &Rest{used: func() time.Duration { return had }}
		for !r.IsLong() {
			assert.False(t, r.IsOver())
			r.Pause()
		}
		return r
	}
	calm(t)
	assert.True(t, patience.Until(long().IsOver))

	var over atomic.Bool
	var spinning sync.WaitGroup
	spinning.Go(func() { spin(&over) })
	r := long()
	assert.False(t, r.IsOver(), "somebody gets no core")
	had = enoughWork
	assert.True(t, r.IsOver(), "it has had one for long")
	over.Store(true)
	spinning.Wait()

	connection := silent(t)
	reads := make(chan int)
	go func() {
		reads <- ID()
		_, _ = connection.Read(make([]byte, 1))
	}()
	arrives(t, "IO wait", numbered(<-reads))
	r = long()
	r.begun = time.Now().Add(patience.Long) // however long this test gets no core
	assert.False(t, r.IsOver(), "the system may answer")
	r.begun = time.Now().Add(-Usual)
	assert.True(t, patience.Until(r.IsOver))
}

// A goroutine that was woken gets the time to go as far as it can, even if others use the cores, so that
// each of its turns takes longer than on an idle machine.
func TestSettleOnABusyMachine(t *testing.T) {
	calm(t)
	t.Cleanup(func(before int) func() { return func() { runtime.GOMAXPROCS(before) } }(runtime.GOMAXPROCS(1)))
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	var over atomic.Bool
	var spinning sync.WaitGroup
	t.Cleanup(func() { over.Store(true); spinning.Wait() })
	for range 2 {
		spinning.Go(func() { spin(&over) })
	}
	label := begin(func() {
		for range 4 {
			runtime.Gosched()
		}
		<-never
	})
	Settle(50*time.Millisecond, label)
	all := Of(label)
	require.Len(t, all, 1)
	assert.Equal(t, "chan receive", all[0].State)
}

// A goroutine that looks whether others have settled does not count as working for others that do the same.
func TestWhoSettlesIsAtRest(t *testing.T) {
	looking := []Frame{{"runtime.Stack", "r:1"}, {"github.com/adkreplay/adkreplay/internal/watchdog.All", "g:1"}, {"github.com/adkreplay/adkreplay/internal/watchdog.Settle", "d:1"}}
	working := []Frame{{"example.com/agent.work", "a:1"}}
	for _, state := range []string{"running", "runnable", "semacquire"} {
		assert.False(t, Goroutine{State: state, Stack: looking}.isToSettle(), state)
		assert.True(t, Goroutine{State: state, Stack: working}.isToSettle(), state)
	}
	assert.False(t, Goroutine{State: "chan receive", Stack: working}.isToSettle())
}

func spin(over *atomic.Bool) {
	for !over.Load() {
	}
}

// A run may wait for a lock that a concurrent run holds, as long as that run is working.
func TestWhoIsBesideMayHaveTheLock(t *testing.T) {
	calm(t)
	var lock sync.Mutex
	lock.Lock()
	t.Cleanup(lock.Unlock)
	label := begin(func() { lock.Lock(); defer lock.Unlock() })
	arrives(t, "sync.Mutex.Lock", of(label, 1))
	beside := true
	d := Dog{Beside: func() bool { return beside }}
	now := time.Unix(0, 0)
	for range 200 {
		now = now.Add(Often)
		assert.LessOrEqual(t, d.Visit(1, now, label).Action, PassOn)
	}
	assert.True(t, d.IsBlocked())
	beside = false
	for range 200 {
		now = now.Add(Often)
		if last := d.Visit(1, now, label); last.Action == Deadlock {
			return
		}
	}
	assert.Fail(t, "alone, and it is not said that it is stuck")
}

// silent returns a connection on which nothing arrives until the test ends.
func silent(t *testing.T) net.Conn {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	connection, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = connection.Close(), listener.Close() })
	return connection
}

// A run without a visible goroutine waits for nothing: on a busy machine it has not begun yet, or has ended
// without having reported it.
func TestNobodyIsNoDeadlock(t *testing.T) {
	actions, last := visits(&Dog{}, NewLabel())
	assert.Equal(t, []Action{Cancel, Hang}, actions)
	assert.GreaterOrEqual(t, last.Silence, systemPatience+Usual)
}

// If the dog has waited in vain for something, it is less patient with the same thing the next time.
func TestKnown(t *testing.T) {
	calm(t)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	label := begin(func() { <-never })
	arrives(t, "chan receive", of(label, 1))
	d := Dog{Known: map[string]Action{}}
	_, once := visits(&d, label)
	d.progress = -1
	_, again := visits(&d, label)
	assert.Equal(t, Deadlock, again.Action)
	assert.Less(t, 5*again.Silence, once.Silence)
}

// The dog's patience is measured from the last progress.
func TestProgress(t *testing.T) {
	label := begin(func() {})
	var d Dog
	for n := range 1000 {
		f := d.Visit(int64(n), time.Unix(int64(n), 0), label)
		assert.Equal(t, Nothing, f.Action)
		assert.Zero(t, f.Silence)
	}
}

// A label also belongs to the goroutines that a run starts, and to no others.
func TestOf(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	begin(func() { <-never })
	label := begin(func() {
		go func() { <-never }()
		<-never
	})
	arrives(t, "chan receive", of(label, 2))
	for _, g := range Of(label) {
		assert.NotZero(t, g.ID)
		assert.Contains(t, g.Origin.Function, "watchdog.")
	}
}

// The label of a goroutine is found even if its parent has ended, also next to goroutines of another run that
// do the same.
func TestOfOrphans(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	wait := func() { <-never }
	run := func() { go func() { go wait(); go wait() }(); <-never }
	label, other := begin(run), begin(run)
	for _, l := range []Label{label, other} {
		arrives(t, "chan receive", of(l, 3))
	}
}

// The goroutines of a run are described by what user code asked for, and goroutines that do the same are
// described once.
func TestDescribe(t *testing.T) {
	held := Goroutine{State: "sync.Cond.Wait", Stack: []Frame{{"runtime.gopark", "a:1"}, {"sync.runtime_notifyListWait", "b:2"},
		{"github.com/adkreplay/adkreplay/fakes.(*turns).hold", "c:3"}, {"github.com/adkreplay/adkreplay/adk.Records[...].Fetch", "d:4"}, {"example.com/agent.load", "agent.go:5"},
		{"github.com/adkreplay/adkreplay/adk.(*call).invoke", "e:6"}}}
	waiting := Goroutine{State: "sync.WaitGroup.Wait", Stack: []Frame{{"sync.(*WaitGroup).Wait", "b:2"},
		{"github.com/adkreplay/adkreplay/adk.(*call).invoke", "e:6"}, {"github.com/adkreplay/adkreplay/property/explore.(*lane).serve", "f:7"}}}
	locked := Goroutine{State: "sync.Mutex.Lock", Stack: []Frame{{"internal/sync.(*Mutex).lockSlow", "a:1"}, {"sync.(*Mutex).Lock", "b:2"}, {"example.com/cache.fill", "/src/cache/cache.go:3"}}}
	assert.Equal(t, "adk.Records[...].Fetch in agent.load at example.com/agent/agent.go:5\nsync.Mutex.Lock in cache.fill at example.com/cache/cache.go:3 (2 of them)",
		Describe([]Goroutine{locked, held, locked, waiting}))
	assert.Empty(t, Goroutine{Stack: []Frame{{"net/http.(*conn).serve", "x:1"}}}.Where())
}

// The description names lines of user code: not those of a library that it calls, such as this module. For
// a goroutine that runs only a library's code, it names the line of user code that started
// it.
func TestWhere(t *testing.T) {
	agent := Frame{"example.com/agent.load", "agent.go:5"}
	client := Frame{"github.com/adkreplay/adkreplay/adk/adkhttp.(*transport).RoundTrip", "/src/adkreplay/adk/adkhttp/transport.go:3"}
	sdk := Frame{"github.com/openai/openai-go/v3.(*Client).Do", "/go/pkg/mod/github.com/openai/openai-go/v3@v3.96.0/client.go:7"}
	trimmed := Frame{"github.com/openai/openai-go/v3.(*Client).Do", "github.com/openai/openai-go/v3@v3.96.0/client.go:7"}
	for name, c := range map[string]struct {
		of   Goroutine
		want string
	}{
		"through a client":    {Goroutine{Stack: []Frame{client, sdk, trimmed, agent}}, "agent.load at example.com/agent/agent.go:5"},
		"a scenario":          {Goroutine{Stack: []Frame{{"github.com/adkreplay/adkreplay/scenarios.agent", "s.go:1"}}}, "scenarios.agent at s.go:1"},
		"a library's":         {Goroutine{Stack: []Frame{client, sdk}}, ""},
		"a library's, by one": {Goroutine{Stack: []Frame{client}, starter: agent.String()}, "a goroutine of github.com/adkreplay/adkreplay/adk/adkhttp, started by agent.load at example.com/agent/agent.go:5"},
	} {
		assert.Equal(t, c.want, c.of.Where(), name)
	}
	assert.Equal(t, "agent.load at example.com/agent/agent.go:5", starterOf(Goroutine{Origin: agent}, nil))
	assert.Empty(t, starterOf(Goroutine{Origin: client, parent: 9}, nil), "who started it has ended")
}

// An inlined closure of a library has a name that begins with the caller's, but is in the library's file. It does not
// count as user code.
func TestWhereOfClosuresInThePlaceOfACall(t *testing.T) {
	_, here, _, _ := runtime.Caller(0)
	root := strings.TrimSuffix(here, "internal/watchdog/watchdog_test.go")
	g := readTraceback("goroutine 7 [running]:\n" +
		"github.com/adkreplay/adkreplay/adk.(*Stash).Set(...)\n\t" + root + "adk/stash.go:5\n" +
		"example.com/desk.TestDesk.func1.1({0x1})\n\t/src/desk/desk_test.go:22 +0x1d\n" +
		"example.com/desk.TestDesk.func1.Script.Executor.3({0x1, 0x2})\n\t" + root + "fakes/script.go:51 +0x1d\n" +
		"created by example.com/desk.TestDesk.Script.Serve.func2 in goroutine 1\n\t" + root + "fakes/script.go:60 +0x1d\n")
	assert.Equal(t, "desk.TestDesk.func1.1 at example.com/desk/desk_test.go:22", g.Where())
	assert.Equal(t, "fakes.Executor.3", g.Stack[2].name())
	assert.False(t, g.Origin.isUsers())
}

// A goroutine that waits for a connection of a pool waits for the connection's user, and not for the system.
func TestPoolsAreNotTheSystem(t *testing.T) {
	waits := func(in ...string) Goroutine {
		g := Goroutine{State: "select"}
		for _, function := range append(in, "main.agent") {
			g.Stack = append(g.Stack, Frame{function, "x:1"})
		}
		return g
	}
	assert.Equal(t, Blocked, conditionOf(waits("database/sql.(*DB).conn", "database/sql.(*DB).begin")))
	assert.Equal(t, Waiting, conditionOf(waits("database/sql.(*driverConn).query")))
	assert.Equal(t, Waiting, conditionOf(waits("net/http.(*persistConn).roundTrip")))
}

// A server's goroutines are reported as started by the code that serves.
func TestStarters(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	label := begin(func() { _ = http.Serve(listener, nil) })
	connection, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = connection.Close(), listener.Close() })
	require.True(t, patience.Until(func() bool {
		return strings.Contains(Describe(Of(label)), "a goroutine of net/http, started by watchdog.TestStarters")
	}))
}

// Every look sees all goroutines of a run, even while they and others move, and even if their parents have
// ended.
func TestOfWhatMoves(t *testing.T) {
	var stop atomic.Bool
	defer stop.Store(true)
	hops := func() {
		for !stop.Load() {
			here()
			there()
		}
	}
	var runs []Label
	for range 4 {
		label := begin(func() { go hops() })
		require.True(t, patience.Until(func() bool { return len(Of(label)) == 1 }), "the one that began has ended")
		runs = append(runs, label)
	}
	for range 200 {
		for _, label := range runs {
			require.Len(t, Of(label), 1)
		}
	}
}

func here() { runtime.Gosched() }

func there() { runtime.Gosched() }

// User code may set its own labels on a goroutine, which still belongs to its run. This also holds if GODEBUG
// leaves labels out of tracebacks.
func TestOfThoseWithLabelsOfTheirOwn(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	label := begin(func() {
		go pprof.Do(t.Context(), pprof.Labels("agent", "]labels:{"), func(context.Context) { <-never })
		<-never
	})
	t.Setenv("GODEBUG", "tracebacklabels=0")
	arrives(t, "chan receive", of(label, 2))
}

// Goroutines with deep stacks are found, and so are goroutines that panic.
func TestOfDeepAndPanicking(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	deep := begin(func() { recurse(300, never) })
	panics := begin(func() {
		defer func() { _ = recover() }()
		defer func() { <-never }()
		panic("boom")
	})
	for _, label := range []Label{deep, panics} {
		arrives(t, "chan receive", of(label, 1))
	}
}

func recurse(n int, until chan struct{}) {
	if n == 0 {
		<-until
		return
	}
	recurse(n-1, until)
}

// Real time does not matter for a bubble: goroutines that a timer may wake are given a day of the bubble's time,
// and goroutines that wait for a lock no more than elsewhere.
func TestVisitsInBubble(t *testing.T) {
	for name, c := range map[string]struct {
		run       func()
		condition Condition
		least     time.Duration
	}{
		"sleep":   {func() { time.Sleep(time.Hour) }, Waiting, Bubbled},
		"channel": {func() { <-time.After(time.Hour) }, Blocked, Bubbled},
		"group": {func() {
			var group sync.WaitGroup
			group.Go(func() { time.Sleep(time.Hour) })
			group.Wait()
		}, Waiting, Bubbled},
	} {
		t.Run(name, func(t *testing.T) {
			calm(t)
			synctest.Test(t, func(t *testing.T) {
				label := begin(c.run)
				synctest.Wait()
				d := Dog{rarely: true}
				now := time.Unix(0, 0)
				found := d.Visit(1, now, label)
				until := func(silence time.Duration) (most Action) {
					for found.Silence < silence {
						now = now.Add(watchedNext(found.Silence))
						found = d.Visit(1, now, label)
						most = max(most, found.Action)
					}
					return most
				}
				assert.Less(t, until(c.least-c.least/10), Cancel)
				assert.Equal(t, c.condition, found.Condition)
				assert.GreaterOrEqual(t, until(2*c.least), Cancel)
				time.Sleep(2 * time.Hour) // until they have ended
			})
		})
	}
}

// A run that is working is given up only after many looks have seen it working, and not because time has
// passed, since on a busy machine neither the run nor the dog gets to run.
func TestTimeAloneIsNoHang(t *testing.T) {
	calm(t)
	var stop atomic.Bool
	t.Cleanup(func() { stop.Store(true) })
	label := begin(func() {
		for !stop.Load() {
			runtime.Gosched()
		}
	})
	for _, share := range []time.Duration{Usual, Usual / 100} { // of processor time used between two looks
		var used time.Duration
		d := Dog{used: func() time.Duration { return used }}
		now, looks := time.Unix(0, 0), 0
		for ; looks < 1000; looks++ {
			now, used = now.Add(time.Minute), used+share // a minute in which nobody looks
			if f := d.Visit(1, now, label); f.Action == Hang {
				assert.True(t, f.AtWork)
				break
			}
		}
		assert.GreaterOrEqual(t, looks, leastLooks)
		assert.GreaterOrEqual(t, used, Usual)
		assert.Less(t, looks, 1000)
	}
}

// If the process uses no measurable processor time, a run is never taken for hanging, however often it is
// looked at.
func TestNobodyHangsWithoutAProcessor(t *testing.T) {
	calm(t)
	var stop atomic.Bool
	t.Cleanup(func() { stop.Store(true) })
	label := begin(func() {
		for !stop.Load() {
			runtime.Gosched()
		}
	})
	d := Dog{used: func() time.Duration { return 0 }}
	for look := range 100 {
		f := d.Visit(1, time.Unix(int64(look), 0), label)
		require.Equal(t, Nothing, f.Action, f.Silence)
		require.False(t, f.AtWork)
	}
}

// The cost of a look grows linearly with the number of goroutines that it sees.
func TestLooksAreLinear(t *testing.T) {
	allocs.Countable(t)
	cost := func(goroutines int) float64 {
		never := make(chan struct{})
		defer close(never)
		var started sync.WaitGroup
		started.Add(goroutines)
		label := begin(func() {
			for range goroutines {
				go func() {
					started.Done()
					<-never
				}()
			}
			<-never
		})
		started.Wait()
		d, now := Dog{}, time.Unix(0, 0)
		look := func() {
			now, d.next = now.Add(Often), time.Time{} // makes the next look due
			d.Visit(1, now, label)
		}
		look() // begins the silence
		least := math.Inf(1)
		for range 5 { // some looks allocate memory for so many tracebacks
			least = min(least, float64(allocs.Bytes(look)))
		}
		return least
	}
	assert.Less(t, cost(2_000)/cost(250), 20.0)
}

// Beginning a run costs the same however many goroutines the program has, also on a goroutine that has only
// library code on its stack.
func TestRunsBeginWithoutALook(t *testing.T) {
	allocs.Countable(t)
	never := make(chan struct{})
	defer close(never)
	cost := func(t *testing.T) (allocated float64) {
		synctest.Test(t, func(*testing.T) {
			allocated = allocs.PerRun(10, func() {
				go NewLabel().Begin()
				synctest.Wait()
			})
		})
		return allocated
	}
	alone := cost(t)
	for range 1_000 {
		go func() { <-never }()
	}
	assert.Less(t, cost(t), alone+100)
}

// Functions of a program whose module path has no dot are user code, and not the standard
// library's.
func TestModulesWithoutADot(t *testing.T) {
	for function, standard := range map[string]bool{
		"sync.(*Mutex).Lock": true, "net/http.Get": true, "main.main": false, "example.com/agent.Run": false,
		"agent.Run": false, "agent/tools.Look": false, "agent_test.TestRun": false, "agents.Run": true,
	} {
		assert.Equal(t, standard, isStandard(function, "agent"), function)
	}
	assert.True(t, isStandard("agent.Run", ""))
	assert.False(t, isStandard("agent.Run", "agent/cmd"))
}
