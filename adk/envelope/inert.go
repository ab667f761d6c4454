package envelope

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ruleSet says what of a body is made inert.
type ruleSet uint8

const (
	// own is what would open or close the envelope around it (ENV-8).
	own ruleSet = 1 << iota
	// instructions is what would open or close the one tag without a nonce (ENV-9).
	instructions

	verbatim ruleSet = 0
)

// instructionsTag is the name of the tag around standing instructions.
const instructionsTag = "system_instructions"

// inert is a body without what rules take the force of.
func inert(body, name string, rules ruleSet) string {
	if strings.IndexByte(body, '<') < 0 {
		return body
	}
	var out strings.Builder
	out.Grow(len(body))
	writeInert(&out, body, name, rules)
	return out.String()
}

// writeInert writes a body. Each < that begins a tag of the name, or of the standing
// instructions, becomes &lt;; all else stays, byte for byte (ENV-7).
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

// tagName is what stands behind the < of a tag, its slash and the blanks around that.
func tagName(text string) string {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	if slash, closes := strings.CutPrefix(text, "/"); closes {
		text = strings.TrimLeftFunc(slash, unicode.IsSpace)
	}
	return text
}

// begins reports whether a text begins with a name in any letter case; and, for a whole
// name, whether the name ends there. The closer of message 10 is none of message 1.
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

// sameLetter reports whether a rune is a letter of ASCII in either case. Two runes
// beyond ASCII are one too, as Unicode folds case: the long s and the sign of kelvin.
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
