package explore

import (
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file makes the world's part of a turn shorter: a model that asks for three tools
// before it answers may show as much with one. What it answered in the undisturbed turn is
// its script, and some of the answers are left out.

// script is what the world answers, but for some of it.
type script struct {
	answers []*asked
	leftOut []int // their numbers, from 1
}

// answersOf are the answers of the world in a run; fault points have none.
func answersOf(crossings []adk.Crossing) (all []*asked) {
	for _, one := range inOrder(askedIn(crossings)) {
		if one.done && !one.isPoint() {
			all = append(all, one)
		}
	}
	return all
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
	text := turn.Schedule{Without: s.leftOut}.String() + ": of what was answered there is left out what"
	for i, n := range s.leftOut {
		if i > 0 {
			text += ", and what"
		}
		text += " " + s.answers[n-1].of + " said to its question " + strconv.Itoa(s.nth(n))
	}
	return strings.TrimSpace(text)
}

// nth is which of the answers of the same an answer is.
func (s *script) nth(number int) (nth int) {
	for _, one := range s.answers[:number] {
		if one.of == s.answers[number-1].of {
			nth++
		}
	}
	return nth
}

// playing is a script in a run.
type playing struct {
	rest map[string][]*asked // what is still to be answered, by who is asked
}

// playing begins a script; nil where nothing is left out.
func (s *script) playing() *playing {
	if s == nil {
		return nil
	}
	p := &playing{map[string][]*asked{}}
	out := map[int]bool{}
	for _, n := range s.leftOut {
		out[n] = true
	}
	for i, one := range s.answers {
		if !out[i+1] {
			p.rest[one.of] = append(p.rest[one.of], one)
		}
	}
	return p
}

// answer is the next answer of who is asked; nil is the world's.
func (p *playing) answer(of string) *adk.Answer {
	if p == nil || len(p.rest[of]) == 0 {
		return nil
	}
	next := p.rest[of][0]
	p.rest[of] = p.rest[of][1:]
	return next.whole().given()
}

// skip takes the next answer of who is asked for given.
func (p *playing) skip(of string) { _ = p.answer(of) }
