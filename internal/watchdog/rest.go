package watchdog

import (
	"runtime"
	"slices"
	"time"
)

// The patience with goroutines that are about to end: how often they are looked for at once,
// and how often with a pause before it. That time passes gives nobody a core: while anybody
// could go on, it is over when the process has had the processors for as long.
const (
	looksAtOnce = 20
	looksLater  = 50
	lookPause   = 5 * time.Millisecond
	turnsAtOnce = 100 // which others get in a pause, where they do not take them for long
	enoughWork  = looksLater * lookPause
)

// Rest is the wait for what is about to end. The zero Rest has not begun.
type Rest struct {
	looks int
	begun time.Time
	had   time.Duration // what the process had had of the processors then

	used func() time.Duration // what it has had; nil asks the system
}

// Pause lets others go on, before another look.
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

// IsLong reports whether who could go on has had the time to do so on a machine that has
// nothing else to do.
func (r *Rest) IsLong() bool { return r.looks >= looksAtOnce+looksLater }

// IsOver reports whether who could go on has had the time to do so, whatever else the machine
// has to do. Who is in a call of the system has a while longer: nobody sees what it waits for.
func (r *Rest) IsOver() bool {
	return r.IsLong() && (r.processors()-r.had >= enoughWork || allWait(time.Since(r.begun) >= Usual))
}

func (r *Rest) processors() time.Duration {
	if r.used != nil {
		return r.used()
	}
	return processorTime()
}

// allWait reports whether no goroutine of the program could go on, but for the present one.
// Of those that are in a call of the system it asks unless they have had their time.
func allWait(system bool) bool {
	return !slices.ContainsFunc(All()[1:], func(g Goroutine) bool {
		return runningStates[g.State] || !system && g.State != "sleep" && conditionOf(g) == Waiting && !isIdle(g)
	})
}

// How long goroutines may take to come to rest: those that run, and those that sleep or wait for
// the system. In a bubble, whose time is not theirs, it is by the turns that others get.
const (
	patienceWithWork  = 100 * time.Millisecond
	patienceWithSleep = 50 * time.Millisecond
	mostTurns         = 1000
)

// AtRest waits until no goroutine with the label runs any more, and no longer than is usual. Who
// sleeps or waits for the system is woken by that: it is waited for too, unless patient is false
// or it lives in a bubble, of whose time none is taken. Where the machine is busy much time
// between two looks counts as little. AtRest gives what it has cost, how many goroutines of the
// program were looked at, and whether they came to rest.
func AtRest(label Label, patient bool) (looked int, rest bool) {
	return AtRestUnless(label, patient, func() bool { return false })
}

// AtRestUnless is AtRest that looks no more, as a look is dear, once goesOn says that the run does
// something.
func AtRestUnless(label Label, patient bool, goesOn func() bool) (looked int, rest bool) {
	bubbled := isBubbled()
	pause, last, waited := firstPause, time.Now(), time.Duration(0)
	for turns := 0; turns < mostTurns || !bubbled; turns++ {
		if bubbled {
			runtime.Gosched()
		} else {
			time.Sleep(pause) // who was woken a moment ago runs: to look at once is to look twice
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

// Moment lets others go on for a moment: for some turns in a bubble, of whose time it takes none.
func Moment() {
	if !isBubbled() {
		time.Sleep(time.Millisecond)
		return
	}
	for range 10 {
		runtime.Gosched()
	}
}

// isBubbled reports whether the present goroutine lives in a bubble.
func isBubbled() bool {
	var text [128]byte
	return readTraceback(string(text[:runtime.Stack(text[:], false)])).Bubbled
}
