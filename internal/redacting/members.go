package redacting

import (
	"math"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/httpform"
	"github.com/adkreplay/adkreplay/internal/streamre"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file finds what paths cover in JSON that stands in a text: the arguments of a call as
// models write them, what a tool gave, a fenced block of a prompt. The text may come in deltas.

// memberFinder goes along one text, from left to right, and takes each { of it for the
// beginning of an object. What then is no JSON is taken for words, up to the next one.
type memberFinder struct {
	redactor *redactor
	level    uint8 // how often what it is given was unescaped before

	at     int         // what it has come to
	state  byte        // what comes next: a value, a name, ':' or ',', or 0 for words
	within []container // what it is within
	trail  []string    // the names that lead there, in lower case, behind those to the text
	base   int         // how many of those lead to the text
	began  int         // the text or the number that it is within begins here; -1 for none
	isName bool        // that text is a name
	brace  int         // the first { in that text; -1 for none
	covers string      // the kind of the rule that covers the value; empty for none
	broken bool        // the line of that text is at its end, and nothing stands on the next so far
	next   int         // the first { in that text that a line begins with; -1 for none
}

// container is an object or a list of JSON that has begun.
type container struct {
	object bool
	names  int    // how many lead to it
	covers string // the kind of the rule that covers it; empty for none
}

// What may come next in an object.
const (
	aValue = 'v'
	aName  = 'n'
	aColon = ':'
	aComma = ','
)

// newMemberFinder looks for members in a text that names lead to; nil where no path is a rule.
func newMemberFinder(r *redactor, names []string) *memberFinder {
	if len(r.rules.paths) == 0 {
		return nil
	}
	names = slices.Clone(names[max(0, len(names)-r.rules.longest):]) // those before say nothing
	return &memberFinder{redactor: r, trail: names, base: len(names), began: -1}
}

// Run appends what paths cover in a text up to end, behind what it has come to. The text has
// grown since, or is the same.
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

// mark takes in a mark of JSON, or the beginning of a text, a number or a word.
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
		f.words() // what c is, is looked at again: it may begin an object
		return
	}
	f.at++
}

// inText goes on in a text of JSON, and reports whether it has come to its end. One that has
// line breaks in it, which JSON has not, is taken for a text all the same, but where an object
// begins on the next line: the one before was cut off. What is covered is so up to its end, and
// that object is looked at as well.
func (f *memberFinder) inText(found *[]streamre.Span, text string, end int) bool {
	if f.at == f.began {
		f.at++
	}
	for f.at < end {
		switch c := text[f.at]; {
		case c == '\\':
			meant, size := escape(text[f.at:end])
			if f.at+1 >= end || text[f.at+1] == 'u' && f.at+escapeSize > end { // its rest is to come
				return false
			}
			if size == 1 { // it is none, and so is what follows
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

// escapeSize is how long an escape such as \u007b is.
const escapeSize = 6

func isOfWord(c byte) bool {
	return c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == 'E'
}

// Open is the place from which on something may have begun that a path covers.
func (f *memberFinder) Open() int {
	switch {
	case f == nil || f.began < 0 || f.isName:
		return math.MaxInt
	case f.covers != "":
		return f.began
	case f.brace >= 0 && f.level < mostLevels: // there may be JSON in the JSON
		return f.brace
	}
	return math.MaxInt
}

// End takes in that the text is over: a number may end with it, and so may a text that was cut.
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

// words says that no JSON goes on here.
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

// leaves reports whether what it is within is an object, or a list, and leaves it.
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

// named takes in the name of a member.
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

// text takes in a text of JSON: it is covered, or there is JSON in it again.
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

// value takes in a number or a word of JSON.
func (f *memberFinder) value(found *[]streamre.Span, from, to int) {
	f.state = aComma
	if f.covers != "" {
		f.add(found, from, to)
	}
}

func (f *memberFinder) add(found *[]streamre.Span, from, to int) {
	*found = append(*found, streamre.Span{From: from, To: to, Kind: f.covers, Rank: ofMember, Level: f.level + 1})
}

// ofMember is the rank of what a path covers: before all else that begins there.
const ofMember = -2 * beforeRules

// isNoSecret reports whether a text stands for a secret, or was left out, already.
func (r *redactor) isNoSecret(text string) bool {
	return text == httpform.LeftOut || r.carries && wire.Placeholder.FindString(text) == text
}

// spanned is a secret in a text, without the escapes that are not its own; what stands in
// the place of a number or a word that a path covers is no text.
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

// standsIn is what stands in the place of a secret in a text.
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

// learnSpan takes in a secret in a text, and reports whether there is more to look for since.
func (r *redactor) learnSpan(s streamre.Span, text string) bool {
	secret, instead := r.spanned(s, text)
	if instead != "" || r.sums[secret] != "" {
		return false
	}
	return r.learnNew(s.Kind, secret)
}
