package property

import (
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// A state is a single digest of everything that is visible. If it is not the digest to which the
// crossings lead, it does not show what differs. But each way in which an engine can fail here
// leads to a digest of its own, which can be computed and compared. A state that is explained in
// this way is reported under the name of its invariant, and one that is not under states-fold.

// mirror records how the turn's sets got their contents: by user code's own adds and removes, and
// by what the dispatches queued (DEL-2).
type mirror struct {
	log     []delta
	flushes []flushed
	told    int // place of the last state that was explained
	cause   explanation
}

// flushed is the part of the log that one flush applied or discarded.
type flushed struct {
	from, to int // indexes in the log
	kept     bool
	at       int
}

// explanation says why a state differs from what it should be.
type explanation struct {
	invariant string
	text      string
	related   []int
}

func (m *mirror) byHand(c delta) { m.log = append(m.log, c) }

// flush records the end of an iteration or a dispatch. A dispatch that is called from another
// flushes to the queue of that dispatch. A standalone dispatch flushes nowhere (DEL-5), which does
// no harm here, because no state of a turn follows.
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

// mostFlushes limits how many flushes are considered, because they are tried one by one.
const mostFlushes = 32

// explain finds out why the present state is wrong; it returns the zero value if the state is
// right.
func (s *history) explain(x *adk.Crossing) explanation {
	m := &s.mirror
	if m.told == s.n {
		return m.cause
	}
	m.told, m.cause = s.n, explanation{}
	err := s.fold.Check(x)
	if err == nil || s.fold.Seen(x.Call) == nil { // nothing is known of a call that has not begun
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

// explainSets tries what the turn would hold if one flush had been applied only in part or not at
// all, or if a discarded one had been applied.
func (s *history) explainSets(x *adk.Crossing) (explanation, bool) {
	m := &s.mirror
	for i := len(m.flushes) - 1; i >= max(0, len(m.flushes)-mostFlushes); i-- {
		f := m.flushes[i]
		all := f.to - f.from
		for applied := 0; applied <= all; applied++ {
			if f.kept && applied == all || !f.kept && applied == 0 {
				continue // the right way
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

// stateIf returns the state of the turn if only the first applied changes of flush f had been made.
// It computes the sets with a separate and very simple implementation (twin), and takes the rest
// from the fold.
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

// twin is a simple implementation of the sets.
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

// wrongState checks four invariants about states:
//   - deltas-whole: the turn holds all changes of an iteration that was flushed, and none of one that
//     was discarded.
//   - stored-mirrored: what was stored in an iteration that was flushed is in the turn's sets, because
//     the sets mirror the storage.
//   - stash-apart: the turn does not see the stash of a dispatch, a dispatch does not see the stash of
//     another one, nor changes of the turn's stash after the dispatch began.
//   - states-fold: every state is the digest to which the crossings before it lead.
//
// For each invariant it reports the wrong states that belong to it.
type wrongState struct{}

func (w *wrongState) see(s *history, x *adk.Crossing) {
	if why := s.explain(x); why.invariant == s.invariants[s.present].Name {
		s.breaks(why.related, "%s", why.text)
	}
}
