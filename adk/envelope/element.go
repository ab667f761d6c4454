package envelope

import (
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// element is the tag of one envelope: its name, which contains the nonce, and its encoded
// attributes.
type element struct {
	name, nonce string
	attributes  []byte
}

// newElement makes a tag with a nonce in its name. The attribute nonce has the same escaped form
// (ENV-4).
func newElement(prefix, nonce string) element {
	nonce = escapedNonce(nonce)
	return element{name: prefix + nonce, nonce: nonce, attributes: make([]byte, 0, 128)}
}

// attribute adds an attribute, unless it is empty (ENV-6).
func (e *element) attribute(name, value string) {
	if value == "" {
		return
	}
	e.begin(name)
	if strings.ContainsAny(value, `&<>"`) {
		value = attributeEscapes.Replace(value)
	}
	e.attributes = append(append(e.attributes, value...), '"')
}

// attributeEscapes are those of ENV-5. Of the characters that it escapes, its output contains only
// &, and a Replacer does not look at its own output again.
var attributeEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// moment adds the attribute createdAt, unless the time is zero: in UTC, with three decimals
// (ENV-10).
func (e *element) moment(at time.Time) {
	if at.IsZero() {
		return
	}
	e.begin("createdAt")
	e.attributes = append(at.UTC().AppendFormat(e.attributes, "2006-01-02T15:04:05.000Z"), '"')
}

// number adds a number as ECMAScript writes it, unless it is nil (ENV-11).
func (e *element) number(name string, value *float64) {
	if value == nil {
		return
	}
	e.begin(name)
	e.attributes = append(canonical.AppendNumber(e.attributes, *value), '"')
}

func (e *element) begin(name string) {
	e.attributes = append(append(append(e.attributes, ' '), name...), '=', '"')
}

// around returns the envelope with its body, in which rules say what is made inert.
func (e *element) around(body string, rules ruleSet) string {
	var out strings.Builder
	out.Grow(e.size(body))
	e.write(&out, body, rules)
	return out.String()
}

func (e *element) write(out *strings.Builder, body string, rules ruleSet) {
	e.open(out)
	writeInert(out, body, e.name, rules)
	out.WriteByte('\n')
	e.close(out)
}

// size returns the length of the envelope in bytes if nothing is made inert.
func (e *element) size(body string) int {
	return 2*len(e.name) + len(e.attributes) + len(body) + len("<>\n\n</>")
}

func (e *element) open(out *strings.Builder) {
	out.WriteByte('<')
	out.WriteString(e.name)
	out.Write(e.attributes)
	out.WriteString(">\n")
}

func (e *element) close(out *strings.Builder) {
	out.WriteString("</")
	out.WriteString(e.name)
	out.WriteByte('>')
}

// escapedNonce returns a nonce in the form that a tag name can hold: each byte that inNonce refuses
// becomes %XX (ENV-4). No two nonces have the same form, because % is escaped too.
func escapedNonce(nonce string) string {
	for i := range len(nonce) {
		if !inNonce(nonce[i]) {
			return escapeNonce(nonce, i)
		}
	}
	return nonce
}

// escapeNonce escapes the bytes from index from on.
func escapeNonce(nonce string, from int) string {
	const digits = "0123456789ABCDEF"
	out := append(make([]byte, 0, len(nonce)+16), nonce[:from]...)
	for _, c := range []byte(nonce[from:]) {
		if inNonce(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(out)
}

// inNonce reports whether a byte of a nonce needs no escape.
func inNonce(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '_' || c == '.' || c == ':' || c == '-'
}
