package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ScannedMember is one member of an object: its name, without quotes and escapes, and
// the text of its value, which is valid JSON.
type ScannedMember struct{ Name, Value []byte }

// scanner walks JSON strictly. It uses no recursion, so that no input can
// exhaust the stack.
type scanner struct {
	data []byte
	at   int
	open []byte // '{' and '[' of the containers that it is in
	// values counts those that were skipped, at any depth.
	values int
	// blanks says that there were some between tokens.
	blanks bool
}

// ScanMembers reads data, which must be one object and nothing else, and
// appends its members to dst.
func ScanMembers(dst []ScannedMember, data []byte) ([]ScannedMember, error) {
	s := scanner{data: data}
	return s.members(dst)
}

// CheckJSON reports whether data is one JSON value and nothing else.
func CheckJSON(data []byte) error {
	_, err := countJSON(data)
	return err
}

// countJSON is CheckJSON, and says how many values the text has.
func countJSON(data []byte) (values int, err error) {
	s := scanner{data: data}
	err = s.check()
	return s.values, err
}

func (s *scanner) check() error {
	if !utf8.Valid(s.data) {
		return errNotUTF8
	}
	if err := s.skip(); err != nil {
		return err
	}
	return s.end()
}

var errNotUTF8 = errors.New("the text is not valid UTF-8")

func (s *scanner) members(dst []ScannedMember) ([]ScannedMember, error) {
	if s.next() != '{' {
		return dst, s.want("an object")
	}
	s.at++
	first := len(dst)
	for s.next() != '}' {
		if len(dst) > first {
			if err := s.take(',', "a comma or the end of the object"); err != nil {
				return dst, err
			}
		}
		name, value, err := s.member()
		if err != nil {
			return dst, err
		}
		dst = append(dst, ScannedMember{name, value})
	}
	s.at++
	if err := s.end(); err != nil {
		return dst, err
	}
	return dst, uniqueNames(dst[first:])
}

func (s *scanner) member() (name, value []byte, err error) {
	if name, err = s.name(); err != nil {
		return nil, nil, err
	}
	s.next()
	start := s.at
	if err := s.skip(); err != nil {
		return nil, nil, err
	}
	return name, s.data[start:s.at], nil
}

// name takes a member's name and the colon.
func (s *scanner) name() ([]byte, error) {
	if s.next() != '"' {
		return nil, s.want("a name in quotes")
	}
	start := s.at
	escaped, err := s.skipString()
	if err != nil {
		return nil, err
	}
	name := s.data[start+1 : s.at-1]
	if escaped {
		if name, err = Unquote(s.data[start:s.at]); err != nil {
			return nil, err
		}
	}
	return name, s.take(':', "a colon")
}

// uniqueNames refuses an object that says something twice.
func uniqueNames(members []ScannedMember) error {
	if len(members) > 24 {
		return uniqueAmongMany(members)
	}
	for i := range members {
		for j := range i {
			if bytes.Equal(members[i].Name, members[j].Name) {
				return errTwice(members[i].Name)
			}
		}
	}
	return nil
}

func uniqueAmongMany(members []ScannedMember) error {
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		if seen[string(m.Name)] {
			return errTwice(m.Name)
		}
		seen[string(m.Name)] = true
	}
	return nil
}

func errTwice(name []byte) error {
	return fmt.Errorf("the member %s is there twice", Clip(strconv.Quote(string(name))))
}

// Elements reads data, which must be one list, and gives its elements.
func Elements(data []byte) ([][]byte, error) {
	s := scanner{data: data}
	if s.next() != '[' {
		return nil, ErrWant("a list", data)
	}
	s.at++
	list := [][]byte{}
	for s.next() != ']' {
		if len(list) > 0 {
			if err := s.take(',', "a comma or the end of the list"); err != nil {
				return nil, err
			}
			s.next()
		}
		start := s.at
		if err := s.skip(); err != nil {
			return nil, err
		}
		list = append(list, data[start:s.at])
	}
	s.at++
	return list, s.end()
}

// next skips blanks and gives the byte it stands at, 0 at the end.
func (s *scanner) next() byte {
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
			s.blanks = true
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) take(c byte, what string) error {
	if s.next() != c {
		return s.want(what)
	}
	s.at++
	return nil
}

func (s *scanner) end() error {
	if s.next(); s.at < len(s.data) {
		return s.want("nothing more")
	}
	return nil
}

// want says what should stand where the scanner is.
func (s *scanner) want(what string) error {
	if s.at >= len(s.data) {
		return fmt.Errorf("column %d: want %s, found the end", s.at+1, what)
	}
	r, _ := utf8.DecodeRune(s.data[s.at:])
	return fmt.Errorf("column %d: want %s, found %q", s.at+1, what, r)
}

// skip takes one value, whatever it is, and checks all of it.
func (s *scanner) skip() error {
	base := len(s.open)
	for {
		complete, err := s.enter()
		if err != nil {
			return err
		}
		if !complete {
			continue
		}
		more, err := s.leave(base)
		if err != nil || !more {
			return err
		}
	}
}

// enter takes a scalar or an empty container, which is then complete, or what
// opens a container, up to its first value.
func (s *scanner) enter() (complete bool, err error) {
	s.values++
	switch c := s.next(); c {
	case '{', '[':
		if len(s.open) >= MaxDepth {
			return false, fmt.Errorf("column %d: the text is nested more than %d deep", s.at+1, MaxDepth)
		}
		s.at++
		if s.next() == c+2 { // '}' and ']' follow their openers by two
			s.at++
			return true, nil
		}
		s.open = append(s.open, c)
		if c == '{' {
			return false, s.skipName()
		}
		return false, nil
	case '"':
		_, err := s.skipString()
		return true, err
	case 't':
		return true, s.word("true")
	case 'f':
		return true, s.word("false")
	case 'n':
		return true, s.word("null")
	default:
		return true, s.number()
	}
}

// leave stands behind a value: it takes the ends of containers, and tells
// whether another value follows in one that was opened after base.
func (s *scanner) leave(base int) (more bool, err error) {
	for len(s.open) > base {
		top := s.open[len(s.open)-1]
		switch s.next() {
		case ',':
			s.at++
			if top == '{' {
				return true, s.skipName()
			}
			return true, nil
		case top + 2:
			s.at++
			s.open = s.open[:len(s.open)-1]
		default:
			return false, s.want("a comma or " + string(rune(top+2)))
		}
	}
	return false, nil
}

func (s *scanner) skipName() error {
	if s.next() != '"' {
		return s.want("a name in quotes")
	}
	if _, err := s.skipString(); err != nil {
		return err
	}
	return s.take(':', "a colon")
}

// skipString takes a string; the scanner stands at its first quote. escaped
// reports whether there is an escape in it.
func (s *scanner) skipString() (escaped bool, err error) {
	for i := s.at + 1; i < len(s.data); i++ {
		c := s.data[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue // as most do
		}
		switch c {
		case '"':
			s.at = i + 1
			return escaped, nil
		case '\\':
			n := escapeLen(s.data[i:])
			if n == 0 {
				s.at = i
				return false, s.want("an escape")
			}
			i += n - 1
			escaped = true
		default:
			s.at = i
			return false, s.want("a character that is not a control character")
		}
	}
	s.at = len(s.data)
	return false, s.want("a quote")
}

// escapeLen is the length of the escape that text begins with, 0 for none.
func escapeLen(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(text[2:]); ok {
			return 6
		}
	}
	return 0
}

func hex4(text []byte) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range text[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func (s *scanner) word(word string) error {
	if !bytes.HasPrefix(s.data[s.at:], []byte(word)) {
		return s.want("a value")
	}
	s.at += len(word)
	return nil
}

func (s *scanner) number() error {
	start := s.at
	if s.is('-') {
		s.at++
	}
	switch {
	case s.is('0'):
		s.at++
	case !s.digits():
		if s.at == start {
			return s.want("a value")
		}
		return s.want("a digit")
	}
	if s.is('.') {
		s.at++
		if !s.digits() {
			return s.want("a digit")
		}
	}
	if s.is('e') || s.is('E') {
		s.at++
		if s.is('+') || s.is('-') {
			s.at++
		}
		if !s.digits() {
			return s.want("a digit")
		}
	}
	return nil
}

func (s *scanner) is(c byte) bool { return s.at < len(s.data) && s.data[s.at] == c }

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}

// Unquote gives the text of a valid JSON string. Where there is no escape in
// it, that is a part of quoted.
func Unquote(quoted []byte) ([]byte, error) {
	text := quoted[1 : len(quoted)-1]
	next := bytes.IndexByte(text, '\\')
	if next < 0 {
		return text, nil
	}
	plain := make([]byte, 0, len(text))
	for next >= 0 {
		plain = append(plain, text[:next]...)
		r, n := escaped(text[next:])
		if n == 0 {
			return nil, errors.New("a string has half of a surrogate pair")
		}
		plain = utf8.AppendRune(plain, r)
		text = text[next+n:]
		next = bytes.IndexByte(text, '\\')
	}
	return append(plain, text...), nil
}

// escaped decodes the escape that text begins with, and a second one where it
// takes two; 0 bytes for half a surrogate pair.
func escaped(text []byte) (rune, int) {
	switch c := text[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return unicodeEscape(text)
	default:
		return rune(c), 2
	}
}

func unicodeEscape(text []byte) (rune, int) {
	r, _ := hex4(text[2:])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(text) < 12 || text[6] != '\\' || text[7] != 'u' {
		return 0, 0
	}
	low, ok := hex4(text[8:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// ErrWant says that a value is not what it should be.
func ErrWant(what string, found []byte) error {
	return fmt.Errorf("want %s, found %s", what, Clip(string(found)))
}

// Clip shortens a text for a message.
func Clip(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
