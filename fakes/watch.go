package fakes

import (
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// patience is how far virtual time moves at most for a run whose strand is blocked
// outside the engine.
const patience = 100 * 365 * 24 * time.Hour

// watchedRun runs user code that may hang.
type watchedRun struct {
	// progress changes whenever something happens.
	progress func() int64
	// scheduler, if there is one, runs the strands, and cancel ends the run's context.
	scheduler *Scheduler
	cancel    func()
}

// do calls f on a goroutine of its own and waits until it has ended. Where nothing of it
// can go on, or for long does not, it is left behind, and the error says what it does.
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

// passOn takes the turn from a strand that is blocked, and lets time move if that is
// of no use.
func (r watchedRun) passOn(action watchdog.Action, label watchdog.Label) {
	if r.scheduler == nil {
		return
	}
	limit := time.Unix(1, 0) // time stands
	if action == watchdog.MoveTime {
		limit = r.scheduler.Clock().Now().Add(patience)
	}
	r.scheduler.PassOn(limit, func() { watchdog.Settle(settling, label) })
}

// settling is how long goroutines are waited for that a strand has woken.
const settling = 50 * time.Millisecond
