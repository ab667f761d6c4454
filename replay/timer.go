package replay

import (
	"sync"
	"time"
)

// timer is what a new run waits for on the clock.
type timer struct {
	fire  func()
	spent bool // fired, or taken back
}

// expire fires the timer once. fire only wakes, it does not call back.
func (t *timer) expire() {
	if !t.spent {
		t.spent = true
		t.fire()
	}
}

// timers are those that a new run starts. Time does not pass in a replay: who
// embeds this fires them when the recording says so.
type timers struct {
	mu      sync.Mutex
	stopped bool   // what waits need wait no longer
	untold  *timer // started by an operation that is told next
}

// AfterFunc keeps a timer. The engine starts one in the same step in which it tells
// the operation that waits for it, so it belongs to the crossing that is told next.
func (ts *timers) AfterFunc(_ time.Duration, fire func()) func() bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := &timer{fire: fire}
	ts.untold = t
	if ts.stopped {
		t.expire()
	}
	return func() bool {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		waited := !t.spent
		t.spent = true
		return waited
	}
}
