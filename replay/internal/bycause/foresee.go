package bycause

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file finds the recorded crossing that the next step of the new run will stand for.

// endOf is the recorded end of the operation that the goroutine by has begun, which leads to a
// call; nil if none is recorded.
func (c *newCall) endOf(kind adk.Kind, by int) *adk.Crossing {
	for _, op := range slices.Backward(c.open) {
		if by != 0 && op.by == by && op.kind == kind && op.rec != nil {
			return op.rec.Done
		}
	}
	return nil
}

// foresee is the recorded crossing that a step will stand for: the next one of its kind in the
// counterpart of its call; nil if there is none. In a call that several goroutines use, it is also
// nil while a cancel is due before that crossing and the strand has still to do something that was
// recorded before the cancel.
func (p *player) foresee(s *newStrand, step adk.Step) *adk.Crossing {
	x := p.nextOf(s, step)
	if x == nil || !s.several {
		return x
	}
	if c := p.calls[step.Call]; c == nil || !c.apart {
		return x
	}
	for _, a := range p.outsideEvents { // x may belong to a goroutine that comes after the one that makes the step
		if a.cancel != nil && a.seq < x.Seq && p.leavesUndone(s, a.seq) {
			return nil
		}
	}
	return x
}

// nextOf is foresee without the check for such a cancel.
func (p *player) nextOf(s *newStrand, step adk.Step) *adk.Crossing {
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
	if s.several { // another goroutine may have moved the cursor further
		behind = max(c.cursor, c.rec.Begin.Seq)
	}
	step.Call, step.Strand = c.rec.Begin.ID, s.rec
	if p.tree.Mixed {
		return p.lines.First(step, c.rec.Begin.Seq, p.rank, func(seq int) bool { return !p.passed[seq] && p.NewSeq[seq] == 0 })
	}
	return p.lines.Like(step, behind)
}

// entersNobody reports whether a next that is called now led to no call in the recording, because
// the run had been aborted (PIP-9). The engine announces the call below it all the same, and the
// next recorded call of that kind is another one.
func (p *player) entersNobody(s *newStrand, c *calls.Call) bool {
	x := p.upcoming(s)
	return x != nil && wire.IsNext(x) && x.Phase == adk.Done && x.Call == c.Begin.ID
}

// forestalled handles a step that was not recorded because another strand, or a cancel from
// outside, aborted the recorded run before it. It returns what the recorded strand did next
// instead; nil if there was no such abort.
func (p *player) forestalled(s *newStrand, step adk.Step) *adk.Crossing {
	if s.rec < 0 || p.aborted || step.Kind == adk.KindReturn || step.Kind.Class() == adk.ClassOperation {
		return nil
	}
	for _, x := range p.ahead(s) {
		if wire.CancelledBy(x) == wire.OutsideCancel {
			continue
		}
		if slices.ContainsFunc(p.abortLines, func(y *adk.Crossing) bool {
			return y.Seq > s.cursor && y.Seq < x.Seq && (y.Strand != s.rec || wire.CancelledBy(y) == wire.OutsideCancel) &&
				!(s.several && p.leavesUndone(s, y.Seq)) // the abort belongs to a goroutine that has not come that far
		}) {
			return x
		}
		return nil
	}
	return nil
}

// does reports whether a step is the one that the scripted call is performing. The beginning of a
// strand that the call forked meanwhile is not, although it is a call below it, too.
func (c *newCall) does(strand int, step adk.Step) bool {
	if c.doing == nil || c.doing.X.Strand != strand || step.Phase == adk.Done {
		return false
	}
	return c.doing.X.Kind == step.Kind || wire.IsMisuse(c.doing.X) && step.Kind.Class() == adk.ClassOperation
}

// returning is the recorded return of the call below c that returns next in a strand; nil if it has
// none. Where goroutines have calls return in the strand, it may be the return of any of them, so
// returning gives the first one: the step then waits only for what comes before that.
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

// restOf returns what a strand has still to do in the recording, without the cancels at the front.
// Pieces of answers that the strand has got count as done.
func (p *player) restOf(s *newStrand) []*adk.Crossing {
	if s.rec < 0 {
		return nil
	}
	rest := p.lines.From(s.rec, max(s.front(), s.heard+1))
	for len(rest) > 0 && wire.IsCancel(rest[0]) {
		rest = rest[1:]
	}
	return rest
}

// hear notes that nobody waits for a recorded piece any more. mu is held.
func (p *player) hear(piece *adk.Crossing) {
	if p.heard == nil {
		p.heard = make([]bool, len(p.NewSeq))
	}
	p.heard[piece.Seq] = true
}

// hears notes that a strand has got the next piece of an answer. mu is held.
func (p *player) hears(s *newStrand, op *newOp) {
	if op != nil && op.rec != nil && op.pieces < len(op.rec.Notes) {
		piece := op.rec.Notes[op.pieces]
		s.heard = piece.Seq
		p.hear(piece)
		op.pieces++
	}
}
