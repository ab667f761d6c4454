package safetext

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// This file formats single values so that they are safe to print. Every string in a trace is
// untrusted. Control characters, line breaks, terminal escapes, marks that change the direction of
// writing, and invalid UTF-8 are written as Go escapes, and long values are cut in the middle.

// The limits of what is shown of one text, in bytes. Of longer texts, the beginning and the end are
// shown.
const (
	longestText = 160
	longestName = 60
	keptTail    = 40
)

// Said returns a text in quotes, cut after a word if it is longer than longest characters.
func Said(text string, longest int) string { return inQuotes(Shortened(text, longest)) }

// Quoted returns a text in quotes.
func Quoted(text string) string {
	head, tail, cut := Halves(text, longestText)
	if !cut {
		return strconv.Quote(text)
	}
	return fmt.Sprintf("%s…%s (%d bytes)", strconv.Quote(head), strconv.Quote(tail), len(text))
}

// Bare returns a text without quotes, such as the message of an error or a JSON text.
func Bare(text string) string {
	head, tail, cut := Halves(text, 2*longestText)
	if !cut {
		return escapedOnly(text)
	}
	return fmt.Sprintf("%s … %s (%d bytes)", escapedOnly(head), escapedOnly(tail), len(text))
}

// IsShort reports whether Bare shows a text in full.
func IsShort(text string) bool { return len(text) <= 2*longestText }

// escapedOnly escapes what is not printable, but not quotes.
func escapedOnly(text string) string {
	inner := strconv.Quote(text)
	return strings.ReplaceAll(inner[1:len(inner)-1], `\"`, `"`)
}

// BareJSON is like Bare, for a JSON text, in which a backslash already is an escape.
func BareJSON(text string) string {
	return strings.ReplaceAll(Bare(text), `\\`, `\`)
}

// Halves returns the beginning and the end of a text that is longer than longest bytes, without
// splitting runes.
func Halves(text string, longest int) (head, tail string, cut bool) {
	if len(text) <= longest {
		return text, "", false
	}
	to, from := longest-keptTail, len(text)-keptTail
	for to > longest-keptTail-utf8.UTFMax && !utf8.RuneStart(text[to]) {
		to--
	}
	for from < len(text)-keptTail+utf8.UTFMax && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[:to], text[from:], true
}

// PlainName returns a name that people gave. A short name of letters, digits and a few marks is
// unchanged; any other is in quotes.
func PlainName(name string) string {
	if name == "" || len(name) > longestName {
		return Quoted(name)
	}
	for _, r := range name {
		if r >= utf8.RuneSelf || !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./#:@", r)) {
			return Quoted(name)
		}
	}
	return name
}

// PlainData returns a value as JSON that keeps the kinds of numbers. A value that is raw JSON, as
// those of sessions are, is written as JSON, and not as a string in which each quote is escaped.
func PlainData(v any) string { return BareJSON(string(plain.AppendSaid(nil, v))) }

// Arguments returns a tool's arguments as canonical JSON, if they are JSON.
func Arguments(args any) string {
	object, err := canonical.Object(args)
	if err != nil {
		if text, ok := args.(string); ok {
			return Quoted(text)
		}
		return PlainData(args)
	}
	text, err := canonical.Marshal(object)
	if err != nil {
		return PlainData(args)
	}
	return BareJSON(string(text))
}

// SchemaWords returns a schema on one line, in canonical form if it is JSON.
func SchemaWords(schema json.RawMessage) string {
	if tidy, err := canonical.Marshal(schema); err == nil {
		schema = tidy
	}
	return BareJSON(string(schema))
}

// ErrorWith returns the text of an error after the word "error". For an error of the engine, the
// text begins with the code. That a reader stopped reading an answer is not called an error.
func ErrorWith(err error) string {
	text := Bare(ErrorWords(err))
	if e, ours := err.(*adk.Error); ours {
		if e.Code == adk.E_ASK_STOPPED {
			return text
		}
		return "error " + text
	}
	if _, panics := err.(*adk.PanicError); panics {
		return text // begins with the word panic
	}
	return "error: " + text
}

// Lasting returns a readable duration. Durations longer than a millisecond are rounded to
// milliseconds.
func Lasting(d time.Duration) string {
	if d >= time.Millisecond {
		d = d.Round(time.Millisecond)
	}
	return d.String()
}

// Into says how long after its beginning something happened in a turn. If no time passed, as with
// virtual time, it does not mention a duration.
func Into(passed time.Duration) string {
	if passed == 0 {
		return "as the turn began"
	}
	return Lasting(passed) + " into the turn"
}

// Shortly formats a value of a payload for an error message.
func Shortly(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return Quoted(v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case error:
		return Quoted(ErrorWords(v))
	case *adk.Tokenizable:
		return Quoted(v.String())
	case bool, int, adk.Level:
		return fmt.Sprint(v)
	}
	return PlainData(v)
}
