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

// This file shortens the world's part of a turn: a model that asks for three tools before it
// answers may show as much with one. The answers of the undisturbed turn are the script of the
// world, and some of them are left out. Iterations of a fakes.Script, which takes a model's place,
// can be left out too.

// script is what the world answers, except for some answers.
type script struct {
	answers []answer
	leftOut []int // their numbers, counted from 1
}

// answer is what the world answered to one question, or else one iteration of a script, counted
// from 0, in whichever dispatch.
type answer struct {
	*asked
	executor  string
	iteration int
	at        int // the number of the crossing to come when it is needed for the first time
}

// answersOf returns the answers of the world in a run in their order, together with iterations of
// scripts. Fault points have no answers.
func answersOf(crossings []adk.Crossing, iterations []answer) []answer {
	for _, one := range inOrder(askedIn(crossings)) {
		if one.done && !one.isPoint() {
			iterations = append(iterations, answer{asked: one, at: one.first})
		}
	}
	slices.SortStableFunc(iterations, func(a, b answer) int { return a.at - b.at })
	return iterations
}

// without returns the numbers of the answers that are left out.
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

// nth returns the position of an answer among the answers of the same source.
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
	rest map[string][]*asked // the answers that are still to be given, by who is asked
	cut  cues.Cut            // the iterations of scripts that are left out
}

// playing prepares the script for a run; it is nil if nothing is left out.
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
	if !asks { // the world answers as usual
		clear(p.rest)
	}
	return p
}

// plays returns which iteration a fakes.Script plays instead of iteration, on any strand.
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

// answer returns the next answer of the one who is asked; nil means that the world answers.
func (p *playing) answer(of string, request json.RawMessage) *adk.Answer {
	if p == nil {
		return nil
	}
	at := slices.IndexFunc(p.rest[of], func(one *asked) bool { // a server may do many things: match the request line
		return httpform.SameLine(one.request, request)
	})
	if at < 0 {
		return nil
	}
	next := p.rest[of][at]
	p.rest[of] = slices.Delete(p.rest[of], at, at+1)
	return next.whole().given()
}

// skip drops the next answer of the one who is asked.
func (p *playing) skip(of string, request json.RawMessage) { _ = p.answer(of, request) }
