package oracle

import (
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/property/internal/chatfault"
)

// This file sees tools that are plain functions, as those of another framework are: no call of the run is
// theirs, and what they gave stands in the next request to their model.

// heardOf is what a model was told that a tool gave.
type heardOf struct {
	chatfault.Result
	asked *adk.Crossing // the request that says it first
}

// key tells an execution from others, in any run of the turn: a model may give calls other ids in each.
func (h *heardOf) key() string { return h.Tool + "\x00" + h.Args }

// heard are the results that models were told, each once.
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

// only is the one result of a call; nil where it has none or several.
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

// answeredBy is how many asks of the call that a request is made in were answered by then.
func (r *Run) answeredBy(request *adk.Crossing) (n int) {
	for _, one := range r.asks() {
		if one.answered && one.begun.Call == request.Call && one.done.Seq < request.Seq {
			n++
		}
	}
	return n
}

// heardLess is the result of a plain function that the model was told next behind an ask of the same call that
// failed, and what it usually gives, if that is less, and how. It is silent where any of the tools whose results
// the model is told there gave another word, or is said to have failed, where one has run twice for the same, and
// where as many asks as usual were answered.
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

// saysNothing reports whether what a tool gave says nothing.
func saysNothing(text string) bool {
	return slices.Contains([]string{"", "null", "[]", "{}"}, strings.TrimSpace(text))
}

// askedOnHalf: what a model wanted was cut, and behind that, before it is asked again, somebody is asked in a
// way in which nobody is in the undisturbed run, who is asked in the same way there with other words: by a tool
// that ran on what had come. It is silent where tools of the engine ran, whose arguments are seen.
func askedOnHalf(r, undisturbed *Run) []exhibit {
	if r.executes() > 0 || undisturbed.executes() > 0 {
		return nil
	}
	for _, f := range r.Faults {
		if !slices.Contains(cutsArguments, f.Kind) || f.Op == 0 || r.asks()[f.Op] == nil {
			continue
		}
		usual := undisturbed.askedBehind(sameButForIDs(r.asks()[f.Op].begun))
		if len(usual) == 0 {
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

// askedBehind are the asks behind the end of the first that is meant, and before the next of the same call and
// of who was asked there.
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
