package explore

import (
	"context"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// This file runs the undisturbed turn with free strands, for the race detector. One strand at a
// time orders every access, so a race, say on a shared map, is never seen. What such a run does is
// not judged.

// usualFree is how many runs have free strands under the race detector.
const usualFree = 20

// runFree runs the turn with free strands, if it has several.
func (e *exploring) runFree() {
	if e.strands < 2 || e.undisturbed != nil && e.undisturbed.Waited {
		return
	}
	for range e.options.Free {
		if e.over() {
			return
		}
		n := candidate{free: true}
		if _, s := e.workers[0].run(n, false, false); s != nil {
			e.gaveUp(e.workers[0], n, s)
			return
		}
		e.result.Free++
	}
}

// freeOrder is an observer that takes the scheduler's place and lets every strand go on.
type freeOrder struct{}

// None of the methods of freeOrder blocks.
func (freeOrder) Begin(adk.Step)                                           {}
func (freeOrder) Sleep(int, func() bool, context.Context, context.Context) {}
func (freeOrder) Wake(int)                                                 {}
func (freeOrder) Park(int, func() bool)                                    {}
func (freeOrder) Resume(int)                                               {}
func (freeOrder) Tell(*adk.Crossing)                                       {}

// freeClock is a clock on which nobody waits: a sleeper goes on at once, and the time moves past
// its sleep. The goroutine that moves the time also notifies the run's observer of every sleeper,
// which may happen after the turn has ended. So the run ends only when moving is done.
type freeClock struct {
	*fakes.Clock
	moving *sync.WaitGroup
}

// AfterFunc advances the clock as soon as somebody waits for it.
func (c freeClock) AfterFunc(d time.Duration, fire func()) (stop func() bool) {
	stop = c.Clock.AfterFunc(d, fire)
	if d > 0 && d < patience {
		c.moving.Go(func() { c.Advance(d) })
	}
	return stop
}
