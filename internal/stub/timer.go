package stub

import (
	"errors"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
)

// Timer is a timer of the new run.
type Timer struct {
	fire  func()
	Spent bool // fired or stopped
}

// Expire fires the timer once. fire only wakes the waiter; it does not call back.
func (t *Timer) Expire() {
	if !t.Spent {
		t.Spent = true
		t.fire()
	}
}

// Timers are the timers that a new run starts. Time does not pass in a replay: the type that embeds
// Timers fires them when the recording says so.
type Timers struct {
	Mu      sync.Mutex
	Stopped bool   // the run is being stopped, so waits must end at once
	Untold  *Timer // started by the operation that is reported next
}

// AfterFunc keeps a timer. The engine starts a timer in the same step in which it reports the
// operation that waits for it, so the timer belongs to the next crossing.
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

// IsOutside reports whether somebody outside the engine made a settlement.
func IsOutside(x *adk.Crossing) bool {
	switch x.Status {
	case adk.GateResolved, adk.GateRejected, adk.GateRefused:
		return true
	case adk.GateAborted: // a settlement by the engine has a cause
		return errors.Unwrap(x.Err) == nil
	}
	return false
}

// SettlesAgain reports whether the settlement of a recorded gate also settles the gate that got
// asks for in its place.
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

// Settle repeats a recorded settlement.
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
