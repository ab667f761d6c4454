package explore

import (
	"context"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// This file runs the undisturbed turn with free strands, for the race detector: one
// strand at a time orders every access, and a map that two share is never seen. What such
// a run does comes as it comes, and is not judged.

// usualFree is how many runs have free strands under the race detector.
const usualFree = 20

// runFree runs the turn with free strands, where it has several.
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

// freeOrder is the observer in the place of a scheduler, who lets every strand go on.
type freeOrder struct{}

// Begin, Park, Resume and Tell keep nobody.
func (freeOrder) Begin(adk.Step)                                           {}
func (freeOrder) Sleep(int, func() bool, context.Context, context.Context) {}
func (freeOrder) Wake(int)                                                 {}
func (freeOrder) Park(int, func() bool)                                    {}
func (freeOrder) Resume(int)                                               {}
func (freeOrder) Tell(*adk.Crossing)                                       {}

// freeClock is a clock by which nobody waits: who sleeps goes on at once, and it is later
// then. Who moves it tells the run's observer of every sleeper, and may come to that when the
// turn is over: the run is, when moving is.
type freeClock struct {
	*fakes.Clock
	moving *sync.WaitGroup
}

// AfterFunc moves time as soon as somebody waits for it.
func (c freeClock) AfterFunc(d time.Duration, fire func()) (stop func() bool) {
	stop = c.Clock.AfterFunc(d, fire)
	if d > 0 && d < patience {
		c.moving.Go(func() { c.Advance(d) })
	}
	return stop
}
