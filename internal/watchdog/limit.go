package watchdog

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Grace is how long what is over may take to come to its end, before it is left behind.
const Grace = 400 * time.Millisecond

// Limit is a time behind which nothing is waited for that nobody watches, but for a moment.
type Limit struct {
	late   context.Context // ended when it has come
	moment time.Duration
	end    func()
}

// NewLimit is the limit of what may take so long, a moment behind that; or, if it is earlier, a
// moment behind the end of the context. A budget of zero is none.
func NewLimit(ctx context.Context, budget, moment time.Duration) *Limit {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if budget > 0 {
		timer := time.AfterFunc(budget+moment, cancel)
		context.AfterFunc(late, func() { timer.Stop() })
	}
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(moment, cancel) })
	return &Limit{late, moment, func() { stop(); cancel() }}
}

// Wait does something and reports whether it has come to its end before the limit, or within
// a moment where the limit has come already. What has not is left behind. Where it ends its
// goroutine, as FailNow of a test does, so does Wait.
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

// Close gives back what the limit holds. It may be called twice.
func (l *Limit) Close() { l.end() }

// Recovered is what a check says. That it panics is said too, with the line of user code that does: it
// would end the program, and with it all that was found.
func Recovered(check func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v, in %s", p, Here().Where())
		}
	}()
	return check()
}
