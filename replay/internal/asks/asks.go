// Package asks has the asks of a recording, and finds whose answer a new one gets: its own where
// it asks the same, or that of the one which is most alike and which no equal one has taken.
package asks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/likeness"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/encoded"
	"github.com/adkreplay/adkreplay/replay/internal/ownsecrets"
	"github.com/adkreplay/adkreplay/replay/internal/rename"
)

// Recorded are the asks of a recording, and which of them were taken. The zero value knows none yet.
// It is not safe for concurrent use.
type Recorded struct {
	all []*ask
	// byCall are those of each call, but for some at the beginning that have gone.
	byCall map[*calls.Call][]*ask
	// equals are those that asked the same and whose answers no equal one has yet; there
	// is a list wherever there was one. It is nil until a run asks otherwise.
	equals map[equalAsk][]*ask
	// Final are the last of those that failed: who asked did not ask again.
	Final map[*calls.Step]bool
	known bool
	// Counterparts are the numbers of the recorded beginnings, by those of the new run's;
	// 0 is an ask that got no answer.
	Counterparts map[int]int
	// Rivals are the numbers of recorded beginnings that were as much like a changed one
	// as its counterpart.
	Rivals map[int]int
	// Alone are the new beginnings that have no counterpart, by their operations.
	Alone map[int]int
	// Shared are the recorded asks whose answers were given once more, by the operations of new
	// asks that stand for none.
	Shared map[int]*calls.Step
	// afar are those whose answer an equal ask has that is neither of their call nor of their
	// strand.
	afar map[equalAsk][]*ask
	// equalToo are all that asked the same, whoever has their answers, and sharers who heard one
	// that others have. Both are nil until a run asks more often.
	equalToo map[equalAsk][]*calls.Step
	sharers  map[sharer]bool
	real     map[int]bool // the operations that the world answers
	// Own are the secrets that live code has of its own; nil where the recording hides none.
	Own *ownsecrets.Secrets
	// said has the placeholders of the requests; nil until one says an encoded one.
	said *encoded.Recorded
}

type ask struct {
	step  *calls.Step
	like  *likeness.Likeness // made when it is asked for
	parts func() *likeness.Words
	taken int  // the number of the new ask that has its answer; 0 if there is none
	op    int  // the operation of that
	gone  bool // an equal one has it
}

// sharer is a call of the new run that hears what another one does. It hears it once: a loop that
// asks the same for ever would be answered for ever.
type sharer struct {
	step *calls.Step
	call int
}

// equalAsk is what asks have in common that ask the same.
type equalAsk struct {
	of, effect string
	request    wire.JSONSum
}

func equalOf(x *adk.Crossing) equalAsk { return equalAsk{x.Name, x.Status, wire.SumOfJSON(x.JSON)} }

// Asker is who asks in a new run.
type Asker struct {
	// In is the recorded counterpart of the call that asks; nil where it has none.
	In *calls.Call
	// Strand is the path of its strand.
	Strand string
	// Uncertain says that In is one of several that it may be the counterpart of.
	Uncertain bool
}

// Take gives the recorded ask whose answer a new one gets; nil is none. It is an equal one, or unless
// strict one that is alike: of the call where there is one and it is certain, else of the strand, or
// any. Who asks the same as another call did takes no answer from that: it shares it, unless strict.
func (r *Recorded) Take(t *calls.Tree, ids *rename.IDs, strict bool, by Asker, got *adk.Crossing) (s *calls.Step, equal bool) {
	if !r.known {
		r.index(t)
	}
	asked := *got
	asked.JSON = r.Own.InRequest(ids.InText(got.JSON))
	if a := r.asNext(by.In, &asked); a != nil {
		ids.Again(a.step.X.Seq)
		return r.gives(a, got), true
	}
	asked.JSON = r.asRecorded(asked.JSON)
	scopes := []func(*ask) bool{
		func(a *ask) bool { return a.step.In == by.In },
		func(a *ask) bool { return a.step.In.Strand == by.Strand },
		func(*ask) bool { return true },
	}
	key := equalOf(&asked)
	a, recorded := r.asEqual(key, scopes, strict)
	if a == nil && !recorded {
		if a = r.asEqualButForIDs(&asked, ids, scopes); a == nil {
			a = r.asEqualButForSecrets(&asked, got.Seq, scopes)
		}
	}
	switch {
	case a != nil:
		ids.Again(a.step.X.Seq)
		return r.gives(a, got), true
	case recorded && !strict && r.shares(t, key, by, got):
		return nil, false
	case recorded || strict: // its answers have been given: another's would be wrong
		r.givesNone(got)
		return nil, false
	}
	if by.Uncertain {
		scopes = scopes[1:]
	}
	like := r.likenessOf(&asked)
	for _, in := range scopes {
		free := r.free(like, in)
		a, rival := mostAlike(asked.JSON, like.Words, free, func(a *ask) *likeness.Words { return a.like.Words })
		if parts := likeness.Parts(asked.JSON); a == nil && parts != nil {
			free = slices.DeleteFunc(free, func(a *ask) bool { return a.inParts() == nil })
			if a, rival = mostAlike(asked.JSON, parts, free, (*ask).inParts); a == nil && isOnlyOne(free, by) {
				a = free[0]
			}
		}
		if a == nil {
			continue
		}
		if rival != nil {
			r.Rivals[got.Seq] = rival.step.X.Seq
		}
		ids.PairMembers(a.step.X.JSON, asked.JSON)
		if request := r.Own.PairMembers(a.step.X.JSON, asked.JSON); !bytes.Equal(request, asked.JSON) {
			r.Own.Stands(got.Seq, request)
		}
		return r.gives(a, got), false
	}
	r.givesNone(got)
	return nil, false
}

// asRecorded is a request with what the recording has for the placeholders that are encoded in it.
func (r *Recorded) asRecorded(request json.RawMessage) json.RawMessage {
	text := string(request)
	if !encoded.Is(text) {
		return request
	}
	if r.said == nil {
		r.said = &encoded.Recorded{}
		for _, a := range r.all {
			r.said.Add(string(a.step.X.JSON))
		}
	}
	return json.RawMessage(r.said.InText(text))
}

// index finds the asks of a run.
func (r *Recorded) index(t *calls.Tree) {
	r.known, r.byCall, r.Final = true, map[*calls.Call][]*ask{}, map[*calls.Step]bool{}
	r.Counterparts, r.Rivals, r.Alone = map[int]int{}, map[int]int{}, map[int]int{}
	r.Shared, r.real = map[int]*calls.Step{}, map[int]bool{}
	for s := range asksOf(t) {
		a := &ask{step: s}
		r.all, r.byCall[s.In] = append(r.all, a), append(r.byCall[s.In], a)
	}
	for _, asks := range r.byCall {
		r.finalAmong(asks)
	}
}

// asksOf are the asks of a run, those of each call together.
func asksOf(t *calls.Tree) iter.Seq[*calls.Step] {
	return func(yield func(*calls.Step) bool) {
		for _, x := range t.Lines {
			if x.Kind.Class() != adk.ClassCall || t.Calls[x.ID] == nil || t.Calls[x.ID].Begin != x {
				continue
			}
			for _, s := range t.Calls[x.ID].Steps {
				if s.IsAsk() && !yield(s) {
					return
				}
			}
		}
	}
}

// finalAmong finds, of what one call asked, the asks that failed and were not made again, nor
// was one that had failed in its time already: of several the last one was too many, and no
// deadline but its own had passed.
func (r *Recorded) finalAmong(asks []*ask) {
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
			r.Final[tries.last] = true
		}
	}
}

// mayBeRepeated reports whether an ask failed, or was answered over HTTP with a status that
// refuses.
func mayBeRepeated(rec *calls.Step) bool {
	return rec.Done.Err != nil || len(rec.Notes) > 0 && !bytes.HasPrefix(rec.Notes[0].JSON, []byte(`{"status":2`))
}

// asNext is asEqual of an ask that says the same, to the byte, as the first of its call
// whose answer no equal one has: it is what asEqual would find. Where nothing has changed
// all asks are such, and nothing is summed up.
func (r *Recorded) asNext(in *calls.Call, asked *adk.Crossing) *ask {
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
func (r *Recorded) givesNone(got *adk.Crossing) {
	r.Counterparts[got.Seq], r.Alone[got.Op] = 0, got.Seq
}

// asEqual is the first recorded ask of the narrowest scope that asked the same, and
// whose answer no other has that did: it is taken out of these. One of the same call or strand is
// also taken, unless strict, from who asked the same from afar, and has heard the answer: it is
// shared then. recorded tells whether there was one at all.
func (r *Recorded) asEqual(asked equalAsk, scopes []func(*ask) bool, strict bool) (first *ask, recorded bool) {
	if r.equals == nil {
		r.sumUp()
	}
	list, recorded := r.equals[asked]
	if !recorded {
		return nil, false
	}
	left := withoutGone(list)
	r.equals[asked] = left
	for i, in := range scopes {
		anywhere := i == len(scopes)-1
		if at := slices.IndexFunc(left, func(a *ask) bool { return !a.gone && in(a) }); at >= 0 {
			first, left[at].gone = left[at], true
			copy(left[1:at+1], left[:at]) // mostly none: asks come in their order
			r.equals[asked] = left[1:]
			if anywhere {
				r.afar[asked] = append(r.afar[asked], first)
			}
			return first, true
		}
		if at := slices.IndexFunc(r.afar[asked], in); at >= 0 && !anywhere && !strict {
			first = r.afar[asked][at]
			r.afar[asked] = slices.Delete(r.afar[asked], at, at+1)
			if !r.real[first.op] {
				r.Shared[first.op] = first.step
			}
			return first, true
		}
	}
	return nil, true
}

// shares lets a new ask hear an answer that another call already got, if in the recording several
// asked the same. What its own call asked is not asked once more: the answer may be another the next time.
func (r *Recorded) shares(t *calls.Tree, asked equalAsk, by Asker, got *adk.Crossing) bool {
	if r.equalToo == nil {
		r.equalToo, r.sharers = map[equalAsk][]*calls.Step{}, map[sharer]bool{}
		for s := range asksOf(t) {
			of := equalOf(s.X)
			r.equalToo[of] = append(r.equalToo[of], s)
		}
	}
	all := r.equalToo[asked]
	if by.In != nil && !by.Uncertain && slices.ContainsFunc(all, func(s *calls.Step) bool { return s.In == by.In }) {
		return false
	}
	for _, s := range all {
		if hears := (sharer{s, got.Call}); !r.sharers[hears] {
			r.sharers[hears], r.Shared[got.Op] = true, s
			return true
		}
	}
	return false
}

// Real says that the world answers a new ask, by its operation.
func (r *Recorded) Real(op int) {
	delete(r.Counterparts, r.Alone[op])
	delete(r.Shared, op)
	r.real[op] = true
}

// asEqualButForIDs is asEqual up to the random ids that live code makes for a request, which
// stand for the recorded ones from here on.
func (r *Recorded) asEqualButForIDs(asked *adk.Crossing, ids *rename.IDs, scopes []func(*ask) bool) *ask {
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

// asEqualButForSecrets is asEqual up to the secrets that live code has of its own, which stand for
// the recording's placeholders from here on.
func (r *Recorded) asEqualButForSecrets(asked *adk.Crossing, seq int, scopes []func(*ask) bool) *ask {
	if r.Own == nil {
		return nil
	}
	for _, in := range scopes {
		for _, a := range r.all {
			x := a.step.X
			if a.gone || x.Name != asked.Name || x.Status != asked.Status || !in(a) || !r.Own.Pair(string(x.JSON), string(asked.JSON)) {
				continue
			}
			r.Own.Stands(seq, x.JSON)
			a.gone = true
			return a
		}
	}
	return nil
}

// likenessOf is what a changed request is compared by. The path that a secret of live code's own
// stands in is the one that has a placeholder there.
func (r *Recorded) likenessOf(asked *adk.Crossing) *likeness.Likeness {
	like := likeness.Of(asked)
	if r.Own == nil {
		return like
	}
	for _, a := range r.all {
		if a.step.X.Name != asked.Name {
			continue
		}
		if a.like == nil {
			a.like = likeness.Of(a.step.X)
		}
		if a.like.Method == like.Method && r.Own.Pair(a.like.Path, like.Path) {
			asked.JSON, like.Path = r.Own.InRequest(asked.JSON), a.like.Path
			break
		}
	}
	return like
}

// sumUp finds the asks that asked the same.
func (r *Recorded) sumUp() {
	r.equals, r.afar = map[equalAsk][]*ask{}, map[equalAsk][]*ask{}
	for _, a := range r.all {
		of := equalOf(a.step.X)
		r.equals[of] = append(r.equals[of], a)
	}
}

// withoutGone is a list without those that have gone at its beginning.
func withoutGone(list []*ask) []*ask {
	for len(list) > 0 && list[0].gone {
		list = list[1:]
	}
	return list
}

// gives notes whose answer a new ask gets.
func (r *Recorded) gives(a *ask, to *adk.Crossing) *calls.Step {
	if a.taken > 0 {
		delete(r.Counterparts, a.taken) // it was changed, or from afar, and got the answer of this one
	}
	a.taken, a.op = to.Seq, to.Op
	r.Counterparts[to.Seq] = a.step.X.Seq
	return a.step
}

// leastAlike is how much of the shorter of two requests has to be in the other, so that one
// is the other changed: half of its words. How much longer the other is does not count, for
// what was dropped, or cut, may have been most of it.
const leastAlike = 0.5

// alike is how alike two requests are; 0 where that is too little for one to be the other changed.
func alike(a, b *likeness.Words) float64 {
	if part := likeness.Alike(a, b); part >= leastAlike*likeness.AtMost(a, b) {
		return part
	}
	return 0
}

// IsChanged reports whether an ask that got no answer is, by its words, one that was
// recorded in its place: that it asks somebody else, by another method or on another path is
// then all that keeps it from the answer.
func IsChanged(want, got *adk.Crossing) bool {
	if want.Kind != got.Kind || len(want.JSON) == 0 || len(got.JSON) == 0 {
		return false
	}
	was, is := likeness.Of(want).Words, likeness.Of(got).Words
	return alike(was, is) > 0
}

// free are the recorded asks of a shape and a scope that nobody has taken.
func (r *Recorded) free(asked *likeness.Likeness, in func(*ask) bool) (free []*ask) {
	for _, a := range r.all {
		if a.taken > 0 || a.step.X.Name != asked.Of || !in(a) {
			continue
		}
		if a.like == nil {
			a.like = likeness.Of(a.step.X)
		}
		if a.like.AsksAt(asked) {
			free = append(free, a)
		}
	}
	return free
}

// inParts is what likeness.Parts makes of its request.
func (a *ask) inParts() *likeness.Words {
	if a.parts == nil {
		a.parts = sync.OnceValue(func() *likeness.Words { return likeness.Parts(a.step.X.JSON) })
	}
	return a.parts()
}

// isOnlyOne reports whether there is one short ask that is free, and the call that asks was recorded to ask
// nothing else of the same: who says another key or number there today has changed what it says.
func isOnlyOne(free []*ask, by Asker) bool {
	return len(free) == 1 && by.In != nil && !by.Uncertain && free[0].step.In == by.In && !slices.ContainsFunc(by.In.Steps, func(s *calls.Step) bool {
		return s != free[0].step && s.IsAsk() && s.X.Name == free[0].step.X.Name
	})
}

// mostAlike is, of some recorded asks of one shape, that whose request is most like a changed one,
// and nil where none is alike enough; asked are its words, and wordsOf gives theirs. Of several it is
// the first; rival is then another one, unless all of them asked the same. Of asks that
// are much longer or shorter than the best one words are not compared. The ask that is next is
// preferred where what tells the two apart says so as well: who says another's words in the name
// of the first has changed what the first says.
func mostAlike(request json.RawMessage, asked *likeness.Words, free []*ask, wordsOf func(*ask) *likeness.Words) (best, rival *ask) {
	var nearest *ask
	for _, a := range free {
		if nearest == nil || likeness.AtMost(asked, wordsOf(a)) > likeness.AtMost(asked, wordsOf(nearest)) {
			nearest = a
		}
	}
	if nearest == nil {
		return nil, nil
	}
	first := alike(asked, wordsOf(nearest))
	most := first
	for _, a := range free {
		if likeness.AtMost(asked, wordsOf(a)) < most {
			continue
		}
		part := first
		if a != nearest {
			part = alike(asked, wordsOf(a))
		}
		switch {
		case part == 0:
		case part > most || best == nil && part == most:
			best, rival, most = a, nil, part
		case part == most && rival == nil && !wire.SameJSON(best.step.X.JSON, a.step.X.JSON):
			rival = a
		}
	}
	if next := free[0]; best != nil && best != next && alike(asked, wordsOf(next)) > 0 {
		if ofNext, ofBest := tell(request, next.step.X.JSON, best.step.X.JSON); ofNext > 0 && ofNext >= ofBest {
			return next, nil
		}
	}
	return best, rival
}

// tell is how many texts, numbers and the like of a request are those of the one, and not of the
// other; and of the other, and not of the one. What stands in lists says nothing of that.
func tell(request, one, other json.RawMessage) (ofOne, ofOther int) {
	var asked, a, b any
	if json.Unmarshal(request, &asked) != nil || json.Unmarshal(one, &a) != nil || json.Unmarshal(other, &b) != nil {
		return 0, 0
	}
	return tellIn(asked, a, b)
}

func tellIn(asked, one, other any) (ofOne, ofOther int) {
	switch asked := asked.(type) {
	case map[string]any:
		a, _ := one.(map[string]any)
		b, _ := other.(map[string]any)
		for name, held := range asked {
			inOne, inOther := tellIn(held, a[name], b[name])
			ofOne, ofOther = ofOne+inOne, ofOther+inOther
		}
		return ofOne, ofOther
	case []any:
		return 0, 0
	}
	switch isOne, isOther := asked == one, asked == other; {
	case isOne == isOther:
		return 0, 0
	case isOne:
		return 1, 0
	}
	return 0, 1
}
