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

// This file is when the steps of a run by cause are taken.

// newStrand is a strand of the new run.
type newStrand struct {
	number  int
	rec     int         // the recorded strand, -1 if there is none
	fork    *calls.Step // the recorded fork that it came of
	cursor  int         // the last recorded crossing that it has passed
	heard   int         // the last recorded piece of an answer that it has
	waiting []*waiter
	parked  func() bool // the ready of a strand that waits inside the engine
	ended   bool
	moving  bool      // it is counted as one on the way
	now     time.Time // that of its last step
	several bool      // goroutines that live code has begun are of it
	allDone int       // all that was recorded of it up to this place is done, or left out
	alone   watchdog.Alone

	forkedIn  int // the call that forked it
	call      int // its own, once it has begun
	goroutine int // that runs it
}

// waiter is a goroutine that asks for its step.
type waiter struct {
	strand *newStrand
	step   adk.Step
	next   *adk.Crossing // the recorded counterpart, as far as it can be foreseen
	// instead is what the recorded strand came to, as the run was aborted before the
	// engine took this step.
	instead *adk.Crossing
	let     bool       // it goes on, whatever the order
	cancels bool       // it waits for its place, to end the goroutine there and cancel the run
	last    bool       // it comes behind all that every other strand has to do before it
	moved   *sync.Cond // nil until it has to wait
	by      int        // the goroutine, where its strand has several
	apart   bool       // such a one, that user code has begun, makes an id
	only    bool       // nobody else of its call was about to make an id
	turn    bool       // its strand has its turn from there on (takesTurns)
	// goroutine is who takes the step, where others may read the clock meanwhile; else 0.
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

// rank is where a recorded crossing comes in the order of the steps.
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
		strand = &newStrand{number: s.Strand, rec: -1} // it has ended, and its handle is used late
	}
	apart := (wire.MakesID(s) || wire.ReadsClock(s)) && codeplace.Here(0).IsApart() // the id is made before that is told
	c := p.calls[s.Call]
	if c != nil && apart {
		c.apart, c.makesApart, strand.several, p.many = true, c.makesApart || wire.MakesID(s), true, true
	}
	p.give(strand)
	w := &waiter{strand: strand, step: s, by: strand.byGoroutine(), apart: apart}
	switch {
	case c != nil && c.apart && (wire.ReadsClock(s) || wire.MakesID(s)): // others may have come farther
		if wire.ReadsClock(s) {
			p.inTurn(c, p.nextUnmade(strand, s))
		} else if c.makesApart {
			w.only = p.makesAlone(c, strand, s)
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

// makesAlone waits until the goroutines of a call whose own ones make ids are at rest, and reports
// whether the present one is the only one that is about to make an id: it is the next that was
// recorded then, as answers come in the recorded order too, and whoever waits for one that was
// recorded before this id has had it. It is not known where another one was made and it is not
// known which. mu is held.
func (p *player) makesAlone(c *newCall, strand *newStrand, s adk.Step) bool {
	c.makers++
	p.inTurn(c, p.nextUnmade(strand, s))
	defer func() { c.makers-- }()
	return c.makers == 1 && len(c.unsure) == 0 && !p.rest.Over()
}

// timeOf is the time of the step that a waiter takes: that of its recorded
// counterpart, whatever other strands have come to. What was not recorded happens
// when its strand came to it.
func (p *player) timeOf(w *waiter) time.Time {
	if w.next == nil || w.step.Kind == adk.KindCall && p.live.Any || // of live code it is not known yet which call it is
		w.strand.several && !wire.ReadsClock(w.step) && p.leavesUndone(w.strand, w.next.Seq) {
		return w.strand.now
	}
	return later(w.strand.now, w.next.At)
}

// wait blocks until the step of a waiter may be taken, and gives it that.
func (p *player) wait(w *waiter) {
	w.strand.waiting = append(w.strand.waiting, w)
	p.count(w.strand)
	for !p.Stopped && !p.admitted(w) {
		if w.moved == nil {
			w.moved = sync.NewCond(&p.Mu)
			p.queue.hold(w)
			p.wake() // what was recorded before, and is not made now, holds nobody back any more
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

// letGo lets one go on whatever the order. mu is held.
func (p *player) letGo(w *waiter) {
	p.queue.release(w)
	w.let = true
	p.queue.hold(w)
	p.wake()
}

// count counts a strand as one on the way, or as none any more. mu is held.
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

// wake wakes who may take a step now: one of them, for the next may when that is over. Where
// nobody may and nobody is on the way, one is woken to act. mu is held.
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

// nextStep is one who may take a step now; nil if nobody may. mu is held.
func (p *player) nextStep() *waiter { return p.queue.first(p.admitted) }

func (w *waiter) wake() { w.moved.Signal() }

// leaving holds back a goroutine that ends itself where that cancelled the recorded
// run: nobody asks before such a cancel, and it has its place in the order too. What
// a listener offered to a gate before it ended it offers first.
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
			if p.tree.Order == nil { // strands run freely
				return
			}
			p.cancelling(s, x)
			return
		case !wire.IsCancel(x) && x.Strand == s.rec: // the engine has something to say first, and asks for that
			if w := (&waiter{strand: s, next: x}); p.behindCancel(w) {
				p.cancelling(s, x)
			}
			return
		}
	}
}

// cancelling waits until a crossing that a cancel goes with is in order.
func (p *player) cancelling(s *newStrand, x *adk.Crossing) {
	p.give(s)
	p.wait(&waiter{strand: s, cancels: true, next: x})
	p.came(s, x)
}

// byGoroutine is the present goroutine, where a strand has several.
func (s *newStrand) byGoroutine() int {
	if !s.several {
		return 0
	}
	return watchdog.ID()
}

// give ends the step of a strand that was announced and not told: another goroutine of it may
// yet tell its own.
func (p *player) give(s *newStrand) {
	if p.stepping != nil && p.stepping.strand == s && (p.stepping.by == 0 || p.stepping.by == s.byGoroutine()) {
		p.stepping = nil
		p.wake()
	}
}

// endStep ends the step that got tells, and gives what was foreseen for it.
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

// takesTurns reports whether what strands do between two crossings, which others may see, is in the
// recorded order too: whoever begins, or has an answer, goes on when all that was recorded before is
// made, and those who made it have come to what they do next, or wait for somebody. mu is held.
func (p *player) takesTurns() bool {
	return p.tree.Order == nil && !p.many && p.live.Any && len(p.tree.Strands) > 1 && !p.rest.Over()
}

// awaitsTurn reports whether a step is to be taken later for nothing but that: where nobody else
// goes on it is taken all the same.
func (p *player) awaitsTurn(w *waiter) bool {
	if w.next == nil || !p.takesTurns() {
		return false
	}
	return w.turn && (p.moving > 0 || p.unmade.Before(w.strand, w.seq(), &p.unmade.Every)) || p.unmade.Before(w.strand, w.seq(), &p.unmade.Turns)
}

// onlyTurn reports whether a step may be taken but for the turn.
func (p *player) onlyTurn(w *waiter) bool { return !p.behindCancel(w) && !p.overtakes(w) }

// isHeldUp reports whether a strand waits for nothing but its turn while another one is within
// code of the user's, and may wait there for who comes later. mu is held.
func (p *player) isHeldUp() bool {
	return p.takesTurns() && p.moving > 0 && p.nextStep() == nil && p.firstWaiter(p.onlyTurn) != nil
}

// behindCancel reports whether a cancel comes before the step.
func (p *player) behindCancel(w *waiter) bool {
	return slices.ContainsFunc(p.outsideEvents, func(a *outsideEvent) bool { return a.cancel != nil && a.seq < w.seq() })
}

// overtakes reports whether another strand has still to do, before the step, what may
// not come behind it: what both share; for a wait, what takes the id of its gate or
// gives it free; all that comes before an abort, which starts nothing new (ABT-7); and
// an abort.
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

// front is the place from which on a strand has not passed what was recorded.
func (s *newStrand) front() int {
	from := s.cursor + 1
	for _, w := range s.waiting {
		from = max(from, w.seq())
	}
	return from
}

// Ahead reports whether a strand has still to make a recorded crossing of its own; never, that it
// cannot come to it any more.
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

// Resume notes that a strand goes on. Its next step is asked for, but for what the
// engine says of the wait itself, such as the settlement of a gate that an abort
// closes: where strands keep to an order, that is in order too.
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

// mostPasses is how often strands that keep to an order may be blocked outside the engine.
const mostPasses = 8

// errNoOrder says that live code does not come to its end in the recorded order.
var errNoOrder = errors.New("replay: strands wait for one another, and keep to no order")

// keepsOrder reports whether live code has begun goroutines of its own, so that what they wait for
// comes when all of them are at rest. mu is held.
func (p *player) keepsOrder() bool { return p.many && !p.rest.Over() }

// inTurn holds an answer back to one who asks beside others, until it is its turn. mu is held.
func (p *player) inTurn(asks *newCall, x *adk.Crossing) {
	if x != nil && (asks.apart || asks.beside) && (p.live.Late[x.Seq] > 0 || !p.comesAtOnce(asks, x)) {
		p.rest.Hold(x, cmp.Or(p.live.Late[x.Seq], p.rank(x.Seq)))
		if s := p.strands[asks.strand]; p.live.Rerecords && s != nil {
			s.now = later(s.now, x.At) // what was recorded before, and has not come, is not done any more
		}
	}
}

// comesAtOnce reports whether nothing was recorded between an answer and what comes before it of
// the same ask, and all that was recorded before is done: there is nothing to wait for. mu is held.
func (p *player) comesAtOnce(asks *newCall, x *adk.Crossing) bool {
	s := p.strands[asks.strand]
	return x.Seq > 1 && x.Op != 0 && p.tree.Lines[x.Seq-2].Op == x.Op && s != nil && !p.leavesUndone(s, x.Seq)
}

// isDue reports whether anything or anybody waits for its turn. mu is held.
func (p *player) isDue() bool {
	answer, _ := p.rest.Next()
	return answer != nil || len(p.outsideEvents) > 0 || p.many && p.queue.any() || p.isHeldUp()
}

// atRest makes what comes next in a run whose goroutines are at rest, and reports whether
// anything was made. mu is held.
func (p *player) atRest() bool {
	p.blocked = true
	defer func() { p.blocked = false }()
	return p.act()
}

// passBlocked makes what comes next although strands are on the way: they are blocked
// outside the engine, and only what comes next can end that.
func (p *player) passBlocked() {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.blocked = true
	if p.passes++; p.tree.Order != nil && p.passes > mostPasses {
		p.failed = errNoOrder
		p.stop()
		return
	}
	if p.stepping != nil && p.stepping.by != 0 { // its goroutine has ended, and nobody tells it
		p.stepping = nil
		p.wake()
	}
	p.act()
	p.blocked = false
}

// stuck reports whether nobody is on the way: every strand waits for its step or
// inside the engine.
func (p *player) stuck() bool {
	if p.stepping != nil || p.acting > 0 || p.moving > 0 && !p.blocked { // a settlement is told before its waiter can go on
		return false
	}
	for _, s := range p.parked {
		if len(s.waiting) == 0 && s.parked() {
			return false
		}
	}
	return p.nextStep() == nil
}

// act makes what comes next where nobody is on the way: something from outside,
// or the step that stands first in the recorded order. It reports whether anything
// was done. mu is held.
func (p *player) act() bool {
	if p.keepsOrder() && !p.blocked {
		p.rest.Want()
		return false
	}
	if p.Stopped || !p.stuck() {
		return false
	}
	next := p.nextOutside()
	if next != nil && next.gate != nil && !p.blocked && p.live.Any && !p.rest.Over() { // goroutines may be about to do what does not wait for it
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

// firstWaiter is the one that comes first in the order of the steps, of those that may.
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

// leavesUndone reports whether something of what a strand did in the recording before a place is
// not done yet, and may still be.
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

// isLeftOut reports whether something that was recorded of a strand with several goroutines is not
// made any more: the call that made it has returned, or nobody is there who could but the goroutine
// that runs the strand, which has come to what was recorded behind it. Today's code does something
// else in its place, or nothing; without this the time of the strand would stand still for good.
func (p *player) isLeftOut(s *newStrand, x *adk.Crossing) bool {
	if by := p.tree.Calls[x.Call]; by != nil && by.Return != nil && x.Seq < by.Return.Seq && p.NewSeq[by.Return.Seq] != 0 {
		return true
	}
	return p.isAlone(s)
}

// isAlone reports whether the present goroutine runs a strand and is the only one of the run.
func (p *player) isAlone(s *newStrand) bool {
	return s.goroutine != 0 && s.goroutine == watchdog.ID() && s.alone.Is(p.rest.Label())
}
