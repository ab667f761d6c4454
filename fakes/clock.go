package fakes

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Epoch is the time at which a clock starts: midnight UTC of 1 January 2025.
var Epoch = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// Forever is a duration that never passes on a Clock: only a cancellation ends a sleep of Forever.
const Forever = time.Duration(math.MaxInt64)

// Clock is an adk.Clock with virtual time. Time moves only when Advance is called or when the
// scheduler that the clock belongs to moves it; a clock made by NewTickingClock also moves at each
// reading. It is safe for concurrent use.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	tick   time.Duration
	timers []*timer // sorted by due time; equal times in the order in which they were started
}

type timer struct {
	due  time.Time
	fire func()
}

// NewClock makes a clock that stands at Epoch.
func NewClock() *Clock { return NewClockAt(Epoch) }

// NewClockAt makes a clock that stands at start.
func NewClockAt(start time.Time) *Clock { return &Clock{now: start.Round(0).UTC()} }

// NewTickingClock makes a clock that stands at Epoch and moves by tick before each reading, so that
// no two readings are equal and a time shows which reading made it. Records that are made with such
// a clock keep the order in which they were made when they are sorted by time. A tick fires no
// timer: a timer that comes due because of ticks fires when time is next moved otherwise. A
// negative tick counts as zero.
func NewTickingClock(tick time.Duration) *Clock {
	c := NewClock()
	c.tick = max(tick, 0)
	return c
}

// Now returns the current time. A ticking clock first moves by its tick.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tick > 0 {
		c.now = c.now.Add(c.tick)
	}
	return c.now
}

// AfterFunc calls fire once time has moved by d, on the goroutine that moves it. If d is zero or
// less it calls fire at once; if d is Forever, never.
func (c *Clock) AfterFunc(d time.Duration, fire func()) (stop func() bool) {
	if d <= 0 {
		fire()
		return func() bool { return false }
	}
	if d == Forever {
		var stopped atomic.Bool
		return func() bool { return !stopped.Swap(true) }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{due: c.now.Add(d), fire: fire}
	at, _ := slices.BinarySearchFunc(c.timers, t.due, func(t *timer, due time.Time) int {
		if t.due.After(due) {
			return 1
		}
		return -1 // equals keep the order in which they were started
	})
	c.timers = slices.Insert(c.timers, at, t)
	return func() bool { return c.stop(t) }
}

// Pending returns how many timers have neither fired nor been stopped.
func (c *Clock) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// Advance moves time by d and fires the timers that come due on the way, in order, each at its own
// time. This includes timers that a fired timer starts.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	target := c.now.Add(max(d, 0))
	c.mu.Unlock()
	for {
		t := c.take(target)
		if t == nil {
			return
		}
		t.fire()
	}
}

// toNextTimer moves time to the next timer, if that is due before limit, and fires all timers that
// are due then. It reports whether there was such a timer. A zero limit means no limit.
func (c *Clock) toNextTimer(limit time.Time) bool {
	c.mu.Lock()
	if len(c.timers) == 0 || (!limit.IsZero() && !c.timers[0].due.Before(limit)) {
		c.mu.Unlock()
		return false
	}
	next := c.timers[0].due
	c.mu.Unlock()
	for t := c.take(next); t != nil; t = c.take(next) {
		t.fire()
	}
	return true
}

// take removes the first timer that is due by target, moves time to it and returns it. If there is
// none it moves time to target and returns nil. The caller fires the timer outside the lock,
// because fire may use the clock.
func (c *Clock) take(target time.Time) *timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 || c.timers[0].due.After(target) {
		if target.After(c.now) {
			c.now = target
		}
		return nil
	}
	t := c.timers[0]
	c.timers = c.timers[1:]
	if t.due.After(c.now) {
		c.now = t.due
	}
	return t
}

func (c *Clock) stop(t *timer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, _ := slices.BinarySearchFunc(c.timers, t.due, func(t *timer, due time.Time) int { return t.due.Compare(due) })
	for ; at < len(c.timers) && c.timers[at].due.Equal(t.due); at++ {
		if c.timers[at] == t {
			c.timers = slices.Delete(c.timers, at, at+1)
			return true
		}
	}
	return false
}
