package redacting

import (
	"math"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/streamre"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file finds what paths cover in JSON that is inside a text: the arguments of a call as models
// write them, the result of a tool, a fenced block of a prompt. The text may come in deltas.

// memberFinder scans one text from left to right. It takes each { for the beginning of an object;
// if no JSON follows, it skips ahead to the next one.
type memberFinder struct {
	redactor *redactor
	level    uint8 // how often the text was unescaped before

	at     int         // how far it has scanned
	state  byte        // what comes next: a value, a name, ':' or ',', or 0 outside JSON
	within []container // the open objects and lists
	trail  []string    // the names that lead here, in lower case, after those that lead to the text
	base   int         // how many names lead to the text
	began  int         // where the current string or number began; -1 for none
	isName bool        // the current string is a name
	brace  int         // the first { in the current string; -1 for none
	covers string      // the kind of the rule that covers the value; "" for none
	broken bool        // the current string has a line break, and only white space since
	next   int         // the first { at the beginning of a line in the current string; -1 for none
}

// container is an object or a list that is open.
type container struct {
	object bool
	names  int    // how many names lead to it
	covers string // the kind of the rule that covers it; "" for none
}

// What may come next inside an object or a list.
const (
	aValue = 'v'
	aName  = 'n'
	aColon = ':'
	aComma = ','
)

// newMemberFinder returns a finder for a text to which the names lead, or nil if there are no path
// rules.
func newMemberFinder(r *redactor, names []string) *memberFinder {
	if len(r.rules.paths) == 0 {
		return nil
	}
	names = slices.Clone(names[max(0, len(names)-r.rules.longest):]) // more names do not matter
	return &memberFinder{redactor: r, trail: names, base: len(names), began: -1}
}

// Run appends what paths cover in text, from where the last call stopped up to end. text must be
// the text of the last call or a longer one that begins with it.
func (f *memberFinder) Run(found []streamre.Span, text string, end int) []streamre.Span {
	if f == nil {
		return found
	}
	for f.at < end {
		c := text[f.at]
		switch {
		case f.began >= 0 && text[f.began] == '"':
			if !f.inText(&found, text, end) {
				return found
			}
		case f.began >= 0: // a number or a word
			if isOfWord(c) {
				f.at++
				continue
			}
			f.value(&found, f.began, f.at)
			f.began = -1
		case f.state == 0:
			next := strings.IndexByte(text[f.at:end], '{')
			if next < 0 {
				f.at = end
				return found
			}
			f.at += next + 1
			f.enter(true)
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			f.at++
		default:
			f.mark(c)
		}
	}
	return found
}

// mark handles a punctuation mark of JSON, or the beginning of a string, a number or a word.
func (f *memberFinder) mark(c byte) {
	switch {
	case c == '"' && (f.state == aValue || f.state == aName):
		f.began, f.isName, f.brace, f.next, f.broken = f.at, f.state == aName, -1, -1, false
	case f.state == aValue && (c == '{' || c == '['):
		f.enter(c == '{')
	case f.state == aValue && isOfWord(c):
		f.began, f.isName, f.brace = f.at, false, -1
	case f.state == aColon && c == ':':
		f.state = aValue
	case f.state == aComma && c == ',':
		f.state = aValue
		if f.within[len(f.within)-1].object {
			f.state = aName
		}
	case c == '}' && f.leaves(true), c == ']' && f.leaves(false):
	default:
		f.words() // c is examined again: it may begin an object
		return
	}
	f.at++
}

// inText continues in a string of JSON, and reports whether the string has ended. A string with
// line breaks, which JSON does not allow, still counts as one, unless an object begins on the next
// line: then the text was cut off before it. If the string is covered, it is covered up to its end,
// and that object is scanned as well.
func (f *memberFinder) inText(found *[]streamre.Span, text string, end int) bool {
	if f.at == f.began {
		f.at++
	}
	for f.at < end {
		switch c := text[f.at]; {
		case c == '\\':
			meant, size := escape(text[f.at:end])
			if f.at+1 >= end || text[f.at+1] == 'u' && f.at+escapeSize > end { // the rest has not come yet
				return false
			}
			if size == 1 { // not an escape, and neither is what follows
				meant, size = text[f.at+1:f.at+2], 2
			}
			if meant == "{" && f.brace < 0 {
				f.brace = f.at
			}
			f.at += size
			f.broken = false
			continue
		case c == '\n' || f.broken && (c == ' ' || c == '\t' || c == '\r'):
			f.broken = true
		case c == '{' && f.broken && (f.isName || f.covers == ""):
			f.began = -1
			f.words()
			return true
		case c == '{' && f.broken && f.next < 0:
			f.next, f.broken = f.at, false
		case c == '{' && f.brace < 0:
			f.brace, f.broken = f.at, false
		case c == '"':
			from, to := f.began+1, f.at
			f.began = -1
			f.at++
			if f.isName {
				f.named(text[from:to])
				return true
			}
			f.text(found, text, from, to)
			f.state = aComma
			if f.next >= 0 {
				f.at = f.next
				f.words()
			}
			return true
		default:
			f.broken = false
		}
		f.at++
	}
	f.at = min(f.at, end)
	return false
}

// escapeSize is the length of an escape such as \u007b.
const escapeSize = 6

func isOfWord(c byte) bool {
	return c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == 'E'
}

// Open returns the position from which on something may have begun that a path covers.
func (f *memberFinder) Open() int {
	switch {
	case f == nil || f.began < 0 || f.isName:
		return math.MaxInt
	case f.covers != "":
		return f.began
	case f.brace >= 0 && f.level < mostLevels: // the string may contain JSON
		return f.brace
	}
	return math.MaxInt
}

// End handles the end of the text, which may also end a number or a string that was cut off.
func (f *memberFinder) End(text string, found []streamre.Span) []streamre.Span {
	if f == nil || f.began < 0 || f.isName {
		return found
	}
	from, isText := f.began, text[f.began] == '"'
	f.began = -1
	if isText {
		f.text(&found, text, from+1, len(text))
	} else {
		f.value(&found, from, len(text))
	}
	f.words()
	return found
}

// words leaves JSON: plain text follows.
func (f *memberFinder) words() {
	f.state, f.within, f.trail, f.covers = 0, f.within[:0], f.trail[:f.base], ""
}

func (f *memberFinder) enter(object bool) {
	f.within = append(f.within, container{object: object, names: len(f.trail), covers: f.covers})
	f.state = aValue
	if object {
		f.state = aName
	}
}

// leaves leaves the innermost container if it is an object, or a list, as asked, and reports
// whether it is.
func (f *memberFinder) leaves(object bool) bool {
	last := len(f.within) - 1
	if last < 0 || f.within[last].object != object {
		return false
	}
	f.trail, f.covers = f.trail[:f.within[last].names], f.within[last].covers
	f.within, f.state = f.within[:last], aComma
	if last == 0 {
		f.words()
	}
	return true
}

// named handles the name of a member.
func (f *memberFinder) named(quoted string) {
	if plain := unescaped(quoted); plain != nil {
		quoted = plain.text
	}
	object := f.within[len(f.within)-1]
	f.trail = append(f.trail[:object.names], strings.ToLower(quoted))
	f.covers, f.state = object.covers, aColon
	if f.covers == "" {
		f.covers = f.redactor.rules.kindOf(f.trail)
	}
}

// text handles a string: it is covered, or it may contain JSON itself.
func (f *memberFinder) text(found *[]streamre.Span, text string, from, to int) {
	quoted := text[from:to]
	plain := unescaped(quoted)
	if f.covers != "" {
		if quoted != "" && !f.redactor.isNoSecret(quoted) {
			f.add(found, from, to)
			if plain != nil {
				quoted = plain.text
			}
			f.redactor.huntOf(f.covers, quoted)
		}
		return
	}
	if plain == nil || f.brace < 0 || f.level >= mostLevels {
		return
	}
	within := newMemberFinder(f.redactor, f.trail)
	within.level = f.level + 1
	spans := within.Run(nil, plain.text, len(plain.text))
	for _, s := range within.End(plain.text, spans) {
		s.From, s.To = from+plain.written(s.From), from+plain.written(s.To)
		*found = append(*found, s)
	}
}

// value handles a number or a word.
func (f *memberFinder) value(found *[]streamre.Span, from, to int) {
	f.state = aComma
	if f.covers != "" {
		f.add(found, from, to)
	}
}

func (f *memberFinder) add(found *[]streamre.Span, from, to int) {
	*found = append(*found, streamre.Span{From: from, To: to, Kind: f.covers, Rank: ofMember, Level: f.level + 1})
}

// ofMember is the rank of what a path covers: before everything else that begins at the same
// position.
const ofMember = -2 * beforeRules

// isNoSecret reports whether a text is a placeholder already, or stands for something that was left
// out.
func (r *redactor) isNoSecret(text string) bool {
	return text == httpform.LeftOut || r.carries && wire.Placeholder.FindString(text) == text
}

// spanned returns the secret at a span of a text, without the escapes of the JSON around it. If a
// path covers a number or a word, instead is the JSON to write in its place.
func (r *redactor) spanned(s streamre.Span, text string) (secret, instead string) {
	secret = text[s.From:s.To]
	if s.Level == 0 {
		return secret, ""
	}
	if s.From > 0 && text[s.From-1] != '"' {
		switch {
		case secret == "null" || secret == "false":
			return secret, secret
		case secret == "true":
			return secret, "false"
		case strings.ContainsAny(secret, ".eE"):
			return secret, "0.0"
		}
		return secret, "0"
	}
	for range s.Level {
		if plain := unescaped(secret); plain != nil {
			secret = plain.text
		}
	}
	return secret, ""
}

// standsIn returns what to write in place of a secret in a text.
func (r *redactor) standsIn(s streamre.Span, text string) string {
	secret, instead := r.spanned(s, text)
	switch sum := r.sums[secret]; {
	case sum != "":
		return sum
	case instead == "":
		return r.placeholder(s.Kind, secret)
	case instead != secret:
		r.Count++
	}
	return instead
}

// learnSpan records a secret in a text, and reports whether there are new forms to look for.
func (r *redactor) learnSpan(s streamre.Span, text string) bool {
	secret, instead := r.spanned(s, text)
	if instead != "" || r.sums[secret] != "" {
		return false
	}
	return r.learnNew(s.Kind, secret)
}
