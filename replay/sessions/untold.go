package sessions

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk/session"
)

// This file infers steps that a host took but could not write, because its process ended or it got
// no answer. What a later host read shows what happened.

// untoldAcceptance treats a delivery as accepted because there are steps about it.
func (p *player) untoldAcceptance(s session.Step) *delivered {
	d := &delivered{id: s.Delivery, seq: s.Seq}
	p.accept(d)
	p.untold("accepted", s.Delivery, "its payload")
	return d
}

// untoldEnd treats an open attempt as committed if a later host read what the attempt left, and as
// failed if a later host went on after it with the state from before.
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
			_, p.loaded.Values = p.left() // they are compared with what was read
		}
		d.settled, p.loaded.Revision = true, s.Revision
		p.report.Commits++
		p.untold("committed", d.id, "its records")
	}
}

func (p *player) untold(what, delivery, unknown string) {
	p.report.NotCompared = append(p.report.NotCompared, fmt.Sprintf("that %q of session %.64q was %s, and %s: no host has told", delivery, p.loaded.Session, what, unknown))
}
