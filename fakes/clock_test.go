package fakes_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/adkreplay/adkreplay/fakes"
)

// DET-1: time stands still until it is moved, and moving it fires timers in order.
func TestClockFiresInOrder(t *testing.T) {
	clock := fakes.NewClock()
	if !clock.Now().Equal(fakes.Epoch) {
		t.Fatalf("a new clock stands at %v, want %v", clock.Now(), fakes.Epoch)
	}
	var heard []string
	say := func(name string) func() {
		return func() { heard = append(heard, name+" "+clock.Now().Sub(fakes.Epoch).String()) }
	}
	clock.AfterFunc(3*time.Second, say("late"))
	clock.AfterFunc(time.Second, say("first"))
	clock.AfterFunc(time.Second, say("second"))
	stop := clock.AfterFunc(2*time.Second, say("stopped"))
	clock.AfterFunc(time.Second, func() { clock.AfterFunc(time.Second, say("nested")) })
	clock.AfterFunc(fakes.Forever, say("never"))
	if !stop() || stop() {
		t.Error("stop reports whether it came in time: want true, then false")
	}

	clock.Advance(2500 * time.Millisecond)
	if want := []string{"first 1s", "second 1s", "nested 2s"}; !slices.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
	if got := clock.Now().Sub(fakes.Epoch); got != 2500*time.Millisecond {
		t.Errorf("time moved by %v, want 2.5s", got)
	}
	clock.Advance(time.Hour)
	if last := heard[len(heard)-1]; last != "late 3s" || clock.Pending() != 0 {
		t.Errorf("last heard %q with %d timers left, want late 3s and none", last, clock.Pending())
	}
}

// DET-1: each reading of a ticking clock is one tick later, and nothing else moves it. A timer that
// became due meanwhile fires when the clock is next moved, and never at an earlier time than
// its own.
func TestTickingClock(t *testing.T) {
	clock := fakes.NewTickingClock(time.Second)
	var heard []time.Duration
	say := func() { heard = append(heard, clock.Now().Sub(fakes.Epoch)) }
	clock.AfterFunc(2*time.Second, say)
	say()
	say()
	say()
	clock.Advance(0)
	clock.Advance(time.Minute)
	say()
	if want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 65 * time.Second}; !slices.Equal(heard, want) {
		t.Errorf("heard %v, want %v", heard, want)
	}
	if still := fakes.NewTickingClock(-time.Second); still.Now() != still.Now() {
		t.Error("a tick below zero moves the clock")
	}
}

func TestClockTimerOfNoTime(t *testing.T) {
	fired := false
	stop := fakes.NewClock().AfterFunc(0, func() { fired = true })
	if !fired || stop() {
		t.Error("a timer of no time fires at once and cannot be stopped")
	}
}

func TestIDs(t *testing.T) {
	ids := fakes.NewIDs()
	if a, b := ids.NewID(), ids.NewID(); a != "id-1" || b != "id-2" {
		t.Errorf("got %s, %s, want id-1, id-2", a, b)
	}
	if got := fakes.NewIDs("run", "7").NewID(); got != "run-7-1" {
		t.Errorf("got %s, want run-7-1", got)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { ids.NewID() })
	}
	wg.Wait()
	if got := ids.NewID(); got != "id-11" {
		t.Errorf("after ten ids comes %s, want id-11", got)
	}
}
