package rename

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/likeness"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file pairs the ids that live code makes only for a request, such as its idempotency key or
// the id of its session. No operation is about them, so only their form shows that they are ids.

// Anew is the number-th id that a replay makes for live code, where it is not known which recorded
// id it is. If like is a UUID, so is the new id, so that code that shortens or parses it still
// works.
func Anew(number int, like string) string {
	if len(like) > 0 && likeness.RandomID.FindString(like) == like {
		return fmt.Sprintf("00000000-0000-7000-8000-%012x", number)
	}
	return wire.MadeByReplay + strconv.Itoa(number)
}

// PairRequests makes the random ids of a new request stand for those of a recorded one, if the two
// requests are the same otherwise, and reports whether it did. The ids then stand for no others, in
// other requests either.
func (r *IDs) PairRequests(want, got json.RawMessage) bool {
	pairs, same := others(want, got)
	if !same || len(pairs) == 0 {
		return false
	}
	for _, p := range pairs {
		if !r.mayInRequest(p) {
			return false
		}
	}
	r.pairAll(pairs)
	return true
}

// PairMembers is PairRequests for those members of a changed request that are the same otherwise.
func (r *IDs) PairMembers(want, got json.RawMessage) {
	if !likeness.RandomID.Match(want) || !likeness.RandomID.Match(got) {
		return
	}
	for _, member := range compare.JSONDiff("", string(want), string(got)) {
		if pairs, same := others([]byte(member.Want), []byte(member.Got)); same {
			r.pairAll(pairs)
		}
	}
}

// Random is how many random ids of requests stand for recorded ones.
func (r *IDs) Random() int { return r.random }

func (r *IDs) pairAll(pairs []pair) {
	for _, p := range pairs {
		if _, paired := r.want[p.got]; !paired && r.mayInRequest(p) {
			r.Pair(p.want, p.got)
			r.pairWithin(p)
			r.random++
		}
	}
}

// pairWithin pairs the ids within a pair that live code had from the context: the text around them
// has shown which recorded ids they are, wherever else they appear.
func (r *IDs) pairWithin(p pair) {
	want := likeness.RandomID.FindAllString(p.want, -1)
	for i, got := range likeness.RandomID.FindAllString(p.got, -1) {
		if i < len(want) && r.either[got] {
			r.PairMade(want[i], got)
		}
	}
}

// pair is two tokens, each an id and what is around it that has the characters of ids too (InText).
type pair struct{ want, got string }

// mayInRequest reports whether a new random id may stand for a recorded one: live code made both,
// and neither is paired with another.
func (r *IDs) mayInRequest(p pair) bool {
	if paired, found := r.want[p.got]; found {
		return paired == p.want
	}
	if _, taken := r.got[p.want]; taken || r.known[p.got] != nobody || r.known[p.want] == elsewhere || r.known[p.want] == context && !r.either[p.got] {
		return false
	}
	if r.origins == nil {
		r.findOrigins()
	}
	for _, id := range likeness.RandomID.FindAllString(p.want, -1) {
		if o := r.origins[id]; !o.made || slices.ContainsFunc(o.in, func(seq int) bool { return r.again[seq] }) {
			return false
		}
	}
	for _, id := range likeness.RandomID.FindAllString(p.got, -1) {
		if _, recorded := r.origins[id]; recorded {
			return false
		}
	}
	return true
}

// Again notes that a recorded request, by its number, was made again, except for ids that stand for
// others. Any other id in it is unchanged.
func (r *IDs) Again(request int) { r.again[request] = true }

// origin says where a random id of a recording comes from.
type origin struct {
	made bool  // it appears in a request of live code before anything else brings it
	in   []int // the requests that contain it
}

// findOrigins finds the random ids of the recording.
func (r *IDs) findOrigins() {
	r.origins = map[string]origin{}
	fields := wire.Apart{}
	for _, x := range r.tree.Lines {
		by := r.tree.Calls[x.Call]
		lives := by != nil && r.live(by)
		asks := lives && wire.Asks(x)
		if x.Kind.Class() == adk.ClassEvent || lives && !asks && x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done {
			continue // it repeats what others have brought, or what live code made
		}
		for _, use := range x.Kind.Fields(x.Phase) {
			if use.Field == adk.FieldErr { // it may repeat the request
				continue
			}
			text, err := fields.Append(use.Field, x)
			if err != nil {
				continue
			}
			for _, id := range likeness.RandomID.FindAllString(string(text), -1) {
				o, found := r.origins[id]
				if !found {
					o.made = asks
				}
				if asks {
					o.in = append(o.in, x.Seq)
				}
				r.origins[id] = o
			}
		}
	}
}

// others are the ids in which two JSON texts differ; same is false if they differ in anything else.
func others(want, got []byte) (pairs []pair, same bool) {
	if len(want) != len(got) {
		return nil, false
	}
	for from := 0; from < len(want); {
		to := from + 1
		switch {
		case want[from] == '\\':
			to = from + escapeLength(want[from:])
		case inID[want[from]]:
			for to < len(want) && inID[want[to]] {
				to++
			}
		}
		if w, g := string(want[from:to]), string(got[from:to]); w != g {
			if !likeness.RandomID.MatchString(w) || likeness.RandomID.ReplaceAllString(w, "") != likeness.RandomID.ReplaceAllString(g, "") {
				return nil, false
			}
			pairs = append(pairs, pair{w, g})
		}
		from = to
	}
	return pairs, true
}
