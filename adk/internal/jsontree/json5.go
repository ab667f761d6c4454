package jsontree

import (
	"math"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file reads what JSON5 has beyond JSON: comments, more white space, keys without quotes,
// single quotes, more escapes and more numbers.

// looseSpace takes one more kind of white space, or a comment. It reports whether there was one.
func (r *reader) looseSpace() bool {
	rest := r.text[r.at:]
	switch {
	case strings.HasPrefix(rest, "//"):
		end := strings.IndexAny(rest, "\n\r\u2028\u2029")
		if end < 0 {
			end = len(rest)
		}
		r.at += end
		return true
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			r.at = len(r.text)
			r.unexpected("the end of the comment")
		}
		r.at += end + 4
		return true
	}
	c, size := utf8.DecodeRuneInString(rest)
	if size == 0 || !isLooseSpace(c) {
		return false
	}
	r.at += size
	return true
}

func isLooseSpace(c rune) bool {
	switch c {
	case '\v', '\f', '\u00A0', '\uFEFF', '\u2028', '\u2029':
		return true
	}
	return unicode.Is(unicode.Zs, c)
}

// name takes a key without quotes: an identifier of ECMAScript 5.1.
func (r *reader) name() string {
	var name strings.Builder
	for r.at < len(r.text) {
		at := r.at
		c, size := utf8.DecodeRuneInString(r.text[r.at:])
		r.at += size
		if c == '\\' {
			if !r.take('u') {
				r.unexpected(`\u`)
			}
			c = r.unicode()
			if !beginsName(c) && (name.Len() == 0 || !inName(c)) {
				r.at = at
				r.unexpected("a letter")
			}
		}
		if !beginsName(c) && (name.Len() == 0 || !inName(c)) {
			r.at = at
			break
		}
		name.WriteRune(c)
	}
	if name.Len() == 0 {
		r.unexpected("a key")
	}
	return name.String()
}

func beginsName(c rune) bool {
	return c == '$' || c == '_' || unicode.In(c, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Lm, unicode.Lo, unicode.Nl)
}

// inName reports whether a character may occur in a name after its first.
func inName(c rune) bool {
	return beginsName(c) || c == '\u200C' || c == '\u200D' || unicode.In(c, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc)
}

// looseEscape takes what follows a backslash and is not an escape of JSON.
func (r *reader) looseEscape(text *strings.Builder) {
	c, size := utf8.DecodeRuneInString(r.text[r.at:])
	if size == 0 {
		r.unexpected("the end of the string")
	}
	if c >= '1' && c <= '9' {
		r.unexpected("no digit")
	}
	r.at += size
	switch c {
	case 'v':
		text.WriteByte('\v')
	case '0':
		if next := r.peek(); next >= '0' && next <= '9' {
			r.unexpected("no digit")
		}
		text.WriteByte(0)
	case 'x':
		text.WriteRune(r.hex(2))
	case '\r': // a line continuation
		r.take('\n')
	case '\n', '\u2028', '\u2029':
	default:
		text.WriteRune(c)
	}
}

func (r *reader) looseNumber() any {
	start := r.at
	negative := r.take('-')
	if !negative && r.take('+') {
		start++
	}
	sign := 1
	if negative {
		sign = -1
	}
	switch {
	case r.word("Infinity"):
		return math.Inf(sign)
	case r.word("NaN"):
		return math.NaN()
	case strings.HasPrefix(r.text[r.at:], "0x") || strings.HasPrefix(r.text[r.at:], "0X"):
		r.at += 2
		return r.hexNumber(negative)
	}
	whole := r.take('0')
	if !whole {
		whole = r.digits() > 0
	}
	fraction := r.take('.') && r.digits() > 0
	if !whole && !fraction {
		r.unexpected("a value")
	}
	r.exponent()
	return NumberOf(strictNumber(r.text[start:r.at]))
}

// strictNumber converts a number of JSON5 to JSON's form, with digits on both sides of its point.
func strictNumber(text string) string {
	text, negative := strings.CutPrefix(text, "-")
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	if at := strings.IndexByte(text, '.'); at >= 0 && (at+1 == len(text) || text[at+1] < '0' || text[at+1] > '9') {
		text = text[:at] + text[at+1:]
	}
	if negative {
		return "-" + text
	}
	return text
}

// mostHex is how many digits a hexadecimal number may have. Converting more would take more than
// linear time.
const mostHex = 256

func (r *reader) hexNumber(negative bool) any {
	start := r.at
	for r.at < len(r.text) && isHex(r.text[r.at]) {
		r.at++
	}
	if r.at == start {
		r.unexpected("a hexadecimal digit")
	}
	if r.at-start > mostHex {
		r.fail("a hexadecimal number of more than %d digits", mostHex)
	}
	n, _ := new(big.Int).SetString(r.text[start:r.at], 16)
	if negative {
		n.Neg(n)
	}
	return NumberOf(n.String())
}
