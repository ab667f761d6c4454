package explore

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/property/internal/chatfault"
	"github.com/adkreplay/adkreplay/property/turn"
)

// A world that always says the same: a model that wants its tool for ever, a job that is never
// done. Whoever asks on until something else is said has to have enough at some time.

// mostAgain is how often the same answer comes until the caller of the turn cancels: more often
// than an agent with a bound asks.
const mostAgain = 150

// repeated is the answer as it was, where something like it is asked behind it and answered
// otherwise: who asks once is not in a loop.
func repeated(w *asked, _ int) (*brokenAnswer, string) {
	loops := slices.ContainsFunc(w.others, func(other *asked) bool {
		return other.first > w.first && other.done && w.isLike(other.request) && !other.answersAs(w)
	})
	if w.err != nil || !loops {
		return nil, onlyLoops
	}
	return w.whole(), ""
}

// isLike reports whether a request to the same is one of a loop: what is read alone is the same
// again, such as the state of a job and not the next page; of all else the method and the path
// are, as where a model is asked.
func (w *asked) isLike(request json.RawMessage) bool {
	if method, _, _ := httpform.RequestLine(request); method == http.MethodGet || method == http.MethodHead {
		return string(request) == string(w.request)
	}
	return httpform.SameLine(w.request, request)
}

// again is the answer another time. A model that wants its tools once more does so under other
// ids. The world is not asked.
func (w *asked) again(times int) *brokenAnswer {
	answer := w.whole()
	if fresh, ok := chatfault.Again(times).Break(chatfault.Answer{Value: w.value, Pieces: w.pieces, HTTP: w.http}); ok {
		answer.value, answer.pieces = fresh.Value, fresh.Pieces
		answer.says(w)
	}
	answer.asked = false
	return answer
}

// askedForEver has the caller cancel a run that has the same answer again and again, and asks on.
// It is called where user code asks.
func (a *attempt) askedForEver() {
	a.mu.Lock()
	enough := a.isAskedForEver()
	a.mu.Unlock()
	if enough && a.tooMany.CompareAndSwap(0, max(1, a.told.Load())) {
		a.tooLong()
	}
}

// isAskedForEver reports whether the run has had the same answer so often that it has no bound.
func (a *attempt) isAskedForEver() bool {
	return slices.ContainsFunc(a.faults, func(f planned) bool { return f.Kind == turn.AskAgain && f.hits >= mostAgain })
}

// saysTheSame reports whether a world that always says the same is what goes wrong.
func (n candidate) saysTheSame() bool {
	return slices.ContainsFunc(n.faults, func(f planned) bool { return f.Kind == turn.AskAgain })
}

// allowed is the extent of the undisturbed run, by which one is too long; of none where the
// number of answers is what bounds it.
func (a *attempt) allowed() extent {
	if a.forever {
		return extent{}
	}
	return a.usual
}
