package redacting

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/internal/streamre"
)

// redactStream is a text that comes in deltas. Secrets in it are found as in a single text,
// wherever the boundaries of the deltas are.
type redactStream struct {
	redactor *redactor
	Text     strings.Builder // all that has come
	Matchers []*streamre.Matcher
	members  *memberFinder
	search   streamre.Search
	hunted   int             // the redactor's value of hunted at the last look
	found    []streamre.Span // what the matchers found after the position of search
	growing  streamre.Span   // not final yet, because another secret may overlap it; empty for none
	Spans    []streamre.Span // final
	decided  int             // up to here it is known what is secret
	given    int             // how many of Spans precede the deltas that were written
	over     bool
	closed   bool // everything that follows is treated as secret
}

// newRedactStream returns a stream of the deltas at a path. If a rule covers the path, the whole
// stream is secret.
func newRedactStream(r *redactor, path ...string) *redactStream {
	s := &redactStream{redactor: r, search: streamre.Search{Texts: &r.Texts}, members: newMemberFinder(r, path)}
	if kind := r.rules.kindOf(path); kind != "" {
		s.closed, s.Spans = true, []streamre.Span{{Kind: kind}}
		return s
	}
	for _, p := range r.rules.patterns {
		s.Matchers = append(s.Matchers, streamre.NewMatcher(p, 0))
	}
	return s
}

// Add appends the next delta, and returns its range in the text.
func (s *redactStream) Add(delta string, last bool) (from, to int) {
	from = s.Text.Len()
	s.Text.WriteString(delta)
	s.over = s.over || last
	s.look()
	return from, s.Text.Len()
}

// End says that no delta follows.
func (s *redactStream) End() {
	s.over = true
	s.look()
}

// look decides as much of the text as possible.
func (s *redactStream) look() {
	text := s.Text.String()
	if s.closed {
		s.Spans[len(s.Spans)-1].To, s.decided = len(text), len(text)
		return
	}
	end := len(text)
	if !s.over {
		end = completeRunes(text, s.decided)
	}
	open := end
	before := len(s.found)
	for _, m := range s.Matchers {
		s.found = m.Run(s.found, text, end)
		if s.over {
			s.found = m.End(text, s.found)
		}
		open = min(open, m.Open())
	}
	s.found = s.members.Run(s.found, text, end)
	if s.over {
		s.found = s.members.End(text, s.found)
	}
	open = min(open, s.members.Open())
	if len(s.found) > before {
		slices.SortFunc(s.found, streamre.InOrder)
	}
	if s.hunted != s.redactor.hunted { // search all that is not decided again
		s.search.At = s.decided
	}
	for s.step(text[:end], open) {
	}
	s.hunted = s.redactor.hunted
	s.decided = s.search.At
	if s.growing.To > 0 {
		s.decided = s.growing.From
	}
}

// step advances by one step: it joins the next secret to the one that is growing, or makes the
// growing one final if nothing can overlap it any more. Matchers may still find a secret that
// begins at open or later. After a new secret, its other forms must be looked for at once, because
// its line may wait for a long time while other lines contain those forms. Therefore the search
// never runs ahead of what is final.
func (s *redactStream) step(text string, open int) (more bool) {
	limit := open
	if s.growing.To > 0 {
		limit = min(open, s.growing.To)
	} else if len(s.found) > 0 {
		limit = min(open, s.found[0].From+1)
	}
	next, ok := s.search.Next(text, limit, s.over)
	if !ok && len(s.found) > 0 && s.found[0].From < s.search.At {
		next, ok, s.found = s.found[0], true, s.found[1:]
	}
	switch {
	case ok && s.growing.To > 0:
		s.growing.Join(next)
	case ok:
		s.growing = next
	case s.growing.To > 0 && s.growing.To <= s.search.At:
		final := s.growing
		s.redactor.learnSpan(final, text)
		s.Spans = append(s.Spans, final)
		s.growing = streamre.Span{}
	default:
		return false
	}
	return true
}

// close treats everything that is undecided, and everything that follows, as secret.
func (s *redactStream) close() {
	if s.closed || s.decided == s.Text.Len() {
		return
	}
	s.closed = true
	s.Spans = append(s.Spans, streamre.Span{From: s.decided, To: s.Text.Len(), Kind: "unended"})
	s.decided = s.Text.Len()
}

// completeRunes returns the end of text without an incomplete character at its end.
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

// Between returns the redacted text between two positions, which must be decided. Deltas must be
// requested in order.
func (s *redactStream) Between(from, to int) string {
	last := len(s.Spans)
	if s.closed {
		last-- // it is still growing
	}
	for s.given < last && s.Spans[s.given].To <= from {
		s.given++
	}
	return s.cut(s.given, from, to)
}

// UpTo returns the redacted text up to a position, which must be decided.
func (s *redactStream) UpTo(to int) string { return s.cut(0, 0, to) }

// cut returns a range of the text in which a placeholder replaces each span. A placeholder is
// written where its span begins.
func (s *redactStream) cut(spans, from, to int) string {
	text := s.Text.String()
	var b strings.Builder
	at := from
	for _, secret := range s.Spans[spans:] {
		if secret.From >= to {
			break
		}
		if secret.From >= from {
			b.WriteString(text[at:secret.From])
			b.WriteString(s.instead(secret, text))
		}
		at = max(at, min(secret.To, to))
	}
	b.WriteString(text[at:to])
	return b.String()
}

// instead returns what to write in place of a span. A span that has no end yet is identified by its
// beginning.
func (s *redactStream) instead(at streamre.Span, text string) string {
	if s.closed && at.To == s.Spans[len(s.Spans)-1].To {
		return s.redactor.placeholder(at.Kind, text[at.From:min(at.To, at.From+leastHunted)])
	}
	return s.redactor.standsIn(at, text)
}
