package bycause

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/rename"
)

// This file is about answers that are certain although the new operation differs from the recorded
// one. The difference is still reported as a divergence. But live code that gets an answer goes on,
// and so shows what else it does, such as the step that seemed to be missing.
//
// An answer is certain where the recording has the same operation in the same place, that is in the
// same seam call and about the same record or gate, and the answer does not depend on the
// arguments:
//
//   - a storage that only writes: it answered with nothing, without an error, and did nothing of
//     its own on the way;
//   - a gate: somebody settled the recorded gate, and the new one is still open at that time; or
//     nobody settled it, and the new one stays open as long. This holds only where a turn is
//     recorded again, because a person then reads the new question before the recording is kept:
//     live code that may write must not go on with an answer to another question.
//
// What is read, what a scripted tool returns and what the world answers depend on the arguments, so
// such answers are never certain.

// takeCertain takes the recorded operation whose answer is certain for a new one; nil if there is
// none. mu is held.
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

// mayLend reports whether an operation may get the answer of a recorded one with other arguments.
func (l Live) mayLend(got *adk.Crossing) bool {
	if wire.AsksForGate(got) {
		return l.Rerecords && !l.SettlesGates
	}
	return l.Rerecords || !l.Strict
}

// inPlaceOf is the recorded operation in whose place a new one is: the first one of its kind in its
// call that was not taken and is about the same record or gate. Where none is about the same one
// and exactly one operation is left, it is that one, if the new operation has no id or asks for a
// gate.
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

// onlyWrote reports whether a recorded operation called a scripted storage that writes, which did
// nothing else and returned without an error.
func (p *player) onlyWrote(s *calls.Step) bool {
	if len(s.Calls) != 1 || s.Done == nil || s.Done.Err != nil {
		return false
	}
	by := s.Calls[0]
	return by.Begin.Seam.Effect() == adk.EffectWrites && !p.live.takesSeam(by.Begin.Seam) && len(by.Script) == 0 &&
		by.Return != nil && by.Return.Outcome == adk.OutcomeOK && by.Return.Err == nil
}
