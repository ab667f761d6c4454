package replay

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/stub"
)

// Answer leaves everything to the scripted seams, which have the answers: there are
// no others.
func (p *player) Answer(context.Context, adk.Question) *adk.Answer { return nil }

// Answer answers live code with what was recorded of the ask of the same cause, and
// nobody is asked for real (WLD-6).
func (p *causal) Answer(ctx context.Context, q adk.Question) *adk.Answer {
	if stub.IsScripted(ctx) {
		return nil
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	op := p.ops[q.Op]
	if op == nil {
		return stub.Unanswered()
	}
	return stub.RecordedAnswer(op.rec)
}
