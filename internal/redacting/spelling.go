package redacting

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/jsonpointer"
)

// This file lists the ways to write one secret.

// Forms returns the ways to write a secret; the first is the secret itself.
func Forms(secret string) []string {
	return append(append([]string{secret}, spellings(secret)...), encodings(secret)...)
}

// spellings returns the ways in which messages of the engine, and texts that contain JSON, write a
// secret with special characters. A complete text is also searched without its escapes, whatever
// wrote them; these spellings are for texts that come in pieces.
func spellings(secret string) []string {
	others := list{besides: secret}
	inASCII := escapedBeyondASCII(inCanonical(secret))
	within := []string{unquoted(strconv.Quote(secret)), unquoted(strconv.QuoteToASCII(secret)), inCanonical(secret), inJSON(secret),
		inASCII, upperEscapes(inASCII), upperEscapes(inJSON(secret)), escapedAsInDotNet(secret)}
	others.add(within...)
	for _, once := range within { // JSON within JSON
		others.add(inJSON(once), inCanonical(once))
	}
	others.add(jsonpointer.Escape(secret), strings.ReplaceAll(inJSON(secret), "/", `\/`)) // in a JSON pointer, and as PHP writes JSON
	return others.texts
}

// encodings returns the ways in which programs encode a secret: for URLs, in hex, and in base64.
// The base64 digits depend on how many bytes precede the secret, so there are three variants,
// without the digits at the ends that also depend on the neighbouring bytes. Short secrets have no
// encodings, because those would be found by chance.
func encodings(secret string) []string {
	if len(secret) < leastHunted {
		return nil
	}
	others := list{besides: secret}
	for _, escaped := range []string{url.QueryEscape(secret), url.PathEscape(secret), escapedAsInJS(secret)} {
		others.add(escaped, lowerEscapes(escaped))
	}
	digits := hex.EncodeToString([]byte(secret))
	others.add(digits, strings.ToUpper(digits))
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			encoded := encoding.EncodeToString(append(make([]byte, before), secret...))
			others.add(encoded[(before*8+5)/6 : (before+len(secret))*8/6])
		}
	}
	return others.texts
}

// list is a list of distinct texts.
type list struct {
	besides string // a text that is never added
	texts   []string
}

func (l *list) add(texts ...string) {
	for _, text := range texts {
		if text != l.besides && !slices.Contains(l.texts, text) {
			l.texts = append(l.texts, text)
		}
	}
}

func unquoted(text string) string { return text[1 : len(text)-1] }

// inJSON returns a text as encoding/json writes it within a string.
func inJSON(text string) string {
	written, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return unquoted(string(written))
}

// inCanonical returns a text within a JSON string that escapes only what must be escaped.
func inCanonical(text string) string { return unquoted(string(canonical.AppendString(nil, text))) }

// escapedBeyondASCII returns JSON text with all characters beyond ASCII escaped.
func escapedBeyondASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case high != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// escapedAsInDotNet returns a text within a JSON string as System.Text.Json writes it.
func escapedAsInDotNet(text string) string {
	return upperEscapes(escapedBeyondASCII(dotNetEscapes.Replace(inCanonical(text))))
}

var dotNetEscapes = strings.NewReplacer(`\\`, `\\`, `\"`, `\u0022`, "&", `\u0026`, "'", `\u0027`, "+", `\u002B`, "<", `\u003C`, ">", `\u003E`, "`", `\u0060`)

// escapedAsInJS returns a text as JavaScript's encodeURIComponent writes it, which escapes less.
func escapedAsInJS(text string) string {
	return strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(url.QueryEscape(text))
}

// lowerEscapes writes the digits of escapes such as %2F in lower case.
func lowerEscapes(text string) string { return mapEscapes(text, "%", 2, strings.ToLower) }

// upperEscapes writes the digits of escapes such as \u00fc in upper case.
func upperEscapes(text string) string { return mapEscapes(text, `\u`, 4, strings.ToUpper) }

func mapEscapes(text, mark string, digits int, to func(string) string) string {
	parts := strings.Split(text, mark)
	for i, part := range parts[1:] {
		n := min(digits, len(part))
		parts[i+1] = to(part[:n]) + part[n:]
	}
	return strings.Join(parts, mark)
}

// htmlEscapes are the escapes that encoding/json writes for the special characters of HTML.
var htmlEscapes = map[string]string{`\u0026`: "&", `\u003c`: "<", `\u003e`: ">", `\u003C`: "<", `\u003E`: ">"}

// unescapedHTML returns a text without the escapes of htmlEscapes.
func unescapedHTML(text string) string {
	if !strings.Contains(text, `\u00`) {
		return text
	}
	for escape, meant := range htmlEscapes {
		text = strings.ReplaceAll(text, escape, meant)
	}
	return text
}

// plainText is a text without one level of JSON escapes, with a mapping of positions back to the
// text with escapes.
type plainText struct {
	text  string
	steps []step // the positions after each escape; the first is the beginning
}

// step is a position in the text without escapes, and the same position in the text with them.
type step struct{ plain, written int }

// unescaped returns a text without one level of escapes, or nil if it has none.
func unescaped(text string) *plainText {
	next := strings.IndexByte(text, '\\')
	if next < 0 {
		return nil
	}
	p := plainText{steps: []step{{}}}
	var b strings.Builder
	b.Grow(len(text))
	at := 0
	for next >= 0 {
		next += at
		b.WriteString(text[at:next])
		meant, size := escape(text[next:])
		b.WriteString(meant)
		at = next + size
		if size != len(meant) {
			p.steps = append(p.steps, step{b.Len(), at})
		}
		next = strings.IndexByte(text[at:], '\\')
	}
	if len(p.steps) == 1 {
		return nil
	}
	b.WriteString(text[at:])
	p.text = b.String()
	return &p
}

// escape returns the meaning and the length of the escape at the beginning of a text. An invalid
// escape means its first character.
func escape(text string) (meant string, size int) {
	if len(text) < 2 {
		return text, len(text)
	}
	if at := strings.IndexByte(`"\/bfnrt`, text[1]); at >= 0 {
		return "\"\\/\b\f\n\r\t"[at : at+1], 2
	}
	first, ok := codeUnit(text)
	if !ok {
		return text[:1], 1
	}
	if second, ok := codeUnit(text[6:]); ok && utf16.IsSurrogate(first) {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return string(r), 12
		}
	}
	return string(first), 6
}

// codeUnit returns the UTF-16 code unit of the \u escape at the beginning of a text.
func codeUnit(text string) (unit rune, ok bool) {
	if len(text) < 6 || text[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil
}

// written returns the position in the text with escapes that corresponds to a position in the text
// without.
func (p *plainText) written(at int) int {
	after, _ := slices.BinarySearchFunc(p.steps, at+1, func(s step, at int) int { return s.plain - at })
	last := p.steps[after-1]
	return last.written + at - last.plain
}
