package bycause

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/unmade"
)

// This file decides when the steps of the new run are taken.

// newStrand is a strand of the new run.
type newStrand struct {
	number  int
	rec     int         // the recorded strand, -1 if there is none
	fork    *calls.Step // the recorded fork of that strand
	cursor  int         // the last recorded crossing that it has passed
	heard   int         // the last recorded piece of an answer that it has got
	waiting []*waiter
	parked  func() bool // set while it waits inside the engine: reports whether it can go on
	ended   bool
	moving  bool      // it counts as a running one (player.moving)
	now     time.Time // the time of its last step
	several bool      // goroutines that live code started make crossings in it
	allDone int       // everything that was recorded of it up to this crossing is done, or left out
	alone   watchdog.Alone

	forkedIn  int // the call that forked it
	call      int // its own call, once that has begun
	goroutine int // the goroutine that runs it
}

// waiter is a goroutine that asks to take its step.
type waiter struct {
	strand *newStrand
	step   adk.Step
	next   *adk.Crossing // the recorded crossing that the step will stand for, if that can be foreseen
	// instead is what the recorded strand did next, where the recorded run was aborted before this
	// step (forestalled).
	instead *adk.Crossing
	let     bool       // it may go on whatever the order
	cancels bool       // it waits for the place of a cancel: its goroutine ends there, which cancels the run
	last    bool       // it comes after all that every other strand has to do before it
	moved   *sync.Cond // nil until it has to wait
	by      int        // the goroutine, where its strand has several
	apart   bool       // a goroutine that user code started makes an id, or reads the clock
	only    bool       // no other goroutine of its call was about to make an id
	turn    bool       // its strand has its turn from this step on (takesTurns)
	// goroutine takes the step, where other goroutines may read the clock meanwhile; else 0.
	goroutine int
}

// seq is the place of the step in the recorded order.
func (w *waiter) seq() int {
	if w.next != nil {
		return w.next.Seq
	}
	if w.instead != nil {
		return w.instead.Seq
	}
	return w.strand.cursor
}

// rank is the place of a recorded crossing in the order of the steps: Tree.Order where there is
// one.
func (p *player) rank(seq int) int {
	if p.tree.Order == nil || seq == unrecorded {
		return seq
	}
	return p.tree.Order[seq]
}

// Begin holds a step back until it is in order.
func (p *player) Begin(s adk.Step) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	strand := p.strands[s.Strand]
	if strand == nil {
		strand = &newStrand{number: s.Strand, rec: -1} // the strand has ended, and its handle is used late
	}
	apart := (wire.MakesID(s) || wire.ReadsClock(s)) && codeplace.Here(0).IsApart() // an id is made before its crossing is told
	c := p.calls[s.Call]
	if c != nil && apart {
		c.apart, c.makesApart, strand.several, p.many = true, c.makesApart || wire.MakesID(s), true, true
	}
	p.give(strand)
	w := &waiter{strand: strand, step: s, by: strand.byGoroutine(), apart: apart}
	switch {
	case c != nil && c.apart && (wire.ReadsClock(s) || wire.MakesID(s)): // others of the call may have come farther
		if wire.ReadsClock(s) {
			p.inTurn(c, p.nextUnmade(strand, s))
		} else if c.makesApart {
			w.only = p.makesAlone(c, strand, s)
		} else if x := p.nextUnmade(strand, s); x != nil && (!c.beside || c.shown) && !p.isDoneBefore(c, x) {
			p.inTurn(c, x) // goroutines may be about to do what was recorded before the id
		}
		w.next = p.nextUnmade(strand, s)
	case c != nil && s.Phase == adk.Done:
		p.inTurn(c, c.endOf(s.Kind, w.by))
		fallthrough
	default:
		w.next = p.foresee(strand, s)
	}
	if w.next == nil {
		w.instead = p.forestalled(strand, s)
	}
	w.turn = w.next != nil && p.takesTurns() && unmade.TakesTurn(w.next)
	p.wait(w)
}

// makesAlone waits until the goroutines of a call in which they make ids are at rest. It reports
// whether the present goroutine is then the only one about to make an id. If so, the id is the next
// recorded one: answers come in the recorded order, so every goroutine that waited for an earlier
// answer has had it and has gone on. If another goroutine is about to make an id too, or an earlier
// id is still uncertain, it is not known which recorded id this is. mu is held.
func (p *player) makesAlone(c *newCall, strand *newStrand, s adk.Step) bool {
	c.makers++
	p.inTurn(c, p.nextUnmade(strand, s))
	defer func() { c.makers-- }()
	return c.makers == 1 && len(c.unsure) == 0 && !p.rest.Over()
}

// timeOf is the time of the step that a waiter takes. It is the time of the recorded counterpart,
// whatever time other strands have reached. A step that was not recorded has the time that its
// strand has reached.
func (p *player) timeOf(w *waiter) time.Time {
	if w.next == nil || w.step.Kind == adk.KindCall && p.live.Any || // it is not known yet which call it is
		w.strand.several && !wire.ReadsClock(w.step) && p.leavesUndone(w.strand, w.next.Seq) {
		return w.strand.now
	}
	return later(w.strand.now, w.next.At)
}

// wait blocks until the step of a waiter may be taken, and makes it the current step. mu is held.
func (p *player) wait(w *waiter) {
	w.strand.waiting = append(w.strand.waiting, w)
	p.count(w.strand)
	for !p.Stopped && !p.admitted(w) {
		if w.moved == nil {
			w.moved = sync.NewCond(&p.Mu)
			p.queue.hold(w)
			p.wake() // what was recorded before w.next, and will not be made, now holds nothing back
		}
		if !p.act() {
			w.moved.Wait()
		}
	}
	w.strand.waiting = state.Without(w.strand.waiting, w)
	p.count(w.strand)
	p.queue.release(w)
	if p.stepping = w; p.pieces {
		w.goroutine = watchdog.ID()
	}
}

// letGo lets a waiter go on whatever the order. mu is held.
func (p *player) letGo(w *waiter) {
	p.queue.release(w)
	w.let = true
	p.queue.hold(w)
	p.wake()
}

// count updates moving and parked after a strand has changed. mu is held.
func (p *player) count(s *newStrand) {
	ok := p.strands[s.number] == s && len(s.waiting) == 0 && s.parked == nil
	switch {
	case ok && !s.moving:
		p.moving++
	case s.moving && !ok:
		p.moving--
	}
	s.moving = ok
	if p.strands[s.number] == s && s.parked != nil {
		p.parked[s.number] = s
	} else {
		delete(p.parked, s.number)
	}
}

// wake wakes one waiter that may take its step now; the next one is woken when that step is over.
// Where none may and no strand is running, wake wakes any waiter so that it calls act. mu is held.
func (p *player) wake() {
	if p.stepping != nil {
		return
	}
	if w := p.nextStep(); w != nil {
		w.wake()
		return
	}
	if p.moving > 0 && p.queue.any() && p.takesTurns() {
		p.rest.Soon()
	}
	if p.queue.any() && p.stuck() {
		p.queue.all()[0].wake()
	}
}

// nextStep is a waiter that may take its step now; nil if there is none. mu is held.
func (p *player) nextStep() *waiter { return p.queue.first(p.admitted) }

func (w *waiter) wake() { w.moved.Signal() }

// leaving holds back a goroutine that is about to end itself, where that cancelled the recorded
// run: the engine does not announce such a cancel, which has its place in the order, too. First it
// makes the settlements that a recorded listener offered to a gate before it ended its goroutine.
func (p *player) leaving(strand int) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	s := p.strands[strand]
	if s == nil || s.rec < 0 {
		return
	}
	for _, x := range p.tree.Lines[s.cursor:] {
		switch offer := p.offer(x); {
		case offer != nil && x.Strand == s.rec:
			p.do(offer)
		case wire.CancelledBy(x) == wire.CancelGoexit:
			if p.tree.Order == nil { // without an order strands run freely
				return
			}
			p.cancelling(s, x)
			return
		case !wire.IsCancel(x) && x.Strand == s.rec: // the engine crosses here first, and announces that
			if w := (&waiter{strand: s, next: x}); p.behindCancel(w) {
				p.cancelling(s, x)
			}
			return
		}
	}
}

// cancelling waits until the crossing at which a goroutine ends itself is in order.
func (p *player) cancelling(s *newStrand, x *adk.Crossing) {
	p.give(s)
	p.wait(&waiter{strand: s, cancels: true, next: x})
	p.came(s, x)
}

// byGoroutine is the id of the present goroutine, where a strand has several; else 0.
func (s *newStrand) byGoroutine() int {
	if !s.several {
		return 0
	}
	return watchdog.ID()
}

// give ends the current step if it belongs to the strand and no crossing came of it. Where a strand
// has several goroutines, it ends only the step of the present one: another goroutine may still
// cross.
func (p *player) give(s *newStrand) {
	if p.stepping != nil && p.stepping.strand == s && (p.stepping.by == 0 || p.stepping.by == s.byGoroutine()) {
		p.stepping = nil
		p.wake()
	}
}

// endStep ends the step whose crossing is got, and returns the recorded crossing that was foreseen
// for it.
func (p *player) endStep(got *adk.Crossing) (next *adk.Crossing) {
	w := p.stepping
	if w != nil && w.cancels && wire.IsCancel(got) {
		p.stepping = nil
		return nil
	}
	if w == nil || w.strand.number != got.Strand {
		return nil
	}
	ok := adk.Step{Kind: got.Kind, Phase: got.Phase, Call: got.Call, Strand: got.Strand} == w.step
	if ok {
		next = w.next
	}
	if ok || wire.IsContained(got) {
		p.stepping = nil
	}
	return next
}

// admitted reports whether a step may be taken now.
func (p *player) admitted(w *waiter) bool {
	if p.stepping != nil {
		return false
	}
	return w.let || p.tree.Order == nil && !p.awaitsTurn(w) && !p.behindCancel(w) && !p.overtakes(w) && !(w.last && p.unmade.Before(w.strand, w.seq(), &p.unmade.Every))
}

// takesTurns reports whether user code between two crossings runs in the recorded order too, since
// other strands may see what it does there. Then a strand that begins, or gets an answer, goes on
// only when everything recorded before is made and the strands that made it have reached their next
// step or wait. mu is held.
func (p *player) takesTurns() bool {
	return p.tree.Order == nil && !p.many && p.live.Any && len(p.tree.Strands) > 1 && !p.rest.Over()
}

// awaitsTurn reports whether only the turn (takesTurns) holds a step back. Where nothing else goes
// on, the step is taken all the same.
func (p *player) awaitsTurn(w *waiter) bool {
	if w.next == nil || !p.takesTurns() {
		return false
	}
	return w.turn && (p.moving > 0 || p.unmade.Before(w.strand, w.seq(), &p.unmade.Every)) || p.unmade.Before(w.strand, w.seq(), &p.unmade.Turns)
}

// onlyTurn reports whether nothing but the turn can hold a step back.
func (p *player) onlyTurn(w *waiter) bool { return !p.behindCancel(w) && !p.overtakes(w) }

// isHeldUp reports whether strands wait for nothing but their turn while another strand is in user
// code: it may wait there for one of them. mu is held.
func (p *player) isHeldUp() bool {
	return p.takesTurns() && p.moving > 0 && p.nextStep() == nil && p.firstWaiter(p.onlyTurn) != nil
}

// behindCancel reports whether a cancel that was not made yet comes before the step.
func (p *player) behindCancel(w *waiter) bool {
	return slices.ContainsFunc(p.outsideEvents, func(a *outsideEvent) bool { return a.cancel != nil && a.seq < w.seq() })
}

// overtakes reports whether another strand has still to do something that must come before the
// step: for a shared operation, other shared ones; for a wait for a gate, what takes or frees the
// gate's id; for an abort, everything recorded before it, because an aborted run starts nothing new
// (ABT-7); and for every step, an abort.
func (p *player) overtakes(w *waiter) bool {
	if w.next == nil {
		return w.instead != nil && !p.aborted
	}
	shares, aborts := calls.IsShared(w.step.Kind) || p.tree.Shares(w.next), wire.Aborts(w.next)
	gate := calls.GateID(w.next)
	if !shares && gate == "" && !p.aborts {
		return false
	}
	if aborts {
		return p.unmade.Before(w.strand, w.seq(), &p.unmade.Every)
	}
	return p.aborts && p.unmade.Before(w.strand, w.seq(), &p.unmade.Aborting) || shares && p.unmade.Before(w.strand, w.seq(), &p.unmade.Shared) ||
		gate != "" && p.unmade.Before(w.strand, w.seq(), p.unmade.OfGate[gate])
}

// front is the place from which on a strand has not passed, nor is about to take, what was
// recorded.
func (s *newStrand) front() int {
	from := s.cursor + 1
	for _, w := range s.waiting {
		from = max(from, w.seq())
	}
	return from
}

// Ahead reports whether a strand has still to make a recorded crossing of its own. never is true if
// it cannot come to that crossing any more.
func (s *newStrand) Ahead(seq int) (ahead, never bool) {
	never = s.ended || seq <= s.cursor
	return !never && seq >= s.front(), never
}

// Park notes that a strand waits inside the engine, or has ended.
func (p *player) Park(n int, ready func() bool) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	s := p.strands[n]
	if s == nil {
		return
	}
	p.give(s)
	s.parked = ready
	if ready == nil {
		s.ended = true
		delete(p.strands, n)
	}
	p.count(s)
	for p.act() {
	}
	p.wake()
}

// Resume notes that a strand goes on. The engine announces its next step, but not what it says of
// the wait itself, such as the settlement of a gate that an abort closes. Where strands keep to an
// order, Resume waits until that is in order, too.
func (p *player) Resume(n int) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	s := p.strands[n]
	if s == nil {
		return
	}
	s.parked = nil
	p.count(s)
	if p.tree.Order == nil || s.rec < 0 {
		return
	}
	if x := p.upcoming(s); x != nil {
		p.wait(&waiter{strand: s, next: x})
	}
}

// mostPasses is how often strands that keep to an order may all be blocked outside the engine
// before the replay gives up.
const mostPasses = 8

// errNoOrder says that live code does not reach its end in the recorded order.
var errNoOrder = errors.New("replay: strands wait for one another, and keep to no order")

// keepsOrder reports whether live code has started goroutines, so that what they wait for comes
// only when all of them are at rest. mu is held.
func (p *player) keepsOrder() bool { return p.many && !p.rest.Over() }

// inTurn holds back an answer in a call that goroutines of live code use, until it is the answer's
// turn. mu is held.
func (p *player) inTurn(asks *newCall, x *adk.Crossing) {
	if x != nil && (asks.apart || asks.beside) && (p.live.Late[x.Seq] > 0 || !p.comesAtOnce(asks, x)) {
		p.rest.Hold(x, cmp.Or(p.live.Late[x.Seq], p.rank(x.Seq)))
		if s := p.strands[asks.strand]; p.live.Rerecords && s != nil {
			s.now = later(s.now, x.At) // what was recorded before, and has not come, is not done any more
		}
	}
}

// comesAtOnce reports whether an answer need not wait: the crossing recorded directly before it
// belongs to the same ask, and everything recorded before is done. mu is held.
func (p *player) comesAtOnce(asks *newCall, x *adk.Crossing) bool {
	s := p.strands[asks.strand]
	return x.Seq > 1 && x.Op != 0 && p.tree.Lines[x.Seq-2].Op == x.Op && s != nil && !p.leavesUndone(s, x.Seq)
}

// isDue reports whether an answer, an event from outside or a step waits for its turn. mu is held.
func (p *player) isDue() bool {
	answer, _ := p.rest.Next()
	return answer != nil || len(p.outsideEvents) > 0 || p.many && p.queue.any() || p.isHeldUp()
}

// atRest makes what comes next in a run whose goroutines are at rest, and reports whether it made
// anything. mu is held.
func (p *player) atRest() bool {
	p.blocked = true
	defer func() { p.blocked = false }()
	return p.act()
}

// passBlocked makes what comes next although strands are running: they are blocked outside the
// engine, and only what comes next can unblock them.
func (p *player) passBlocked() {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.blocked = true
	if p.passes++; p.tree.Order != nil && p.passes > mostPasses {
		p.failed = errNoOrder
		p.stop()
		return
	}
	if p.stepping != nil && p.stepping.by != 0 { // its goroutine has ended without a crossing
		p.stepping = nil
		p.wake()
	}
	p.act()
	p.blocked = false
}

// stuck reports whether no strand is running: every strand waits for its step or inside the engine.
// Strands that are blocked outside the engine count as waiting while p.blocked is set.
func (p *player) stuck() bool {
	if p.stepping != nil || p.acting > 0 || p.moving > 0 && !p.blocked { // a settlement crosses before its waiter can go on
		return false
	}
	for _, s := range p.parked {
		if len(s.waiting) == 0 && s.parked() {
			return false
		}
	}
	return p.nextStep() == nil
}

// act makes what comes next where no strand is running: an event from outside, an answer that is
// held back, or the step that comes first in the recorded order. It reports whether it made
// anything. mu is held.
func (p *player) act() bool {
	if p.keepsOrder() && !p.blocked {
		p.rest.Want()
		return false
	}
	if p.Stopped || !p.stuck() {
		return false
	}
	next := p.nextOutside()
	if next != nil && next.gate != nil && !p.blocked && p.live.Any && !p.rest.Over() { // goroutines may be about to do something that does not depend on it
		p.rest.Want()
		return false
	}
	p.blocked = false // one thing may set all of them going
	first := p.firstWaiter(func(w *waiter) bool { return p.takesTurns() && p.onlyTurn(w) })
	if first == nil {
		first = p.firstWaiter(func(w *waiter) bool { return p.tree.Order == nil || !p.overtakes(w) })
	}
	if first == nil && next == nil {
		first = p.firstWaiter(func(*waiter) bool { return true })
	}
	answer, place := p.rest.Next()
	switch {
	case answer != nil && (first == nil || place <= p.rank(first.seq())) && (next == nil || !before(next.at, p.rank(next.seq), answer.At, place)):
		p.rest.Give()
	case next != nil && (first == nil || before(next.at, p.rank(next.seq), p.now, p.rank(first.seq()))):
		p.do(next)
	case first != nil:
		p.letGo(first)
	default:
		return p.giveUp()
	}
	return true
}

// firstWaiter is the waiter that comes first in the order of the steps, of those for which may is
// true.
func (p *player) firstWaiter(may func(*waiter) bool) (first *waiter) {
	for _, s := range p.strands {
		for _, w := range s.waiting {
			if may(w) && (first == nil || cmp.Or(cmp.Compare(p.rank(w.seq()), p.rank(first.seq())), cmp.Compare(s.number, first.strand.number)) < 0) {
				first = w
			}
		}
	}
	return first
}

// leavesUndone reports whether a strand has still to do something that was recorded of it before a
// place.
func (p *player) leavesUndone(s *newStrand, before int) bool {
	if s.rec < 0 {
		return false
	}
	for _, x := range p.lines.From(s.rec, s.allDone+1) {
		tracked := x.Kind.Class() == adk.ClassOperation || x.Kind.Class() == adk.ClassCall
		if x.Seq >= before || tracked && p.NewSeq[x.Seq] == 0 && !p.isLeftOut(s, x) {
			return x.Seq < before
		}
		s.allDone = x.Seq
	}
	return false
}

// isLeftOut reports whether something that was recorded of a strand with several goroutines will
// not be made any more. That is so if the call that made it has returned, or if the goroutine that
// runs the strand is the only one left and has passed its place. Today's code does something else
// instead, or nothing; without this check the time of the strand would never move on.
func (p *player) isLeftOut(s *newStrand, x *adk.Crossing) bool {
	if by := p.tree.Calls[x.Call]; by != nil && by.Return != nil && x.Seq < by.Return.Seq && p.NewSeq[by.Return.Seq] != 0 {
		return true
	}
	return p.isAlone(s)
}

// isAlone reports whether the present goroutine runs the strand and is the only goroutine of the
// run.
func (p *player) isAlone(s *newStrand) bool {
	return s.goroutine != 0 && s.goroutine == watchdog.ID() && s.alone.Is(p.rest.Label())
}
