package session_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
)

// crashed begins the deliveries of several sessions together, the given number of times, in processes that all end.
func crashed(t *testing.T, w *world, times int, sessions ...string) {
	store := w.kept.Sessions()
	for _, of := range sessions {
		_, err := store.Accept(t.Context(), delivery(of, "a"), w.clock.Now())
		require.NoError(t, err)
	}
	for range times {
		for _, of := range sessions {
			claim, err := store.Claim(t.Context(), delivery(of, "a").SessionID(), "gone", w.clock.Now(), w.clock.Now().Add(time.Minute))
			require.NoError(t, err)
			_, err = store.Begin(t.Context(), claim, "a")
			require.NoError(t, err)
		}
		w.clock.Advance(time.Minute)
	}
}

// seats holds turns that begin when the test lets them in, and end when the test says so.
type seats struct {
	entered chan string
	mu      sync.Mutex
	inside  int
	most    map[string]int // how many turns were inside when a session's turn began, itself included
}

func (s *seats) enter(dc *adk.DispatchContext) {
	seed, err := session.SeedOf(dc)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	s.inside++
	s.most[seed.Session] = s.inside
	s.mu.Unlock()
	s.entered <- seed.Session
}

func (s *seats) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside--
}

// SES-21: deliveries that were running together each time their process ended are separated: each gets
// its last attempt alone, and its host runs no other turn during that attempt, not even of a new delivery.
func TestInnocentsBesideAnInputThatEndsTheProcess(t *testing.T) {
	w := newWorld(t)
	crashed(t, w, 2, "one", "two", "three")
	clock := &armedClock{Clock: w.clock, after: session.MaxRetryPause, armed: make(chan bool, 16)}
	s := &seats{entered: make(chan string, 16), most: map[string]int{}}
	first := true
	c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
		s.enter(dc)
		defer s.leave()
		if first { // the two others and a new one arrive, and wait or are inside
			first = false
			<-s.entered
			for range 3 {
				select {
				case <-clock.armed:
				case <-s.entered:
				}
			}
		}
		return counting(ctx, dc)
	})
	c.Agent.Clock = clock
	h := w.host(c)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for n := 0; n == 0; { // Resume finds nothing while another goroutine has just begun the delivery that it would take
				var err error
				n, err = h.Resume(context.Background(), 1)
				if !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	all.Go(func() {
		o, err := h.Deliver(context.Background(), delivery("new", "a"))
		assert.NoError(t, err)
		assert.Equal(t, session.Committed, o.State)
	})
	all.Wait()
	for _, of := range []string{"one", "two", "three"} {
		o := deliver(t, h, delivery(of, "a"))
		assert.Equal(t, []any{session.Committed, 3, 1}, []any{o.State, o.Attempt, s.most[of]}, of)
	}
}

// SES-21: an attempt that has to run alone waits for the attempts that are running, renews its lease
// meanwhile, and waits for at most five minutes, or until its caller leaves.
func TestWaitingToBeAlone(t *testing.T) {
	for name, end := range map[string]func(w *world, renewed <-chan bool, leave func(), over chan<- bool){
		"they are over": func(_ *world, _ <-chan bool, _ func(), over chan<- bool) { close(over) },
		"five minutes": func(w *world, renewed <-chan bool, _ func(), _ chan<- bool) {
			w.clock.Advance(time.Minute)
			<-renewed // the lease of the running attempt, or of the waiting one
			<-renewed
			w.clock.Advance(session.MaxRetryPause - time.Minute)
		},
		"the caller left": func(_ *world, _ <-chan bool, leave func(), _ chan<- bool) { leave() },
	} {
		w := newWorld(t)
		crashed(t, w, 2, "one")
		clock := &armedClock{Clock: w.clock, after: session.MaxRetryPause, armed: make(chan bool, 16)}
		s := &seats{entered: make(chan string, 16), most: map[string]int{}}
		over := make(chan bool)
		c := w.config(func(ctx context.Context, dc *adk.DispatchContext) error {
			s.enter(dc)
			defer s.leave()
			if seed, err := session.SeedOf(dc); err != nil || seed.Session == "other" {
				<-over
			}
			return counting(ctx, dc)
		})
		renewed := make(chan bool, 16)
		c.Store = &faultyStore{Store: c.Store, after: func(call string) error {
			if call == "Renew" {
				renewed <- true
			}
			return nil
		}}
		c.Agent.Clock, c.Lease = clock, 3*time.Minute
		h := w.host(c)
		ctx, leave := context.WithCancelCause(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			_, err := h.Deliver(context.Background(), delivery("other", "a"))
			assert.NoError(t, err)
		})
		<-s.entered
		var o session.Outcome
		var failure error
		done := make(chan bool)
		all.Go(func() {
			o, failure = h.Deliver(ctx, delivery("one", "a"))
			close(done)
		})
		<-clock.armed
		assert.Empty(t, s.entered, name)
		end(w, renewed, func() { leave(errBroken) }, over)
		<-done
		found, _, err := w.kept.Sessions().Find(t.Context(), delivery("one", "a").DeliveryID())
		require.NoError(t, err, name)
		if name == "the caller left" {
			assert.ErrorIs(t, failure, errBroken, name)
			assert.Equal(t, 2, found.Attempts, name)
		} else {
			assert.NoError(t, failure, name)
			assert.Equal(t, []any{session.Committed, 3}, []any{o.State, o.Attempt}, name)
		}
		if name != "they are over" {
			close(over)
		}
		all.Wait()
		assert.Equal(t, session.Committed, deliver(t, h, delivery("next", "a")).State, "nobody waits any more: %s", name)
	}
}

// SES-21: when a later attempt fails, or is given back, its code says how the last attempt ended.
func TestCodeOfTheLastAttempt(t *testing.T) {
	w := newWorld(t)
	ctx, leave := context.WithCancelCause(t.Context())
	c := w.config(func(context.Context, *adk.DispatchContext) error {
		if ctx.Err() == nil {
			return errBroken
		}
		return nil
	})
	c.NoWait = true
	code := func() adk.Code {
		found, _, err := w.kept.Sessions().Find(context.Background(), delivery("one", "a").DeliveryID())
		require.NoError(t, err)
		return found.Outcome.Code
	}
	_, err := w.host(c).Deliver(t.Context(), delivery("one", "a"))
	require.ErrorIs(t, err, adk.E_SESSION_BUSY)
	assert.Equal(t, adk.E_LLM_EXECUTION_EXECUTOR_ERROR, code())
	w.clock.Advance(time.Second)
	during := adk.Code("none")
	c.Agent.Executor.Run = func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		during = code()
		leave(errBroken)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	_, err = w.host(c).Deliver(ctx, delivery("one", "a"))
	require.ErrorIs(t, err, errBroken)
	assert.Empty(t, during)
	assert.Equal(t, adk.E_LLM_EXECUTION_EXECUTOR_ERROR, code())
}

// SES-21: a release that allows fewer attempts settles a delivery that has had enough of them, with the
// code of the last attempt.
func TestFewerAttempts(t *testing.T) {
	w := newWorld(t)
	c := w.config(func(context.Context, *adk.DispatchContext) error { return errBroken })
	c.NoWait, c.Attempts = true, 5
	h := w.host(c)
	for range 3 {
		_, err := h.Deliver(t.Context(), delivery("one", "a"))
		require.ErrorIs(t, err, adk.E_SESSION_BUSY)
		w.clock.Advance(session.MaxRetryPause)
	}
	c.Attempts = 2
	o := deliver(t, w.host(c), delivery("one", "a"))
	assert.Equal(t, []any{session.Failed, adk.E_LLM_EXECUTION_EXECUTOR_ERROR, 3}, []any{o.State, o.Code, o.Attempt})
}
