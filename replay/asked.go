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
