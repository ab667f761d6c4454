package explore

import (
	"context"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/internal/cues"
	"github.com/adkreplay/adkreplay/internal/reread"
)

// outside is the context that is given to Run: it ends when the schedule says
// so, with the Err and the cause that the schedule wants, and whatever is derived
// from it ends in that very step, without a goroutine. Value leads context.Cause
// to ended, which holds the cause.
type outside struct {
	done chan struct{}

	mu     sync.Mutex
	err    error
	ended  context.Context // nil before the end
	follow []func()        // in the order they came; nil where one was stopped

	breaker  reread.Breaker // of what is read in the run
	prompter cues.Prompter  // of the scripts that are played in it
}

// end ends the context, unless it has ended. A nil cause is err itself.
func (o *outside) end(err, cause error) {
	o.mu.Lock()
	if o.err != nil {
		o.mu.Unlock()
		return
	}
	if cause == nil {
		cause = err
	}
	ended := endedByFault
	if cause != errBroken {
		ended = endedBy(cause)
	}
	o.err, o.ended = err, ended
	close(o.done)
	follow := o.follow
	o.follow = nil
	o.mu.Unlock()
	for _, f := range follow {
		if f != nil {
			f()
		}
	}
}

// endedBy is a context that has ended by a cause.
func endedBy(cause error) context.Context {
	ended, fail := context.WithCancelCause(context.Background())
	fail(cause)
	return ended
}

// endedByFault is that of most runs.
var endedByFault = endedBy(errBroken)

// Deadline is none: what ends the context is the schedule.
func (o *outside) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done is closed when the context ends.
func (o *outside) Done() <-chan struct{} { return o.done }

// Err is what the context ended with.
func (o *outside) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Value gives ended to context.Cause, the breaker to what is read, and the prompter to
// scripts.
func (o *outside) Value(key any) any {
	switch key {
	case reread.BreakerKey{}:
		return o.breaker
	case cues.PrompterKey{}:
		return o.prompter
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended == nil {
		return nil
	}
	return o.ended.Value(key)
}

// AfterFunc is how package context has derived contexts follow.
func (o *outside) AfterFunc(f func()) (stop func() bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		go f() // package context holds a lock that f wants
		return func() bool { return false }
	}
	at := len(o.follow)
	o.follow = append(o.follow, f)
	return func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		if at >= len(o.follow) || o.follow[at] == nil {
			return false
		}
		o.follow[at] = nil
		return true
	}
}
