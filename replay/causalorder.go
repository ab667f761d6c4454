package replay

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file is when the steps of a causal replay are taken, and what comes from
// outside meanwhile.

// newStrand is a strand of the new run.
type newStrand struct {
	number  int
	rec     int         // the recorded strand, -1 if there is none
	fork    *calls.Step // the recorded fork that it came of
	cursor  int         // the last recorded crossing that it has passed
	waiting []*waiter
	parked  func() bool // the ready of a strand that waits inside the engine
	ended   bool
	moving  bool      // it is counted as one on the way
	now     time.Time // that of its last step
	several bool      // goroutines that live code has begun are of it
	allDone int       // all that was recorded of it up to this place is done

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

// outsideEvent is something that comes from outside. A timer, a settlement and the end of
// a wait become acts when the operation that waits for them has begun.
type outsideEvent struct {
	seq int       // its place in the recorded order; unrecorded if it has none
	at  time.Time // its virtual time
	of  int       // the strand that waits for it; no other comes to that time by it

	cancel *adk.Crossing // the run's context ends
	timer  *stub.Timer   // a timer fires
	gate   *adk.TurnGate // a gate is settled, as the crossing says
	settle *adk.Crossing
	wait   int // the context of a scripted wait ends: the recorded operation
	cause  error
}

// unrecorded is the place of what was not recorded: behind all that was.
const unrecorded = math.MaxInt

// before is the order of time, and of the recording within it.
func before(at time.Time, seq int, otherAt time.Time, otherSeq int) bool {
	if seq != unrecorded && otherSeq != unrecorded {
		return seq < otherSeq
	}
	if !at.Equal(otherAt) {
		return at.Before(otherAt)
	}
	return seq < otherSeq
}

// rank is where a recorded crossing comes in the order of the steps.
func (p *causal) rank(seq int) int {
	if p.tree.Order == nil || seq == unrecorded {
		return seq
	}
	return p.tree.Order[seq]
}

// Begin holds a step back until it is in order.
func (p *causal) Begin(s adk.Step) {
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
	w := &waiter{strand: strand, step: s, by: strand.present(), apart: apart}
	switch {
	case c != nil && c.apart && (wire.ReadsClock(s) || wire.MakesID(s)): // others may have come farther
		if wire.ReadsClock(s) {
			p.inTurn(c, p.nextUnmade(strand, s))
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
	p.wait(w)
}

// endOf is the recorded end of an operation which one of several goroutines has begun, and which
// leads to a call; nil if none is recorded.
func (c *newCall) endOf(kind adk.Kind, by int) *adk.Crossing {
	for _, op := range slices.Backward(c.open) {
		if by != 0 && op.by == by && op.kind == kind && op.rec != nil {
			return op.rec.Done
		}
	}
	return nil
}

// present is the time of the step that a waiter takes: that of its recorded
// counterpart, whatever other strands have come to. What was not recorded happens
// when its strand came to it.
func (p *causal) present(w *waiter) time.Time {
	if w.next == nil || w.step.Kind == adk.KindCall && p.live.any() || // of live code it is not known yet which call it is
		w.strand.several && !wire.ReadsClock(w.step) && p.leavesUndone(w.strand, w.next.Seq) {
		return w.strand.now
	}
	return later(w.strand.now, w.next.At)
}

// wait blocks until the step of a waiter may be taken, and gives it that.
func (p *causal) wait(w *waiter) {
	w.strand.waiting = append(w.strand.waiting, w)
	p.count(w.strand)
	for !p.Stopped && !p.admitted(w) {
		if w.moved == nil {
			w.moved = sync.NewCond(&p.Mu)
			p.hold(w)
			p.wake() // what was recorded before, and is not made now, holds nobody back any more
		}
		if !p.act() {
			w.moved.Wait()
		}
	}
	w.strand.waiting = state.Without(w.strand.waiting, w)
	p.count(w.strand)
	p.release(w)
	if p.stepping = w; p.pieces {
		w.goroutine = watchdog.ID()
	}
}

// hold adds one to those who wait for their steps. mu is held.
func (p *causal) hold(w *waiter) {
	if !p.isInLine(w) {
		p.waiters = append(p.waiters, w)
		return
	}
	at, _ := slices.BinarySearchFunc(p.inLine, w.seq(), func(w *waiter, seq int) int { return cmp.Compare(w.seq(), seq) })
	p.inLine = slices.Insert(p.inLine, at, w)
}

// release takes one away again that may have been held. mu is held.
func (p *causal) release(w *waiter) {
	switch {
	case w.moved == nil:
	case p.isInLine(w):
		at, _ := slices.BinarySearchFunc(p.inLine, w.seq(), func(w *waiter, seq int) int { return cmp.Compare(w.seq(), seq) })
		at += slices.Index(p.inLine[at:], w)
		p.inLine = slices.Delete(p.inLine, at, at+1)
	default:
		p.waiters = state.Without(p.waiters, w)
	}
}

// isInLine reports whether a step waits for nothing but that what is shared, a cancel and an
// abort come before it. Where one such step may not be taken none that is recorded behind it
// may: what it waits for comes before those as well, and is made by a strand that either waits
// for a step before it too, or for none.
func (p *causal) isInLine(w *waiter) bool {
	return p.tree.Order == nil && !w.let && !w.last && w.next != nil && (calls.IsShared(w.step.Kind) || p.tree.Shares(w.next)) &&
		calls.GateID(w.next) == "" && !wire.Aborts(w.next)
}

// letGo lets one go on whatever the order. mu is held.
func (p *causal) letGo(w *waiter) {
	p.release(w)
	w.let = true
	p.hold(w)
	p.wake()
}

// count counts a strand as one on the way, or as none any more. mu is held.
func (p *causal) count(s *newStrand) {
	is := p.strands[s.number] == s && len(s.waiting) == 0 && s.parked == nil
	switch {
	case is && !s.moving:
		p.moving++
	case s.moving && !is:
		p.moving--
	}
	s.moving = is
	if p.strands[s.number] == s && s.parked != nil {
		p.parked[s.number] = s
	} else {
		delete(p.parked, s.number)
	}
}

// wake wakes who may take a step now: one of them, for the next may when that is over. Where
// nobody may and nobody is on the way, one is woken to act. mu is held.
func (p *causal) wake() {
	if p.stepping != nil {
		return
	}
	if w := p.nextStep(); w != nil {
		w.wake()
		return
	}
	if len(p.waiters)+len(p.inLine) > 0 && p.stuck() {
		slices.Concat(p.waiters, p.inLine)[0].wake()
	}
}

// nextStep is one who may take a step now; nil if nobody may. mu is held.
func (p *causal) nextStep() *waiter {
	if at := slices.IndexFunc(p.waiters, p.admitted); at >= 0 {
		return p.waiters[at]
	}
	if len(p.inLine) > 0 && p.admitted(p.inLine[0]) {
		return p.inLine[0]
	}
	return nil
}

func (w *waiter) wake() { w.moved.Signal() }

// leaving holds back a goroutine that ends itself where that cancelled the recorded
// run: nobody asks before such a cancel, and it has its place in the order too. What
// a listener offered to a gate before it ended it offers first.
func (p *causal) leaving(strand int) {
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
func (p *causal) cancelling(s *newStrand, x *adk.Crossing) {
	p.give(s)
	p.wait(&waiter{strand: s, cancels: true, next: x})
	p.came(s, x)
}

// offer is the act that makes a recorded settlement; nil if none will.
func (p *causal) offer(x *adk.Crossing) *outsideEvent {
	at := slices.IndexFunc(p.outsideEvents, func(a *outsideEvent) bool { return a.settle == x })
	if !wire.IsSettlement(x) || at < 0 {
		return nil
	}
	return p.outsideEvents[at]
}

// present is the present goroutine, where a strand has several.
func (s *newStrand) present() int {
	if !s.several {
		return 0
	}
	return watchdog.ID()
}

// give ends the step of a strand that was announced and not told: another goroutine of it may
// yet tell its own.
func (p *causal) give(s *newStrand) {
	if p.stepping != nil && p.stepping.strand == s && (p.stepping.by == 0 || p.stepping.by == s.present()) {
		p.stepping = nil
		p.wake()
	}
}

// endStep ends the step that got tells, and gives what was foreseen for it.
func (p *causal) endStep(got *adk.Crossing) (next *adk.Crossing) {
	w := p.stepping
	if w != nil && w.cancels && wire.IsCancel(got) {
		p.stepping = nil
		return nil
	}
	if w == nil || w.strand.number != got.Strand {
		return nil
	}
	is := adk.Step{Kind: got.Kind, Phase: got.Phase, Call: got.Call, Strand: got.Strand} == w.step
	if is {
		next = w.next
	}
	if is || wire.IsContained(got) {
		p.stepping = nil
	}
	return next
}

// foresee is the recorded crossing that a step is about to make again: the next
// of its kind in the counterpart of its call.
func (p *causal) foresee(s *newStrand, step adk.Step) *adk.Crossing {
	x := p.nextOf(s, step)
	if x == nil || !s.several {
		return x
	}
	if c := p.calls[step.Call]; c == nil || !c.apart {
		return x
	}
	for _, a := range p.outsideEvents { // it may be of a goroutine that is behind the one of which this is the next
		if a.cancel != nil && a.seq < x.Seq && p.leavesUndone(s, a.seq) {
			return nil
		}
	}
	return x
}

// nextOf is foresee where one goroutine does all.
func (p *causal) nextOf(s *newStrand, step adk.Step) *adk.Crossing {
	switch {
	case step.Call == 0 && step.Kind == adk.KindReturn:
		return p.tree.Root.Return
	case step.Call == 0:
		return p.tree.Root.Begin
	}
	c := p.calls[step.Call]
	if c == nil || c.rec == nil || s.rec < 0 {
		return nil
	}
	if step.Kind == adk.KindReturn {
		return c.returning(s)
	}
	if c.does(s.rec, step) {
		return c.doing.X
	}
	if step.Kind == adk.KindCall && p.entersNobody(s, c.rec) {
		return nil
	}
	behind := s.cursor
	if s.several { // of which another one may have come further
		behind = max(c.cursor, c.rec.Begin.Seq)
	}
	return p.nextLike(adk.Step{Kind: step.Kind, Phase: step.Phase, Call: c.rec.Begin.ID, Strand: s.rec}, behind)
}

// entersNobody reports whether a next of a call that comes now led to nobody in the
// recording, as the run had been aborted (PIP-9): the engine asks for the call below it
// all the same, and a later one of that call's is another.
func (p *causal) entersNobody(s *newStrand, c *calls.Call) bool {
	x := p.upcoming(s)
	return x != nil && wire.IsNext(x) && x.Phase == adk.Done && x.Call == c.Begin.ID
}

// forestalled is what the recorded strand came to where the engine would have taken a
// step that was not recorded, as another strand or the outside aborted the run before
// it; nil if that is not why.
func (p *causal) forestalled(s *newStrand, step adk.Step) *adk.Crossing {
	if s.rec < 0 || p.aborted || step.Kind == adk.KindReturn || step.Kind.Class() == adk.ClassOperation {
		return nil
	}
	for _, x := range p.ahead(s) {
		if wire.CancelledBy(x) == wire.OutsideCancel {
			continue
		}
		if slices.ContainsFunc(p.abortLines, func(y *adk.Crossing) bool {
			return y.Seq > s.cursor && y.Seq < x.Seq && (y.Strand != s.rec || wire.CancelledBy(y) == wire.OutsideCancel) &&
				!(s.several && p.leavesUndone(s, y.Seq)) // it is of a goroutine that has not come so far
		}) {
			return x
		}
		return nil
	}
	return nil
}

// does reports whether a step is what the scripted call performs: the beginning of a
// strand that it forked meanwhile is not, although that is a call below it too.
func (c *newCall) does(strand int, step adk.Step) bool {
	if c.doing == nil || c.doing.X.Strand != strand || step.Phase == adk.Done {
		return false
	}
	return c.doing.X.Kind == step.Kind || wire.IsMisuse(c.doing.X) && step.Kind.Class() == adk.ClassOperation
}

// returning is the recorded return of the call below that returns next in a
// strand; nil if it has none. Where goroutines have calls return in that it may be any of
// theirs, and so it is held back by what comes before the first.
func (c *newCall) returning(s *newStrand) (first *adk.Crossing) {
	for _, below := range slices.Backward(c.below) {
		if below.strand != s.number {
			continue
		}
		if below.rec == nil || below.rec.Return == nil {
			return nil
		}
		if first == nil || below.rec.Return.Seq < first.Seq {
			first = below.rec.Return
		}
		if !s.several {
			break
		}
	}
	return first
}

// admitted reports whether a step may be taken now.
func (p *causal) admitted(w *waiter) bool {
	if p.stepping != nil {
		return false
	}
	return w.let || p.tree.Order == nil && !p.behindCancel(w) && !p.overtakes(w) && !(w.last && p.unmade.Before(w.strand, w.seq(), &p.unmade.Every))
}

// behindCancel reports whether a cancel comes before the step.
func (p *causal) behindCancel(w *waiter) bool {
	for _, a := range p.outsideEvents {
		if a.cancel != nil && a.seq < w.seq() {
			return true
		}
	}
	return false
}

// overtakes reports whether another strand has still to do, before the step, what may
// not come behind it: what both share; for a wait, what takes the id of its gate or
// gives it free; all that comes before an abort, which starts nothing new (ABT-7); and
// an abort.
func (p *causal) overtakes(w *waiter) bool {
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

// placeOfNext is the place of the next recorded crossing of a strand that is of some
// kind.
func (p *causal) placeOfNext(s *newStrand, wanted func(*adk.Crossing) bool) int {
	if s.rec < 0 {
		return unrecorded
	}
	for _, x := range p.from(s.rec, s.front()) {
		if wanted(x) {
			return x.Seq
		}
	}
	return unrecorded
}

// Park notes that a strand waits inside the engine, or has ended.
func (p *causal) Park(n int, ready func() bool) {
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
func (p *causal) Resume(n int) {
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
func (p *causal) keepsOrder() bool { return p.many && !p.rest.Over() }

// inTurn holds an answer back to one who asks beside others, until it is its turn. mu is held.
func (p *causal) inTurn(asks *newCall, x *adk.Crossing) {
	if x != nil && (asks.apart || asks.beside) && !p.comesAtOnce(asks, x) {
		p.rest.Hold(x, p.rank(x.Seq))
	}
}

// comesAtOnce reports whether nothing was recorded between an answer and what comes before it of
// the same ask, and all that was recorded before is done: there is nothing to wait for. mu is held.
func (p *causal) comesAtOnce(asks *newCall, x *adk.Crossing) bool {
	s := p.strands[asks.strand]
	return x.Seq > 1 && x.Op != 0 && p.tree.Lines[x.Seq-2].Op == x.Op && s != nil && !p.leavesUndone(s, x.Seq)
}

// isDue reports whether anything or anybody waits for its turn. mu is held.
func (p *causal) isDue() bool {
	answer, _ := p.rest.Next()
	return answer != nil || len(p.outsideEvents)+len(p.waiters)+len(p.inLine) > 0
}

// atRest makes what comes next in a run whose goroutines are at rest, and reports whether
// anything was made. mu is held.
func (p *causal) atRest() bool {
	p.blocked = true
	defer func() { p.blocked = false }()
	return p.act()
}

// passBlocked makes what comes next although strands are on the way: they are blocked
// outside the engine, and only what comes next can end that.
func (p *causal) passBlocked() {
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
func (p *causal) stuck() bool {
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
func (p *causal) act() bool {
	if p.keepsOrder() && !p.blocked {
		p.rest.Want()
		return false
	}
	if p.Stopped || !p.stuck() {
		return false
	}
	next := p.nextOutside()
	if next != nil && next.gate != nil && !p.blocked && p.live.any() && !p.rest.Over() { // goroutines may be about to do what does not wait for it
		p.rest.Want()
		return false
	}
	if next != nil && next.cancel != nil && !p.blocked && p.isOnTheWay(next.seq) {
		return false
	}
	p.blocked = false // one thing may set all of them going
	first := p.firstWaiter(func(w *waiter) bool { return p.tree.Order == nil || !p.overtakes(w) })
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
func (p *causal) firstWaiter(may func(*waiter) bool) (first *waiter) {
	for _, s := range p.strands {
		for _, w := range s.waiting {
			if may(w) && (first == nil || cmp.Or(cmp.Compare(p.rank(w.seq()), p.rank(first.seq())), cmp.Compare(s.number, first.strand.number)) < 0) {
				first = w
			}
		}
	}
	return first
}

// giveUp rejects the first gate that nobody can settle any more: what ended the
// wait for it in the recording, an abort, did not come. mu is held.
func (p *causal) giveUp() bool {
	var first *newOp
	for _, op := range p.ops {
		if op.opened != nil && !p.mayStillEnd(op) && (first == nil || op.number < first.number) {
			first = op
		}
	}
	if first == nil {
		return false
	}
	gate := first.opened
	first.opened = nil
	p.do(&outsideEvent{of: first.call.strand, gate: gate})
	return true
}

// mayStillEnd reports whether something was recorded in the strand of a wait while
// that went on, and has not come yet: a goroutine of live code's own did it, and
// nobody sees that coming.
func (p *causal) mayStillEnd(op *newOp) bool {
	strand := p.strands[op.call.strand]
	if !p.live.any() || strand == nil || op.rec == nil {
		return false
	}
	for _, x := range p.from(op.rec.X.Strand, max(strand.cursor, op.rec.X.Seq)+1) {
		if isBehind(x, op.rec.Done) || isBehind(x, op.rec.In.Return) { // a goroutine that ended has done nothing to the end
			break
		}
		if by := p.tree.Calls[x.Call]; by != nil && by.Strand == op.rec.In.Strand && x.Kind.Class() == adk.ClassOperation {
			return true
		}
	}
	return false
}

// isBehind reports whether a crossing is an end, or comes behind it.
func isBehind(x, end *adk.Crossing) bool { return end != nil && x.Seq >= end.Seq }

// nextOutside is the act that is due first; nil if there is none.
func (p *causal) nextOutside() *outsideEvent {
	p.outsideEvents = slices.DeleteFunc(p.outsideEvents, func(a *outsideEvent) bool { return a.timer != nil && a.timer.Spent })
	var next *outsideEvent
	for _, a := range p.outsideEvents {
		if next == nil || before(a.at, p.rank(a.seq), next.at, p.rank(next.seq)) {
			next = a
		}
	}
	return next
}

// do makes an act. mu is held, but while the engine is called.
func (p *causal) do(a *outsideEvent) {
	p.outsideEvents = state.Without(p.outsideEvents, a)
	switch {
	case a.cancel != nil:
		p.now, p.aborted = later(p.now, a.at), true
		p.cancel(a.cancel.Cause, a.cancel.Err)
		p.wake() // steps may have waited for it
	case a.timer != nil:
		p.reached(a)
		a.timer.Expire()
	case a.wait != 0:
		p.stage.EndWait(a.wait, a.cause)
	case a.gate != nil:
		p.reached(a)
		p.acting++
		p.Mu.Unlock()
		defer func() {
			p.Mu.Lock()
			p.acting--
			p.wake()
		}()
		if a.settle == nil {
			a.gate.Reject(wire.ByReplay, stub.ErrUnanswered)
		} else {
			settle(a.gate, a.settle)
		}
		return
	}
	p.wake()
}

// reached notes the time of an act for the strand that waits for it.
func (p *causal) reached(a *outsideEvent) {
	p.now = later(p.now, a.at)
	if s := p.strands[a.of]; s != nil {
		s.now = later(s.now, a.at)
	}
}

// outside makes what every strand has passed by: a cancel and timers. Live code
// may wait for them where nobody sees it. mu is held.
func (p *causal) outside() {
	for p.tree.Order == nil && !p.keepsOrder() {
		a := p.nextOutside()
		if a == nil || a.seq == unrecorded || a.cancel == nil && a.timer == nil {
			return
		}
		for _, s := range p.strands {
			next := p.placeOfNext(s, func(x *adk.Crossing) bool { return !wire.IsCancel(x) })
			if next < a.seq || next == a.seq && a.cancel != nil { // a cancel that was not recorded comes behind it
				return
			}
		}
		if p.isOnTheWay(a.seq) {
			return
		}
		p.do(a)
	}
}

// isOnTheWay reports whether a strand of several goroutines has still to do what was recorded
// before a place: the one that is farthest may have passed it, or wait there, while another is
// on the way. mu is held.
func (p *causal) isOnTheWay(before int) bool {
	for _, s := range p.strands {
		if s.several && p.leavesUndone(s, before) {
			return true
		}
	}
	return false
}

// leavesUndone reports whether something of what a strand did in the recording before a place is
// not done yet.
func (p *causal) leavesUndone(s *newStrand, before int) bool {
	if s.rec < 0 {
		return false
	}
	for _, x := range p.from(s.rec, s.allDone+1) {
		tracked := x.Kind.Class() == adk.ClassOperation || x.Kind.Class() == adk.ClassCall
		if x.Seq >= before || tracked && p.newSeq[x.Seq] == 0 {
			return x.Seq < before
		}
		s.allDone = x.Seq
	}
	return false
}

// expectEnd adds the acts that end a wait, as the operation has begun. mu is
// held.
func (p *causal) expectEnd(op *newOp, got *adk.Crossing) {
	if !got.Kind.Uses(adk.FieldDuration) {
		return
	}
	if t := p.Untold; t != nil {
		p.Untold = nil
		a := &outsideEvent{seq: unrecorded, at: got.At.Add(got.Duration), of: got.Strand, timer: t}
		if x := op.rec.Timer(); x != nil {
			if a.seq = x.Seq; !x.At.IsZero() {
				a.at = x.At
			}
		} else if op.rec != nil && op.rec.Done != nil && wire.Sleeps(got) { // its context ended before the timer, which was late
			a.at = later(a.at, op.rec.Done.At)
		}
		p.outsideEvents = append(p.outsideEvents, a)
	}
	if op.rec == nil || op.rec.Done == nil {
		return
	}
	end, cause := op.rec.Done, op.rec.Done.Err
	if wire.AsksForGate(got) {
		if end = op.rec.Settlement(); end == nil || end.Status != adk.GateAborted {
			return
		}
		cause = errors.Unwrap(end.Err)
	}
	if cause != nil && !p.cancelledBefore(end.Seq) {
		p.outsideEvents = append(p.outsideEvents, &outsideEvent{seq: end.Seq, at: end.At, wait: op.rec.X.Op, cause: cause})
	}
}

// cancelledBefore reports whether the recorded run was cancelled before a place.
func (p *causal) cancelledBefore(seq int) bool {
	return slices.ContainsFunc(p.abortLines, func(x *adk.Crossing) bool { return wire.IsCancel(x) && x.Seq <= seq })
}

// gateOpened adds the settlements of a gate. One that was not recorded is
// rejected when nobody can go on, unless the user's listeners settle gates.
func (p *causal) gateOpened(e adk.TurnGateOpen) {
	op, first := p.opening(e.Gate)
	if !first {
		return
	}
	if p.live.settlesGates() {
		p.beforeSettling(op)
		p.live.Turn.Observability.TurnGateOpen(e)
		return
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if op != nil {
		op.opened = e.Gate
	}
	if op == nil || op.rec == nil {
		a := &outsideEvent{seq: unrecorded, at: p.now, gate: e.Gate}
		if op != nil {
			a.of = op.call.strand
		}
		p.outsideEvents = append(p.outsideEvents, a)
		return
	}
	for _, x := range op.rec.Notes {
		if wire.IsSettlement(x) && stub.IsOutside(x) {
			p.outsideEvents = append(p.outsideEvents, &outsideEvent{seq: x.Seq, at: x.At, of: op.call.strand, gate: e.Gate, settle: x})
		}
	}
}

// beforeSettling holds the user's listener back until the recorded settlement of a
// gate is in order: who settles at once may have thought longer in the recording, and
// what other strands did meanwhile was done before.
func (p *causal) beforeSettling(op *newOp) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if op == nil || op.rec == nil || p.tree.Order != nil {
		return
	}
	at := slices.IndexFunc(op.rec.Notes, func(x *adk.Crossing) bool { return wire.IsSettlement(x) && stub.IsOutside(x) })
	s := p.strands[op.call.strand]
	if at < 0 || s == nil {
		return
	}
	x := op.rec.Notes[at]
	w := &waiter{strand: s, step: adk.Step{Kind: x.Kind}, next: x, last: true}
	p.wait(w)
	p.give(s)
	p.came(s, x)
}

// opening is the operation that a gate was opened by, and whether it is the first
// to hear of it: each listener that has to be loud asks.
func (p *causal) opening(gate *adk.TurnGate) (op *newOp, first bool) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if op = p.gateOp(gate.ID()); op == nil {
		return nil, true
	}
	first, op.heard = !op.heard, true
	return op, first
}

// gateOp is the last wait for a gate of an id: one that a goroutine left as it
// ended stays open.
func (p *causal) gateOp(id string) (last *newOp) {
	for _, op := range p.ops {
		if op.kind.Names(adk.GateID) && op.gate == id && (last == nil || op.number > last.number) {
			last = op
		}
	}
	return last
}
