package streamre

import (
	"cmp"
	"regexp/syntax"
	"unicode/utf8"
)

// This file finds patterns in texts that come in pieces. Package regexp does
// not say whether what has come may be the beginning of a match, so the same
// programs are run here by a machine that can stop between two pieces. It finds
// what package regexp finds, and takes linear time as that does.

// Span is a secret in a text.
type Span struct {
	From, To int
	Kind     string
	// Rank tells whose the kind is where several begin at one place: that of the least.
	Rank int
	// Level is how many levels of JSON in JSON a covered member lies in; 0 for other spans.
	Level uint8
}

// Join takes in a span that overlaps, and does not begin before it. What is more than the
// member of one of them is no member.
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

// thread is one way to go on with a match that began at a place.
type thread struct {
	pc   uint32
	from int
}

// Matcher runs a pattern along one text, from left to right. Its threads are in
// the order of their priority, as those of package regexp.
type Matcher struct {
	P       *Pattern
	threads []thread // that wait for the next character
	steps   []thread // those of one step, kept for the next
	been    []int    // in which step an instruction was reached
	Step    int
	at      int
	before  rune // the character before at, -1 at the beginning
	// A match that is there, and can become another while threads are left.
	hit      bool
	from, to int
}

// NewMatcher looks for a pattern from a place in a text on.
func NewMatcher(p *Pattern, at int) *Matcher {
	return &Matcher{P: p, at: at, before: -1, been: make([]int, len(p.prog.Inst))}
}

// Whole gives the matches in a text that has come to its end.
func (m *Matcher) Whole(text string) []Span {
	return m.End(text, m.Run(nil, text, len(text)))
}

// Run goes on to the place end of a text and adds the matches that are certain.
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

// End says that the text ends where run has come to.
func (m *Matcher) End(text string, spans []Span) []Span {
	for {
		m.take(-1)
		if m.threads = m.threads[:0]; !m.hit {
			return spans
		}
		spans = m.Run(m.settle(spans, text), text, len(text))
	}
}

// settle takes the match as it is, and goes on behind it.
func (m *Matcher) settle(spans []Span, text string) []Span {
	m.at, m.hit = m.to, false
	m.before, _ = utf8.DecodeLastRuneInString(text[:m.at])
	return append(spans, Span{From: m.from, To: m.to, Kind: m.P.Kind, Rank: m.P.Rank})
}

// Open is the place where a match may have begun that is not decided yet.
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

// take reads a character, or with -1 the end of the text.
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
			return // those that come after it have a lower priority
		case r >= 0 && i.MatchRune(r):
			m.threads = append(m.threads, thread{i.Out, t.from})
		}
	}
}

// follow notes the instructions that can be reached without a character.
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
