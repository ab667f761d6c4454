// Package asks finds the recorded ask whose answer a new ask gets: the one that asks the same, or
// the most similar one whose answer no equal ask has taken.
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

// Recorded has the asks of a recording, and which of them were taken. The zero value reads a
// recording on its first use. It is not safe for concurrent use.
type Recorded struct {
	all []*ask
	// byCall are the asks of each call, without some at the beginning that have gone.
	byCall map[*calls.Call][]*ask
	// equals are the asks that ask the same and whose answers no equal ask has yet. A key without
	// such asks stays, with an empty list. equals is nil until a run asks something else than the
	// next recorded ask.
	equals map[equalAsk][]*ask
	// Final are the last attempts of asks that failed: the code that asked did not ask again.
	Final map[*calls.Step]bool
	known bool
	// Counterparts are the numbers of the recorded asks by those of the new ones; 0 is a new ask
	// that got no answer.
	Counterparts map[int]int
	// Rivals are the numbers of recorded asks that were as similar to a changed ask as its
	// counterpart, by the number of the changed ask.
	Rivals map[int]int
	// Alone are the numbers of new asks without a counterpart, by their operations.
	Alone map[int]int
	// Shared are the recorded asks whose answers were given once more, by the operations of new
	// asks that have no counterpart.
	Shared map[int]*calls.Step
	// afar are the asks whose answer went to an equal ask of another call and another strand.
	afar map[equalAsk][]*ask
	// equalToo are all asks that ask the same, even those whose answers were taken, and sharers are
	// the calls that got an answer that another call has. Both are nil until a run asks more often
	// than recorded.
	equalToo map[equalAsk][]*calls.Step
	sharers  map[sharer]bool
	real     map[int]bool // the operations that the world answers
	// Own are the secrets that live code has of its own; nil where the recording hides none.
	Own *ownsecrets.Secrets
	// said has the placeholders of the requests; nil until a request says an encoded one.
	said *encoded.Recorded
}

type ask struct {
	step  *calls.Step
	like  *likeness.Likeness // made when it is needed
	parts func() *likeness.Words
	taken int  // the number of the new ask that has its answer; 0 if there is none
	op    int  // the operation of that ask
	gone  bool // an equal ask has taken it
}

// sharer is a call of the new run that shares the answer of a recorded ask. It gets that answer
// once only: otherwise a loop that asks the same for ever would be answered for ever.
type sharer struct {
	step *calls.Step
	call int
}

// equalAsk is the key of asks that ask the same.
type equalAsk struct {
	of, effect string
	request    wire.JSONSum
}

func equalOf(x *adk.Crossing) equalAsk { return equalAsk{x.Name, x.Status, wire.SumOfJSON(x.JSON)} }

// Asker describes the call that asks in a new run.
type Asker struct {
	// In is the recorded counterpart of the call that asks; nil where it has none.
	In *calls.Call
	// Strand is the path of its strand.
	Strand string
	// Uncertain reports that the call may be the counterpart of other recorded calls than In.
	Uncertain bool
}

// Take returns the recorded ask whose answer a new ask gets; nil if there is none. It looks for an
// ask that asks the same, and then, unless strict, for a similar one: first in the recorded
// counterpart of the call (if that is certain), then in its strand, then anywhere. If all equal
// asks have been taken, the new ask does not get a similar one's answer. Unless strict, it may
// share an equal one's: Take then returns nil and sets Shared. equal reports whether the returned
// ask asks the same.
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
	case recorded || strict: // its answers have been given, and another's would be wrong
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

// asRecorded is a request in which encoded placeholders are replaced by what the recording has for
// them.
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

// asksOf returns the asks of a run, those of each call together.
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

// finalAmong finds the final asks among those of one call: asks that failed and were not made
// again. An ask is not final if one of its earlier attempts had passed a deadline. So of several
// attempts the last one was one too many, and no deadline but its own had passed.
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

// mayBeRepeated reports whether an ask failed, or was answered over HTTP with a status that refuses
// it.
func mayBeRepeated(rec *calls.Step) bool {
	return rec.Done.Err != nil || len(rec.Notes) > 0 && !bytes.HasPrefix(rec.Notes[0].JSON, []byte(`{"status":2`))
}

// asNext is a fast path of asEqual: it takes the first ask of the call that no equal ask has, if
// that is identical to the new one byte by byte. asEqual would find the same one. In a run without
// changes all asks are such, and no request needs to be hashed.
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

// asEqual takes the first recorded ask of the narrowest scope that asks the same and that no equal
// ask has taken. Unless strict, it also takes one of the same call or strand away from an equal ask
// from afar that has already got the answer: the two then share it. recorded reports whether there
// was an equal ask at all.
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
			copy(left[1:at+1], left[:at]) // usually nothing to copy: asks come in order
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

// shares gives a new ask an answer that another call already got, and reports whether there was
// one. If the recorded call itself asked the same, the answer is not repeated, because it may be
// another the next time.
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

// Real notes that the world answers a new ask, by its operation.
func (r *Recorded) Real(op int) {
	delete(r.Counterparts, r.Alone[op])
	delete(r.Shared, op)
	r.real[op] = true
}

// asEqualButForIDs is asEqual up to random ids that live code makes for a request. They stand for
// the recorded ids from here on.
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

// asEqualButForSecrets is asEqual up to secrets that live code has of its own. They stand for the
// recording's placeholders from here on.
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

// likenessOf is what a changed request is compared by. If its path has a secret of live code in it,
// that is the recorded path with a placeholder there.
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

// sumUp groups the asks that ask the same.
func (r *Recorded) sumUp() {
	r.equals, r.afar = map[equalAsk][]*ask{}, map[equalAsk][]*ask{}
	for _, a := range r.all {
		of := equalOf(a.step.X)
		r.equals[of] = append(r.equals[of], a)
	}
}

// withoutGone is a list without the asks at its beginning that have gone.
func withoutGone(list []*ask) []*ask {
	for len(list) > 0 && list[0].gone {
		list = list[1:]
	}
	return list
}

// gives notes that a new ask gets the answer of a recorded one.
func (r *Recorded) gives(a *ask, to *adk.Crossing) *calls.Step {
	if a.taken > 0 {
		delete(r.Counterparts, a.taken) // that ask was changed, or from afar, and loses its counterpart
	}
	a.taken, a.op = to.Seq, to.Op
	r.Counterparts[to.Seq] = a.step.X.Seq
	return a.step
}

// leastAlike is how much of the shorter of two requests must be in the other for one to be the
// other changed: half of its words. How much longer the other one is does not count, because most
// of it may have been dropped or cut.
const leastAlike = 0.5

// alike is how similar two requests are; 0 where that is too little for one to be the other
// changed.
func alike(a, b *likeness.Words) float64 {
	if part := likeness.Alike(a, b); part >= leastAlike*likeness.AtMost(a, b) {
		return part
	}
	return 0
}

// IsChanged reports whether an ask without an answer is, by its words, a changed version of the one
// that was recorded in its place. It then got no answer only because it asks another service, by
// another method or on another path.
func IsChanged(want, got *adk.Crossing) bool {
	if want.Kind != got.Kind || len(want.JSON) == 0 || len(got.JSON) == 0 {
		return false
	}
	was, is := likeness.Of(want).Words, likeness.Of(got).Words
	return alike(was, is) > 0
}

// free returns the recorded asks of a scope that were not taken and ask in the same way as the new
// one (Likeness.AsksAt).
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

// inParts are the words of its request as likeness.Parts has them.
func (a *ask) inParts() *likeness.Words {
	if a.parts == nil {
		a.parts = sync.OnceValue(func() *likeness.Words { return likeness.Parts(a.step.X.JSON) })
	}
	return a.parts()
}

// isOnlyOne reports whether exactly one ask is free and it is the only one that the recorded call
// made of that service. A short request with another key or number there is then the same request,
// changed.
func isOnlyOne(free []*ask, by Asker) bool {
	return len(free) == 1 && by.In != nil && !by.Uncertain && free[0].step.In == by.In && !slices.ContainsFunc(by.In.Steps, func(s *calls.Step) bool {
		return s != free[0].step && s.IsAsk() && s.X.Name == free[0].step.X.Name
	})
}

// mostAlike finds, among recorded asks, the one whose request is most similar to a changed one; nil
// if none is similar enough. asked are the words of the changed request, and wordsOf returns the
// words of a recorded one. Of several that are equally similar it is the first, and rival is
// another one, unless they all asked the same. It does not compare the words of asks that are so
// much longer or shorter that they cannot win.
//
// The next free ask is preferred if the members that tell the two apart also point to it: a request
// that says the words of another but has the name of the next one is the next one, with changed
// words.
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

// tell compares a request with two others, by their texts, numbers and the like: ofOne is how many
// it shares with one only, and ofOther how many with other only. Elements of lists do not count.
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
