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

// This file puts single values into words that are safe to print: every string
// in a trace is hostile. Control characters, line breaks, escapes of terminals,
// what turns the direction of writing, and invalid UTF-8 come out as Go's
// escapes, and what is long is cut in the middle.

// The bounds of what is shown of one text, in bytes: longer ones keep their head
// and their tail.
const (
	longestText = 160
	longestName = 60
	keptTail    = 40
)

// Said is a text in quotes, cut at a word where it is longer than that many characters.
func Said(text string, longest int) string { return inQuotes(Shortened(text, longest)) }

// Quoted is a text in quotes.
func Quoted(text string) string {
	head, tail, cut := Halves(text, longestText)
	if !cut {
		return strconv.Quote(text)
	}
	return fmt.Sprintf("%s…%s (%d bytes)", strconv.Quote(head), strconv.Quote(tail), len(text))
}

// Bare is a text without quotes: a message of an error, a JSON text.
func Bare(text string) string {
	head, tail, cut := Halves(text, 2*longestText)
	if !cut {
		return escapedOnly(text)
	}
	return fmt.Sprintf("%s … %s (%d bytes)", escapedOnly(head), escapedOnly(tail), len(text))
}

// IsShort reports whether Bare shows all of a text.
func IsShort(text string) bool { return len(text) <= 2*longestText }

// escapedOnly escapes what is not printable, and leaves quotes as they are.
func escapedOnly(text string) string {
	inner := strconv.Quote(text)
	return strings.ReplaceAll(inner[1:len(inner)-1], `\"`, `"`)
}

// BareJSON is bare for a JSON text, in which a backslash is an escape already.
func BareJSON(text string) string {
	return strings.ReplaceAll(Bare(text), `\\`, `\`)
}

// Halves cuts a long text at the borders of runes.
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

// PlainName is a name that people gave: as it is where it is short and made of
// letters, digits and a few marks, in quotes otherwise.
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

// PlainData is a value as JSON that keeps the kinds of numbers. One that is JSON itself, as
// those of sessions are, is said as that, and not as a text in which each quote is escaped.
func PlainData(v any) string { return BareJSON(string(plain.AppendSaid(nil, v))) }

// Arguments are a tool's arguments as canonical JSON, where they are JSON.
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

// SchemaWords are a schema as it was given, on one line.
func SchemaWords(schema json.RawMessage) string {
	if tidy, err := canonical.Marshal(schema); err == nil {
		schema = tidy
	}
	return BareJSON(string(schema))
}

// ErrorWith is an error: its text, which for one of the package's begins with
// the code. That somebody had enough of an answer is called none.
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

// Lasting is a duration that a person can read: what is longer than a
// millisecond is rounded to one.
func Lasting(d time.Duration) string {
	if d >= time.Millisecond {
		d = d.Round(time.Millisecond)
	}
	return d.String()
}

// Into is how long after its beginning something is in a turn. Where no time has passed, as
// where time is virtual, nobody is told of none.
func Into(passed time.Duration) string {
	if passed == 0 {
		return "as the turn began"
	}
	return Lasting(passed) + " into the turn"
}

// Shortly is a value of a payload, for the message of an error.
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
