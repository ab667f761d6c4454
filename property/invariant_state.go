package property

import (
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// A state is one digest of all that is visible. Where it is not the one that the
// crossings lead to, it cannot say what differs: but of the ways in which an
// engine can fail here, each leads to a digest of its own. What explains a state
// is reported under its own name, and what nothing explains under states-fold.

// mirror is how the turn's sets came to be what they are: user code's own adds
// and removes, and what the dispatches queued (DEL-2).
type mirror struct {
	log     []delta
	flushes []flushed
	told    int // the last state that was explained
	cause   explanation
}

// flushed is a part of the log: what one flush applied, or discarded.
type flushed struct {
	from, to int // in the log
	kept     bool
	at       int
}

// explanation says why a state is another than it should be.
type explanation struct {
	invariant string
	text      string
	related   []int
}

func (m *mirror) byHand(c delta) { m.log = append(m.log, c) }

// flush takes in the end of an iteration or a dispatch. A dispatch that is called
// from another flushes to the queue of that one. One that is called alone flushes
// to nowhere (DEL-5): no state of a turn follows.
func (m *mirror) flush(d *dispatching, kept bool) {
	switch {
	case d.above != nil:
		if kept {
			d.above.queue = append(d.above.queue, d.queue...)
		}
		d.queue = d.queue[:0]
	case len(d.queue) > 0:
		m.flushes = append(m.flushes, flushed{len(m.log), len(m.log) + len(d.queue), kept, d.queue[len(d.queue)-1].at})
		m.log = append(m.log, d.queue...)
		d.queue = d.queue[:0]
	}
}

// mostFlushes bounds how many flushes are looked at: they are tried one by one.
const mostFlushes = 32

// explain finds out why the state that crosses is wrong; nothing if it is right.
func (s *history) explain(x *adk.Crossing) explanation {
	m := &s.mirror
	if m.told == s.n {
		return m.cause
	}
	m.told, m.cause = s.n, explanation{}
	err := s.fold.Check(x)
	if err == nil || s.fold.Seen(x.Call) == nil { // of a call that has not begun nothing is known
		return m.cause
	}
	m.cause = explanation{"states-fold", err.Error(), nil}
	if found, ok := s.explainStash(x); ok {
		m.cause = found
	} else if s.at == s.root && s.root.seam.Label == adk.LabelRun {
		if found, ok := s.explainSets(x); ok {
			m.cause = found
		}
	}
	return m.cause
}

// explainStash tries the stashes of the turn and of all its dispatches (STA-6).
func (s *history) explainStash(x *adk.Crossing) (explanation, bool) {
	state := s.fold.StateDigest(x.Call)
	for _, c := range s.calls {
		if c == s.at || c != s.root && !c.dispatch.does(c) {
			continue
		}
		seen, other := s.fold.Seen(c.id), state
		if seen == nil {
			continue
		}
		if other.Stash = adk.StashDigest(seen.Stash()); other.Digest() == x.Digest {
			return explanation{"stash-apart", "the stash that is seen in " + s.at.seam.String() + " is that of " + c.seam.String(), since(c.began)}, true
		}
	}
	return explanation{}, false
}

// explainSets tries what the turn would hold if one flush had been applied in
// part, or not at all, or if what was discarded had been applied.
func (s *history) explainSets(x *adk.Crossing) (explanation, bool) {
	m := &s.mirror
	for i := len(m.flushes) - 1; i >= max(0, len(m.flushes)-mostFlushes); i-- {
		f := m.flushes[i]
		all := f.to - f.from
		for applied := 0; applied <= all; applied++ {
			if f.kept && applied == all || !f.kept && applied == 0 {
				continue // that is how it should be
			}
			if s.stateIf(f, applied).Digest() != x.Digest {
				continue
			}
			return f.explanation(applied, all), true
		}
	}
	return explanation{}, false
}

func (f flushed) explanation(applied, all int) explanation {
	because := since(f.at)
	switch {
	case !f.kept:
		return explanation{"deltas-whole", fmt.Sprintf("the turn holds %d of %d changes of a failed iteration", applied, all), because}
	case applied == 0:
		return explanation{"stored-mirrored", fmt.Sprintf("the turn holds none of %d changes that were stored and flushed", all), because}
	}
	return explanation{"deltas-whole", fmt.Sprintf("the turn holds %d of %d changes of an iteration", applied, all), because}
}

// stateIf is the state of the turn if of one flush so many changes had been
// applied. The sets are made anew, by a twin of the engine's that is as simple
// as can be; all else is as the fold has it.
func (s *history) stateIf(f flushed, applied int) adk.StateDigest {
	sets := twin{}
	for _, text := range s.instructions {
		sets.apply(delta{of: adk.Instructions, record: adk.NewTokenizable(text)})
	}
	next, rest := 0, s.mirror.flushes
	for len(rest) > 0 {
		one := rest[0]
		rest = rest[1:]
		sets.apply(s.mirror.log[next:one.from]...)
		switch {
		case one == f:
			sets.apply(s.mirror.log[one.from : one.from+applied]...)
		case one.kept:
			sets.apply(s.mirror.log[one.from:one.to]...)
		}
		next = one.to
	}
	sets.apply(s.mirror.log[next:]...)
	state := s.fold.StateDigest(s.root.id)
	for _, of := range adk.Collections() {
		if of != adk.Tools { // which no flush changes
			*state.Of(of) = sets.digests(of)
		}
	}
	return state
}

// twin is the sets, in order.
type twin map[adk.CollectionName][]adk.Record

func (t twin) apply(changes ...delta) {
	for _, c := range changes {
		key := c.key
		if c.record != nil {
			key = c.record.Key()
		}
		set := t[c.of]
		at := slices.IndexFunc(set, func(r adk.Record) bool { return r.Key() == key })
		switch {
		case c.record == nil && at >= 0:
			t[c.of] = slices.Delete(set, at, at+1)
		case c.record == nil:
		case at >= 0:
			set[at] = c.record
		default:
			t[c.of] = append(set, c.record)
		}
	}
}

func (t twin) digests(of adk.CollectionName) (all []adk.Digest) {
	for _, record := range t[of] {
		all = append(all, record.Digest())
	}
	return all
}

// wrongState is the checker of the four invariants that a state can break:
//   - deltas-whole: the turn holds all of an iteration that was flushed, and nothing
//     of one that was discarded.
//   - stored-mirrored: what was stored in an iteration that was flushed is in the
//     turn: the storage is the receipt, and the turn's sets are its mirror.
//   - stash-apart: the turn does not see the stash of a dispatch, nor one dispatch
//     that of another, nor a dispatch what the turn's has become since it began.
//   - states-fold: every state is the digest that the crossings before it lead to.
//
// Each reports the wrong state that it explains.
type wrongState struct{}

func (w *wrongState) see(s *history, x *adk.Crossing) {
	if why := s.explain(x); why.invariant == s.invariants[s.present].Name {
		s.breaks(why.related, "%s", why.text)
	}
}
