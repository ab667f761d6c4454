// Package ending provides contexts that end on request with any Err and cause. No constructor of
// package context lets a caller choose both.
package ending

import (
	"context"
	"sync"
	"time"
)

// Context ends when End is called. Contexts derived from it end in the same step, without another
// goroutine that would have to wake first. It has no values of its own. Begin makes it ready for
// use. It must not be copied.
type Context struct {
	done chan struct{}

	mu     sync.Mutex
	err    error
	ended  context.Context // nil before the end
	follow []func()        // in the order of the calls; nil where one was stopped
}

// Begin makes the context ready for use.
func (c *Context) Begin() { c.done = make(chan struct{}) }

// End ends the context, unless it has ended already. ended must be the result of By for the cause.
func (c *Context) End(err error, ended context.Context) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err, c.ended = err, ended
	close(c.done)
	follow := c.follow
	c.follow = nil
	c.mu.Unlock()
	for _, f := range follow {
		if f != nil {
			f()
		}
	}
}

// By returns a context that has ended with a cause. It can be used for any number of calls of End.
func By(cause error) context.Context {
	ended, fail := context.WithCancelCause(context.Background())
	fail(cause)
	return ended
}

// Deadline reports that there is none.
func (c *Context) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done returns a channel that is closed when the context ends.
func (c *Context) Done() <-chan struct{} { return c.done }

// Err returns the error with which the context ended, or nil.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Value lets context.Cause, which looks for the nearest context of its own package, find the cause.
func (c *Context) Value(key any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		return nil
	}
	return c.ended.Value(key)
}

// AfterFunc is what package context calls to make derived contexts end, too.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f() // package context holds a lock that f needs
		return func() bool { return false }
	}
	at := len(c.follow)
	c.follow = append(c.follow, f)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if at >= len(c.follow) || c.follow[at] == nil {
			return false
		}
		c.follow[at] = nil
		return true
	}
}
