package sessions

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk/session"
)

// This file is what follows where a host did something and could not tell: its process ended,
// or nobody answered it. What a later host has read shows how it was.

// untoldAcceptance takes a delivery for accepted that steps are told of.
func (p *player) untoldAcceptance(s session.Step) *delivered {
	d := &delivered{id: s.Delivery, seq: s.Seq}
	p.accept(d)
	p.untold("accepted", s.Delivery, "its payload")
	return d
}

// untoldEnd takes an attempt that is open for committed where a later host has read what it has
// left, and for failed where one has gone on behind it with what was before.
func (p *player) untoldEnd(s session.Step) {
	d := p.deliveries[p.begun.Seq]
	if !p.open || d == nil || p.begun.Epoch >= s.Epoch || s.Seq <= d.seq {
		return
	}
	switch {
	case s.Revision == p.loaded.Revision:
		d.settled = true
		p.untold("failed", d.id, "why")
	case s.Revision == p.loaded.Revision+1 && p.attempt.Kind == session.StepRan:
		if p.blind = p.blind || p.last == nil; p.last != nil {
			_, p.loaded.Values = p.left() // which are held against what was read
		}
		d.settled, p.loaded.Revision = true, s.Revision
		p.report.Commits++
		p.untold("committed", d.id, "its records")
	}
}

func (p *player) untold(what, delivery, unknown string) {
	p.report.NotCompared = append(p.report.NotCompared, fmt.Sprintf("that %q of session %.64q was %s, and %s: no host has told", delivery, p.loaded.Session, what, unknown))
}
