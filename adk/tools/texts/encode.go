package texts

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// coding is a way to encode text and to decode it.
type coding struct {
	to   func(string) string
	from func(string) (string, error)
}

// EncodeText returns the tool that encodes and decodes text.
func EncodeText() *adk.Tool {
	return spec.Tool{
		Name:        "encode_text",
		Description: "Encodes a text, or decodes it: base64, base64url, hex (of UTF-8), url (as a component of a URL) or html_entities.",
		Args: []spec.Arg{
			spec.Text("text", "the text").Required(), spec.Word("scheme", "the encoding", "base64", "base64url", "hex", "url", "html_entities").Required(),
			spec.Word("direction", "encode or decode", "encode", "decode").Default("encode"),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			return codings[c.Text("scheme")].answer(c.Text("text"), c.Text("direction") == "encode")
		},
	}.Make()
}

func (k coding) answer(text string, forward bool) (string, error) {
	if forward {
		return k.to(text), nil
	}
	decoded, err := k.from(text)
	if err == nil && !utf8.ValidString(decoded) {
		return "", errors.New("malformed: the bytes are no UTF-8 text")
	}
	return decoded, err
}

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

var codings = map[string]coding{
	"base64":        {func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }, base64From(base64.RawStdEncoding)},
	"base64url":     {func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }, base64From(base64.RawURLEncoding)},
	"hex":           {func(s string) string { return hex.EncodeToString([]byte(s)) }, hexFrom},
	"url":           {urlComponent, func(s string) (string, error) { return malformed(url.PathUnescape(s)) }},
	"html_entities": {entities.Replace, func(s string) (string, error) { return html.UnescapeString(s), nil }},
}

func malformed(text string, err error) (string, error) {
	if err != nil {
		return "", fmt.Errorf("malformed: %w", err)
	}
	return text, nil
}

// base64From decodes base64 with or without padding.
func base64From(raw *base64.Encoding) func(string) (string, error) {
	return func(s string) (string, error) {
		s = strings.TrimSpace(s)
		unpadded := strings.TrimRight(s, "=")
		if padding := len(s) - len(unpadded); padding > 0 && (padding > 2 || len(s)%4 != 0) {
			return "", errors.New("malformed: padding that does not fit")
		}
		data, err := raw.DecodeString(unpadded)
		return malformed(string(data), err)
	}
}

func hexFrom(s string) (string, error) {
	data, err := hex.DecodeString(strings.TrimSpace(s))
	return malformed(string(data), err)
}

// urlComponent encodes as ECMAScript's encodeURIComponent does.
func urlComponent(s string) string {
	return strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(url.QueryEscape(s))
}

// TextEscape returns the tool that escapes text for a place, and undoes that.
func TextEscape() *adk.Tool {
	return spec.Tool{
		Name:        "text_escape",
		Description: "Escapes a text for a place, or undoes that: json_string (without the outer quotes), regex, csv_field, sql_like, markdown, html or xml.",
		Args: []spec.Arg{
			spec.Text("text", "the text").Required(), spec.Word("target", "the place", "json_string", "regex", "csv_field", "sql_like", "markdown", "html", "xml").Required(),
			spec.Word("direction", "escape or unescape", "escape", "unescape").Default("escape"),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			return escapes[c.Text("target")].answer(c.Text("text"), c.Text("direction") == "escape")
		},
	}.Make()
}

var escapes = map[string]coding{
	"json_string": {func(s string) string { text := jsontree.Text(s); return text[1 : len(text)-1] }, jsonString},
	"regex":       backslashed(`.*+?^${}()|[]\`),
	"csv_field":   {spec.CSVField, csvFieldFrom},
	"sql_like":    backslashed(`%_\`),
	"markdown":    backslashed("\\`*_{}[]()#+-.!|"),
	"html":        codings["html_entities"],
	"xml":         {strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace, codings["html_entities"].from},
}

func jsonString(s string) (string, error) {
	value, err := jsontree.Parse(`"`+s+`"`, 1)
	if fault, ok := errors.AsType[*jsontree.SyntaxError](err); ok && fault.Line == 1 {
		fault.Column-- // the quote before it was added here
	}
	if err != nil {
		return "", fmt.Errorf("malformed: %w", err)
	}
	return value.(string), nil
}

// backslashed returns a coding that puts a backslash before each of the characters.
func backslashed(characters string) coding {
	to := func(s string) string {
		var out strings.Builder
		for _, c := range s {
			if strings.ContainsRune(characters, c) {
				out.WriteByte('\\')
			}
			out.WriteRune(c)
		}
		return out.String()
	}
	from := func(s string) (string, error) {
		var out strings.Builder
		escaped := false
		for _, c := range s {
			switch {
			case escaped && !strings.ContainsRune(characters, c):
				return "", fmt.Errorf("malformed: a backslash before %q", c)
			case c == '\\' && !escaped:
				escaped = true
				continue
			}
			escaped = false
			out.WriteRune(c)
		}
		if escaped {
			return "", errors.New("malformed: a backslash at the end")
		}
		return out.String(), nil
	}
	return coding{to, from}
}

func csvFieldFrom(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	inner, closed := strings.CutSuffix(s[1:], `"`)
	if !closed || strings.Contains(strings.ReplaceAll(inner, `""`, ""), `"`) {
		return "", errors.New("malformed: a quote that does not fit")
	}
	return strings.ReplaceAll(inner, `""`, `"`), nil
}

// UnicodeNormalize returns the tool that normalizes a text or shows its code points.
func UnicodeNormalize() *adk.Tool {
	return spec.Tool{
		Name:        "unicode_normalize",
		Description: "Brings a text into a normal form of Unicode (nfc, nfd, nfkc, nfkd), takes its accents off (strip_accents), or lists its code_points.",
		Args: []spec.Arg{
			spec.Text("text", "the text").Required(), spec.Word("operation", "what to do", "nfc", "nfd", "nfkc", "nfkd", "strip_accents", "code_points").Required(),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			text := c.Text("text")
			switch c.Text("operation") {
			case "nfc":
				return norm.NFC.String(text), nil
			case "nfd":
				return norm.NFD.String(text), nil
			case "nfkc":
				return norm.NFKC.String(text), nil
			case "nfkd":
				return norm.NFKD.String(text), nil
			case "strip_accents":
				return withoutAccents(text), nil
			}
			return codePoints(text)
		},
	}.Make()
}

func withoutAccents(s string) string {
	return norm.NFC.String(strings.Map(func(c rune) rune {
		if unicode.Is(unicode.Mn, c) {
			return -1
		}
		return c
	}, norm.NFD.String(s)))
}

func codePoints(s string) (string, error) {
	var out strings.Builder
	for _, c := range s {
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		if fmt.Fprintf(&out, "U+%04X (%c)", c, c); out.Len() > maxWork {
			return "", errTooLong
		}
	}
	return out.String(), nil
}
