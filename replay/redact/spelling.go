package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// This file knows the ways to write one secret.

// spellings are the ways in which messages of the engine, and texts that hold
// JSON, spell a secret that has special characters.
func spellings(secret string) []string {
	others := list{besides: secret}
	others.add(unquoted(strconv.Quote(secret)), unquoted(strconv.QuoteToASCII(secret)),
		unquoted(string(canonical.AppendString(nil, secret))), strings.NewReplacer("~", "~0", "/", "~1").Replace(secret))
	once := inJSON(secret)
	others.add(once, inJSON(once), strings.ReplaceAll(once, "/", `\/`)) // within JSON within JSON, and as PHP has it
	others.add(upperEscapes(once, `\u`, 4))
	return others.texts
}

// encodings are the ways in which a secret stands in what programs make of it: in URLs, in
// hex, and in base64, whose digits hang on how many bytes stand before it. What of those
// is not the secret's alone is left away. Short ones would be found by chance.
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

// list holds texts, each once.
type list struct {
	besides string // which is not among them
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

// inJSON is a text within a string of JSON, as encoding/json writes it.
func inJSON(text string) string {
	written, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return unquoted(string(written))
}

// escapedAsInJS is a text as encodeURIComponent has it, which leaves more as it is.
func escapedAsInJS(text string) string {
	return strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(url.QueryEscape(text))
}

// lowerEscapes has the digits of escapes such as %2F in lower case.
func lowerEscapes(text string) string { return mapEscapes(text, "%", 2, strings.ToLower) }

// upperEscapes has the digits of escapes in upper case.
func upperEscapes(text, mark string, digits int) string {
	return mapEscapes(text, mark, digits, strings.ToUpper)
}

func mapEscapes(text, mark string, digits int, to func(string) string) string {
	parts := strings.Split(text, mark)
	for i, part := range parts[1:] {
		n := min(digits, len(part))
		parts[i+1] = to(part[:n]) + part[n:]
	}
	return strings.Join(parts, mark)
}

// htmlEscapes are what encoding/json writes for characters that HTML takes for its own.
var htmlEscapes = map[string]string{`\u0026`: "&", `\u003c`: "<", `\u003e`: ">", `\u003C`: "<", `\u003E`: ">"}

// unescapedHTML is a text without the escapes of htmlEscapes, and for each byte of it, and
// its end, where it is in the text; nil where it holds none.
func unescapedHTML(text string) (plain string, at []int) {
	if !strings.Contains(text, `\u00`) {
		return text, nil
	}
	var b strings.Builder
	found := false
	for i := 0; i < len(text); {
		at = append(at, i)
		if i+6 <= len(text) {
			if meant, is := htmlEscapes[text[i:i+6]]; is {
				b.WriteString(meant)
				i, found = i+6, true
				continue
			}
		}
		b.WriteByte(text[i])
		i++
	}
	if !found {
		return text, nil
	}
	return b.String(), append(at, len(text))
}
