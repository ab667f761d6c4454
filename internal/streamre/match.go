package streamre

import (
	"cmp"
	"regexp/syntax"
	"unicode/utf8"
)

// This file finds patterns in texts that arrive in pieces. Package regexp does not say whether the
// text so far may be the beginning of a match, so this machine, which can pause between two pieces,
// runs the same programs. It finds what package regexp finds, and also takes linear time.

// Span is a secret in a text.
type Span struct {
	From, To int
	Kind     string
	// Rank decides which kind applies if several spans begin at the same position: that of the
	// lowest rank.
	Rank int
	// Level is the number of levels of nested JSON in which a covered member lies; 0 for other
	// spans.
	Level uint8
}

// Join extends a span by another one that overlaps it and does not begin before it. A span that is
// larger than each of the joined members is not a member.
func (s *Span) Join(other Span) {
	switch {
	case other.From == s.From && other.To == s.To:
		s.Level = max(s.Level, other.Level)
	case other.From == s.From && other.To > s.To:
		s.Level = other.Level
	case other.To > s.To:
		s.Level = 0
	}
	s.To = max(s.To, other.To)
	if other.From == s.From && other.Rank < s.Rank {
		s.Kind, s.Rank = other.Kind, other.Rank
	}
}

// InOrder is the order in which spans are joined.
func InOrder(a, b Span) int { return cmp.Or(a.From-b.From, a.Rank-b.Rank) }

// thread is one way to continue a match that began at a position.
type thread struct {
	pc   uint32
	from int
}

// Matcher runs a pattern along one text, from left to right. Its threads are ordered by priority,
// as in package regexp.
type Matcher struct {
	P       *Pattern
	threads []thread // waiting for the next character
	steps   []thread // of the current step; the memory is reused
	been    []int    // in which step each instruction was last reached
	Step    int
	at      int
	before  rune // the character before at, -1 at the beginning
	// A match that has been found. It may be replaced while threads are left.
	hit      bool
	from, to int
}

// NewMatcher returns a matcher for a pattern, from a position in a text on.
func NewMatcher(p *Pattern, at int) *Matcher {
	return &Matcher{P: p, at: at, before: -1, been: make([]int, len(p.prog.Inst))}
}

// Whole returns the matches in a complete text.
func (m *Matcher) Whole(text string) []Span {
	return m.End(text, m.Run(nil, text, len(text)))
}

// Run continues to the position end of a text, and appends the matches that are final.
func (m *Matcher) Run(spans []Span, text string, end int) []Span {
	for m.at < end {
		if c := text[m.at]; len(m.threads) == 0 && !m.hit && c < utf8.RuneSelf && !m.P.first[c] {
			m.before = rune(c)
			m.at++
			continue
		}
		r, width := utf8.DecodeRuneInString(text[m.at:end])
		m.take(r)
		m.at += width
		m.before = r
		if m.hit && len(m.threads) == 0 {
			spans = m.settle(spans, text)
		}
	}
	return spans
}

// End handles the end of the text, which Run must have reached.
func (m *Matcher) End(text string, spans []Span) []Span {
	for {
		m.take(-1)
		if m.threads = m.threads[:0]; !m.hit {
			return spans
		}
		spans = m.Run(m.settle(spans, text), text, len(text))
	}
}

// settle accepts the current match, and continues after it.
func (m *Matcher) settle(spans []Span, text string) []Span {
	m.at, m.hit = m.to, false
	m.before, _ = utf8.DecodeLastRuneInString(text[:m.at])
	return append(spans, Span{From: m.from, To: m.to, Kind: m.P.Kind, Rank: m.P.Rank})
}

// Open returns the first position at which an undecided match may have begun.
func (m *Matcher) Open() (from int) {
	from = m.at
	if m.hit {
		from = m.from
	}
	for _, t := range m.threads {
		from = min(from, t.from)
	}
	return from
}

// take consumes a character or, if r is -1, the end of the text.
func (m *Matcher) take(r rune) {
	m.Step++
	m.steps = m.steps[:0]
	here := syntax.EmptyOpContext(m.before, r)
	for _, t := range m.threads {
		m.follow(t.pc, t.from, here)
	}
	if !m.hit { // the leftmost match wins
		m.follow(uint32(m.P.prog.Start), m.at, here)
	}
	m.threads = m.threads[:0]
	for _, t := range m.steps {
		switch i := &m.P.prog.Inst[t.pc]; {
		case i.Op == syntax.InstMatch:
			m.hit, m.from, m.to = true, t.from, m.at
			return // later threads have a lower priority
		case r >= 0 && i.MatchRune(r):
			m.threads = append(m.threads, thread{i.Out, t.from})
		}
	}
}

// follow adds the instructions that can be reached without consuming a character.
func (m *Matcher) follow(pc uint32, from int, here syntax.EmptyOp) {
	if m.been[pc] == m.Step {
		return
	}
	m.been[pc] = m.Step
	switch i := &m.P.prog.Inst[pc]; i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		m.follow(i.Out, from, here)
		m.follow(i.Arg, from, here)
	case syntax.InstCapture, syntax.InstNop:
		m.follow(i.Out, from, here)
	case syntax.InstEmptyWidth:
		if syntax.EmptyOp(i.Arg)&^here == 0 {
			m.follow(i.Out, from, here)
		}
	case syntax.InstFail:
	case syntax.InstMatch:
		if from < m.at { // the empty text is no secret
			m.steps = append(m.steps, thread{pc, from})
		}
	default:
		m.steps = append(m.steps, thread{pc, from})
	}
}
