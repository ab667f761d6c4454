// Package handed has contexts that carry the handle of whom they were handed to, and
// contexts from which it is hidden.
package handed

import (
	"context"
	"fmt"
	"time"
)

// Context is the context beneath it, and a handle. What Done gives is the lower one's own,
// so that contexts made from this one need no goroutine to follow it.
type Context struct {
	context.Context
	// Handle is what In gives; its text names the context.
	Handle fmt.Stringer

	// ends is the nearest context beneath that may end by itself. Agents call agents, each
	// with a context above its caller's: to ask each of them in turn whether it has ended
	// would take as long as the square of how deep they are.
	ends context.Context
}

// Over is a context over the one beneath, with a handle.
func Over(beneath context.Context, handle fmt.Stringer) Context {
	ends := beneath
	if inner, ok := beneath.(*Context); ok {
		ends = inner.ends
	}
	return Context{Context: beneath, Handle: handle, ends: ends}
}

// Deadline is the lower context's.
func (c *Context) Deadline() (deadline time.Time, ok bool) { return c.ends.Deadline() }

// Done is the lower context's.
func (c *Context) Done() <-chan struct{} { return c.ends.Done() }

// Err is the lower context's.
func (c *Context) Err() error { return c.ends.Err() }

// key is what a context is asked for its handle with.
type key struct{}

// Value is the handle for who asks for it, and else the lower context's.
func (c *Context) Value(asked any) any {
	if asked == (key{}) {
		return c.Handle
	}
	return c.Context.Value(asked)
}

// String names the context as those of package context do. Printing it by reflection
// would read what other goroutines write.
func (c *Context) String() string { return name(c.Context) + ".WithSeam(" + c.Handle.String() + ")" }

// GoString is String, for the verb that asks for it.
func (c *Context) GoString() string { return c.String() }

// In is the handle that a context carries, of the type that it has; the zero value where
// it carries none.
func In[H any](ctx context.Context) H {
	h, _ := ctx.Value(key{}).(H)
	return h
}

// bare hides the handle.
type bare struct{ context.Context }

// Without is ctx, whose handle nobody finds.
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

// hidden is what a context is asked with whether its handle is.
type hidden struct{}

// IsHidden reports whether the handle of a context, or of one beneath it, was hidden.
func IsHidden(ctx context.Context) bool { return ctx.Value(hidden{}) != nil }

func (b bare) String() string { return name(b.Context) + ".WithoutSeam" }

func (b bare) GoString() string { return b.String() }

func name(ctx context.Context) string {
	if named, ok := ctx.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", ctx)
}
