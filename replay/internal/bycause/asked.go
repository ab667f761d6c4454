package bycause

import (
	"cmp"
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file answers what live code asks of the world. asks.Recorded finds the recorded ask; the
// comparison says later what of a request has changed.

// Answer answers live code with what was recorded. It returns nil for a service that Live.Outside
// names, which is then asked for real (WLD-6), and for a scripted seam, which has the recorded
// answer itself. Where goroutines of live code use the call, the answer and each piece of it wait
// for their turn.
func (p *player) Answer(ctx context.Context, q adk.Question) *adk.Answer {
	if stub.IsScripted(ctx) {
		return nil
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	op := p.ops[q.Op]
	answer := p.answer(op, q)
	if op == nil || answer == nil || op.rec == nil {
		return answer
	}
	if s := p.strands[op.call.strand]; s != nil && op.rec.IsBesideOthers() {
		op.call.apart, s.several, p.many = true, true, true // whoever makes the others may not have begun yet
	}
	if len(op.rec.Notes) == 0 {
		p.inTurn(op.call, op.rec.Done)
		return answer
	}
	pieces, next := op.rec.Notes, answer.Next
	answer.Next = func() (adk.Piece, bool) {
		due := op.rec.Done
		if len(pieces) > 0 {
			due, pieces = pieces[0], pieces[1:]
		}
		p.Mu.Lock()
		defer p.Mu.Unlock()
		p.inTurn(op.call, due)
		return next()
	}
	return answer
}

// answer is the answer of an operation; nil where the world answers it. mu is held.
func (p *player) answer(op *newOp, q adk.Question) *adk.Answer {
	if op != nil && op.rec != nil && op.rec.X.Seq >= p.live.OutsideFrom || p.live.OutsideFrom == 0 {
		p.asksTheWorld = true
	}
	switch {
	case p.asksTheWorld && p.live.Outside(q.Of):
		p.asks.Real(q.Op)
		return nil
	case op == nil:
		return stub.Unanswered()
	}
	rec := cmp.Or(op.rec, p.asks.Shared[q.Op]) // a shared answer does not wait: nothing was recorded in its place
	answer := stub.RecordedAnswer(rec)
	answer.Final = p.asks.Final[rec]
	return answer
}

// shows notes which recorded call a call turns out to be, after it asked the world. The call is one
// of several that goroutines began at the same time, or is below one. rec is the call of the equal
// recorded ask, or nil where no recorded ask is similar: then the call is a new one. A call that
// stood for rec by guess exchanges its counterpart with c. The same holds for the calls above both.
// mu is held.
func (p *player) shows(c *newCall, rec *calls.Call) {
	var chain []*newCall
	for at, was := c, rec; at != nil && at.beside; at = at.parent {
		chain = append(chain, at)
		switch {
		case at.shown:
			return
		case rec == nil:
			continue
		case was == nil || was.Begin.Seam != at.seam || p.newCalls[was] != nil && p.newCalls[was].shown:
			return
		}
		was = was.Parent
	}
	for _, at := range chain {
		at.shown = true
		if at.rec != rec {
			p.exchange(at, rec)
		}
		if rec != nil {
			rec = rec.Parent
		}
	}
}

// exchange makes a new call stand for another recorded call, or for none. The call that stood for
// that one gets the old counterpart of c.
func (p *player) exchange(c *newCall, rec *calls.Call) {
	other, old := p.newCalls[rec], c.rec
	p.stands(c, rec)
	switch {
	case other != nil:
		p.stands(other, old)
	case old != nil: // free for a call to come
		delete(p.newCalls, old)
		delete(p.nextUnmatched, old.Parent)
		p.NewSeq[old.Begin.Seq] = 0
	}
}

// earlyID is an id that a call made before it was known which recorded call it stands for.
type earlyID struct {
	id   string
	seq  int         // the new crossing that made it
	took *calls.Step // the recorded step that it stands for until then; nil is none
}

// shown corrects the ids that a call made before its ask showed which recorded call it is: they
// stand for the ids that the recorded call made before that ask. Where another call's id stood for
// one of these, it gets what this call's id stood for.
func (p *player) shown(c *newCall, ask *calls.Step) {
	own := ask.MadeBefore()
	for i := 0; len(own) == len(c.made) && i < len(own); i++ {
		mine, want := c.made[i], own[i]
		if p.IDs.PairMade(wire.MadeID(want.X), mine.id); mine.took == want {
			continue
		}
		switch other := p.tookIDs[want]; {
		case other != nil && mine.took != nil:
			p.takesID(other, mine.took)
		case other != nil:
			other.took = nil
		case mine.took != nil: // free for another call
			delete(p.tookIDs, mine.took)
			p.NewSeq[mine.took.X.Seq] = 0
		}
		p.causes.Took(want)
		p.takesID(mine, want)
	}
}

// itsOwn finds the recorded step that a new operation took by its result, and not by its cause: a
// clock reading that was answered with a recorded time, or an id that NewID answered with the
// recorded id after the call had shown which one it is. It is nil for anything else.
func (p *player) itsOwn(c *newCall, got, next *adk.Crossing) *calls.Step {
	if next == nil {
		return nil
	}
	if own := p.tree.StepOf(next); wire.TellsTime(got) && own != nil && !p.causes.IsTaken(own) {
		p.causes.Took(own)
		return own
	}
	if !c.shown || !wire.OnlyMakes(got) || wire.MadeID(got) == "" || wire.MadeID(got) != wire.MadeID(next) {
		return nil
	}
	own := p.tree.StepOf(next)
	if other := p.tookIDs[own]; other != nil {
		other.took = nil
		delete(p.tookIDs, own)
	}
	p.causes.Took(own)
	return own
}

// takesID makes an early id stand for a recorded step.
func (p *player) takesID(made *earlyID, step *calls.Step) {
	made.took, p.tookIDs[step], p.NewSeq[step.X.Seq] = step, made, made.seq
}

// stands makes a new call stand for a recorded call; rec is nil for none.
func (p *player) stands(c *newCall, rec *calls.Call) {
	if c.rec, c.cursor, c.madeTo, c.readTo, c.unread, c.done = rec, 0, 0, 0, 0, 0; rec != nil {
		p.newCalls[rec], p.NewSeq[rec.Begin.Seq] = c, c.began
	}
}
