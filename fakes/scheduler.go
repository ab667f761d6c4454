package fakes

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// Scheduler is an adk.Probe that runs the strands of a run one at a time, in
// the order of its Order, and moves the time of its Clock when no strand can go
// on (DET-2, DET-6). It decides by what the engine has announced and never by
// which goroutine comes first, so a run is the same on every machine.
//
// The turn passes at the begin of every operation, and wherever a strand waits
// inside the engine: in Sleep, WaitFor and Strand.Wait. A strand that waits for
// another by other means, such as a lock or a channel, keeps the turn, and both hang,
// unless somebody watches the run and calls PassOn: TestExecutor and package explore
// do. Plain goroutines have no turn: they are let through, and promise no order. A
// strand waits by its own handle, and for the strands that it forked: where two
// wait by one handle, which of them wakes first is chance.
//
// When no strand can go on, time moves to the next timer. When there is no
// timer either, the run waits for the outside: a gate that a test settles, a
// cancel. Runs of one scheduler share its time, which moves when any of them
// waits: give each run its own scheduler, or run one at a time.
//
// An order that panics ends the scheduling: the observer is dropped, as every
// one that panics (DET-4), and the strands run freely.
type Scheduler struct {
	order Order
	clock *Clock
	last  atomic.Pointer[turns]
}

// NewScheduler makes a scheduler with a clock of its own. The order nil is
// RunInOrder.
func NewScheduler(order Order) *Scheduler { return NewSchedulerOn(NewClock(), order) }

// NewSchedulerOn makes a scheduler that moves the given clock.
func NewSchedulerOn(clock *Clock, order Order) *Scheduler {
	if order == nil {
		order = RunInOrder()
	}
	return &Scheduler{order: order, clock: clock}
}

// Clock is the time that the scheduler moves. It belongs into the Config whose
// Probe the scheduler is.
func (s *Scheduler) Clock() *Clock { return s.clock }

// Observe begins a run with strand 0, the caller of Run, having the turn.
func (s *Scheduler) Observe(adk.RunInfo) adk.Observer {
	t := &turns{clock: s.clock, order: s.order()}
	t.first.passed.L = &t.mu
	t.one[0] = &t.first
	t.strands = t.one[:]
	s.last.Store(t)
	return t
}

// PassOn takes the turn from the strand that has it and gives it to another one that
// can go on, in the run that began last. It is for who watches the run from outside
// and sees that the strand is blocked by other means than the engine's. If none can go
// on, time moves, but not as far as limit; the zero limit is none. PassOn reports
// whether a strand got the turn.
//
// The strand that lost the turn waits for it at its next hook. Until then settle is
// called before any other strand is chosen, on the goroutine of the strand that is
// there: it has to wait until what that has woken is blocked again, so that runs stay
// the same.
func (s *Scheduler) PassOn(limit time.Time, settle func()) bool {
	t := s.last.Load()
	if t == nil {
		return false
	}
	return t.passOn(limit, settle)
}

// nobody has the turn while time is moved, and while all wait for the outside.
const nobody = -1

// turns is the scheduling of one run. Invariants, while mu is not held:
//
//  1. At most one strand has the turn, and only its goroutine passes hooks.
//  2. If nobody has the turn, then time is being moved, or no strand can go on
//     and no timer is pending.
//  3. mu is never held while timers fire: what they call may tell crossings.
type turns struct {
	clock *Clock
	order func(Choice) int

	// forked is false until there is a second strand, so that a run without
	// strands pays one load for each operation.
	forked atomic.Bool

	mu        sync.Mutex
	turn      int        // who has the turn
	strands   []*strand  // by number
	first     strand     // number 0, and most runs have no other
	one       [1]*strand // the room of strands for it
	strangers []stranger
	moving    bool // time is being moved
	free      bool // scheduling has ended
	able      runnable
	last      int // who had the turn last, and may not be able to go on

	away   atomic.Int32 // how many strands lost the turn and have not come back for it
	limit  time.Time    // where time stands as long as there are any; zero is nowhere
	settle func()       // waits until those that were woken are back or blocked
}

// strand is what the scheduler knows of one strand.
type strand struct {
	number   int
	own      int         // the number of its goroutine; 0 where that is not known, as of strand 0
	starting bool        // forked, and not yet at its first hook
	waiting  bool        // wants the turn: starting, or held at a hook
	granted  bool        // has the turn, and has not passed its hook with it
	away     bool        // lost the turn where it is blocked, and has not come back for it
	ready    func() bool // what it waits for inside the engine; nil if for nothing
	parked   bool        // among those that are asked whether they are ready
	asleep   bool        // is told when its time has passed
	berths   [2]berth    // in which it sleeps
	passed   sync.Cond
}

// stranger is a goroutine that waits in the engine by the handle of a strand
// that is not its own: a strand that uses another one's handle, or a plain
// goroutine.
type stranger struct {
	handle int         // the strand whose handle it is
	self   int         // the strand whose turn it gave away; nobody if there was none
	ready  func() bool // what it waits for
}

// want has a strand wait for the turn.
func (t *turns) want(st *strand) {
	st.waiting = true
	t.able.add(st.number)
}

// await has a strand wait for what comes within the engine.
func (t *turns) await(st *strand, ready func() bool) {
	st.ready = ready
	if ready != nil {
		t.able.park(st)
	}
}

// stop ends what a strand waits for within the engine.
func (t *turns) stop(st *strand) {
	st.ready = nil
	t.able.rise(st)
	if !st.waiting {
		t.able.remove(st.number)
	}
}

// strand finds a strand, or takes it up.
func (t *turns) strand(number int) *strand {
	for len(t.strands) <= number {
		t.strands = append(t.strands, &strand{number: len(t.strands), passed: sync.Cond{L: &t.mu}})
	}
	return t.strands[number]
}

// Begin passes the turn on where an operation begins: between that and the next
// one nothing happens that another strand could see. A strand at its first hook
// waits for the turn that its fork asked for; one that does not have the turn
// now is used by a goroutine not its own, which holding back could make wait for
// itself.
func (t *turns) Begin(step adk.Step) {
	if !t.forked.Load() && t.away.Load() == 0 {
		return
	}
	t.settled(step.Strand)
	t.mu.Lock()
	defer t.mu.Unlock()
	me := t.strand(step.Strand)
	t.endBorrowing(me)
	if me.away {
		t.comeBack(me)
		return
	}
	// Waiting for a strand changes nothing that another could see: the turn passes
	// where it parks.
	waits := step.Kind.Spanning() && step.Kind.Names(adk.StrandNumber)
	operation := step.Kind.Class() == adk.ClassOperation && step.Phase != adk.Done && !waits
	switch {
	case !me.starting && !operation:
		return
	case me.starting:
		me.starting, me.own = false, watchdog.ID()
		if t.turn == nobody && !t.moving {
			t.choose(nobody)
		}
	case t.turn != me.number:
		return
	case !me.granted:
		t.want(me)
		t.choose(me.number)
	}
	t.hold(me)
}

// settled waits until all that the strand with the turn has woken is back or blocked,
// if any are away.
func (t *turns) settled(number int) {
	if t.away.Load() == 0 {
		return
	}
	t.mu.Lock()
	settle := t.settle
	if t.turn != number {
		settle = nil
	}
	t.mu.Unlock()
	if settle != nil {
		settle()
	}
}

// comeBack makes a strand that lost the turn wait for it.
func (t *turns) comeBack(me *strand) {
	me.away = false
	t.want(me)
	t.away.Add(-1)
	if t.turn == nobody && !t.moving {
		t.choose(nobody)
	}
	t.hold(me)
}

// passOn is Scheduler.PassOn.
func (t *turns) passOn(limit time.Time, settle func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.moving || t.free {
		return false
	}
	t.limit, t.settle = limit, settle
	loser := t.turn
	if loser != nobody {
		me := t.strands[loser]
		if me.granted || me.away { // it goes on, or did not come back yet
			return false
		}
		me.away = true
		t.away.Add(1)
	}
	t.choose(nobody)
	return t.turn != nobody
}

// Park gives the turn away, for good where ready is nil.
func (t *turns) Park(number int, ready func() bool) {
	t.settled(number)
	t.mu.Lock()
	defer t.mu.Unlock()
	me := t.strand(number)
	switch {
	case t.turn == number:
		t.endBorrowing(me)
		t.await(me, ready)
		t.choose(number)
	case ready == nil: // ended, with no turn to give away
		t.endBorrowing(me)
		t.stop(me)
	default:
		t.parkStranger(stranger{handle: number, self: t.here(), ready: ready})
	}
}

// here is the strand on whose goroutine this is, by what is known: the one that has the turn, unless
// that has another goroutine, or has not begun. A plain one is nobody's.
func (t *turns) here() int {
	if t.turn == nobody {
		return nobody
	}
	if st := t.strands[t.turn]; st.starting || st.own != 0 && st.own != watchdog.ID() {
		return nobody
	}
	return t.turn
}

// Sleep is Park for a strand that is told when its time has passed. Where it is not the one
// that has the turn, it is asked.
func (t *turns) Sleep(number int, ready func() bool, own, run context.Context) {
	t.settled(number)
	t.mu.Lock()
	if t.turn != number {
		t.mu.Unlock()
		t.Park(number, ready)
		return
	}
	defer t.mu.Unlock()
	me := t.strand(number)
	t.endBorrowing(me)
	me.ready = ready
	t.able.sleep(me, own, run)
	t.choose(number)
}

// Wake has a strand that sleeps asked whether it can go on.
func (t *turns) Wake(number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if number < len(t.strands) {
		t.able.wake(t.strands[number])
	}
}

// parkStranger gives away the turn of the strand that is running, which waits
// by another one's handle. A plain goroutine that waits has none to give.
func (t *turns) parkStranger(s stranger) {
	t.strangers = append(t.strangers, s)
	if s.self != nobody {
		t.await(t.strands[s.self], s.ready)
	} else if t.turn != nobody { // which goes on
		return
	}
	if !t.moving {
		t.choose(s.self)
	}
}

// Resume waits for the turn, and takes it if nobody has it: then what the
// strand waited for came from the outside.
func (t *turns) Resume(number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	me := t.strand(number)
	if t.turn != number {
		if s, ok := t.takeStranger(number); ok && s.self == nobody {
			return
		} else if ok {
			me = t.strands[s.self]
		}
	}
	switch {
	case t.turn == nobody && !t.moving:
		t.want(me)
		t.choose(nobody)
	case t.turn != me.number && me.ready == nil: // another goroutine has taken what it waited as
		t.want(me)
	}
	t.hold(me)
}

// Tell takes up a strand when it is forked: it can be given the turn before its
// goroutine has begun.
func (t *turns) Tell(x *adk.Crossing) {
	if x.Kind.LeadsTo() != adk.LabelStrand || x.Err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	st := t.strand(x.ID)
	st.starting = true
	t.want(st)
	t.forked.Store(true)
}

// hold blocks until the strand has been given the turn, and passes with it.
func (t *turns) hold(me *strand) {
	for t.turn != me.number && !t.free {
		me.passed.Wait()
	}
	me.waiting, me.granted, me.ready = false, false, nil
	t.able.rise(me)
}

// choose gives the turn, which current has or nobody, to a strand that can go
// on, moving time as long as there is none. It may end with nobody having it.
func (t *turns) choose(current int) {
	defer t.endIfPanicked()
	t.turn = nobody
	if last := t.strands[t.last]; !last.waiting {
		t.able.remove(last.number)
	}
	for timers := true; !t.free; timers = t.moveTime() {
		if list := t.able.list(); len(list) > 0 {
			t.grant(t.pick(current, list))
			return
		}
		if !timers || t.strangerReady() {
			return
		}
	}
}

func (t *turns) pick(current int, list []int) int {
	if len(list) == 1 {
		return list[0]
	}
	at := t.order(Choice{Current: current, Runnable: list}) % len(list)
	if at < 0 {
		at += len(list)
	}
	return list[at]
}

func (t *turns) grant(number int) {
	st := t.strands[number]
	t.turn, t.last, st.granted = number, number, true
	st.waiting, st.ready = false, nil
	t.able.rise(st)
	st.passed.Broadcast()
}

// moveTime moves time to the next timer and reports whether there was one before the
// limit. Strands that come to a hook meanwhile wait for what is chosen afterwards: those
// that are away are given the time to.
func (t *turns) moveTime() (moved bool) {
	t.moving = true
	settle, limit := t.settle, t.limit
	if t.away.Load() == 0 {
		settle, limit = nil, time.Time{}
	}
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.moving = false
	}()
	moved = t.clock.toNextTimer(limit)
	if moved && settle != nil {
		settle()
	}
	return moved
}

// endIfPanicked lets everybody go when an order or a timer panics: the engine
// asks this observer no more.
func (t *turns) endIfPanicked() {
	value := recover()
	if value == nil {
		return
	}
	t.free = true
	for _, st := range t.strands {
		st.passed.Broadcast()
	}
	panic(value)
}

// strangerReady reports whether a goroutine without a turn can go on: then time
// stands, since nobody knows what it will do.
func (t *turns) strangerReady() bool {
	return slices.ContainsFunc(t.strangers, func(s stranger) bool { return s.self == nobody && s.ready() })
}

// endBorrowing forgets that a strand waits by the handle of another: it is here
// by its own.
func (t *turns) endBorrowing(me *strand) {
	if len(t.strangers) == 0 {
		return
	}
	n := len(t.strangers)
	t.strangers = slices.DeleteFunc(t.strangers, func(s stranger) bool { return s.self == me.number })
	if len(t.strangers) < n {
		t.stop(me)
	}
}

// takeStranger finds the stranger that resumes by a strand's handle.
func (t *turns) takeStranger(handle int) (stranger, bool) {
	at := slices.IndexFunc(t.strangers, func(s stranger) bool { return s.handle == handle && s.ready() })
	if at < 0 {
		return stranger{}, false
	}
	found := t.strangers[at]
	t.strangers = slices.Delete(t.strangers, at, at+1)
	return found, true
}
