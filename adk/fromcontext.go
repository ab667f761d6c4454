package adk

import (
	"context"
	"errors"
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/handed"
)

// What follows is for code that is given a context and no handle, far below an agent's or not
// of one at all: a cache, a limiter, a client. With a context that carries a handle (WLD-1) it
// is that handle's operation, told and given back by a replay (DET-1). With another one it is
// the machine's, and so it is on a handle that has ended, which is told as contained.

// Now is the present: Handle.Now of the handle that ctx carries, else that of SystemClock.
func Now(ctx context.Context) (now time.Time) {
	if c := handleIn(ctx); c != nil {
		now = c.tc.Now()
	}
	if now.IsZero() {
		now = SystemClock().Now()
	}
	return now
}

// NewID is a new id: Handle.NewID of the handle that ctx carries, else one of UUIDs.
func NewID(ctx context.Context) (id string) {
	if c := handleIn(ctx); c != nil {
		id = c.tc.NewID()
	}
	if id == "" {
		id = UUIDs().NewID()
	}
	return id
}

// Sleep waits until d has passed: Handle.Sleep of the handle that ctx carries, else by
// SystemClock. Where ctx ends first it returns the cause of that. d of zero or less only yields.
func Sleep(ctx context.Context, d time.Duration) error {
	if ctx == nil {
		return errNilContext(KindSleep)
	}
	if c := handleIn(ctx); c != nil {
		if err := c.tc.Sleep(ctx, d); !errors.Is(err, E_CONTEXT_ENDED) {
			return err
		}
	}
	passed := make(chan struct{})
	defer SystemClock().AfterFunc(d, func() { close(passed) })()
	select {
	case <-passed:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// handleIn is the call whose handle a context carries; nil where there is none.
func handleIn(ctx context.Context) *call {
	if ctx == nil {
		return nil
	}
	return handed.In[*call](ctx)
}
