package stub

import (
	"context"

	"github.com/adkreplay/adkreplay/internal/ending"
)

// runContext is the context of a replayed run. It ends when the recording says so, with the
// recorded cause and the recorded Err, so that a replay does not depend on when a goroutine wakes.
// It has the values of the replay's context.
type runContext struct {
	ending.Context
	values context.Context
}

// NewRunContext returns a context that the replay ends at the point where the recorded one ended.
func NewRunContext(values context.Context) *runContext {
	c := &runContext{values: context.WithoutCancel(values)}
	c.Begin()
	return c
}

// End ends the context; a second call does nothing.
func (c *runContext) End(cause, err error) {
	if err == nil {
		err = context.Canceled
	}
	c.Context.End(err, ending.By(cause))
}

// Value returns the cause, which package context asks for, and otherwise a value of the replay's
// context.
func (c *runContext) Value(key any) any {
	if cause := c.Context.Value(key); cause != nil {
		return cause
	}
	return c.values.Value(key)
}
