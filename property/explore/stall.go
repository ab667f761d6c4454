package explore

import (
	"fmt"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/property"
)

// hangs is what a turn breaks that does not come to an end.
const hangs = "a turn comes to an end"

// stallKind says why a run was given up.
type stallKind uint8

const (
	// deadlocked is that every goroutine of the run waits for another one.
	deadlocked stallKind = iota
	// silent is that user code neither returns nor asks the engine for anything.
	silent
	// overtime is that the exploration ended before the run did. It says nothing
	// against the run.
	overtime
	// crashed is that the schedule wants it so.
	crashed
)

// stall is a run that was given up before its end.
type stall struct {
	kind stallKind
	// length is how many crossings were told, and goroutines what the run's were
	// doing.
	length     int
	goroutines []watchdog.Goroutine
	after      time.Duration // how long nothing had moved
}

// settling is how long a run that was given up is given to come to rest, before it
// is said what its goroutines do.
const settling = 50 * time.Millisecond

// look fills in what the goroutines do, if nobody has.
func (s *stall) look(a *attempt) {
	if s.goroutines == nil && s.kind == deadlocked {
		watchdog.Settle(settling, a.label, a.built)
		s.goroutines = watchdog.Of(a.label, a.built)
	}
}

// violations say that the run did not come to an end. Of one whose code the explorer
// broke off, a deadlock says nothing: what it left locked, an operation that answers
// would not have.
func (s *stall) violations(a *attempt) []property.Violation {
	var text string
	switch s.kind {
	case deadlocked:
		if a.brokenOff() {
			return nil
		}
		text = "deadlock: every goroutine of the run waits for another one, although the run was cancelled"
	case silent:
		text = fmt.Sprintf("hang: user code neither returns nor asks the engine for anything, for %s", s.after.Round(time.Millisecond))
	case overtime, crashed:
		return nil
	}
	if doing := watchdog.Describe(s.goroutines); doing != "" {
		text += "\n" + doing
	}
	return []property.Violation{{Invariant: hangs, Rule: "RUN-5", Crossing: s.length + 1, Seam: adk.LabelRun, Text: text}}
}

// stuck shows a run that did not come to its end. What is left of it may still run, but
// tells nothing any more.
func (a *attempt) stuck(n candidate, s *stall, v property.Violation) *display {
	told := &attempt{info: a.info, crossings: a.crossings[:min(s.length, len(a.crossings))]}
	told.crashed.Store(true) // the trace has no end
	where, stretch := told.shown(n, v)
	return &display{where, stretch, told.recorded()}
}

// stalls are the runs of an exploration that were given up.
type stalls struct {
	mu     sync.Mutex
	count  int
	probed bool
	why    string // no further run may be begun
}

// over says why no further run may be begun; empty where one may.
func (s *stalls) over() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// gaveUp takes in that a run was given up. What it holds it holds for ever: when that
// keeps an undisturbed run from its end, none can come to it any more.
func (e *exploring) gaveUp(w *worker, n candidate, s *stall) {
	if s.kind == crashed {
		return
	}
	over := e.over()
	e.stalls.mu.Lock()
	probe := !e.stalls.probed && n.cost > 0 && s.kind == deadlocked && !over
	e.stalls.probed = e.stalls.probed || probe
	e.stalls.mu.Unlock()
	keeps := false
	if probe {
		_, again := w.run(candidate{}, false, false)
		keeps = again != nil && again.kind != overtime
	}
	e.stalls.mu.Lock()
	defer e.stalls.mu.Unlock()
	e.stalls.count++
	switch {
	case e.stalls.why != "":
	case s.kind == silent:
		e.stalls.why = "user code hung, and was left behind"
	case keeps:
		e.stalls.why = "a run that did not come to its end keeps what every run needs: make that in Build"
	case e.stalls.count >= mostStalls:
		e.stalls.why = fmt.Sprintf("%s did not come to their end, and were left behind", inWords(e.stalls.count, "run"))
	}
}

// The phases of an attempt: it counts up by one when a run begins and when it ends, so
// that odd numbers are runs that are under way.
const givenUp int64 = -1

// begin begins a run.
func (a *attempt) begin() { a.phase.Add(1) }

// finish ends the run that is under way, if one is. It reports whether it was not
// given up.
func (a *attempt) finish() bool {
	for {
		at := a.phase.Load()
		if at == givenUp {
			return false
		}
		if at%2 == 0 || a.phase.CompareAndSwap(at, at+1) {
			return true
		}
	}
}

// abandon gives the run up that began with a phase, unless it has ended.
func (a *attempt) abandon(phase int64, s stall) {
	s.length = int(a.told.Load())
	if phase%2 == 0 || !a.phase.CompareAndSwap(phase, givenUp) {
		return
	}
	a.halted.Store(true)
	if s.kind != crashed {
		a.label.Lose()
	}
	a.stalled <- s
}

// brokenOff reports whether the explorer ended code in the midst of it.
func (a *attempt) brokenOff() bool {
	for i := range a.faults {
		if a.faults[i].moment == amidBody && a.faults[i].fired {
			return true
		}
	}
	return false
}
