package adk

import (
	"context"
	"fmt"
)

// handed is the context that the user code of a call is given: the one beneath, and
// the call as its handle (WLD-1). It is a part of the call and costs no allocation;
// what Done gives is the lower one's own, so that contexts made from this one need no
// goroutine to follow it.
type handed struct {
	context.Context
	call *call
}

// hand makes the context that the call's user code is given.
func (c *call) hand(beneath context.Context) context.Context {
	c.handed = handed{beneath, c}
	return &c.handed
}

// handleKey is what a context is asked for its handle with.
type handleKey struct{}

// Value is the call for who asks for it, and else the lower context's.
func (h *handed) Value(key any) any {
	if key == (handleKey{}) {
		return h.call
	}
	return h.Context.Value(key)
}

// String names the context as those of package context do. Printing it by reflection
// would read what other goroutines write.
func (h *handed) String() string {
	return contextName(h.Context) + ".WithSeam(" + h.call.seam.String() + ")"
}

// GoString is String, for the verb that asks for it.
func (h *handed) GoString() string { return h.String() }

// handleIn is the call whose handle a context carries, nil where it carries none.
func handleIn(ctx context.Context) *call {
	c, _ := ctx.Value(handleKey{}).(*call)
	return c
}

// bare hides the handle from code that asks the world itself (WLD-3).
type bare struct{ context.Context }

// withoutHandle is ctx, whose handle nobody finds.
func withoutHandle(ctx context.Context) context.Context {
	if handleIn(ctx) == nil {
		return ctx
	}
	return bare{ctx}
}

func (b bare) Value(key any) any {
	if key == (handleKey{}) {
		return nil
	}
	return b.Context.Value(key)
}

func (b bare) String() string { return contextName(b.Context) + ".WithoutSeam" }

func (b bare) GoString() string { return b.String() }

func contextName(ctx context.Context) string {
	if named, ok := ctx.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", ctx)
}
