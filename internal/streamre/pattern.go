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
	quick *regexp.Regexp // decides whether a complete text is worth a run of the machine
	prog  *syntax.Prog
	first [utf8.RuneSelf]bool // the ASCII characters that a match may begin with
}

// Compile compiles a regular expression for secrets of a kind. The expression must not match the
// empty text at any position, since that would be found everywhere, or would hide other matches.
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

// Literal returns the only text that the pattern matches, if there is only one.
func (p *Pattern) Literal() (text string, ok bool) { return p.quick.LiteralPrefix() }

// MayBeIn reports whether a complete text contains a match.
func (p *Pattern) MayBeIn(text string) bool { return p.quick.MatchString(text) }

// matchesEmpty reports whether a match may be empty at some position. Conditions on the position,
// such as \b, are assumed to hold somewhere.
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

// NotKind matches what the name of a kind must not contain.
var NotKind = regexp.MustCompile(`[^a-z0-9-]+`)
