package streamre

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// Pattern is a regular expression for secrets of a kind.
type Pattern struct {
	Kind  string
	Rank  int            // of its spans
	quick *regexp.Regexp // reports whether a whole text is worth the machine
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

// Literal is the only text that it finds, where there is one.
func (p *Pattern) Literal() (text string, ok bool) { return p.quick.LiteralPrefix() }

// MayBeIn reports whether a whole text is worth the machine.
func (p *Pattern) MayBeIn(text string) bool { return p.quick.MatchString(text) }

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

// NotKind is what a kind of secret may not hold.
var NotKind = regexp.MustCompile(`[^a-z0-9-]+`)
