package replay

import (
	"context"
	"path"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/stub"
)

// This file answers what live code asks of the world, as asks.Recorded finds it; the comparison
// says what of a request changed.

// Answer leaves everything to the scripted seams, which have the answers: there are
// no others.
func (p *player) Answer(context.Context, adk.Question) *adk.Answer { return nil }

// Answer answers live code with what was recorded, and lets it ask for real only whom
// Live.Outside names (WLD-6).
func (p *causal) Answer(ctx context.Context, q adk.Question) *adk.Answer {
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

// answer is what an operation is answered with; nil where the world answers it. mu is held.
func (p *causal) answer(op *newOp, q adk.Question) *adk.Answer {
	if op != nil && op.rec != nil && op.rec.X.Seq >= p.live.OutsideFrom || p.live.OutsideFrom == 0 {
		p.asksTheWorld = true
	}
	switch {
	case p.asksTheWorld && p.live.names(q.Of):
		delete(p.asks.Counterparts, p.asks.Alone[q.Op]) // the world answers it
		return nil
	case op == nil:
		return stub.Unanswered()
	}
	answer := stub.RecordedAnswer(op.rec)
	answer.Final = p.asks.Final[op.rec]
	return answer
}

// names reports whether Outside names who is asked.
func (l Live) names(of string) bool {
	return slices.ContainsFunc(l.Outside, func(pattern string) bool {
		matched, _ := path.Match(pattern, of)
		return matched || pattern == of
	})
}
