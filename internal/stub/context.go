package stub

import (
	"context"

	"github.com/adkreplay/adkreplay/internal/ending"
)

// runContext is the context of a replayed run: it ends when the recording says
// so, with the recorded cause and the recorded Err, and has the values that the replay
// was given. A replay depends on no goroutine's wake.
type runContext struct {
	ending.Context
	values context.Context
}

// NewRunContext is a context for a run, which the replay ends when the recorded one ended.
func NewRunContext(values context.Context) *runContext {
	c := &runContext{values: context.WithoutCancel(values)}
	c.Begin()
	return c
}

// End ends the context once.
func (c *runContext) End(cause, err error) {
	if err == nil {
		err = context.Canceled
	}
	c.Context.End(err, ending.By(cause))
}

// Value is the cause, for package context, and else what the replay was given.
func (c *runContext) Value(key any) any {
	if cause := c.Context.Value(key); cause != nil {
		return cause
	}
	return c.values.Value(key)
}
