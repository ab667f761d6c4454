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

// Scheduler is an adk.Probe that runs the strands of a run one at a time, in the order of its
// Order, and moves the time of its Clock when no strand can go on (DET-2, DET-6). It decides only
// by what the engine has announced, never by which goroutine comes first, so a run is the same on
// every machine.
//
// The turn passes at the begin of every operation, and wherever a strand waits inside the engine:
// in Sleep, WaitFor and Strand.Wait. A strand that waits for another strand by other means, such as
// a lock or a channel, keeps the turn, and both hang, unless code that watches the run calls
// PassOn, as TestExecutor and package explore do. Plain goroutines never have the turn: they are
// let through, in no promised order. A strand should wait by its own handle, and only for strands
// that it forked: if two goroutines wait by the same handle, which of them wakes first is
// nondeterministic.
//
// When no strand can go on, time moves to the next timer. If there is no timer either, the run
// waits for something outside: a gate that a test settles, or a cancellation. Runs of one scheduler
// share its time, which moves when any of them waits: give each run its own scheduler, or run one
// at a time.
//
// An order that panics ends the scheduling: the engine drops this observer, as it drops every
// observer that panics (DET-4), and the strands run freely.
type Scheduler struct {
	order Order
	clock *Clock
	last  atomic.Pointer[turns]
}

// NewScheduler makes a scheduler with a clock of its own. A nil order means RunInOrder.
func NewScheduler(order Order) *Scheduler { return NewSchedulerOn(NewClock(), order) }

// NewSchedulerOn makes a scheduler that moves the given clock.
func NewSchedulerOn(clock *Clock, order Order) *Scheduler {
	if order == nil {
		order = RunInOrder()
	}
	return &Scheduler{order: order, clock: clock}
}

// Clock returns the clock that the scheduler moves. Set it as the Clock of the Config whose Probe
// is the scheduler.
func (s *Scheduler) Clock() *Clock { return s.clock }

// Observe begins a run. Strand 0, the caller of Run, has the turn.
func (s *Scheduler) Observe(adk.RunInfo) adk.Observer {
	t := &turns{clock: s.clock, order: s.order()}
	t.first.passed.L = &t.mu
	t.one[0] = &t.first
	t.strands = t.one[:]
	s.last.Store(t)
	return t
}

// PassOn takes the turn from the strand that has it and gives it to another strand that can go on,
// in the run that began last. It is for code that watches the run from outside and sees that the
// strand is blocked by means other than the engine's. If no strand can go on, time moves, but only
// to timers due before limit; a zero limit means no limit. PassOn reports whether a strand got the
// turn.
//
// The strand that lost the turn waits for it at its next hook. Until then the scheduler calls
// settle before it chooses a strand, on the goroutine of the strand that has come to a hook. settle
// has to wait until every goroutine that this strand has woken is blocked again, so that runs stay
// the same.
func (s *Scheduler) PassOn(limit time.Time, settle func()) bool {
	t := s.last.Load()
	if t == nil {
		return false
	}
	return t.passOn(limit, settle)
}

// nobody is the turn's value while time is moved, and while all strands wait for something outside.
const nobody = -1

// turns schedules one run. Invariants, while mu is not held:
//
//  1. At most one strand has the turn, and only its goroutine passes hooks.
//  2. If nobody has the turn, then time is being moved, or no strand can go on
//  3. mu is never held while timers fire: what they call may emit crossings.
type turns struct {
	clock *Clock
	order func(Choice) int

	// forked is false until there is a second strand. A run without strands then pays only one
	// atomic load for each operation.
	forked atomic.Bool

	mu        sync.Mutex
	turn      int        // number of the strand that has the turn, or nobody
	strands   []*strand  // by number
	first     strand     // strand 0; most runs have no other
	one       [1]*strand // backing array of strands for such a run
	strangers []stranger
	moving    bool // time is being moved
	free      bool // scheduling has ended
	able      runnable
	last      int // number of the strand that had the turn last, which may not be able to go on

	away   atomic.Int32 // how many strands lost the turn by PassOn and have not yet come to a hook
	limit  time.Time    // limit of time while away is above 0; zero means none
	settle func()       // waits until the goroutines that were woken are at a hook or blocked
}

// strand is what the scheduler knows of one strand.
type strand struct {
	number   int
	own      int         // the number of its goroutine; 0 if that is not known, as for strand 0
	starting bool        // forked, and not yet at its first hook
	waiting  bool        // wants the turn: it is starting, or waits at a hook
	granted  bool        // was given the turn, and has not left its hook since
	away     bool        // lost the turn by PassOn while blocked, and has not come to a hook since
	ready    func() bool // what it waits for inside the engine; nil if it does not wait
	parked   bool        // is in the list parked of runnable
	asleep   bool        // sleeps: Wake is called for it when its time has passed
	berths   [2]berth    // in which it sleeps
	passed   sync.Cond
}

// stranger is a goroutine that waits in the engine by the handle of a strand that is not its own:
// it is either another strand, or a plain goroutine.
type stranger struct {
	handle int         // number of the strand whose handle it uses
	self   int         // number of its own strand, whose turn it gave away; nobody for a plain goroutine
	ready  func() bool // what it waits for
}

// want makes a strand wait for the turn.
func (t *turns) want(st *strand) {
	st.waiting = true
	t.able.add(st.number)
}

// await records what a strand waits for inside the engine.
func (t *turns) await(st *strand, ready func() bool) {
	st.ready = ready
	if ready != nil {
		t.able.park(st)
	}
}

// stop ends a strand's wait inside the engine.
func (t *turns) stop(st *strand) {
	st.ready = nil
	t.able.rise(st)
	if !st.waiting {
		t.able.remove(st.number)
	}
}

// strand returns the strand of that number, and creates it if needed.
func (t *turns) strand(number int) *strand {
	for len(t.strands) <= number {
		t.strands = append(t.strands, &strand{number: len(t.strands), passed: sync.Cond{L: &t.mu}})
	}
	return t.strands[number]
}

// Begin passes the turn on where an operation begins: between two such places nothing happens that
// another strand could see. A strand at its first hook waits for the turn that its fork asked for.
// If the strand does not have the turn, then its handle is used by a goroutine that is not its own.
// Begin lets that goroutine through, because holding it back could make it wait for itself.
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
	// An operation that waits for a strand changes nothing that another strand could see. It passes
	// the turn when it parks, so it does not pass it here.
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

// settled calls settle, if strands are away and the given strand has the turn: it waits until every
// goroutine that this strand has woken is at a hook or blocked.
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

// comeBack makes a strand that lost the turn by PassOn wait to get it again.
func (t *turns) comeBack(me *strand) {
	me.away = false
	t.want(me)
	t.away.Add(-1)
	if t.turn == nobody && !t.moving {
		t.choose(nobody)
	}
	t.hold(me)
}

// passOn implements Scheduler.PassOn.
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
		if me.granted || me.away { // it is about to go on, or is still away
			return false
		}
		me.away = true
		t.away.Add(1)
	}
	t.choose(nobody)
	return t.turn != nobody
}

// Park gives the turn away: until ready returns true, or for good if ready is nil.
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
	case ready == nil: // the strand ended and has no turn to give away
		t.endBorrowing(me)
		t.stop(me)
	default:
		t.parkStranger(stranger{handle: number, self: t.here(), ready: ready})
	}
}

// here returns the strand on whose goroutine it is called, as far as that is known: it is the
// strand that has the turn, unless that has another goroutine or has not begun. For a plain
// goroutine it returns nobody.
func (t *turns) here() int {
	if t.turn == nobody {
		return nobody
	}
	if st := t.strands[t.turn]; st.starting || st.own != 0 && st.own != watchdog.ID() {
		return nobody
	}
	return t.turn
}

// Sleep is Park for a strand for which Wake is called when its time has passed, so that it need not
// be polled. If the strand does not have the turn, Sleep is just Park.
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

// Wake makes the scheduler ask a sleeping strand whether it can go on.
func (t *turns) Wake(number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if number < len(t.strands) {
		t.able.wake(t.strands[number])
	}
}

// parkStranger gives away the turn of the running strand, which waits by the handle of another. A
// plain goroutine that waits has no turn to give away.
func (t *turns) parkStranger(s stranger) {
	t.strangers = append(t.strangers, s)
	if s.self != nobody {
		t.await(t.strands[s.self], s.ready)
	} else if t.turn != nobody { // that strand goes on
		return
	}
	if !t.moving {
		t.choose(s.self)
	}
}

// Resume waits for the turn. If nobody has it, then something outside ended the strand's wait, and
// the strand asks to be chosen.
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
	case t.turn != me.number && me.ready == nil: // another goroutine resumed in its place
		t.want(me)
	}
	t.hold(me)
}

// Tell registers a strand when it is forked, so that it can be given the turn before its goroutine
// has begun.
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

// hold blocks until the strand has been given the turn.
func (t *turns) hold(me *strand) {
	for t.turn != me.number && !t.free {
		me.passed.Wait()
	}
	me.waiting, me.granted, me.ready = false, false, nil
	t.able.rise(me)
}

// choose gives the turn to a strand that can go on, and moves time as long as there is none.
// current is the strand that has the turn, or nobody. The turn may end up with nobody.
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

// moveTime moves time to the next timer and reports whether there was one before the limit. Strands
// that come to a hook meanwhile wait until choose has chosen. If strands are away, moveTime calls
// settle, so that they have time to come to a hook.
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

// endIfPanicked lets all strands run freely if an order or a timer panics, because the engine then
// no longer calls this observer.
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

// strangerReady reports whether a goroutine without a turn can go on. Time must then stand still,
// because the scheduler does not know what that goroutine will do.
func (t *turns) strangerReady() bool {
	return slices.ContainsFunc(t.strangers, func(s stranger) bool { return s.self == nobody && s.ready() })
}

// endBorrowing forgets that a strand waits by the handle of another: it has come to a hook by its
// own handle.
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

// takeStranger removes and returns a ready stranger that waits by the handle of that strand.
func (t *turns) takeStranger(handle int) (stranger, bool) {
	at := slices.IndexFunc(t.strangers, func(s stranger) bool { return s.handle == handle && s.ready() })
	if at < 0 {
		return stranger{}, false
	}
	found := t.strangers[at]
	t.strangers = slices.Delete(t.strangers, at, at+1)
	return found, true
}
