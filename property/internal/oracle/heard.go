package oracle

import (
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/property/internal/chatfault"
)

// This file judges tools that are plain functions, as those of other frameworks are: they make no
// calls in the run, and what they returned is found in the next request to their model.

// heardOf is the result of a tool as a request to a model contains it.
type heardOf struct {
	chatfault.Result
	asked *adk.Crossing // the first request that contains it
}

// key identifies an execution in any run of the turn: ids of calls may differ from run to run.
func (h *heardOf) key() string { return h.Tool + "\x00" + h.Args }

// heard returns the results that requests to models contain, each once.
func (r *Run) heard() (all []heardOf) {
	known := map[string]bool{}
	for i := range r.Crossings {
		x := &r.Crossings[i]
		if x.Kind != adk.KindAsk || x.Phase != adk.Begin {
			continue
		}
		often := map[string]int{}
		for _, told := range chatfault.Results(x.JSON) {
			h := heardOf{told, x}
			this := told.ID + "\x00" + h.key()
			often[this]++
			this += strings.Repeat("\x00", often[this])
			if !known[this] {
				known[this] = true
				all = append(all, h)
			}
		}
	}
	return all
}

// only returns the only result with a key; nil if there is none, or if there are several.
func only(all []heardOf, key string) (found *heardOf) {
	for i := range all {
		switch {
		case all[i].key() != key:
		case found != nil:
			return nil
		default:
			found = &all[i]
		}
	}
	return found
}

// answeredBy returns how many asks of the call that makes a request had been answered by then.
func (r *Run) answeredBy(request *adk.Crossing) (n int) {
	for _, one := range r.asks() {
		if one.answered && one.begun.Call == request.Call && one.done.Seq < request.Seq {
			n++
		}
	}
	return n
}

// heardLess looks at the first request with results that the same call makes after an ask has
// failed. It returns a result of a plain function in it that is less than usual, the usual result,
// and how they differ. It returns nil if any tool whose result is in that request returned other
// words or is said to have failed, if one has run twice for the same, and if as many asks as usual
// were answered.
func (r *Run) heardLess(failed *adk.Crossing, undisturbed *Run) (mine, usual *heardOf, how string) {
	all := r.heard()
	var next *adk.Crossing
	for i := range all {
		h := &all[i]
		if h.asked.Call != failed.Call || h.asked.Seq < failed.Seq || next != nil && h.asked != next {
			continue
		}
		next = h.asked
		theirs := only(undisturbed.usual.heard, h.key())
		if theirs == nil || only(all, h.key()) == nil || h.Failed || h.Other || theirs.Failed || theirs.Other || r.answeredBy(h.asked) >= undisturbed.answeredBy(theirs.asked) {
			return nil, nil, ""
		}
		said, usually := compare.WithoutPorts(h.Text), compare.WithoutPorts(theirs.Text)
		this := ""
		switch {
		case said == usually:
			continue
		case saysNothing(said) && !saysNothing(usually):
			this = "nothing"
		case numbers.ReplaceAllString(said, "#") == numbers.ReplaceAllString(usually, "#"):
			this = "the usual words with other figures"
		case isLess(said, usually):
			this = "a part of the usual words"
		default:
			return nil, nil, ""
		}
		if mine == nil {
			mine, usual, how = h, theirs, this
		}
	}
	return mine, usual, how
}

// saysNothing reports whether the result of a tool says nothing.
func saysNothing(text string) bool {
	return slices.Contains([]string{"", "null", "[]", "{}"}, strings.TrimSpace(text))
}

// askedOnHalf finds an ask, after a model's call of a tool was cut and before the model is asked
// again, that the undisturbed run does not make, although it makes asks of the same kind there: a
// tool may have run on half of its arguments. It is silent if the undisturbed answer calls no tool,
// as that of any other service, and if tools of the engine ran, as their arguments are seen.
func askedOnHalf(r, undisturbed *Run) []exhibit {
	if r.executes() > 0 || undisturbed.executes() > 0 {
		return nil
	}
	for _, f := range r.Faults {
		if !slices.Contains(cutsArguments, f.Kind) || f.Op == 0 || r.asks()[f.Op] == nil {
			continue
		}
		same := sameButForIDs(r.asks()[f.Op].begun)
		usual := undisturbed.askedBehind(same)
		if len(usual) == 0 || !undisturbed.wantsTool(same) {
			continue
		}
		for _, x := range r.askedBehind(func(begun *adk.Crossing) bool { return begun.Op == f.Op }) {
			if !undisturbed.isAsked(x) && slices.ContainsFunc(usual, func(u *adk.Crossing) bool { return isAlike(u, x) }) {
				return []exhibit{r.exhibit(x, "what %s wanted was cut, and %s is asked for what it never is: by a tool that ran on half of its arguments?", f.Of, x.Name)}
			}
		}
	}
	return nil
}

// wantsTool reports whether the answer to the first ask for which is holds calls a tool.
func (r *Run) wantsTool(is func(begun *adk.Crossing) bool) bool {
	var first *adk.Crossing
	var answer chatfault.Answer
	for i := range r.Crossings {
		switch x := &r.Crossings[i]; {
		case first == nil && x.Kind == adk.KindAsk && x.Phase == adk.Begin && is(x):
			first, answer.HTTP = x, httpform.IsRequest(x.JSON)
		case first == nil || x.Op != first.Op:
		case x.Kind == adk.KindPiece:
			answer.Pieces = append(answer.Pieces, adk.Piece{Value: x.JSON, Open: x.Flag})
		case x.Kind == adk.KindAsk && x.Phase == adk.Done:
			answer.Value = x.JSON
		}
	}
	return answer.WantsTool()
}

// askedBehind returns the asks after the end of the first ask for which is holds, up to the next
// ask of the same call with the same name.
func (r *Run) askedBehind(is func(begun *adk.Crossing) bool) (all []*adk.Crossing) {
	var first *adk.Crossing
	over := false
	for i := range r.Crossings {
		switch x := &r.Crossings[i]; {
		case x.Kind != adk.KindAsk:
		case first == nil && x.Phase == adk.Begin && is(x):
			first = x
		case first != nil && x.Op == first.Op && x.Phase == adk.Done:
			over = true
		case !over || x.Phase != adk.Begin || x.Call != first.Call:
		case x.Name == first.Name:
			return all
		default:
			all = append(all, x)
		}
	}
	return all
}

// isAlike reports whether two asks are of the same kind, whatever they are for.
func isAlike(a, b *adk.Crossing) bool {
	one, _, _ := httpform.RequestLine(a.JSON)
	other, _, _ := httpform.RequestLine(b.JSON)
	return a.Name == b.Name && a.Status == b.Status && one == other
}
