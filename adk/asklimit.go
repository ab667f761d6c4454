package adk

import (
	"context"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/internal/schema"
)

// AskLimits is how long an ask may take; zero is no limit. Beside the world they run
// on real time: a clock of the config's own must not keep a socket waiting. Where
// Config.Outside answers they race with the answer on the config's clock (WLD-8).
type AskLimits struct {
	// Headers is how long the first piece may take, or the answer of Ask, or all of an answer
	// that refuses to give one (Exchange.Refused).
	Headers time.Duration
	// Idle is how long nothing at all may come, once the first piece has.
	Idle time.Duration
	// Whole is how long everything may take.
	Whole time.Duration
}

// errLate is the end of an ask of which a limit has passed.
func (x *Exchange) errLate(limit time.Duration, what string) error {
	return &Error{Code: E_ASK_TIMEOUT, Message: fmt.Sprintf("the answer of %s did not come in time: %s is allowed for %s", schema.Clip(x.of), limit, what)}
}

// Failure is the error that the caller of the world is given for err: the limit that
// has passed where one has, caused by what came of it (WLD-8), and else err.
func (x *Exchange) Failure(err error) error {
	if x == nil || err == nil {
		return err
	}
	passed, late := x.limits.Passed().(*Error)
	if !late {
		return err
	}
	timeout := *passed
	if err != error(passed) {
		timeout.Cause = err
	}
	return &timeout
}

// await lets d pass on the config's clock, as an answer takes it that is not the
// world's, or as much of it as a limit or ctx allows; the error says which. It parks
// as Sleep does.
func (x *Exchange) await(d time.Duration) error {
	if d <= 0 {
		x.limits.Begin()
		return nil
	}
	allowed, late := x.limits.Allow(d)
	c, r := x.call, x.call.run
	r.mu.Lock()
	passed, stop := r.timer(allowed, c.strand)
	r.mu.Unlock()
	defer stop()
	c.await(x.ctx, passed)
	if !isClosed(passed) {
		return context.Cause(x.ctx)
	}
	return late
}
