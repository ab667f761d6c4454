package watchdog

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Grace is how long something that is over may take to finish before it is left behind.
const Grace = 400 * time.Millisecond

// Limit is a deadline for waiting. After the deadline, each wait lasts only for a moment.
type Limit struct {
	late   context.Context // ends at the deadline
	moment time.Duration
	end    func()
}

// NewLimit returns a limit that is reached a moment after the budget is spent or, if that is
// earlier, a moment after ctx ends. A budget of zero means no budget.
func NewLimit(ctx context.Context, budget, moment time.Duration) *Limit {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if budget > 0 {
		timer := time.AfterFunc(budget+moment, cancel)
		context.AfterFunc(late, func() { timer.Stop() })
	}
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(moment, cancel) })
	return &Limit{late, moment, func() { stop(); cancel() }}
}

// Wait calls do on another goroutine and reports whether it returned before the limit, or within a
// moment if the limit was reached already. If not, the goroutine is left behind. If do ends its
// goroutine, as FailNow of a test does, Wait does so too.
func (l *Limit) Wait(do func()) bool {
	over, returned := make(chan struct{}), false
	go func() {
		defer close(over)
		do()
		returned = true
	}()
	select {
	case <-over:
	case <-l.late.Done():
		select {
		case <-over:
		case <-time.After(l.moment):
			return false
		}
	}
	if !returned {
		runtime.Goexit()
	}
	return true
}

// Close releases the resources of the limit. It may be called twice.
func (l *Limit) Close() { l.end() }

// Recovered returns the result of check. If check panics, Recovered returns an error with the line
// of user code that panicked; the panic would otherwise end the program and lose everything that
// was found.
func Recovered(check func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v, in %s", p, Here().Where())
		}
	}()
	return check()
}
