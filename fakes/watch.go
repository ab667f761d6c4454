package fakes

import (
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// patience limits how far virtual time moves for a run whose strand is blocked outside the engine.
const patience = 100 * 365 * 24 * time.Hour

// watchedRun runs user code that may hang, and notices if it does.
type watchedRun struct {
	// progress returns a number that changes whenever something happens in the run.
	progress func() int64
	// scheduler runs the strands, or is nil; cancel ends the run's context.
	scheduler *Scheduler
	cancel    func()
}

// do calls f on a new goroutine and waits until it returns. If none of its goroutines can go on, or
// nothing happens for long, do abandons it and returns an error that describes where they wait.
func (r watchedRun) do(f func()) error {
	label := watchdog.NewLabel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer label.Begin()()
		f()
	}()
	ticker := time.NewTicker(watchdog.Often)
	defer ticker.Stop()
	var dog watchdog.Dog
	for {
		select {
		case <-done:
			return nil
		case now := <-ticker.C:
			switch found := dog.Visit(r.progress(), now, label); found.Action {
			case watchdog.PassOn, watchdog.MoveTime:
				r.passOn(found.Action, label)
			case watchdog.Cancel:
				r.cancel()
			case watchdog.Deadlock:
				return fmt.Errorf("deadlock: every goroutine waits for another one\n%s", watchdog.Describe(found.Goroutines))
			case watchdog.Hang:
				return fmt.Errorf("hang: nothing happens, for %s\n%s", found.Silence.Round(time.Millisecond), watchdog.Describe(found.Goroutines))
			}
		}
	}
}

// passOn takes the turn from a strand that is blocked. For MoveTime it also lets time move, if no
// other strand can go on.
func (r watchedRun) passOn(action watchdog.Action, label watchdog.Label) {
	if r.scheduler == nil {
		return
	}
	limit := time.Unix(1, 0) // in the past of every clock: time stands still
	if action == watchdog.MoveTime {
		limit = r.scheduler.Clock().Now().Add(patience)
	}
	r.scheduler.PassOn(limit, func() { watchdog.Settle(settling, label) })
}

// settling is how long to wait for goroutines that a strand has woken to block again.
const settling = 50 * time.Millisecond
