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

// This file finds whose recorded answer an ask of today gets. A run makes other ids than the
// recorded one, and strands make them in another order, so an ask is held against the recorded
// ones up to these, as a replay does. One that has changed gets the answer of the one that it has
// the most in common with.

// recordedAsk is an ask of a recording that was answered.
type recordedAsk struct {
	*asked
	text string   // the request without its ids
	ids  []string // in their order
	like func() *likeness.Likeness
}

// recordedAsks are those of a recording, in their order. They belong to all its runs.
type recordedAsks struct {
	all  []*recordedAsk
	made map[string]bool // the ids that the recorded run made
	form *regexp.Regexp  // of these, and of those that explored runs make
}

// The forms of ids: of those that an exploration makes, and of most that are made elsewhere.
const (
	exploredIDs = `id-\d+`
	randomIDs   = `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`
)

// leastID is how long an id of another form is that is looked for in requests: the number 7 is
// not the id of a source that counts.
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
	r.form.Longest() // one may begin with another
	for _, one := range inOrder(askedIn(crossings)) {
		if one.done {
			text, ids := r.split(one.request)
			like := sync.OnceValue(func() *likeness.Likeness { return likeness.Of(&crossings[one.first-1]) })
			r.all = append(r.all, &recordedAsk{one, text, ids, like})
		}
	}
	return r
}

// replaced is a text with others in the place of the ids that runs make.
func (r *recordedAsks) replaced(text json.RawMessage, other func(id string) string) string {
	return r.form.ReplaceAllStringFunc(string(text), func(id string) string {
		if r.made[id] || strings.HasPrefix(id, exploredIDs[:len("id-")]) {
			return other(id)
		}
		return id
	})
}

// split is a request without the ids that runs make, and these.
func (r *recordedAsks) split(request json.RawMessage) (text string, ids []string) {
	text = r.replaced(request, func(id string) string {
		ids = append(ids, id)
		return "\x00"
	})
	return text, ids
}

// recordedAnswers answer one run in the world's place.
type recordedAnswers struct {
	*recordedAsks
	mu    sync.Mutex
	given map[*recordedAsk]bool
	want  map[string]string // by the ids of this run, those of the recording that they stand for
	got   map[string]string // the other way round
	// cancel is how the caller leaves, and left why the recorded one did, if it did.
	cancel context.CancelCauseFunc
	left   error
}

// answer is what was recorded, with the ids of this run. Who asks the same again gets the same
// again, as a world that stands still would answer. Where nobody is asked, nobody answers.
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

// same is the recorded ask that asked the same up to ids: rather one whose answer nobody got, and
// of several the one that the ids and the strand speak for. A fresh id is that of a retry too.
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

// stand reports whether the ids of a request may stand for those of a recorded one, and whether
// it is known of all that they do.
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

// mostAlike is the recorded ask that a changed one has the most in common with, of those whose
// answer nobody got: of several the first of its strand, or else the first.
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

// renamed is a recorded answer with the ids of this run. It is all there is: nobody else is asked.
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

// inPlaceOf is the id that one stands for; itself where it stands for none.
func inPlaceOf(id string, others map[string]string) string {
	if other, stands := others[id]; stands {
		return other
	}
	return id
}
