package watchdog

import (
	"context"
	"time"
)

// This file informs a person that a run of user code is silent, long before the run is given up.

// silence is what to call, and when.
type silence struct {
	after time.Duration
	tell  func(run string, all []Goroutine)
}

type silenceKey struct{}

// WithSilence returns a context for code that runs user code. If a run makes no progress for the
// given time, tell is called, once for each run, with the name of the run and its goroutines.
func WithSilence(ctx context.Context, after time.Duration, tell func(run string, all []Goroutine)) context.Context {
	return context.WithValue(ctx, silenceKey{}, silence{after, tell})
}

// Hear starts to call the function that WithSilence put into the context, if any, when the run is
// silent. It stops when end is called.
func Hear(ctx context.Context, run string, label Label, progress func() int64) (end func()) {
	s, ok := ctx.Value(silenceKey{}).(silence)
	if !ok {
		return func() {}
	}
	over := make(chan struct{})
	go func() {
		for last := progress(); ; {
			timer := time.NewTimer(s.after)
			select {
			case <-over:
				timer.Stop()
				return
			case <-timer.C:
			}
			now := progress()
			if now == last {
				s.tell(run, Of(label))
				return
			}
			last = now
		}
	}()
	return func() { close(over) }
}
