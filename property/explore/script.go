package explore

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/cues"
	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file makes the world's part of a turn shorter: a model that asks for three tools
// before it answers may show as much with one. What it answered in the undisturbed turn is
// its script, and some of the answers are left out. So are iterations of a fakes.Script,
// which stands in a model's place.

// script is what the world answers, but for some of it.
type script struct {
	answers []answer
	leftOut []int // their numbers, from 1
}

// answer is what the world said to one question, or else one iteration of a script, from
// 0, whichever dispatch plays it.
type answer struct {
	*asked
	executor  string
	iteration int
	at        int // the crossing that is next when it is wanted for the first time
}

// answersOf are the answers of the world in a run, in its order, with iterations of
// scripts; fault points have none.
func answersOf(crossings []adk.Crossing, iterations []answer) []answer {
	for _, one := range inOrder(askedIn(crossings)) {
		if one.done && !one.isPoint() {
			iterations = append(iterations, answer{asked: one, at: one.first})
		}
	}
	slices.SortStableFunc(iterations, func(a, b answer) int { return a.at - b.at })
	return iterations
}

// without are the numbers of the answers that are left out.
func (s *script) without() []int {
	if s == nil {
		return nil
	}
	return s.leftOut
}

// String says which answers are left out.
func (s *script) String() string {
	text := turn.Schedule{Without: s.leftOut}.String() + ": the turn is shorter, without what"
	for i, n := range s.leftOut {
		if i > 0 {
			text += ", and what"
		}
		if one := s.answers[n-1]; one.asked != nil {
			text += " " + one.of + " said to its question " + strconv.Itoa(s.nth(n))
		} else {
			text += " the script of executor " + strconv.Quote(one.executor) + " does in iteration " + strconv.Itoa(one.iteration)
		}
	}
	return strings.TrimSpace(text)
}

// nth is which of the answers of the same an answer is.
func (s *script) nth(number int) (nth int) {
	for _, one := range s.answers[:number] {
		if one.asked != nil && one.of == s.answers[number-1].of {
			nth++
		}
	}
	return nth
}

// playing is a script in a run.
type playing struct {
	rest map[string][]*asked // what is still to be answered, by who is asked
	cut  cues.Cut            // of scripts
}

// playing begins a script; nil where nothing is left out.
func (s *script) playing() *playing {
	if s == nil {
		return nil
	}
	p := &playing{map[string][]*asked{}, cues.Cut{}}
	out := map[int]bool{}
	for _, n := range s.leftOut {
		out[n] = true
	}
	asks := false
	for i, one := range s.answers {
		switch {
		case one.asked == nil && out[i+1]:
			p.cut.Leave(one.executor, one.iteration)
		case one.asked != nil && out[i+1]:
			asks = true
		case one.asked != nil:
			p.rest[one.of] = append(p.rest[one.of], one.asked)
		}
	}
	if !asks { // the world answers as ever
		clear(p.rest)
	}
	return p
}

// plays is asked by a script which of its iterations it plays, on any strand.
func (a *attempt) plays(executor string, iteration int) int {
	if a.askers != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		known := func(one answer) bool { return one.executor == executor && one.iteration == iteration }
		if !slices.ContainsFunc(a.played, known) {
			a.played = append(a.played, answer{nil, executor, iteration, int(a.told.Load()) + 1})
		}
	}
	if a.script == nil {
		return iteration
	}
	return a.script.cut.Played(executor, iteration)
}

// answer is the next answer of who is asked; nil is the world's.
func (p *playing) answer(of string, request json.RawMessage) *adk.Answer {
	if p == nil {
		return nil
	}
	at := slices.IndexFunc(p.rest[of], func(one *asked) bool { // of a server of many things, that to the same
		return httpform.SameLine(one.request, request)
	})
	if at < 0 {
		return nil
	}
	next := p.rest[of][at]
	p.rest[of] = slices.Delete(p.rest[of], at, at+1)
	return next.whole().given()
}

// skip takes the next answer of who is asked for given.
func (p *playing) skip(of string, request json.RawMessage) { _ = p.answer(of, request) }
