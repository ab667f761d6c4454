package jsontree

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// SyntaxError says where a text violates the syntax. Of the text it holds only the character at
// that place.
type SyntaxError struct {
	// Line and Column count from 1, the column in characters.
	Line, Column int
	// What was found there, or what was wanted.
	What string
}

// Error is the place and what is wrong there.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.What)
}

// Parse reads a text that is one value of strict JSON (RFC 8259) and nothing else, nested at most
// maxDepth deep. The text must be valid UTF-8. If a key is repeated, its last value counts, at the
// place of the first. Half of a surrogate pair becomes U+FFFD. The error is a *SyntaxError.
func Parse(text string, maxDepth int) (any, error) {
	return (&reader{text: text, maxDepth: maxDepth}).whole()
}

// Check returns the error that Parse would return, without making a value.
func Check(text string, maxDepth int) error {
	_, err := (&reader{text: text, maxDepth: maxDepth, blind: true}).whole()
	return err
}

// Unquote returns what a string of strict JSON stands for. The argument is the string with its
// quotes and must be valid. The result shares the memory of the argument if there are no escapes.
func Unquote(quoted string) string { return (&reader{text: quoted}).quoted() }

// reader reads a text once. It stops by panicking with a *SyntaxError, which whole turns into an
// error; otherwise every step would have to pass an error on.
type reader struct {
	text     string
	at       int
	depth    int
	maxDepth int
	loose    bool     // JSON5
	blind    bool     // no value is made
	strict   *rewrite // receives the text as strict JSON; nil for none
}

func (r *reader) whole() (value any, err error) {
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case *SyntaxError:
			value, err = nil, fault
		default:
			panic(fault)
		}
	}()
	if !utf8.ValidString(r.text) {
		r.fail("the text is not valid UTF-8")
	}
	r.space()
	value = r.value()
	if r.space(); r.at < len(r.text) {
		r.unexpected("the end")
	}
	return value, nil
}

// fail stops with an error at the reader's place.
func (r *reader) fail(format string, args ...any) {
	before := r.text[:min(r.at, len(r.text))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	panic(&SyntaxError{Line: line, Column: column, What: fmt.Sprintf(format, args...)})
}

func (r *reader) unexpected(want string) {
	if r.at >= len(r.text) {
		r.fail("the text ends, want %s", want)
	}
	c, _ := utf8.DecodeRuneInString(r.text[r.at:])
	r.fail("found %q, want %s", c, want)
}

// peek returns the byte at the reader's place, or 0 at the end. A NUL in the text matches no rule
// either.
func (r *reader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *reader) take(c byte) bool {
	if r.peek() != c || r.at >= len(r.text) {
		return false
	}
	r.at++
	return true
}

func (r *reader) space() {
	for {
		switch r.peek() {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			if !r.loose || !r.looseSpace() {
				return
			}
		}
	}
}

func (r *reader) value() any {
	switch c := r.peek(); {
	case c == '{':
		return r.nested(r.object)
	case c == '[':
		return r.nested(r.list)
	case c == '"', c == '\'' && r.loose:
		text := r.quoted()
		if r.blind { // boxing the text would allocate
			r.strict.text(text)
			return nil
		}
		return text
	case c == '-', c >= '0' && c <= '9':
		return r.strict.value(r.number())
	case r.word("null"):
		return r.strict.value(nil)
	case r.word("true"):
		return r.strict.value(true)
	case r.word("false"):
		return r.strict.value(false)
	case r.loose:
		return r.strict.value(r.number())
	}
	r.unexpected("a value")
	return nil
}

// word takes a name if it is not the beginning of a longer one.
func (r *reader) word(name string) bool {
	if !strings.HasPrefix(r.text[r.at:], name) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(r.text[r.at+len(name):])
	if r.at+len(name) < len(r.text) && inName(next) {
		return false
	}
	r.at += len(name)
	return true
}

func (r *reader) nested(read func() any) any {
	if r.depth++; r.depth > r.maxDepth {
		r.fail("nested more than %d deep", r.maxDepth)
	}
	r.strict.sign(r.peek())
	r.at++ // the bracket
	value := read()
	r.strict.sign(r.text[r.at-1])
	r.depth--
	return value
}

func (r *reader) list() any {
	list := []any{}
	for r.space(); !r.take(']'); r.space() {
		if item := r.value(); !r.blind {
			list = append(list, item)
		}
		if r.space(); !r.take(',') {
			if !r.take(']') {
				r.unexpected("',' or ']'")
			}
			break
		}
		r.more(']', "a value")
	}
	if r.blind {
		return nil
	}
	return list
}

func (r *reader) object() any {
	var o *Object
	if !r.blind {
		o = &Object{}
	}
	for r.space(); !r.take('}'); r.space() {
		name := r.key()
		r.strict.text(name)
		if r.space(); !r.take(':') {
			r.unexpected("':'")
		}
		r.strict.sign(':')
		r.space()
		if value := r.value(); !r.blind {
			o.Set(name, value)
		}
		if r.space(); !r.take(',') {
			if !r.take('}') {
				r.unexpected("',' or '}'")
			}
			break
		}
		r.more('}', "a key in quotes")
	}
	return o
}

// more reads what follows a comma; JSON5 allows a comma at the end.
func (r *reader) more(end byte, want string) {
	if r.space(); r.peek() != end {
		r.strict.sign(',')
	} else if !r.loose {
		r.unexpected(want)
	}
}

func (r *reader) key() string {
	switch c := r.peek(); {
	case c == '"', c == '\'' && r.loose:
		return r.quoted()
	case r.loose:
		return r.name()
	}
	r.unexpected("a key in quotes")
	return ""
}

// quoted takes a string. Without escapes it shares the memory of the text.
func (r *reader) quoted() string {
	quote := r.peek()
	r.at++
	start := r.at
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == quote:
			r.at++
			return r.text[start : r.at-1]
		case c == '\\' && r.blind && !r.loose:
			r.at++
			r.skipEscape()
		case c == '\\':
			return r.escaped(quote, start)
		case c < ' ' && (!r.loose || c == '\n' || c == '\r'):
			r.unexpected("no control character in a string")
		default:
			r.at++
		}
	}
	r.unexpected("the end of the string")
	return ""
}

// escaped continues a string that has escapes.
func (r *reader) escaped(quote byte, start int) string {
	var text strings.Builder
	text.WriteString(r.text[start:r.at])
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == quote:
			r.at++
			return text.String()
		case c == '\\':
			r.at++
			r.escape(&text)
		case c < ' ' && (!r.loose || c == '\n' || c == '\r'):
			r.unexpected("no control character in a string")
		default:
			text.WriteByte(c)
			r.at++
		}
	}
	r.unexpected("the end of the string")
	return ""
}

// strictEscapes are the escapes of one character that JSON has.
var strictEscapes = map[byte]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

func (r *reader) escape(text *strings.Builder) {
	c := r.peek()
	if plain, ok := strictEscapes[c]; ok {
		r.at++
		text.WriteByte(plain)
		return
	}
	if c == 'u' {
		r.at++
		text.WriteRune(r.unicode())
		return
	}
	if !r.loose {
		r.unexpected("an escape that JSON has")
	}
	r.looseEscape(text)
}

// skipEscape is escape if the text is not needed.
func (r *reader) skipEscape() {
	if r.take('u') {
		r.unicode()
		return
	}
	if _, ok := strictEscapes[r.peek()]; !ok {
		r.unexpected("an escape that JSON has")
	}
	r.at++
}

// unicode takes the digits of a \u escape, and the next \u escape too if both form a surrogate
// pair.
func (r *reader) unicode() rune {
	unit := r.hex(4)
	if utf16.IsSurrogate(unit) && strings.HasPrefix(r.text[r.at:], `\u`) {
		back := r.at
		r.at += 2
		if pair := utf16.DecodeRune(unit, r.hex(4)); pair != utf8.RuneError {
			return pair
		}
		r.at = back
	}
	if utf16.IsSurrogate(unit) {
		return utf8.RuneError
	}
	return unit
}

func (r *reader) hex(digits int) rune {
	end := r.at + digits
	for i := r.at; i < end; i++ {
		if i >= len(r.text) || !isHex(r.text[i]) {
			r.at = i
			r.unexpected("a hexadecimal digit")
		}
	}
	n, _ := strconv.ParseUint(r.text[r.at:end], 16, 32)
	r.at = end
	return rune(n)
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (r *reader) number() any {
	if r.loose {
		return r.looseNumber()
	}
	start := r.at
	r.take('-')
	if !r.take('0') && r.digits() == 0 {
		r.unexpected("a digit")
	}
	if r.take('.') && r.digits() == 0 {
		r.unexpected("a digit")
	}
	if r.exponent(); r.blind {
		return nil
	}
	return NumberOf(r.text[start:r.at])
}

func (r *reader) digits() (n int) {
	for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
		r.at++
		n++
	}
	return n
}

func (r *reader) exponent() {
	if !r.take('e') && !r.take('E') {
		return
	}
	if !r.take('+') {
		r.take('-')
	}
	if r.digits() == 0 {
		r.unexpected("a digit")
	}
}
