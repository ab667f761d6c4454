package stub

import (
	"context"
	"sync"
	"time"
)

// runContext is the context of a replayed run: it ends when the recording says
// so, with the recorded cause and the recorded Err, which no constructor of
// package context lets a caller choose together.
//
// context.Cause looks for the nearest context of its own package; Value leads
// it to inner, which holds the cause. The engine's derived context follows
// through AfterFunc, which runs in the step that ends this one: a replay
// depends on no goroutine's wake.
type runContext struct {
	inner context.Context
	fail  context.CancelCauseFunc
	done  chan struct{}

	mu        sync.Mutex
	err       error
	followers map[int]func()
	last      int
}

// NewRunContext is a context for a run, which the replay ends when the recorded one ended.
func NewRunContext(values context.Context) *runContext {
	inner, fail := context.WithCancelCause(context.WithoutCancel(values))
	return &runContext{inner: inner, fail: fail, done: make(chan struct{}), followers: map[int]func(){}}
}

// End ends the context once.
func (c *runContext) End(cause, err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	if err == nil {
		err = context.Canceled
	}
	c.err = err
	followers := c.followers
	c.followers = nil
	c.fail(cause)
	close(c.done)
	c.mu.Unlock()
	for i := 1; i <= c.last; i++ { // in the order they came
		if follow := followers[i]; follow != nil {
			follow()
		}
	}
}

func (c *runContext) Deadline() (time.Time, bool) { return time.Time{}, false }

func (c *runContext) Done() <-chan struct{} { return c.done }

func (c *runContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *runContext) Value(key any) any { return c.inner.Value(key) }

// AfterFunc is what package context asks a foreign parent for; it saves a
// goroutine that would have to wake first.
func (c *runContext) AfterFunc(follow func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go follow()
		return func() bool { return false }
	}
	c.last++
	id := c.last
	c.followers[id] = follow
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.followers[id]
		delete(c.followers, id)
		return waiting
	}
}
