package bycause

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/rename"
)

// This file is about answers that are certain though something else was asked. That it was
// is a divergence all the same; but live code that goes on shows what else it does, such as
// the step that seemed to be missing.
//
// An answer is certain where the recording has the same operation in the same place, the
// same seam call, about the same record or gate, and what was answered does not depend on
// what it said:
//
//   - a storage that only writes answers with nothing, and did so without an error and
//     without having done anything of its own on the way;
//   - somebody settled a gate, and a new one is still open at that time; or nobody did, and
//     a new one is open as long. This is for turns that are recorded again, where the new
//     question is read before it is kept: live code that may write must not go on with what
//     somebody said to another one.
//
// What is read, what a scripted tool gives and what the world answers depend on what they
// were asked.

// takeCertain takes the recorded operation whose answer a new one gets for certain. mu is
// held.
func (p *player) takeCertain(c *newCall, got *adk.Crossing) *calls.Step {
	if c.rec == nil || !p.live.mayLend(got) {
		return nil
	}
	s := p.inPlaceOf(c, got)
	if s == nil || !(wire.AsksForGate(got) && stub.SettlesAgain(s, got) || p.onlyWrote(s)) {
		return nil
	}
	if id := rename.IDOf(got); id != "" && id != rename.IDOf(s.X) {
		p.IDs.Pair(rename.IDOf(s.X), id)
	}
	p.causes.Took(s)
	p.Lent = append(p.Lent, s)
	return s
}

// mayLend reports whether an operation may get the answer of one that asked otherwise.
func (l Live) mayLend(got *adk.Crossing) bool {
	if wire.AsksForGate(got) {
		return l.Rerecords && !l.SettlesGates
	}
	return l.Rerecords || !l.Strict
}

// inPlaceOf is the recorded operation in whose place a new one is: the first of its kind in
// its call that nobody took and that is about the same record or gate; where none is, and
// one only is left, that one, if an id tells nothing of it.
func (p *player) inPlaceOf(c *newCall, got *adk.Crossing) *calls.Step {
	var left []*calls.Step
	for _, s := range c.rec.Steps {
		if s.X.Kind == got.Kind && s.X.Phase == got.Phase && s.X.Collection == got.Collection && s.X.Kind.Class() == adk.ClassOperation && !p.causes.IsTaken(s) {
			left = append(left, s)
		}
	}
	id := rename.Subject(got)
	if want, renamed := p.IDs.Wanted(id); renamed {
		id = want
	}
	at := slices.IndexFunc(left, func(s *calls.Step) bool {
		return id != "" && (rename.Subject(s.X) == id || p.IDs.May(rename.Subject(s.X), id))
	})
	switch {
	case at >= 0:
		return left[at]
	case len(left) == 1 && (id == "" || wire.AsksForGate(got)):
		return left[0]
	}
	return nil
}

// onlyWrote reports whether a recorded operation called a storage that writes, which did
// nothing but to say that it has. A live one answers for itself.
func (p *player) onlyWrote(s *calls.Step) bool {
	if len(s.Calls) != 1 || s.Done == nil || s.Done.Err != nil {
		return false
	}
	by := s.Calls[0]
	return by.Begin.Seam.Effect() == adk.EffectWrites && !p.live.takesSeam(by.Begin.Seam) && len(by.Script) == 0 &&
		by.Return != nil && by.Return.Outcome == adk.OutcomeOK && by.Return.Err == nil
}
