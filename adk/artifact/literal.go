package artifact

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// literal is a text to look for before a pattern is tried; nil where there is none to tell.
type literal struct {
	text []byte // of a folded one small letters of ASCII
	fold bool   // large letters count too
}

// neededBy is the longest text that has to stand in whatever a pattern matches, as far as
// that is easy to tell.
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

// folded is the longest piece of a text in any case whose letters have two forms, both of
// ASCII: K and S have a third one beyond it.
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

// index is where the literal stands first; -1 for nowhere.
func (l literal) index(data []byte) int {
	if !l.fold {
		return bytes.Index(data, l.text)
	}
	first, other := l.text[0], large(l.text[0])
	for from := 0; len(data)-from >= len(l.text); {
		// In pieces, so that a text of the one case is not searched through to its end for
		// the other again and again.
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

// small is a large letter of ASCII as a small one, and any other byte.
func small(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// large is a small letter of ASCII as a large one, and any other byte.
func large(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}
