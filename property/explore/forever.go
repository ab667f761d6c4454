package explore

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/property/internal/chatfault"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file makes a world that always gives the same answer: a model that wants its tool for ever,
// a job that is never done. Code that asks until it gets another answer needs a bound.

// mostAgain is how often the same answer comes before the caller of the turn cancels. It is more
// often than an agent with a bound asks.
const mostAgain = 150

// repeated returns the answer as it was, provided that something like it is asked later and
// answered otherwise: code that asks once is not in a loop.
func repeated(w *asked, _ int) (*brokenAnswer, string) {
	loops := slices.ContainsFunc(w.others, func(other *asked) bool {
		return other.first > w.first && other.done && w.isLike(other.request) && !other.answersAs(w)
	})
	if w.err != nil || !loops {
		return nil, onlyLoops
	}
	return w.whole(), ""
}

// isLike reports whether a later request to the same belongs to one loop with this one. A read must
// be identical: the state of a job is asked again, while the next page is another request. Other
// requests, such as those to a model, must have the same method and path.
func (w *asked) isLike(request json.RawMessage) bool {
	if method, _, _ := httpform.RequestLine(request); method == http.MethodGet || method == http.MethodHead {
		return string(request) == string(w.request)
	}
	return httpform.SameLine(w.request, request)
}

// again returns the answer for another time. If it holds tool calls of a model, they get new ids.
// The world is not asked.
func (w *asked) again(times int) *brokenAnswer {
	answer := w.whole()
	if fresh, ok := chatfault.Again(times).Break(chatfault.Answer{Value: w.value, Pieces: w.pieces, HTTP: w.http}); ok {
		answer.value, answer.pieces = fresh.Value, fresh.Pieces
		answer.says(w)
	}
	answer.asked = false
	return answer
}

// askedForEver cancels a run that has received the same answer too often and still asks. It is
// called whenever user code asks.
func (a *attempt) askedForEver() {
	a.mu.Lock()
	enough := a.isAskedForEver()
	a.mu.Unlock()
	if enough && a.tooMany.CompareAndSwap(0, max(1, a.told.Load())) {
		a.tooLong()
	}
}

// isAskedForEver reports whether the run has received the same answer so often that its loop has no
// bound.
func (a *attempt) isAskedForEver() bool {
	return slices.ContainsFunc(a.faults, func(f planned) bool { return f.Kind == turn.AskAgain && f.hits >= mostAgain })
}

// saysTheSame reports whether a fault of the schedule is a world that always gives the same answer.
func (n candidate) saysTheSame() bool {
	return slices.ContainsFunc(n.faults, func(f planned) bool { return f.Kind == turn.AskAgain })
}

// allowed returns the extent of the undisturbed run, from which it follows when this run is too
// long. It is zero if the run is bounded by the number of answers instead.
func (a *attempt) allowed() extent {
	if a.forever {
		return extent{}
	}
	return a.usual
}
