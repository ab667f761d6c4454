// Package timelimit ends a context when an answer takes too long: to begin, between two pieces, or
// as a whole.
package timelimit

import (
	"context"
	"sync"
	"time"
)

// Limits says how long an answer may take; zero is no limit.
type Limits struct {
	// Headers is how long the answer may take to begin.
	Headers time.Duration
	// Idle is how long the answer may be silent after it has begun.
	Idle time.Duration
	// Whole is how long all of it may take.
	Whole time.Duration
}

// Limiter holds one answer to its limits: either on real time from Start on, or on the time that is
// passed to Allow. The zero Limiter has no limits. Its methods may be called from any goroutine,
// except Allow and Begin, which only the goroutine that waits may call.
type Limiter struct {
	// Limits are the limits of the answer. After Context was called only Bound changes them.
	Limits Limits
	// Late makes the error for a limit that has passed, from its length and from what it limits. It
	// is required if there are limits.
	Late func(limit time.Duration, what string) error

	cancel context.CancelCauseFunc // nil without limits

	mu      sync.Mutex
	passed  error       // the error of the limit that has passed, if one has
	begun   bool        // something of the answer has arrived
	pause   func() bool // stops the timer of Headers or Idle
	all     func() bool // stops the timer of Whole
	stopped bool
	used    time.Duration // how much of Whole was used, on the time that is passed to Allow
}

// What a limit limits, as passed to Late.
const (
	beginning = "its beginning"
	silence   = "silence"
	whole     = "all of it"
)

// Context returns ctx, made to end when a limit passes; its cause is then the error that Late made.
func (l *Limiter) Context(ctx context.Context) context.Context {
	if l.Limits == (Limits{}) {
		return ctx
	}
	ctx, l.cancel = context.WithCancelCause(ctx)
	return ctx
}

// Start starts the limits on real time.
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

// pass ends the context because a limit has passed.
func (l *Limiter) pass(d time.Duration, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || l.passed != nil {
		return
	}
	l.passed = l.Late(d, what)
	l.cancel(l.passed)
}

// Touch says that something of the answer has arrived. It restarts the limit of silence.
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
		return // the limits do not run on real time
	}
	l.pause()
	l.pause = l.after(l.Limits.Idle, silence)
}

// Bound makes the limit of the beginning a limit of everything, because what has arrived is not the
// answer that was waited for. It must be called before Touch.
func (l *Limiter) Bound() {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := l.Limits.Headers
	if most == 0 || l.Limits.Whole > 0 && l.Limits.Whole <= most {
		return
	}
	l.Limits.Whole = most
	if l.pause != nil {
		l.all() // the timer of Whole, which would fire later
		l.all, l.pause = l.pause, func() bool { return false }
	}
}

// Stop stops the limits: nothing passes a limit any more.
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

// Release releases the context when it is no longer used.
func (l *Limiter) Release() {
	if l.cancel != nil {
		l.cancel(context.Canceled)
	}
}

// Passed returns the error that Late made for the limit that has passed, or nil if none has.
func (l *Limiter) Passed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.passed
}

// Begin says that something of the answer has arrived without any delay.
func (l *Limiter) Begin() { l.begun = true }

// Allow returns how much of d the limits leave and, if that is less than d, the error of the limit
// that passes first.
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
