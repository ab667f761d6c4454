package adk

import (
	"context"
	"errors"
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/handed"
)

// The functions in this file are for code that has a context but no handle, such as a cache, a
// limiter or a client, deep below an agent or independent of one. With a context that carries a
// handle (WLD-1) they are operations of that handle: they are reported, and a replay returns the
// same results (DET-1). With any other context, and on a handle that has ended, they use the
// machine's clock and ids; the latter case is reported as contained.

// Now returns the present time: Handle.Now of the handle that ctx carries, otherwise the time of
// SystemClock.
func Now(ctx context.Context) (now time.Time) {
	if c := handleIn(ctx); c != nil {
		now = c.tc.Now()
	}
	if now.IsZero() {
		now = SystemClock().Now()
	}
	return now
}

// NewID returns a new id: Handle.NewID of the handle that ctx carries, otherwise an id of UUIDs.
func NewID(ctx context.Context) (id string) {
	if c := handleIn(ctx); c != nil {
		id = c.tc.NewID()
	}
	if id == "" {
		id = UUIDs().NewID()
	}
	return id
}

// Sleep waits until d has passed: with Handle.Sleep of the handle that ctx carries, otherwise by
// SystemClock. If ctx ends first, it returns the cause of that. If d is zero or less, Sleep only
// yields.
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

// handleIn returns the call whose handle ctx carries, or nil.
func handleIn(ctx context.Context) *call {
	if ctx == nil {
		return nil
	}
	return handed.In[*call](ctx)
}
