package watchdog

import (
	"runtime"
	"slices"
	"time"
)

// The patience with goroutines that are about to end: how many looks without a pause, and how many
// with a pause before each. The passing of time does not mean that other goroutines got to run.
// While any of them could run, the patience ends only when the process has used as much processor
// time.
const (
	looksAtOnce = 20
	looksLater  = 50
	lookPause   = 5 * time.Millisecond
	turnsAtOnce = 100 // how often to yield in a pause, unless the others take long
	enoughWork  = looksLater * lookPause
)

// Rest is a wait for goroutines that are about to end. The zero Rest has not begun.
type Rest struct {
	looks int
	begun time.Time
	had   time.Duration // the processor time of the process then

	used func() time.Duration // the processor time; nil asks the system
}

// Pause lets other goroutines run before the next look.
func (r *Rest) Pause() {
	if r.begun.IsZero() {
		r.begun, r.had = time.Now(), r.processors()
	}
	if r.looks >= looksAtOnce {
		time.Sleep(lookPause)
	}
	for began, turns := time.Now(), 0; turns < turnsAtOnce && time.Since(began) < lookPause; turns++ {
		runtime.Gosched()
	}
	r.looks++
}

// IsLong reports whether the wait was long enough on a machine that has nothing else to do.
func (r *Rest) IsLong() bool { return r.looks >= looksAtOnce+looksLater }

// IsOver reports whether the wait was long enough, whatever else the machine has to do. A goroutine
// in a system call gets some more time, because what it waits for cannot be seen.
func (r *Rest) IsOver() bool {
	return r.IsLong() && (r.processors()-r.had >= enoughWork || allWait(time.Since(r.begun) >= Usual))
}

func (r *Rest) processors() time.Duration {
	if r.used != nil {
		return r.used()
	}
	return processorTime()
}

// allWait reports whether no goroutine of the program could run, except for the current one. Unless
// system is true, a goroutine in a system call counts as one that could.
func allWait(system bool) bool {
	return !slices.ContainsFunc(All()[1:], func(g Goroutine) bool {
		return runningStates[g.State] || !system && g.State != "sleep" && conditionOf(g) == Waiting && !isIdle(g)
	})
}

// How long goroutines may take to come to rest: those that run, and those that sleep or wait for
// the system. In a bubble, which has its own time, the limit is a number of yields.
const (
	patienceWithWork  = 100 * time.Millisecond
	patienceWithSleep = 50 * time.Millisecond
	mostTurns         = 1000
)

// AtRest waits until no goroutine with the label is running, but no longer than is usual. A
// goroutine that sleeps or waits for the system may wake in the meantime, so AtRest also waits for
// it, unless patient is false or it is in a bubble, whose time must not be used up. On a busy
// machine, a long time between two looks counts as a short one. AtRest returns its cost, which is
// how many goroutines of the program it looked at, and whether the goroutines came to rest.
func AtRest(label Label, patient bool) (looked int, rest bool) {
	return AtRestUnless(label, patient, func() bool { return false })
}

// AtRestUnless is like AtRest, but stops looking, which is slow, once goesOn reports that the run
// does something.
func AtRestUnless(label Label, patient bool, goesOn func() bool) (looked int, rest bool) {
	bubbled := isBubbled()
	pause, last, waited := firstPause, time.Now(), time.Duration(0)
	for turns := 0; turns < mostTurns || !bubbled; turns++ {
		if bubbled {
			runtime.Gosched()
		} else {
			time.Sleep(pause) // goroutines that were just woken are still running
			now := time.Now()
			waited, last = waited+min(now.Sub(last), 2*pause), now
			pause = min(2*pause, longestPause)
		}
		if goesOn() {
			return looked, false
		}
		var condition Condition
		all, others := apart([]Label{label})
		for _, g := range all {
			condition = max(condition, conditionOf(g))
		}
		looked += len(all) + len(others)
		switch {
		case condition < Waiting, condition == Waiting && (bubbled || !patient):
			return looked, true
		case condition == Waiting && waited >= patienceWithSleep, waited >= patienceWithWork:
			return looked, false
		}
	}
	return looked, false
}

// Moment lets other goroutines run for a moment. In a bubble it only yields, to use none of the
// bubble's time.
func Moment() {
	if !isBubbled() {
		time.Sleep(time.Millisecond)
		return
	}
	for range 10 {
		runtime.Gosched()
	}
}

// isBubbled reports whether the current goroutine is in a bubble.
func isBubbled() bool {
	var text [128]byte
	return readTraceback(string(text[:runtime.Stack(text[:], false)])).Bubbled
}
