package bycause

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file is what comes from outside in a run by cause: cancels, timers, settlements of gates,
// and the ends of scripted waits.

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

// offer is the act that makes a recorded settlement; nil if none will.
func (p *player) offer(x *adk.Crossing) *outsideEvent {
	at := slices.IndexFunc(p.outsideEvents, func(a *outsideEvent) bool { return a.settle == x })
	if !wire.IsSettlement(x) || at < 0 {
		return nil
	}
	return p.outsideEvents[at]
}

// giveUp rejects the first gate that nobody can settle any more: what ended the
// wait for it in the recording, an abort, did not come. mu is held.
func (p *player) giveUp() bool {
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
func (p *player) mayStillEnd(op *newOp) bool {
	strand := p.strands[op.call.strand]
	if !p.live.Any || strand == nil || op.rec == nil {
		return false
	}
	for _, x := range p.lines.From(op.rec.X.Strand, max(strand.cursor, op.rec.X.Seq)+1) {
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
func (p *player) nextOutside() *outsideEvent {
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
func (p *player) do(a *outsideEvent) {
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
			stub.Settle(a.gate, a.settle)
		}
		return
	}
	p.wake()
}

// reached notes the time of an act for the strand that waits for it.
func (p *player) reached(a *outsideEvent) {
	p.now = later(p.now, a.at)
	if s := p.strands[a.of]; s != nil {
		s.now = later(s.now, a.at)
	}
}

// outside makes what every strand has passed by: a cancel and timers. Live code
// may wait for them where nobody sees it. mu is held.
func (p *player) outside() {
	for p.tree.Order == nil && !p.keepsOrder() {
		a := p.nextOutside()
		if a == nil || a.seq == unrecorded || a.cancel == nil && a.timer == nil {
			return
		}
		refused := false // who comes to what is has not seen that its caller left
		for _, s := range p.strands {
			rest := p.restOf(s)
			if len(rest) > 0 && (rest[0].Seq < a.seq || rest[0].Seq == a.seq && a.cancel != nil) { // a cancel that was not recorded comes behind it
				return
			}
			refused = refused || a.cancel != nil && wire.IsRefused(rest)
		}
		if refused {
			return
		}
		p.do(a)
	}
}

// expectEnd adds the acts that end a wait, as the operation has begun. mu is
// held.
func (p *player) expectEnd(op *newOp, got *adk.Crossing) {
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
func (p *player) cancelledBefore(seq int) bool {
	return slices.ContainsFunc(p.abortLines, func(x *adk.Crossing) bool { return wire.IsCancel(x) && x.Seq <= seq })
}

// gateOpened adds the settlements of a gate. One that was not recorded is
// rejected when nobody can go on, unless the user's listeners settle gates.
func (p *player) gateOpened(e adk.TurnGateOpen) {
	op, first := p.opening(e.Gate)
	if !first {
		return
	}
	if p.live.SettlesGates {
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
func (p *player) beforeSettling(op *newOp) {
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
func (p *player) opening(gate *adk.TurnGate) (op *newOp, first bool) {
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
func (p *player) gateOp(id string) (last *newOp) {
	for _, op := range p.ops {
		if op.kind.Names(adk.GateID) && op.gate == id && (last == nil || op.number > last.number) {
			last = op
		}
	}
	return last
}
