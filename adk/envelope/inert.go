package envelope

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ruleSet says what is made inert in a body.
type ruleSet uint8

const (
	// own covers what would open or close the envelope around the body (ENV-8).
	own ruleSet = 1 << iota
	// instructions covers what would open or close the one tag without a nonce (ENV-9).
	instructions

	verbatim ruleSet = 0
)

// instructionsTag is the name of the tag around standing instructions.
const instructionsTag = "system_instructions"

// inert returns a body in which what the rules cover is made inert.
func inert(body, name string, rules ruleSet) string {
	if strings.IndexByte(body, '<') < 0 {
		return body
	}
	var out strings.Builder
	out.Grow(len(body))
	writeInert(&out, body, name, rules)
	return out.String()
}

// writeInert writes a body. Each < that begins a tag with the given name, or one of standing
// instructions, becomes &lt;, depending on rules; all else stays the same, byte for byte (ENV-7).
func writeInert(out *strings.Builder, body, name string, rules ruleSet) {
	for rules != verbatim {
		at := strings.IndexByte(body, '<')
		if at < 0 {
			break
		}
		rest := tagName(body[at+1:])
		if rules&own != 0 && begins(rest, name, true) || rules&instructions != 0 && begins(rest, instructionsTag, false) {
			out.WriteString(body[:at])
			out.WriteString("&lt;")
		} else {
			out.WriteString(body[:at+1])
		}
		body = body[at+1:]
	}
	out.WriteString(body)
}

// tagName returns what follows the < of a tag, without a slash and the blanks around it.
func tagName(text string) string {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	if slash, closes := strings.CutPrefix(text, "/"); closes {
		text = strings.TrimLeftFunc(slash, unicode.IsSpace)
	}
	return text
}

// begins reports whether a text begins with a name, in any letter case. With whole, the name must
// end there, so that the close tag of message 10 does not count as that of message 1.
func begins(text, name string, whole bool) bool {
	for i := range len(name) {
		c, size := utf8.DecodeRuneInString(text)
		if !sameLetter(c, name[i]) {
			return false
		}
		text = text[size:]
	}
	return !whole || text == "" || !inNonce(text[0]) && text[0] != '%'
}

// sameLetter reports whether a rune is the given ASCII character, letters in either case. Two runes
// beyond ASCII count too, since Unicode folds them to letters: the long s and the kelvin sign.
func sameLetter(c rune, letter byte) bool {
	if 'A' <= letter && letter <= 'Z' {
		letter += 'a' - 'A'
	}
	switch {
	case c < utf8.RuneSelf:
		return byte(unicode.ToLower(c)) == letter
	case c == 'ſ':
		return letter == 's'
	}
	return c == 'K' && letter == 'k'
}
