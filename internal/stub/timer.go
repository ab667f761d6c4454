package stub

import (
	"errors"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
)

// Timer is what a new run waits for on the clock.
type Timer struct {
	fire  func()
	Spent bool // fired, or taken back
}

// Expire fires the timer once. fire only wakes, it does not call back.
func (t *Timer) Expire() {
	if !t.Spent {
		t.Spent = true
		t.fire()
	}
}

// Timers are those that a new run starts. Time does not pass in a replay: who
// embeds this fires them when the recording says so.
type Timers struct {
	Mu      sync.Mutex
	Stopped bool   // what waits need wait no longer
	Untold  *Timer // started by an operation that is told next
}

// AfterFunc keeps a timer. The engine starts one in the same step in which it tells
// the operation that waits for it, so it belongs to the crossing that is told next.
func (ts *Timers) AfterFunc(_ time.Duration, fire func()) func() bool {
	ts.Mu.Lock()
	defer ts.Mu.Unlock()
	t := &Timer{fire: fire}
	ts.Untold = t
	if ts.Stopped {
		t.Expire()
	}
	return func() bool {
		ts.Mu.Lock()
		defer ts.Mu.Unlock()
		waited := !t.Spent
		t.Spent = true
		return waited
	}
}

// IsOutside reports whether a settlement is somebody's doing, and not the engine's.
func IsOutside(x *adk.Crossing) bool {
	switch x.Status {
	case adk.GateResolved, adk.GateRejected, adk.GateRefused:
		return true
	case adk.GateAborted: // the engine's own has a cause
		return errors.Unwrap(x.Err) == nil
	}
	return false
}

// SettlesAgain reports whether what settled a recorded gate settles one that is asked for
// in its place.
func SettlesAgain(s *calls.Step, got *adk.Crossing) bool {
	end := s.Settlement()
	switch {
	case end == nil:
		return false
	case s.Timer() != nil:
		return got.Duration == s.X.Duration
	}
	return IsOutside(end) && end.Status != adk.GateRefused && (got.Duration == 0 || end.At.Sub(s.X.At) < got.Duration)
}

// Settle makes a recorded settlement.
func Settle(gate *adk.TurnGate, x *adk.Crossing) {
	switch x.Status {
	case adk.GateResolved, adk.GateRefused:
		_, _ = gate.Resolve(x.Key, x.Value)
	case adk.GateRejected:
		gate.Reject(x.Key, x.Err)
	case adk.GateAborted:
		gate.Abort(x.Key)
	}
}
