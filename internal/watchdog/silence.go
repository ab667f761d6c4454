package watchdog

import (
	"context"
	"time"
)

// This file is about telling a person that a run of user code is silent, long before it is
// given up.

// silence is who is told, and when.
type silence struct {
	after time.Duration
	tell  func(run string, all []Goroutine)
}

type silenceKey struct{}

// WithSilence is a context in which those who run user code tell, once of each run, that it
// has made no progress for that long, with its name and its goroutines.
func WithSilence(ctx context.Context, after time.Duration, tell func(run string, all []Goroutine)) context.Context {
	return context.WithValue(ctx, silenceKey{}, silence{after, tell})
}

// Hear tells of a run's silence whom its context names, until it is ended.
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
