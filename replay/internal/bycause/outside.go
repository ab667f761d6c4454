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

// This file makes what comes from outside the run: cancels, timers, settlements of gates, and the
// ends of scripted waits.

// outsideEvent is something that comes from outside. A timer, a settlement and the end of a wait
// are known only when the operation that waits for them has begun.
type outsideEvent struct {
	seq int       // its place in the recorded order; unrecorded if it was not recorded
	at  time.Time // its virtual time
	of  int       // the strand that waits for it: the time moves on for no other

	cancel *adk.Crossing // the run's context ends
	timer  *stub.Timer   // a timer fires
	gate   *adk.TurnGate // a gate is settled, as the crossing settle says, or rejected without one
	settle *adk.Crossing
	wait   int // the context of a scripted wait, by its recorded operation, ends
	cause  error
}

// unrecorded is the place of what was not recorded: after everything that was.
const unrecorded = math.MaxInt

// before orders two places: by the recording where both were recorded, and else by time.
func before(at time.Time, seq int, otherAt time.Time, otherSeq int) bool {
	if seq != unrecorded && otherSeq != unrecorded {
		return seq < otherSeq
	}
	if !at.Equal(otherAt) {
		return at.Before(otherAt)
	}
	return seq < otherSeq
}

// offer is the event that makes a recorded settlement; nil if none will.
func (p *player) offer(x *adk.Crossing) *outsideEvent {
	at := slices.IndexFunc(p.outsideEvents, func(a *outsideEvent) bool { return a.settle == x })
	if !wire.IsSettlement(x) || at < 0 {
		return nil
	}
	return p.outsideEvents[at]
}

// giveUp rejects the first open gate that nothing can settle any more, because what ended the wait
// in the recording (an abort) did not come. It reports whether there was such a gate. mu is held.
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

// mayStillEnd reports whether the recording has an operation of the waiting strand, made while the
// wait went on, that the new run has not made yet. A goroutine that live code started made it, and
// may still come to it; no crossing announces that.
func (p *player) mayStillEnd(op *newOp) bool {
	strand := p.strands[op.call.strand]
	if !p.live.Any || strand == nil || op.rec == nil {
		return false
	}
	for _, x := range p.lines.From(op.rec.X.Strand, max(strand.cursor, op.rec.X.Seq)+1) {
		if isBehind(x, op.rec.Done) || isBehind(x, op.rec.In.Return) { // the wait of a goroutine that ended itself has no end line
			break
		}
		if by := p.tree.Calls[x.Call]; by != nil && by.Strand == op.rec.In.Strand && x.Kind.Class() == adk.ClassOperation {
			return true
		}
	}
	return false
}

// isBehind reports whether a crossing is end, or comes after it.
func isBehind(x, end *adk.Crossing) bool { return end != nil && x.Seq >= end.Seq }

// nextOutside is the event that is due first; nil if there is none.
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

// do makes an event from outside. mu is held, except while do calls a gate, which is the engine's.
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

// reached moves the time of the strand that waits for an event to the time of the event.
func (p *player) reached(a *outsideEvent) {
	p.now = later(p.now, a.at)
	if s := p.strands[a.of]; s != nil {
		s.now = later(s.now, a.at)
	}
}

// outside makes cancels and timers that every strand has already passed in the recorded order: live
// code may wait for them in a way that no crossing shows. mu is held.
func (p *player) outside() {
	for p.tree.Order == nil && !p.keepsOrder() {
		a := p.nextOutside()
		if a == nil || a.seq == unrecorded || a.cancel == nil && a.timer == nil {
			return
		}
		refused := false // a strand next did an operation that was refused: it had not seen the cancel
		for _, s := range p.strands {
			rest := p.restOf(s)
			if len(rest) > 0 && (rest[0].Seq < a.seq || rest[0].Seq == a.seq && a.cancel != nil) { // a cancel in Tree.Cancels comes after the crossing of its number
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

// expectEnd adds the events that will end a wait whose operation has just begun. mu is held.
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

// cancelledBefore reports whether the recorded run was cancelled at or before a place.
func (p *player) cancelledBefore(seq int) bool {
	return slices.ContainsFunc(p.abortLines, func(x *adk.Crossing) bool { return wire.IsCancel(x) && x.Seq <= seq })
}

// gateOpened adds the settlements of a gate. A gate whose wait was not recorded is rejected when
// nothing else can go on, unless the user's listeners settle gates.
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

// beforeSettling holds the user's listener back until the recorded settlement of a gate is in
// order. A listener that settles at once today may have taken longer in the recording, and what
// other strands did meanwhile was done before the settlement.
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

// opening is the operation that opened a gate. first is true for the first caller: every scripted
// listener of a gate calls gateOpened.
func (p *player) opening(gate *adk.TurnGate) (op *newOp, first bool) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if op = p.gateOp(gate.ID()); op == nil {
		return nil, true
	}
	first, op.heard = !op.heard, true
	return op, first
}

// gateOp is the latest open wait for a gate with an id. The wait of a goroutine that ended itself
// stays open, so there may be several.
func (p *player) gateOp(id string) (last *newOp) {
	for _, op := range p.ops {
		if op.kind.Names(adk.GateID) && op.gate == id && (last == nil || op.number > last.number) {
			last = op
		}
	}
	return last
}
