package explore

import (
	"fmt"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/property"
)

// hangs is the invariant of a turn that does not end.
const hangs = "a turn comes to an end"

// stallKind says why a run was given up.
type stallKind uint8

const (
	// deadlocked means that every goroutine of the run waits for another one.
	deadlocked stallKind = iota
	// silent means that user code neither returns nor asks the engine for anything.
	silent
	// overtime means that the exploration ended before the run did. That is no violation.
	overtime
	// crashed means that the schedule has the run crash.
	crashed
)

// stall is a run that was given up before its end.
type stall struct {
	kind stallKind
	// length is how many crossings were observed; goroutines says what the goroutines of the run
	// were doing.
	length     int
	goroutines []watchdog.Goroutine
	after      time.Duration // how long nothing had moved
}

// settling is how long the goroutines of a run that was given up may take to come to rest, before
// the explorer records what they do.
const settling = 50 * time.Millisecond

// look records what the goroutines do, if that was not recorded before.
func (s *stall) look(a *attempt) {
	if s.goroutines == nil && s.kind == deadlocked {
		watchdog.Settle(settling, a.label, a.built)
		s.goroutines = watchdog.Of(a.label, a.built)
	}
}

// violations reports that the run did not end. If the explorer broke off code of the run, a
// deadlock means nothing: an operation that returns would have unlocked what the broken code left
// locked.
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

// stuck shows a run that did not end. Goroutines of it may still run, but add no crossings any
// more.
func (a *attempt) stuck(n candidate, s *stall, v property.Violation) *display {
	told := &attempt{info: a.info, crossings: a.crossings[:min(s.length, len(a.crossings))]}
	told.crashed.Store(true) // the trace has no end
	where, stretch := told.shown(n, v)
	return &display{where, stretch, told.recorded()}
}

// stalls counts the runs of an exploration that were given up.
type stalls struct {
	mu     sync.Mutex
	count  int
	probed bool
	why    string // why no further run may begin; empty if one may
}

// over says why no further run may begin. It is empty if one may.
func (s *stalls) over() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// gaveUp records that a run was given up. Such a run never releases what it holds. If the
// undisturbed turn does not end any more because of that, no other run can, and the exploration
// ends.
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

// givenUp is the phase of an attempt whose run was given up. Otherwise the phase is incremented
// when a run begins and when it ends, so odd phases are runs under way.
const givenUp int64 = -1

func (a *attempt) begin() { a.phase.Add(1) }

// finish ends the run that is under way, if there is one. It reports false if the run was given up.
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

// abandon gives up the run that began with phase, unless it has ended.
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

// brokenOff reports whether the explorer ended code of the run in the middle of it.
func (a *attempt) brokenOff() bool {
	for i := range a.faults {
		if a.faults[i].moment == amidBody && a.faults[i].fired {
			return true
		}
	}
	return false
}
