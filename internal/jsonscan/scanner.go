package jsonscan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth is how deep values may be nested. In a line of a trace, plain data may be nested 500
// deep and arguments 1000, with marks in between.
const MaxDepth = 4096

// Scanner scans a text of JSON strictly. It does not use recursion, so no input can exhaust the
// stack.
type Scanner struct {
	// Data is the text, and At the scanner's position in it.
	Data []byte
	At   int
	// Values counts the values that were skipped, at any depth.
	Values int
	// Blanks says that there was white space between tokens.
	Blanks bool

	depth       int                     // the number of open containers
	objects     [MaxDepth/64 + 1]uint64 // a bit for each of them that says whether it is an object
	beyondASCII bool                    // a string contains more than ASCII
}

// Reset makes the scanner begin a text. It does not clear objects, whose bits are always written
// before they are read, because clearing would take longer than scanning most lines.
func (s *Scanner) Reset(text []byte) {
	s.Data, s.At, s.Values, s.Blanks, s.depth, s.beyondASCII = text, 0, 0, false, 0, false
}

// Next skips white space and returns the current byte, or 0 at the end.
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

// EachMember calls give for the members of the object that is the whole text, in order, with each
// name unquoted. It stops if give returns an error.
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

// Member consumes a member of an object and returns its name, unquoted, and the text of its value.
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

// plainName consumes a name without escapes and the colon after it, which is the common case. For
// other names it returns nil and consumes nothing.
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

// Value consumes one value, as Skip does, and returns its text.
func (s *Scanner) Value() ([]byte, error) {
	s.Next()
	start := s.At
	err := s.Skip()
	return s.Data[start:s.At], err
}

// Open enters the container at the scanner's position, and reports whether it has any content; an
// empty container is consumed. The caller must consume the content: values, or names with SkipName
// and values, with a call of More after each.
func (s *Scanner) Open() (some bool, err error) {
	if err := s.deeper(); err != nil {
		return false, err
	}
	end := s.Data[s.At] + 2 // '}' and ']' are two after their openers in ASCII
	s.At++
	if s.Next() != end {
		return true, nil
	}
	s.At++
	s.depth--
	return false, nil
}

// More consumes the comma before the next element of a container, or the end of the container, and
// reports whether there is another element. begin is the byte with which the container began.
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

// deeper records that the scanner enters a container.
func (s *Scanner) deeper() error {
	if s.depth > MaxDepth {
		return fmt.Errorf("column %d: the text is nested more than %d deep", s.At+1, MaxDepth)
	}
	s.depth++
	return nil
}

// Take consumes the byte c, after white space; what describes it for the error.
func (s *Scanner) Take(c byte, what string) error {
	if s.Next() != c {
		return s.Want(what)
	}
	s.At++
	return nil
}

// End consumes white space at the end, checks that nothing follows, and checks that the text is
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

// Want returns an error that says what should be at the scanner's position.
func (s *Scanner) Want(what string) error {
	if s.At >= len(s.Data) {
		return fmt.Errorf("column %d: want %s, found the end", s.At+1, what)
	}
	r, _ := utf8.DecodeRune(s.Data[s.At:])
	return fmt.Errorf("column %d: want %s, found %q", s.At+1, what, r)
}

// Skip consumes and checks one value of any kind.
func (s *Scanner) Skip() error {
	switch c := s.Next(); { // most values are of these kinds
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

// enter consumes a scalar or an empty container, which is then complete, or the opening of a
// container up to its first value.
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

// leave is called after a value. It consumes the ends of containers, and reports whether another
// value follows in one that was opened after base.
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

// setObject records whether the container that was opened is an object.
func (s *Scanner) setObject(ok bool) {
	word, bit := &s.objects[(s.depth-1)/64], uint64(1)<<((s.depth-1)%64)
	if *word &^= bit; ok {
		*word |= bit
	}
}

// SkipName consumes the name of a member and the colon. quoted is the name as it is written.
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

// SkipString consumes a string; the scanner must be at its first quote.
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

// plainUntil returns the position, from i on, of the first quote, backslash or control character,
// or the end. It examines 32 bytes at a time and then eight, since most of all scanned text is in
// strings.
func (s *Scanner) plainUntil(i int) int {
	for rest := s.Data[i:]; ; {
		for len(rest) >= 32 {
			four := (*[32]byte)(rest) // has a constant length, which avoids bounds checks
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

// marked sets special bits if one of the first eight bytes of a text is a quote, a backslash, a
// control character, or not ASCII. The highest bit of a byte of the result is set if it was set in
// the text, or if a subtraction went below zero. One is subtracted from the zero that a backslash
// becomes by exclusive or. '!' is subtracted after spaces and quotes were swapped, which finds
// control characters and quotes. No other ASCII byte goes below zero, so none borrows from the next
// byte, and the lowest bit that is set belongs to the first such byte.
func marked(text []byte) uint64 {
	const swap = ' ' ^ '"'
	block := binary.LittleEndian.Uint64(text)
	return block | ((block ^ swap*eachByte) - '!'*eachByte) | ((block ^ '\\'*eachByte) - eachByte)
}

// escapeLen returns the length of the escape at the beginning of text, or 0 for none.
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
