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

// This file pairs the ids that live code makes for a request alone: its idempotency key, the
// id of its session. No operation is about them, so nothing but their form tells them.

// Anew is an id that live code is given where none of the recorded ones is known to be its own, by
// its number. Where it stands for a UUID it has the form of one too: code that shortens or reads it
// goes on.
func Anew(number int, like string) string {
	if len(like) > 0 && likeness.RandomID.FindString(like) == like {
		return fmt.Sprintf("00000000-0000-7000-8000-%012x", number)
	}
	return wire.MadeByReplay + strconv.Itoa(number)
}

// PairRequests makes the random ids of a new request stand for those of a recorded one, if the
// two are else the same to the byte, and reports that: with no other request as well.
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

// PairMembers is PairRequests for the members in which a changed request is else the same.
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

// pairWithin has the ids that live code had from the context stand for recorded ones wherever they
// are, once a text with more around them has shown for which.
func (r *IDs) pairWithin(p pair) {
	want := likeness.RandomID.FindAllString(p.want, -1)
	for i, got := range likeness.RandomID.FindAllString(p.got, -1) {
		if i < len(want) && r.either[got] {
			r.PairMade(want[i], got)
		}
	}
}

// pair is an id with what is around it and has the characters of ids too, as InText finds it.
type pair struct{ want, got string }

// mayInRequest reports whether a new random id may stand for a recorded one: both are live
// code's, and neither stands for another.
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

// Again notes that a request was made again as the recorded one of a number is, up to ids that
// stand for others: what else is in it stands for itself.
func (r *IDs) Again(request int) { r.again[request] = true }

// origin is where a random id of a recording comes from.
type origin struct {
	made bool  // it stands in a request of live code before anything else brings it
	in   []int // the requests that it stands in
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
			continue // it says again what others have brought, or what live code made
		}
		for _, use := range x.Kind.Fields(x.Phase) {
			if use.Field == adk.FieldErr { // it may say the request again
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

// others are the ids in which two texts of JSON differ; same is false if they differ in
// anything else.
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
