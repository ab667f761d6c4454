package jsonscan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth bounds how deep the values of an object or a list are nested. In a line of a
// trace plain data may be nested 500 deep and arguments 1000, with marks between.
const MaxDepth = 4096

// Scanner walks a text of JSON strictly. It uses no recursion, so that no input can
// exhaust the stack.
type Scanner struct {
	// Data is the text, and At where in it the scanner stands.
	Data []byte
	At   int
	// Values counts those that were skipped, at any depth.
	Values int
	// Blanks says that there were some between tokens.
	Blanks bool

	depth       int                     // of containers that it is in
	objects     [MaxDepth/64 + 1]uint64 // which of them are objects, a bit each
	beyondASCII bool                    // a string has more than ASCII in it
}

// Reset has the scanner begin a text. What it keeps of containers is written before it is
// read, and not cleared: that would take longer than to walk most lines.
func (s *Scanner) Reset(text []byte) {
	s.Data, s.At, s.Values, s.Blanks, s.depth, s.beyondASCII = text, 0, 0, false, 0, false
}

// Next skips blanks and gives the byte it stands at, 0 at the end.
func (s *Scanner) Next() byte {
	for s.At < len(s.Data) {
		switch c := s.Data[s.At]; c {
		case ' ', '\t', '\r', '\n':
			s.At++
			s.Blanks = true
		default:
			return c
		}
	}
	return 0
}

// EachMember takes the members of the object that is all of the text, in their order,
// each name without quotes and escapes. An error of give ends it.
func (s *Scanner) EachMember(give func(name, value []byte) error) error {
	if s.Next() != '{' {
		return s.Want("an object")
	}
	for more, err := s.Open(); more || err != nil; more, err = s.More('{') {
		if err != nil {
			return err
		}
		name, value, err := s.Member()
		if err != nil {
			return err
		}
		if err := give(name, value); err != nil {
			return err
		}
	}
	return s.End()
}

// Member takes a member of an object: its name, without quotes and escapes, and the text
// of its value.
func (s *Scanner) Member() (name, value []byte, err error) {
	if name = s.plainName(); name == nil {
		quoted, err := s.SkipName()
		if err != nil {
			return nil, nil, err
		}
		if name, err = Unquote(quoted); err != nil {
			return nil, nil, err
		}
	}
	value, err = s.Value()
	return name, value, err
}

// plainName takes a name without escapes and the colon at once, as nearly all are written;
// of others it is nil, and nothing is taken.
func (s *Scanner) plainName() []byte {
	data, begin := s.Data, s.At+1
	if begin > len(data) || data[s.At] != '"' {
		return nil
	}
	for i := begin; i+1 < len(data); i++ {
		switch c := data[i]; {
		case c == '"' && data[i+1] == ':':
			s.At = i + 2
			return data[begin:i:i]
		case c == '"', c < ' ', c == '\\', c >= utf8.RuneSelf:
			return nil
		}
	}
	return nil
}

// Value takes one value, as Skip does, and gives its text.
func (s *Scanner) Value() ([]byte, error) {
	s.Next()
	start := s.At
	err := s.Skip()
	return s.Data[start:s.At], err
}

// Open enters the container that the scanner stands at, and reports whether there is
// anything in it; an empty one it takes. What is in it is the caller's to take: values,
// or a name with SkipName and a value, with More between any two.
func (s *Scanner) Open() (some bool, err error) {
	if err := s.deeper(); err != nil {
		return false, err
	}
	end := s.Data[s.At] + 2 // '}' and ']' follow their openers by two
	s.At++
	if s.Next() != end {
		return true, nil
	}
	s.At++
	s.depth--
	return false, nil
}

// More takes the comma that stands before what is next in a container, or its end, and
// reports whether there is more. begin is what the container began with.
func (s *Scanner) More(begin byte) (more bool, err error) {
	switch s.Next() {
	case ',':
		s.At++
		return true, nil
	case begin + 2:
		s.At++
		s.depth--
		return false, nil
	}
	return false, s.Want("a comma or " + string(rune(begin+2)))
}

// deeper notes that the scanner enters a container.
func (s *Scanner) deeper() error {
	if s.depth > MaxDepth {
		return fmt.Errorf("column %d: the text is nested more than %d deep", s.At+1, MaxDepth)
	}
	s.depth++
	return nil
}

// Take takes the byte that has to stand where the scanner is, behind blanks; what says
// what that is.
func (s *Scanner) Take(c byte, what string) error {
	if s.Next() != c {
		return s.Want(what)
	}
	s.At++
	return nil
}

// End takes the blanks at the end, where nothing may follow, and sees that the text is
// UTF-8.
func (s *Scanner) End() error {
	if s.Next(); s.At < len(s.Data) {
		return s.Want("nothing more")
	}
	if s.beyondASCII && !utf8.Valid(s.Data) {
		return errNotUTF8
	}
	return nil
}

var errNotUTF8 = errors.New("the text is not valid UTF-8")

// Want says what should stand where the scanner is.
func (s *Scanner) Want(what string) error {
	if s.At >= len(s.Data) {
		return fmt.Errorf("column %d: want %s, found the end", s.At+1, what)
	}
	r, _ := utf8.DecodeRune(s.Data[s.At:])
	return fmt.Errorf("column %d: want %s, found %q", s.At+1, what, r)
}

// Skip takes one value, whatever it is, and checks all of it.
func (s *Scanner) Skip() error {
	switch c := s.Next(); { // most are of these
	case c == '"':
		s.Values++
		return s.SkipString()
	case c >= '0' && c <= '9':
		s.Values++
		return s.number()
	}
	base := s.depth
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
func (s *Scanner) enter() (complete bool, err error) {
	s.Values++
	switch c := s.Next(); c {
	case '{', '[':
		some, err := s.Open()
		if err != nil || !some {
			return !some, err
		}
		if s.setObject(c == '{'); c == '{' {
			_, err = s.SkipName()
		}
		return false, err
	case '"':
		return true, s.SkipString()
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
func (s *Scanner) leave(base int) (more bool, err error) {
	for s.depth > base && !more {
		begin := byte('[')
		if s.inObject() {
			begin = '{'
		}
		if more, err = s.More(begin); err != nil {
			return false, err
		}
		if more && begin == '{' {
			_, err = s.SkipName()
		}
	}
	return more, err
}

func (s *Scanner) inObject() bool { return s.objects[(s.depth-1)/64]&(1<<((s.depth-1)%64)) != 0 }

// setObject notes whether the container that was opened is an object.
func (s *Scanner) setObject(ok bool) {
	word, bit := &s.objects[(s.depth-1)/64], uint64(1)<<((s.depth-1)%64)
	if *word &^= bit; ok {
		*word |= bit
	}
}

// SkipName takes a member's name and the colon. quoted is the name as it is written.
func (s *Scanner) SkipName() (quoted []byte, err error) {
	if s.Next() != '"' {
		return nil, s.Want("a name in quotes")
	}
	start := s.At
	if err := s.SkipString(); err != nil {
		return nil, err
	}
	quoted = s.Data[start:s.At]
	if s.At < len(s.Data) && s.Data[s.At] == ':' {
		s.At++
		return quoted, nil
	}
	return quoted, s.Take(':', "a colon")
}

// SkipString takes a string; the scanner stands at its first quote.
func (s *Scanner) SkipString() error {
	for i := s.At + 1; ; {
		if i = s.plainUntil(i); i == len(s.Data) {
			break
		}
		switch s.Data[i] {
		case '"':
			s.At = i + 1
			return nil
		case '\\':
			n := escapeLen(s.Data[i:])
			if n == 0 {
				s.At = i
				return s.Want("an escape")
			}
			i += n
		default:
			s.At = i
			return s.Want("a character that is not a control character")
		}
	}
	s.At = len(s.Data)
	return s.Want("a quote")
}

// plainUntil is where from i on stands the first quote, backslash or control character,
// or the end. It looks at 32 bytes at a time, and then at eight: texts are most of what is
// ever scanned.
func (s *Scanner) plainUntil(i int) int {
	for rest := s.Data[i:]; ; {
		for len(rest) >= 32 {
			four := (*[32]byte)(rest) // of a known length, so that no other bound is looked at
			if (marked(four[:8])|marked(four[8:16])|marked(four[16:24])|marked(four[24:]))&special != 0 {
				break
			}
			rest = rest[32:]
		}
		for len(rest) >= 8 {
			if found := marked(rest) & special; found != 0 {
				rest = rest[bits.TrailingZeros64(found)/8:]
				break
			}
			rest = rest[8:]
		}
		for range min(8, len(rest)) {
			switch c := rest[0]; {
			case c < ' ', c == '"', c == '\\':
				return len(s.Data) - len(rest)
			case c >= utf8.RuneSelf:
				s.beyondASCII = true
			}
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return len(s.Data)
		}
	}
}

// special is the highest bit of each of eight bytes.
const special = 0x80 * eachByte

const eachByte = 0x0101010101010101

// marked sets special bits where one of the first eight bytes of a text is a quote, a
// backslash, a control character or beyond ASCII. The highest bit of a byte is set where
// it was, or where taking something away went below zero: one from the zero that a
// backslash becomes, and '!' from what is smaller once spaces and quotes have changed
// places, which are control characters and quotes. Nothing else in ASCII comes to that,
// nor borrows from the next byte: the lowest bit that is set is of the first such byte.
func marked(text []byte) uint64 {
	const swap = ' ' ^ '"'
	block := binary.LittleEndian.Uint64(text)
	return block | ((block ^ swap*eachByte) - '!'*eachByte) | ((block ^ '\\'*eachByte) - eachByte)
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

func (s *Scanner) word(word string) error {
	if !bytes.HasPrefix(s.Data[s.At:], []byte(word)) {
		return s.Want("a value")
	}
	s.At += len(word)
	return nil
}

func (s *Scanner) number() error {
	start := s.At
	if s.is('-') {
		s.At++
	}
	switch {
	case s.is('0'):
		s.At++
	case !s.digits():
		if s.At == start {
			return s.Want("a value")
		}
		return s.Want("a digit")
	}
	if s.is('.') {
		s.At++
		if !s.digits() {
			return s.Want("a digit")
		}
	}
	if s.is('e') || s.is('E') {
		s.At++
		if s.is('+') || s.is('-') {
			s.At++
		}
		if !s.digits() {
			return s.Want("a digit")
		}
	}
	return nil
}

func (s *Scanner) is(c byte) bool { return s.At < len(s.Data) && s.Data[s.At] == c }

func (s *Scanner) digits() bool {
	start := s.At
	for s.At < len(s.Data) && s.Data[s.At] >= '0' && s.Data[s.At] <= '9' {
		s.At++
	}
	return s.At > start
}
