package explore

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/likeness"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file finds the recorded answer for an ask of today's code. A run makes other ids than the
// recorded one, and strands make them in another order, so asks are compared up to ids, as in a
// replay. An ask that has changed gets the answer of the ask with which it has the most in common.

// recordedAsk is an ask of a recording that was answered.
type recordedAsk struct {
	*asked
	text string   // the request without its ids
	ids  []string // the ids in the request, in their order
	like func() *likeness.Likeness
}

// recordedAsks holds the asks of a recording in their order. All runs share it.
type recordedAsks struct {
	all  []*recordedAsk
	made map[string]bool // the ids that the recorded run made
	form *regexp.Regexp  // matches these ids, and those that explored runs make
}

// The forms of ids: of those that an exploration makes, and of most that are made elsewhere.
const (
	exploredIDs = `id-\d+`
	randomIDs   = `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`
)

// leastID is the minimal length of an id of another form that is searched for in requests: the
// number 7 in a request is hardly the id 7 of a source that counts.
const leastID = 8

func recordedAsksOf(crossings []adk.Crossing) *recordedAsks {
	r := &recordedAsks{made: map[string]bool{}}
	forms := exploredIDs + "|" + randomIDs
	usual := regexp.MustCompile("^(?:" + forms + ")$")
	for i := range crossings {
		id := wire.MadeID(&crossings[i])
		if !r.made[id] && len(id) >= leastID && !usual.MatchString(id) {
			forms += "|" + regexp.QuoteMeta(id)
		}
		r.made[id] = true
	}
	r.form = regexp.MustCompile(`\b(?:` + forms + `)\b`)
	r.form.Longest() // one id may be the beginning of another
	for _, one := range inOrder(askedIn(crossings)) {
		if one.done {
			text, ids := r.split(one.request)
			like := sync.OnceValue(func() *likeness.Likeness { return likeness.Of(&crossings[one.first-1]) })
			r.all = append(r.all, &recordedAsk{one, text, ids, like})
		}
	}
	return r
}

// replaced returns a text in which other replaces the ids that runs make.
func (r *recordedAsks) replaced(text json.RawMessage, other func(id string) string) string {
	return r.form.ReplaceAllStringFunc(string(text), func(id string) string {
		if r.made[id] || strings.HasPrefix(id, exploredIDs[:len("id-")]) {
			return other(id)
		}
		return id
	})
}

// split returns a request without the ids that runs make, and these ids.
func (r *recordedAsks) split(request json.RawMessage) (text string, ids []string) {
	text = r.replaced(request, func(id string) string {
		ids = append(ids, id)
		return "\x00"
	})
	return text, ids
}

// recordedAnswers answers the asks of one run in the world's place.
type recordedAnswers struct {
	*recordedAsks
	mu    sync.Mutex
	given map[*recordedAsk]bool
	want  map[string]string // the id of the recording for each id of this run
	got   map[string]string // the id of this run for each id of the recording
	// cancel is how the caller leaves; left is why the recorded caller left, nil if it did not.
	cancel context.CancelCauseFunc
	left   error
}

// answer returns the recorded answer with the ids of this run. The same ask again gets the same
// answer again, as from a world that does not change. Fault points ask nobody and get no answer.
func (r *recordedAnswers) answer(_ context.Context, q adk.Question) *adk.Answer {
	if strings.HasPrefix(q.Of, adk.FaultPoints) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	text, ids := r.split(q.Request)
	one := r.same(q, text, ids)
	if one == nil {
		one = r.mostAlike(q)
	}
	if one == nil && r.left != nil {
		r.cancel(r.left)
		return &adk.Answer{Err: r.left}
	}
	if one == nil {
		return &adk.Answer{Err: &adk.Error{Code: adk.E_UNANSWERED, Message: "the recording has no more answers of " + q.Of}}
	}
	r.given[one] = true
	if len(ids) == len(one.ids) {
		for i, id := range ids {
			r.pair(one.ids[i], id)
		}
	}
	return r.renamed(one).given()
}

// same returns the recorded ask that equals q up to ids, or nil. It prefers an ask whose answer was
// not given yet, then one for which all ids are known to match, then one with the same bytes, then
// one of the same strand. The ids may be new: a retry may make a fresh id.
func (r *recordedAnswers) same(q adk.Question, text string, ids []string) (best *recordedAsk) {
	most := -1
	for _, one := range r.all {
		if one.of != q.Of || one.text != text {
			continue
		}
		fits, known := r.stand(one, ids)
		if !fits {
			continue
		}
		speaks := 0
		for _, says := range []bool{!r.given[one], known, string(one.request) == string(q.Request), one.strand == q.Strand} {
			if speaks *= 2; says {
				speaks++
			}
		}
		if speaks > most {
			best, most = one, speaks
		}
	}
	return best
}

// stand reports whether the ids of a request may correspond to those of a recorded one, and whether
// all of them are known to.
func (r *recordedAnswers) stand(one *recordedAsk, ids []string) (may, known bool) {
	known = true
	for i, id := range ids {
		want, stands := r.want[id]
		_, taken := r.got[one.ids[i]]
		switch {
		case stands && want == one.ids[i]:
		case stands, taken && !r.given[one]:
			return false, false
		default:
			known = false
		}
	}
	return true, known
}

func (r *recordedAnswers) pair(want, got string) {
	_, stands := r.want[got]
	if _, taken := r.got[want]; !stands && !taken {
		r.want[got], r.got[want] = want, got
	}
}

// mostAlike returns the recorded ask with which a changed ask has the most in common, of those
// whose answer was not given. Among equals it prefers the first of the same strand, and then the
// first.
func (r *recordedAnswers) mostAlike(q adk.Question) (best *recordedAsk) {
	request := r.replaced(q.Request, func(id string) string { return inPlaceOf(id, r.want) })
	asked := likeness.Of(&adk.Crossing{Name: q.Of, JSON: json.RawMessage(request)})
	most := -1.0
	for _, one := range r.all {
		if r.given[one] || one.of != q.Of || !one.like().AsksAt(asked) {
			continue
		}
		part := likeness.Alike(asked.Words, one.like().Words)
		if part > most || part == most && best.strand != q.Strand && one.strand == q.Strand {
			best, most = one, part
		}
	}
	return best
}

// renamed returns a recorded answer with the ids of this run. Nothing else is asked for it.
func (r *recordedAnswers) renamed(one *recordedAsk) *brokenAnswer {
	answer := one.whole()
	answer.asked = false
	rename := func(text json.RawMessage) json.RawMessage {
		if text == nil {
			return nil
		}
		return json.RawMessage(r.replaced(text, func(id string) string { return inPlaceOf(id, r.got) }))
	}
	answer.value, answer.pieces = rename(answer.value), slices.Clone(answer.pieces)
	for i := range answer.pieces {
		answer.pieces[i].Value = rename(answer.pieces[i].Value)
	}
	answer.says(one.asked)
	return answer
}

// inPlaceOf returns the id that corresponds to id in others, and id itself if there is none.
func inPlaceOf(id string, others map[string]string) string {
	if other, stands := others[id]; stands {
		return other
	}
	return id
}
