package streamre

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file finds patterns in texts that come in pieces. Package regexp does
// not say whether what has come may be the beginning of a match, so the same
// programs are run here by a machine that can stop between two pieces. It finds
// what package regexp finds, and takes linear time as that does.

// Pattern is a compiled Pattern, or a text that a path found.
type Pattern struct {
	Kind  string
	quick *regexp.Regexp // reports whether a whole text is worth the machine
	texts []string       // the same of a pattern of texts, in a fraction of the time
	prog  *syntax.Prog
	first [utf8.RuneSelf]bool // the characters of ASCII that a match may begin with
}

// Compile compiles a regular expression for secrets of a kind. It must not match the
// empty text, at any place: that would be found everywhere, or hide what could be found.
func Compile(kind, expr string) (*Pattern, error) {
	if kind == "" || NotKind.MatchString(kind) {
		return nil, errors.New("its kind: want lowercase letters, digits and dashes")
	}
	quick, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	p := &Pattern{Kind: kind, quick: quick, prog: prog}
	if p.matchesEmpty(uint32(prog.Start), make([]bool, len(prog.Inst))) {
		return nil, errors.New("it matches the empty text, and so everywhere")
	}
	for r := range p.first {
		p.first[r] = p.begins(uint32(prog.Start), rune(r), make([]bool, len(prog.Inst)))
	}
	return p, nil
}

// CompileTexts compiles texts, of which none is empty, as a pattern that finds each of
// them; where one begins another, the one that is given first.
func CompileTexts(kind string, texts []string) (*Pattern, error) {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = regexp.QuoteMeta(text)
	}
	p, err := Compile(kind, strings.Join(quoted, "|"))
	if err == nil {
		p.texts = texts
	}
	return p, err
}

// MayBeIn reports whether a whole text is worth the machine.
func (p *Pattern) MayBeIn(text string) bool {
	if p.texts == nil {
		return p.quick.MatchString(text)
	}
	return slices.ContainsFunc(p.texts, func(one string) bool { return strings.Contains(text, one) })
}

// matchesEmpty reports whether a match may hold no character, wherever in a text that
// is: what is asked of the place, as in \b, is met somewhere.
func (p *Pattern) matchesEmpty(pc uint32, been []bool) bool {
	if been[pc] {
		return false
	}
	been[pc] = true
	switch i := &p.prog.Inst[pc]; i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return p.matchesEmpty(i.Out, been) || p.matchesEmpty(i.Arg, been)
	case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
		return p.matchesEmpty(i.Out, been)
	}
	return p.prog.Inst[pc].Op == syntax.InstMatch
}

// begins reports whether a match may begin with r.
func (p *Pattern) begins(pc uint32, r rune, been []bool) bool {
	if been[pc] {
		return false
	}
	been[pc] = true
	switch i := &p.prog.Inst[pc]; i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return p.begins(i.Out, r, been) || p.begins(i.Arg, r, been)
	case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
		return p.begins(i.Out, r, been)
	case syntax.InstMatch, syntax.InstFail:
		return false
	default:
		return i.MatchRune(r)
	}
}

// Span is a secret in a text.
type Span struct {
	From, To int
	Kind     string
}

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
	return append(spans, Span{m.from, m.to, m.P.Kind})
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
