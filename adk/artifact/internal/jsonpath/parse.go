package jsonpath

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
)

// Parse reads a path. The error is a *SyntaxError if the text is no well-formed and well-typed
// query of RFC 9535, or if it has more than 100 segments.
func Parse(text string) (path *Path, err error) {
	p := &parser{text: text}
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case *SyntaxError:
			path, err = nil, fault
		default:
			panic(fault)
		}
	}()
	if !utf8.ValidString(text) {
		p.fail("the path is not valid UTF-8")
	}
	if !p.take("$") {
		p.unexpected("'$'")
	}
	segments := p.segments()
	if p.at < len(text) {
		p.unexpected("the end, '.' or '['")
	}
	return &Path{segments}, nil
}

// parser goes through a path once. On an error it panics with a *SyntaxError.
type parser struct {
	text    string
	at      int
	nesting int
}

func (p *parser) fail(format string, args ...any) {
	column := utf8.RuneCountInString(p.text[:min(p.at, len(p.text))]) + 1
	panic(&SyntaxError{Column: column, What: fmt.Sprintf(format, args...)})
}

func (p *parser) unexpected(want string) {
	if p.at >= len(p.text) {
		p.fail("the path ends, want %s", want)
	}
	c, _ := utf8.DecodeRuneInString(p.text[p.at:])
	p.fail("found %q, want %s", c, want)
}

// nest counts one more open level; the caller ends it with leave.
func (p *parser) nest() (leave func()) {
	if p.nesting++; p.nesting > maxNesting {
		p.fail("nested more than %d deep", maxNesting)
	}
	return func() { p.nesting-- }
}

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) take(word string) bool {
	if !strings.HasPrefix(p.text[p.at:], word) {
		return false
	}
	p.at += len(word)
	return true
}

func (p *parser) want(word string) {
	if !p.take(word) {
		p.unexpected("'" + word + "'")
	}
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.at]) >= 0 {
		p.at++
	}
}

// segments parses what follows $ or @. White space belongs to a path only before a segment.
func (p *parser) segments() (all []segment) {
	for {
		back := p.at
		p.space()
		var s segment
		switch {
		case p.take(".."):
			s.descendant = true
			s.selectors = p.afterDots()
		case p.take("."):
			s.selectors = []selector{p.shorthand()}
		case p.peek() == '[':
			s.selectors = p.bracketed()
		default:
			p.at = back
			return all
		}
		if all = append(all, s); len(all) > maxSegments {
			p.fail("more than %d segments", maxSegments)
		}
	}
}

func (p *parser) afterDots() []selector {
	if p.peek() == '[' {
		return p.bracketed()
	}
	return []selector{p.shorthand()}
}

// shorthand parses * or a name without quotes.
func (p *parser) shorthand() selector {
	if p.take("*") {
		return wildcardSelector{}
	}
	start := p.at
	for p.at < len(p.text) {
		c, size := utf8.DecodeRuneInString(p.text[p.at:])
		if !beginsName(c) && (p.at == start || c < '0' || c > '9') {
			break
		}
		p.at += size
	}
	if p.at == start {
		p.unexpected("a name or '*'")
	}
	return nameSelector(p.text[start:p.at])
}

func beginsName(c rune) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (p *parser) bracketed() (all []selector) {
	p.want("[")
	for {
		p.space()
		all = append(all, p.selector())
		if p.space(); p.take("]") {
			return all
		}
		if !p.take(",") {
			p.unexpected("',' or ']'")
		}
	}
}

func (p *parser) selector() selector {
	switch c := p.peek(); {
	case c == '\'' || c == '"':
		return nameSelector(p.quoted())
	case p.take("*"):
		return wildcardSelector{}
	case p.take("?"):
		defer p.nest()()
		p.space()
		return filterSelector{p.condition()}
	case c == ':' || c == '-' || isDigit(c):
		return p.indexOrSlice()
	}
	p.unexpected("a selector")
	return nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (p *parser) indexOrSlice() selector {
	start := p.integerIf()
	back := p.at
	if p.space(); !p.take(":") {
		p.at = back
		return indexSelector(*start)
	}
	slice := sliceSelector{start: start, step: 1}
	p.space()
	slice.end = p.integerIf()
	back = p.at
	if p.space(); !p.take(":") {
		p.at = back
		return slice
	}
	p.space()
	if step := p.integerIf(); step != nil {
		slice.step = *step
	}
	return slice
}

// maxInteger is the greatest integer that all readers of JSON represent exactly.
const maxInteger = 1<<53 - 1

// integerIf parses an integer, if there is one.
func (p *parser) integerIf() *int {
	start := p.at
	negative := p.take("-")
	digits := p.at
	for isDigit(p.peek()) {
		p.at++
	}
	text := p.text[digits:p.at]
	switch {
	case text == "" && !negative:
		return nil
	case text == "":
		p.unexpected("a digit")
	case text[0] == '0' && (len(text) > 1 || negative):
		p.at = start
		p.fail("an integer that begins with 0")
	}
	n, err := strconv.ParseInt(p.text[start:p.at], 10, 64)
	if err != nil || n > maxInteger || n < -maxInteger {
		p.at = start
		p.fail("an integer beyond 2^53")
	}
	const most = math.MaxInt >> 1 // no list is as long, and the sum of two is an int, even with 32 bits
	return new(int(max(-most, min(most, n))))
}

// quoted parses a string literal.
func (p *parser) quoted() string {
	quote := p.peek()
	p.at++
	var text strings.Builder
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == quote:
			p.at++
			return text.String()
		case c < ' ':
			p.unexpected("no control character")
		case c == '\\':
			p.at++
			text.WriteRune(p.escape(quote))
		default:
			text.WriteByte(c)
			p.at++
		}
	}
	p.unexpected("the end of the string")
	return ""
}

func (p *parser) escape(quote byte) rune {
	c := p.peek()
	p.at++
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case '/', '\\', quote:
		return rune(c)
	case 'u':
		return p.unicode()
	}
	p.at--
	p.unexpected("an escape")
	return 0
}

func (p *parser) unicode() rune {
	start := p.at
	unit := p.hex4()
	if !utf16.IsSurrogate(unit) {
		return unit
	}
	if p.take(`\u`) {
		if pair := utf16.DecodeRune(unit, p.hex4()); pair != utf8.RuneError {
			return pair
		}
	}
	p.at = start
	p.fail("half of a surrogate pair")
	return 0
}

func (p *parser) hex4() rune {
	end := min(p.at+4, len(p.text))
	n, err := strconv.ParseUint(p.text[p.at:end], 16, 32)
	if err != nil || end-p.at < 4 {
		p.unexpected("four hexadecimal digits")
	}
	p.at = end
	return rune(n)
}

// number parses a number literal; its sign or first digit is next.
func (p *parser) number() any {
	start := p.at
	p.take("-")
	digits := p.at
	for isDigit(p.peek()) {
		p.at++
	}
	if whole := p.text[digits:p.at]; whole == "" || whole[0] == '0' && len(whole) > 1 {
		p.at = digits
		p.unexpected("a number that does not begin with 0")
	}
	if p.take(".") {
		p.someDigits()
	}
	if p.take("e") || p.take("E") {
		if !p.take("+") {
			p.take("-")
		}
		p.someDigits()
	}
	return jsontree.NumberOf(p.text[start:p.at])
}

func (p *parser) someDigits() {
	start := p.at
	for isDigit(p.peek()) {
		p.at++
	}
	if p.at == start {
		p.unexpected("a digit")
	}
}
