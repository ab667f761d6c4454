package replay

import (
	"strings"
	"unicode/utf8"
)

// redactStream is a text that comes in deltas. Secrets in it are found as in a
// text that stands alone, wherever the deltas part it.
type redactStream struct {
	redactor *redactor
	text     strings.Builder // all that has come
	matchers []*matcher
	hunted   int    // how many of the redactor's hunted texts have a matcher
	found    []span // not yet final: another pattern may still add to them
	spans    []span // final
	decided  int    // the place up to which it is clear what is secret
	given    int    // how many of spans the deltas have come to
	over     bool
	closed   bool // all the rest is taken for a secret
}

// newRedactStream is a stream whose deltas stand under a path. Where a rule
// covers that, all of it is secret.
func newRedactStream(r *redactor, path ...string) *redactStream {
	s := &redactStream{redactor: r}
	if kind := r.rules.kindOf(path); kind != "" {
		s.closed, s.spans = true, []span{{kind: kind}}
		return s
	}
	for _, p := range r.rules.patterns {
		s.matchers = append(s.matchers, newMatcher(p, 0))
	}
	s.hunt()
	return s
}

// hunt adds matchers for texts that paths have found since.
func (s *redactStream) hunt() {
	for ; s.hunted < len(s.redactor.hunted); s.hunted++ {
		s.matchers = append(s.matchers, newMatcher(s.redactor.hunted[s.hunted], s.decided))
	}
}

// add takes the next delta, and gives where it begins and ends in the text.
func (s *redactStream) add(delta string, last bool) (from, to int) {
	from = s.text.Len()
	s.text.WriteString(delta)
	if s.over = s.over || last; s.over {
		s.end()
	} else {
		s.look()
	}
	return from, s.text.Len()
}

// end says that no delta follows.
func (s *redactStream) end() {
	s.over = true
	s.look()
	if s.closed {
		return
	}
	text := s.text.String()
	for _, m := range s.matchers {
		s.found = m.end(text, s.found)
	}
	s.spans = append(s.spans, merged(s.found)...)
	s.found, s.decided = nil, len(text)
}

// look decides what can be decided of the text so far.
func (s *redactStream) look() {
	text := s.text.String()
	if s.closed {
		s.spans[len(s.spans)-1].to, s.decided = len(text), len(text)
		return
	}
	s.hunt()
	end := len(text)
	if !s.over {
		end = completeRunes(text, s.decided)
	}
	decided := end
	for _, m := range s.matchers {
		s.found = m.run(s.found, text, end)
		decided = min(decided, m.open())
	}
	s.settle(decided)
}

// settle makes the spans final that lie before a place. One that reaches beyond
// it may still grow.
func (s *redactStream) settle(decided int) {
	s.found = merged(s.found)
	final := len(s.found)
	for final > 0 && s.found[final-1].to > decided {
		final--
		decided = min(decided, s.found[final].from)
	}
	s.spans = append(s.spans, s.found[:final]...)
	s.found = s.found[final:]
	s.decided = decided
}

// close takes all that is not decided for a secret, and all that follows.
func (s *redactStream) close() {
	if s.closed || s.decided == s.text.Len() {
		return
	}
	s.closed = true
	s.spans = append(s.spans, span{s.decided, s.text.Len(), "unended"})
	s.decided = s.text.Len()
}

// completeRunes is the end of text without the beginning of a character whose rest
// has not come.
func completeRunes(text string, from int) int {
	for end := len(text) - 1; end >= max(from, len(text)-utf8.UTFMax); end-- {
		if utf8.RuneStart(text[end]) {
			if utf8.FullRuneInString(text[end:]) {
				break
			}
			return end
		}
	}
	return len(text)
}

// between is what is written of the text between two places, which are decided.
// Deltas are asked for in their order.
func (s *redactStream) between(from, to int) string {
	last := len(s.spans)
	if s.closed {
		last-- // it grows
	}
	for s.given < last && s.spans[s.given].to <= from {
		s.given++
	}
	return s.cut(s.given, from, to)
}

// upTo is what is written of the text up to a place that is decided.
func (s *redactStream) upTo(to int) string { return s.cut(0, 0, to) }

// cut leaves the spans from one on out. Where one begins, its placeholder is.
func (s *redactStream) cut(spans, from, to int) string {
	text := s.text.String()
	var b strings.Builder
	at := from
	for _, secret := range s.spans[spans:] {
		if secret.from >= to {
			break
		}
		if secret.from >= from {
			b.WriteString(text[at:secret.from])
			b.WriteString(s.redactor.placeholder(secret.kind, s.secret(secret, text)))
		}
		at = max(at, min(secret.to, to))
	}
	b.WriteString(text[at:to])
	return b.String()
}

// secret is the text of a span. One that has no end yet is told by its place.
func (s *redactStream) secret(at span, text string) string {
	if s.closed && at.to == s.spans[len(s.spans)-1].to {
		return text[at.from:min(at.to, at.from+leastHunted)]
	}
	return text[at.from:at.to]
}
