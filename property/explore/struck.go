package explore

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/likeness"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
)

// This file says which call a fault strikes. As long as only strands run concurrently, that is the
// call with the number that it had in the run without the fault. If goroutines that user code has
// started ask or dispatch, calls are numbered in the order of the system, and a number says
// nothing. Then a fault strikes the call that has the same position among similar calls as it had
// before, for example the third storing of a message. A fault ignores all other calls, so that
// nothing is blamed on the wrong one.

// turnOf says which of several similar calls, or asks, a fault is made for.
type turnOf struct {
	of    string // the collection or tool that is called; empty for other user code
	shape string
	nth   int  // how many similar calls come before it
	seen  int  // how many similar calls the present run has made
	met   bool // the call has come
}

// providerOf returns the collection or the tool of a seam, and an empty string for other user code.
func providerOf(s adk.Seam) string {
	if s.Label == adk.LabelStorage || s.Label == adk.LabelTool {
		return provider(s)
	}
	return ""
}

// turnOf returns the position of the call that begins or returns at the spot.
func (s *faultPoint) turnOf() (t turnOf) {
	t.of = providerOf(s.seam)
	if !s.loose || t.of == "" {
		return t
	}
	before := map[string]int{} // by shape
	for i := range s.calls.crossings {
		x := &s.calls.crossings[i]
		if x.Kind != adk.KindCall || providerOf(x.Seam) != t.of {
			continue
		}
		if t.shape = wanted.At(x).Shape(); x.ID == s.x.ID {
			break
		}
		before[t.shape]++
	}
	t.nth = before[t.shape]
	return t
}

// nth returns how many asks for the same come before w.
func (w *asked) nth() (n int) {
	for _, other := range w.others {
		if other.first < w.first && likeness.SameButForIDs(other.request, w.request) {
			n++
		}
	}
	return n
}

// comes counts a similar call, and reports whether it is the one.
func (t *turnOf) comes() bool {
	t.seen++
	t.met = t.seen > t.nth
	return t.met
}

// strikes reports whether a fault is made in a call of user code, and records that call in f.
func (a *attempt) strikes(f *planned, call int, at string, what wanted.What) bool {
	switch {
	case f.moment == elsewhere:
		return false
	case f.moment == amidBody:
		return f.call == call
	case !a.isApart() || at == "":
		return f.call == call && f.turn.of == at
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if f.turn.met || f.turn.of != at || f.turn.shape != what.Shape() || !f.turn.comes() {
		return false
	}
	f.call, f.in = call, call
	a.placed(f.At)
	return true
}

// strikesAsk reports whether a fault of the world is made in the answer to a question. mu is held.
func (a *attempt) strikesAsk(f *planned, q adk.Question) bool {
	if !a.isApart() {
		return f.op == q.Op
	}
	if f.turn.met || q.Of != f.world.of || !likeness.SameButForIDs(q.Request, f.world.request) || !f.turn.comes() {
		return false
	}
	f.op = q.Op
	a.placed(f.At)
	return true
}

// placed records where in user code a fault came, at whichever crossing that was, if that is
// wanted. mu is held.
func (a *attempt) placed(at int) {
	if a.lines != nil {
		if a.places == nil {
			a.places = map[int]string{}
		}
		a.places[at] = watchdog.Here().Where()
	}
}

// isApart reports whether goroutines that user code has started ask or dispatch, in this run or in
// an earlier one.
func (a *attempt) isApart() bool { return a.apart != nil && a.apart.Load() }

// knowAsker records which goroutine asks in a call, or begins a dispatch there, if that is wanted.
// The beginning of a dispatch is no operation, and the engine begins dispatches too: it counts only
// if no frame of the engine lies above user code on the stack.
func (a *attempt) knowAsker(step adk.Step) {
	here := codeplace.Here(1)
	apart := here.IsApart() && len(here.Users()) > 0
	switch {
	case step.Kind == adk.KindCall && !apart:
		return
	case step.Kind == adk.KindCall:
	case step.Kind.Class() != adk.ClassOperation || step.Phase == adk.Done:
		return
	case here.IsApart() && !apart && here.StartedBy() == "net/http": // reads the body of a request
		return
	}
	id := watchdog.ID()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ownAsks = a.ownAsks || apart
	if apart && a.looseAt == "" {
		a.looseAt = watchdog.Here().Where()
	}
	if a.askers[step.Call] == nil {
		a.askers[step.Call] = map[int]bool{}
	}
	a.askers[step.Call][id] = true
	a.loose = a.loose || len(a.askers[step.Call]) > 1
}

// countAskers returns how many goroutines have asked in each call so far. Goroutines that a turn
// has left behind may still ask.
func (a *attempt) countAskers() map[int]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	count := map[int]int{}
	for call, goroutines := range a.askers {
		count[call] = len(goroutines)
	}
	return count
}

// isLoose reports whether several goroutines have asked in one call of the run.
func (a *attempt) isLoose() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.loose
}

// hasOwnAsks reports whether a goroutine that user code of the run has started asks.
func (a *attempt) hasOwnAsks() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ownAsks
}

// seamsAsked returns the seams of the calls in which several goroutines have asked, without their
// iterations.
func (a *attempt) seamsAsked() (all []adk.Seam) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.crossings {
		if x := &a.crossings[i]; x.Kind == adk.KindCall && len(a.askers[x.ID]) > 1 {
			all = append(all, anyIteration(x.Seam))
		}
	}
	return all
}

func anyIteration(s adk.Seam) adk.Seam {
	s.Iteration = 0
	return s
}

// metIn returns the call in which a fault came, or was to come.
func (a *attempt) metIn(f planned) int {
	for i := range a.faults {
		came := &a.faults[i]
		switch {
		case !came.fired || came.Fault != f.Fault:
		case came.world != nil:
			for at := range a.crossings {
				if x := &a.crossings[at]; wire.IsAsk(x) && x.Op == came.op {
					return x.Call
				}
			}
		case came.moment == elsewhere && a.isApart() && f.At < len(a.steps) && a.steps[f.At].Kind != 0:
			return a.steps[f.At].Call
		case came.moment == elsewhere:
			return f.in
		default:
			return came.in
		}
	}
	return f.in
}

// cameAt returns the crossing at which a fault came in the run, and 0 if it did not. If goroutines
// of user code ask, that may be another crossing than the fault's name says.
func (a *attempt) cameAt(f planned) int {
	at := slices.IndexFunc(a.faults, func(came planned) bool { return came.fired && came.Fault == f.Fault })
	switch {
	case !a.isApart():
		return f.At
	case at < 0:
		return 0
	}
	came := &a.faults[at]
	if came.world == nil && (came.moment == elsewhere || came.moment == amidBody) {
		return f.At
	}
	for x := range a.all() { // the call, or the ask, in which it came begins there
		if came.world != nil && wire.Asks(x) && x.Op == came.op || came.world == nil && x.Kind == adk.KindCall && x.ID == came.call {
			return x.Seq
		}
	}
	return 0
}
