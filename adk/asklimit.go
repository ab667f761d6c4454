package adk

import (
	"context"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/internal/schema"
)

// AskLimits says how long an ask may take; zero is no limit. When the world is asked, the limits
// run on real time, because the config's clock must not keep a socket waiting. When Config.Outside
// answers, they race with the answer on the config's clock (WLD-8).
type AskLimits struct {
	// Headers is how long the first piece may take, or the answer of Ask. It is also the limit for
	// all of an answer that turns out to be a refusal (Exchange.Refused).
	Headers time.Duration
	// Idle is how long the world may stay silent after the first piece.
	Idle time.Duration
	// Whole is how long everything may take.
	Whole time.Duration
}

// errLate is the error of an ask of which a limit has passed.
func (x *Exchange) errLate(limit time.Duration, what string) error {
	return &Error{Code: E_ASK_TIMEOUT, Message: fmt.Sprintf("the answer of %s did not come in time: %s is allowed for %s", schema.Clip(x.of), limit, what)}
}

// Failure returns the error for the caller when asking the world failed with err. If a limit has
// passed, it is the error of that limit, with err as its cause (WLD-8); otherwise it is err.
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

// await lets d pass on the config's clock, as an answer from Outside takes it, or as much of d as
// the limits and ctx allow; the error says which of these ended it. It parks as Sleep does.
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
