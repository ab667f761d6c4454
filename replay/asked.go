package replay

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/likeness"
	"github.com/adkreplay/adkreplay/replay/internal/rename"
)

// This file answers what live code asks of the world. An ask that was recorded with
// the same request is always given its own answer; a changed one is given that of the
// recorded ask which is most alike and which no equal one has taken, if there is one
// that is alike enough, and the comparison says what of the request changed.

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
		p.asks.real = true
	}
	switch {
	case p.asks.real && p.live.names(q.Of):
		delete(p.asks.counterparts, p.asks.alone[q.Op]) // the world answers it
		return nil
	case op == nil:
		return stub.Unanswered()
	}
	answer := stub.RecordedAnswer(op.rec)
	answer.Final = p.asks.final[op.rec]
	return answer
}

// finalAmong finds, of what one call asked, the asks that failed and were not made again, nor
// was one that had failed in its time already: of several the last one was too many, and no
// deadline but its own had passed.
func (r *recordedAsks) finalAmong(asks []*recordedAsk) {
	type request struct{ of, json string }
	type attempts struct {
		last    *calls.Step
		expired bool // a deadline had passed before the last
	}
	failed := map[request]*attempts{} // nearly always empty
	for _, a := range asks {
		s := a.step
		tries := failed[request{s.X.Name, string(s.X.JSON)}]
		if tries == nil && s.Done != nil && mayBeRepeated(s) {
			tries = &attempts{}
			failed[request{s.X.Name, string(s.X.JSON)}] = tries
		}
		if tries != nil {
			tries.expired = tries.expired || tries.last != nil && tries.last.Done != nil && errors.Is(tries.last.Done.Err, context.DeadlineExceeded)
			tries.last = s
		}
	}
	for _, tries := range failed {
		if tries.last.Done != nil && mayBeRepeated(tries.last) && !tries.expired {
			r.final[tries.last] = true
		}
	}
}

// mayBeRepeated reports whether an ask failed, or was answered over HTTP with a status that
// refuses.
func mayBeRepeated(rec *calls.Step) bool {
	return rec.Done.Err != nil || len(rec.Notes) > 0 && !bytes.HasPrefix(rec.Notes[0].JSON, []byte(`{"status":2`))
}

// names reports whether Outside names who is asked.
func (l Live) names(of string) bool {
	return slices.ContainsFunc(l.Outside, func(pattern string) bool {
		matched, _ := path.Match(pattern, of)
		return matched || pattern == of
	})
}

// recordedAsks are the asks of a recording, and which of them were taken.
type recordedAsks struct {
	all []*recordedAsk
	// byCall are those of each call, but for some at the beginning that have gone.
	byCall map[*calls.Call][]*recordedAsk
	// equals are those that asked the same and whose answers no equal one has yet; there
	// is a list wherever there was one. It is nil until a run asks otherwise.
	equals map[equalAsk][]*recordedAsk
	// final are the last of those that failed: who asked did not ask again.
	final map[*calls.Step]bool
	known bool
	real  bool // the run has come to where the world may be asked (Live.OutsideFrom)
	// counterparts are the numbers of the recorded beginnings, by those of the new run;
	// 0 is an ask that got no answer.
	counterparts map[int]int
	// rivals are the numbers of recorded beginnings that were as much like a changed one
	// as its counterpart.
	rivals map[int]int
	// alone are the new beginnings that have no counterpart, by their operations.
	alone map[int]int
}

type recordedAsk struct {
	step  *calls.Step
	like  *likeness.Likeness // made when it is asked for
	taken int                // the number of the new ask that has its answer; 0 if there is none
	gone  bool               // an equal one has it
}

// equalAsk is what asks have in common that ask the same.
type equalAsk struct {
	of, effect string
	request    wire.JSONSum
}

func equalOf(x *adk.Crossing) equalAsk { return equalAsk{x.Name, x.Status, wire.SumOfJSON(x.JSON)} }

// index finds the asks of a run.
func (r *recordedAsks) index(t *calls.Tree) {
	r.known, r.byCall, r.final = true, map[*calls.Call][]*recordedAsk{}, map[*calls.Step]bool{}
	r.counterparts, r.rivals, r.alone = map[int]int{}, map[int]int{}, map[int]int{}
	for _, x := range t.Lines {
		if x.Kind.Class() != adk.ClassCall || t.Calls[x.ID] == nil || t.Calls[x.ID].Begin != x {
			continue
		}
		for _, s := range t.Calls[x.ID].Steps {
			if s.IsAsk() {
				a := &recordedAsk{step: s}
				r.all, r.byCall[s.In] = append(r.all, a), append(r.byCall[s.In], a)
			}
		}
	}
	for _, asks := range r.byCall {
		r.finalAmong(asks)
	}
}

// takeAsk gives the recorded ask whose answer a new one gets; nil is none.
func (p *causal) takeAsk(c *newCall, got *adk.Crossing) *calls.Step {
	r := &p.asks
	if !r.known {
		r.index(p.tree)
	}
	asked := *got
	asked.JSON = p.ids.InText(got.JSON)
	if a := r.asNext(c.rec, &asked); a != nil {
		p.ids.Again(a.step.X.Seq)
		return r.gives(a, got.Seq)
	}
	scopes := []func(*recordedAsk) bool{
		func(a *recordedAsk) bool { return a.step.In == c.rec },
		func(a *recordedAsk) bool { return a.step.In.Strand == c.path },
		func(*recordedAsk) bool { return true },
	}
	a, recorded := r.asEqual(equalOf(&asked), scopes)
	if a == nil && !recorded {
		a = r.asEqualButForIDs(&asked, p.ids, scopes)
	}
	if a != nil {
		p.ids.Again(a.step.X.Seq)
		return r.gives(a, got.Seq)
	} else if recorded || p.live.Strict { // its answers have been given: another's would be wrong
		return r.givesNone(got)
	}
	like := likeness.Of(&asked)
	for _, in := range scopes {
		if a, rival := r.mostAlike(like, in); a != nil {
			if rival != nil {
				r.rivals[got.Seq] = rival.step.X.Seq
			}
			p.ids.PairMembers(a.step.X.JSON, asked.JSON)
			return r.gives(a, got.Seq)
		}
	}
	return r.givesNone(got)
}

// asNext is asEqual of an ask that says the same, to the byte, as the first of its call
// whose answer no equal one has: it is what asEqual would find. Where nothing has changed
// all asks are such, and nothing is summed up.
func (r *recordedAsks) asNext(in *calls.Call, asked *adk.Crossing) *recordedAsk {
	list := withoutGone(r.byCall[in])
	r.byCall[in] = list
	if len(list) == 0 {
		return nil
	}
	x := list[0].step.X
	if x.Name != asked.Name || x.Status != asked.Status || !bytes.Equal(x.JSON, asked.JSON) {
		return nil
	}
	list[0].gone = true
	return list[0]
}

// givesNone notes that a new ask gets no recorded answer.
func (r *recordedAsks) givesNone(got *adk.Crossing) *calls.Step {
	r.counterparts[got.Seq], r.alone[got.Op] = 0, got.Seq
	return nil
}

// asEqual is the first recorded ask of the narrowest scope that asked the same, and
// whose answer no other has that did: it is taken out of these. recorded tells whether
// there was one at all.
func (r *recordedAsks) asEqual(asked equalAsk, scopes []func(*recordedAsk) bool) (first *recordedAsk, recorded bool) {
	if r.equals == nil {
		r.sumUp()
	}
	list, recorded := r.equals[asked]
	if !recorded {
		return nil, false
	}
	left := withoutGone(list)
	r.equals[asked] = left
	for _, in := range scopes {
		if at := slices.IndexFunc(left, func(a *recordedAsk) bool { return !a.gone && in(a) }); at >= 0 {
			first, left[at].gone = left[at], true
			copy(left[1:at+1], left[:at]) // mostly none: asks come in their order
			r.equals[asked] = left[1:]
			return first, true
		}
	}
	return nil, true
}

// asEqualButForIDs is asEqual up to the random ids that live code makes for a request, which
// stand for the recorded ones from here on.
func (r *recordedAsks) asEqualButForIDs(asked *adk.Crossing, ids *rename.IDs, scopes []func(*recordedAsk) bool) *recordedAsk {
	r.all = withoutGone(r.all)
	for _, in := range scopes {
		for _, a := range r.all {
			x := a.step.X
			if a.gone || x.Name != asked.Name || x.Status != asked.Status || !in(a) || !ids.PairRequests(x.JSON, asked.JSON) {
				continue
			}
			a.gone = true
			return a
		}
	}
	return nil
}

// sumUp finds the asks that asked the same.
func (r *recordedAsks) sumUp() {
	r.equals = map[equalAsk][]*recordedAsk{}
	for _, a := range r.all {
		of := equalOf(a.step.X)
		r.equals[of] = append(r.equals[of], a)
	}
}

// withoutGone is a list without those that have gone at its beginning.
func withoutGone(list []*recordedAsk) []*recordedAsk {
	for len(list) > 0 && list[0].gone {
		list = list[1:]
	}
	return list
}

// gives notes whose answer a new ask gets.
func (r *recordedAsks) gives(a *recordedAsk, to int) *calls.Step {
	if a.taken > 0 {
		delete(r.counterparts, a.taken) // it was changed, and got the answer of this one
	}
	a.taken = to
	r.counterparts[to] = a.step.X.Seq
	return a.step
}

// leastAlike is how much of the shorter of two requests has to be in the other, so that one
// is the other changed: half of its words. How much longer the other is does not count, for
// what was dropped, or cut, may have been most of it.
const leastAlike = 0.5

// areAlike reports whether one request may be the other changed; part is how alike they are.
func areAlike(a, b *likeness.Words, part float64) bool {
	return part > 0 && part >= leastAlike*likeness.AtMost(a, b)
}

// mostAlike is the recorded ask of a shape and a scope that nobody has taken and whose
// request is most like a changed one, and nil where none is alike enough. Of several it is
// the first; rival is then another one, unless all of them asked the same. Of asks that
// are much longer or shorter than the best one words are not compared.
func (r *recordedAsks) mostAlike(asked *likeness.Likeness, in func(*recordedAsk) bool) (best, rival *recordedAsk) {
	var free []*recordedAsk
	var nearest *recordedAsk
	for _, a := range r.all {
		if a.taken > 0 || a.step.X.Name != asked.Of || !in(a) {
			continue
		}
		if a.like == nil {
			a.like = likeness.Of(a.step.X)
		}
		if a.like.Method != asked.Method || a.like.Path != asked.Path {
			continue
		}
		free = append(free, a)
		if nearest == nil || likeness.AtMost(asked.Words, a.like.Words) > likeness.AtMost(asked.Words, nearest.like.Words) {
			nearest = a
		}
	}
	if nearest == nil {
		return nil, nil
	}
	most := likeness.Alike(asked.Words, nearest.like.Words)
	if !areAlike(asked.Words, nearest.like.Words, most) {
		most = 0
	}
	for _, a := range free {
		if likeness.AtMost(asked.Words, a.like.Words) < most {
			continue
		}
		switch part := likeness.Alike(asked.Words, a.like.Words); {
		case !areAlike(asked.Words, a.like.Words, part):
		case part > most || best == nil && part == most:
			best, rival, most = a, nil, part
		case part == most && rival == nil && !wire.SameJSON(best.step.X.JSON, a.step.X.JSON):
			rival = a
		}
	}
	return best, rival
}
