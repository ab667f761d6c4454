package sessions

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk/session"
)

// This file is what follows where the journal of a host breaks off: a process that ends
// between what it does and the line that says so leaves a step that nobody tells. What comes
// later shows it. Where all journals are whole none of this is done.

// untoldAcceptance takes a delivery for accepted that steps are told of.
func (p *player) untoldAcceptance(s session.Step) *delivered {
	d := &delivered{id: s.Delivery, seq: s.Seq}
	p.accept(d)
	p.untold("accepted", s.Delivery, "its payload")
	return d
}

// untoldEnd takes the attempt before a hydration for committed where its values are those
// that were read, and those for failed that were at their turn before.
func (p *player) untoldEnd(s session.Step) {
	if p.whole {
		return
	}
	if d := p.deliveries[p.attempt.Delivery]; d != nil && !d.settled && p.last != nil && s.Revision == p.loaded.Revision+1 {
		if _, next := p.left(); session.Digest(next) == s.Bag {
			d.settled, p.loaded.Values, p.loaded.Revision = true, next, s.Revision
			p.report.Commits++
			p.untold("committed", p.attempt.Delivery, "its records")
		}
	}
	for d := p.next(); d != nil && d.seq < s.Seq && s.Revision == p.loaded.Revision; d = p.next() {
		d.settled = true
		p.untold("failed", d.id, "why")
	}
}

func (p *player) untold(what, delivery, unknown string) {
	p.report.NotCompared = append(p.report.NotCompared, fmt.Sprintf("that %q of session %.64q was %s, and %s: no journal says so, and one breaks off", delivery, p.loaded.Session, what, unknown))
}
