// Package timelimit ends a context when an answer keeps somebody waiting for too long:
// until it begins, while it is silent, or for all of it.
package timelimit

import (
	"context"
	"sync"
	"time"
)

// Limits is how long an answer may take; zero is no limit.
type Limits struct {
	// Headers is how long the beginning may take.
	Headers time.Duration
	// Idle is how long nothing at all may come, once something has.
	Idle time.Duration
	// Whole is how long everything may take.
	Whole time.Duration
}

// Limiter holds one answer to its limits: on real time from Start on, or on the time that
// Allow is told of. The zero Limiter has no limits. Its methods may be called from any
// goroutine, but for Allow and Begin, which are for the one that waits.
type Limiter struct {
	// Limits are what may not pass. They are not changed once Context was asked for, but by Bound.
	Limits Limits
	// Late makes the error of a limit that has passed: how long it was, and what it was
	// for. It is needed where there are limits.
	Late func(limit time.Duration, what string) error

	cancel context.CancelCauseFunc // nil without limits

	mu      sync.Mutex
	passed  error       // the limit that has
	begun   bool        // something has come
	pause   func() bool // ends the limit of silence, or of the beginning
	all     func() bool // ends that of everything
	stopped bool
	used    time.Duration // of Whole, on the time that Allow is told of
}

// What the limits are for.
const (
	beginning = "its beginning"
	silence   = "silence"
	whole     = "all of it"
)

// Context is ctx, which ends when a limit passes: its cause is what Late made.
func (l *Limiter) Context(ctx context.Context) context.Context {
	if l.Limits == (Limits{}) {
		return ctx
	}
	ctx, l.cancel = context.WithCancelCause(ctx)
	return ctx
}

// Start lets the limits run.
func (l *Limiter) Start() {
	if l.cancel == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pause = l.after(l.Limits.Headers, beginning)
	l.all = l.after(l.Limits.Whole, whole)
}

func (l *Limiter) after(d time.Duration, what string) (stop func() bool) {
	if d <= 0 {
		return func() bool { return false }
	}
	return time.AfterFunc(d, func() { l.pass(d, what) }).Stop
}

// pass ends the context, as a limit has passed.
func (l *Limiter) pass(d time.Duration, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || l.passed != nil {
		return
	}
	l.passed = l.Late(d, what)
	l.cancel(l.passed)
}

// Touch lets the limit of silence begin anew, as something has come.
func (l *Limiter) Touch() {
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
		return // nothing runs on real time
	}
	l.pause()
	l.pause = l.after(l.Limits.Idle, silence)
}

// Bound has the limit of the beginning be one of everything, as what has begun is not what
// was waited for. It comes before Touch says that something has.
func (l *Limiter) Bound() {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := l.Limits.Headers
	if most == 0 || l.Limits.Whole > 0 && l.Limits.Whole <= most {
		return
	}
	l.Limits.Whole = most
	if l.pause != nil {
		l.all() // which ends later
		l.all, l.pause = l.pause, func() bool { return false }
	}
}

// Stop ends the limits: what passes from here on is late no more.
func (l *Limiter) Stop() {
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

// Release lets go of the context, which nobody asks with any more.
func (l *Limiter) Release() {
	if l.cancel != nil {
		l.cancel(context.Canceled)
	}
}

// Passed is what Late made of the limit that has passed; nil while none has.
func (l *Limiter) Passed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.passed
}

// Begin says that something has come without any delay.
func (l *Limiter) Begin() { l.begun = true }

// Allow is how much of d the limits leave, and why not more.
func (l *Limiter) Allow(d time.Duration) (time.Duration, error) {
	var late error
	limit := func(most time.Duration, what string) {
		if most < d {
			d, late = max(most, 0), l.Late(most, what)
		}
	}
	if l.Limits.Headers > 0 && !l.begun {
		limit(l.Limits.Headers, beginning)
	}
	if l.Limits.Idle > 0 && l.begun {
		limit(l.Limits.Idle, silence)
	}
	if l.Limits.Whole > 0 {
		limit(l.Limits.Whole-l.used, whole)
	}
	l.used += d
	l.begun = true
	return d, late
}
