package adk

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/internal/schema"
)

// AskLimits is how long an ask may take; zero is no limit. Beside the world they run
// on real time: a clock of the config's own must not keep a socket waiting. Where
// Config.Outside answers they race with the answer on the config's clock (WLD-8).
type AskLimits struct {
	// Headers is how long the first piece may take, or the answer of Ask.
	Headers time.Duration
	// Idle is how long nothing at all may come, once the first piece has.
	Idle time.Duration
	// Whole is how long everything may take.
	Whole time.Duration
}

// limiter ends the context of an ask when a limit of it has passed.
type limiter struct {
	of     string
	limits AskLimits
	cancel context.CancelCauseFunc // nil without limits

	mu      sync.Mutex
	passed  error       // the limit that has
	begun   bool        // something has come
	pause   func() bool // ends the limit of silence, or of the beginning
	all     func() bool // ends that of everything
	stopped bool
	used    time.Duration // of Whole, where the answer is not the world's
}

// context is ctx, which ends when a limit passes.
func (l *limiter) context(ctx context.Context) context.Context {
	if l.limits == (AskLimits{}) {
		return ctx
	}
	ctx, l.cancel = context.WithCancelCause(ctx)
	return ctx
}

// start lets the limits run.
func (l *limiter) start() {
	if l.cancel == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pause = l.after(l.limits.Headers, "its beginning")
	l.all = l.after(l.limits.Whole, "all of it")
}

func (l *limiter) after(d time.Duration, what string) (stop func() bool) {
	if d <= 0 {
		return func() bool { return false }
	}
	return SystemClock().AfterFunc(d, func() { l.pass(d, what) })
}

// pass ends the context, as a limit has passed.
func (l *limiter) pass(d time.Duration, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || l.passed != nil {
		return
	}
	l.passed = l.errPassed(d, what)
	l.cancel(l.passed)
}

func (l *limiter) errPassed(d time.Duration, what string) error {
	return &Error{Code: E_ASK_TIMEOUT, Message: fmt.Sprintf("the answer of %s did not come in time: %s is allowed for %s", schema.Clip(l.of), d, what)}
}

// touch lets the limit of silence begin anew.
func (l *limiter) touch() {
	if l.cancel == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	l.begun = true
	if l.pause == nil {
		return // the answer is not the world's
	}
	l.pause()
	l.pause = l.after(l.limits.Idle, "silence")
}

// release lets go of the context, which nobody asks with any more.
func (l *limiter) release() {
	if l.cancel != nil {
		l.cancel(context.Canceled)
	}
}

// stop ends the limits.
func (l *limiter) stop() {
	if l.cancel == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	if l.pause != nil {
		l.pause()
		l.all()
	}
}

// failure is the limit that has passed, caused by what came of it; else err.
func (l *limiter) failure(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.passed == nil || err == nil {
		return err
	}
	timeout := *l.passed.(*Error)
	if err != l.passed {
		timeout.Cause = err
	}
	return &timeout
}

// await lets d pass on the config's clock, as an answer takes it that is not the
// world's, or as much of it as a limit or ctx allows; the error says which. It parks
// as Sleep does.
func (x *Exchange) await(d time.Duration) error {
	if d <= 0 {
		x.limits.begun = true
		return nil
	}
	allowed, late := x.limits.allow(d)
	c, r := x.call, x.call.run
	r.mu.Lock()
	passed, stop := r.timer(allowed)
	r.mu.Unlock()
	defer stop()
	c.await(x.ctx, passed)
	if !isClosed(passed) {
		return context.Cause(x.ctx)
	}
	return late
}

// allow is how much of d the limits leave, and why not more.
func (l *limiter) allow(d time.Duration) (time.Duration, error) {
	var late error
	limit := func(most time.Duration, what string) {
		if most < d {
			d, late = max(most, 0), l.errPassed(most, what)
		}
	}
	if l.limits.Headers > 0 && !l.begun {
		limit(l.limits.Headers, "its beginning")
	}
	if l.limits.Idle > 0 && l.begun {
		limit(l.limits.Idle, "silence")
	}
	if l.limits.Whole > 0 {
		limit(l.limits.Whole-l.used, "all of it")
	}
	l.used += d
	l.begun = true
	return d, late
}
