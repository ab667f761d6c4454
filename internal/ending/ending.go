// Package ending has contexts that end when somebody says so, with whatever Err and cause:
// no constructor of package context lets a caller choose both.
package ending

import (
	"context"
	"sync"
	"time"
)

// Context ends when End is called, and what is derived from it itself ends in that very step,
// without a goroutine that would have to wake first. It has no values of its own. It is
// ready for use behind Begin, and must not be copied.
type Context struct {
	done chan struct{}

	mu     sync.Mutex
	err    error
	ended  context.Context // nil before the end
	follow []func()        // in the order they came; nil where one was stopped
}

// Begin makes it ready for use.
func (c *Context) Begin() { c.done = make(chan struct{}) }

// End ends the context, unless it has ended. ended is what By makes of the cause.
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

// By is a context that has ended by a cause; one serves any number of ends.
func By(cause error) context.Context {
	ended, fail := context.WithCancelCause(context.Background())
	fail(cause)
	return ended
}

// Deadline is none: what ends the context is who calls End.
func (c *Context) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done is closed when the context ends.
func (c *Context) Done() <-chan struct{} { return c.done }

// Err is what the context ended with.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Value leads context.Cause, which looks for the nearest context of its own package, to the
// cause.
func (c *Context) Value(key any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		return nil
	}
	return c.ended.Value(key)
}

// AfterFunc is how package context has derived contexts follow.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f() // package context holds a lock that f wants
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
