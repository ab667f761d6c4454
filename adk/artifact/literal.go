package artifact

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// literal is a text to search for before a pattern is tried; nil text if there is none.
type literal struct {
	text []byte // in lowercase ASCII if fold is set
	fold bool   // uppercase letters match too
}

// neededBy returns the longest text that must occur in whatever a pattern matches, as far as that
// is easy to find.
func neededBy(pattern string) literal {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return literal{}
	}
	needed := literalIn(parsed.Simplify())
	if len(needed.text) == 0 || bytes.ContainsAny(needed.text, "\n\uFFFD") {
		return literal{}
	}
	return needed
}

func literalIn(re *syntax.Regexp) (longest literal) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return folded(re.Rune)
		}
		return literal{text: []byte(string(re.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return literalIn(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if needed := literalIn(sub); len(needed.text) > len(longest.text) {
				longest = needed
			}
		}
	}
	return longest
}

// folded returns the longest piece of a case-insensitive text whose letters have exactly two forms,
// both in ASCII. K and S have a third form outside of it.
func folded(runes []rune) literal {
	longest, piece := []byte(nil), []byte(nil)
	for _, c := range runes {
		if c >= utf8.RuneSelf || strings.ContainsRune("KkSs", c) {
			piece = nil
			continue
		}
		if piece = append(piece, small(byte(c))); len(piece) > len(longest) {
			longest = piece
		}
	}
	return literal{longest, true}
}

// index returns the offset of the literal's first occurrence; -1 if there is none.
func (l literal) index(data []byte) int {
	if !l.fold {
		return bytes.Index(data, l.text)
	}
	first, other := l.text[0], large(l.text[0])
	for from := 0; len(data)-from >= len(l.text); {
		// Search piece by piece. Otherwise a text in one letter case would be searched to its end
		// for the other case again and again.
		piece := data[from:min(from+512, len(data))]
		at := bytes.IndexByte(piece, first)
		if at >= 0 {
			piece = piece[:at]
		}
		if earlier := bytes.IndexByte(piece, other); earlier >= 0 {
			at = earlier
		}
		if at < 0 {
			from += len(piece)
			continue
		}
		if from += at; l.stands(data[from:]) {
			return from
		}
		from++
	}
	return -1
}

// stands reports whether data begins with the literal.
func (l literal) stands(data []byte) bool {
	if len(data) < len(l.text) {
		return false
	}
	for i, c := range l.text {
		if data[i] != c && data[i] != large(c) {
			return false
		}
	}
	return true
}

// small returns an uppercase ASCII letter in lowercase, and other bytes unchanged.
func small(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// large returns a lowercase ASCII letter in uppercase, and other bytes unchanged.
func large(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}
