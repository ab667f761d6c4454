// Package handed makes contexts that carry the handle of a seam call, and contexts that hide it.
package handed

import (
	"context"
	"fmt"
	"time"
)

// Context is a context with a handle. Done returns the channel of the context beneath, so that
// contexts derived from this one need no goroutine to follow it.
type Context struct {
	context.Context
	// Handle is what In returns; its text names the context.
	Handle fmt.Stringer

	// ends is the nearest context beneath that is not a *Context, and so may end by itself. Agents
	// call agents, each with a context above its caller's. Asking every one of n nested contexts in
	// turn whether it has ended would take time in n² in total.
	ends context.Context
}

// Over makes a context with a handle over the one beneath.
func Over(beneath context.Context, handle fmt.Stringer) Context {
	ends := beneath
	if inner, ok := beneath.(*Context); ok {
		ends = inner.ends
	}
	return Context{Context: beneath, Handle: handle, ends: ends}
}

// Deadline returns that of the context beneath.
func (c *Context) Deadline() (deadline time.Time, ok bool) { return c.ends.Deadline() }

// Done returns that of the context beneath.
func (c *Context) Done() <-chan struct{} { return c.ends.Done() }

// Err returns that of the context beneath.
func (c *Context) Err() error { return c.ends.Err() }

// key is the key of the handle.
type key struct{}

// Value returns the handle for its key, and otherwise the value of the context beneath.
func (c *Context) Value(asked any) any {
	if asked == (key{}) {
		return c.Handle
	}
	return c.Context.Value(asked)
}

// String names the context in the way of package context. Printing it by reflection instead would
// race with other goroutines.
func (c *Context) String() string { return name(c.Context) + ".WithSeam(" + c.Handle.String() + ")" }

// GoString is String, for the verb %#v.
func (c *Context) GoString() string { return c.String() }

// In returns the handle that a context carries, if it is an H, and otherwise the zero H.
func In[H any](ctx context.Context) H {
	h, _ := ctx.Value(key{}).(H)
	return h
}

// bare hides the handle.
type bare struct{ context.Context }

// Without returns ctx with its handle hidden.
func Without(ctx context.Context) context.Context {
	if ctx.Value(key{}) == nil {
		return ctx
	}
	return bare{ctx}
}

func (b bare) Value(asked any) any {
	switch asked {
	case key{}:
		return nil
	case hidden{}:
		return true
	}
	return b.Context.Value(asked)
}

// hidden is the key that tells whether the handle was hidden.
type hidden struct{}

// IsHidden reports whether the handle of ctx was hidden by Without.
func IsHidden(ctx context.Context) bool { return ctx.Value(hidden{}) != nil }

func (b bare) String() string { return name(b.Context) + ".WithoutSeam" }

func (b bare) GoString() string { return b.String() }

func name(ctx context.Context) string {
	if named, ok := ctx.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", ctx)
}
