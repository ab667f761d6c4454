// Package jsonscan walks JSON without making anything of it: it says whether a text is
// one value and nothing else, how many values that has and whether there is white space
// that says nothing, at the cost of reading it once. A Scanner lets others walk too.
//
// The standard library says the first alone, with a call for each byte; its package
// jsontext is an experiment still.
package jsonscan

import (
	"bytes"
	"encoding/json"
)

// Count says how many values a text has, at any depth. The error says where it is not
// one value of JSON in UTF-8 and nothing else, or nested deeper than MaxDepth.
func Count(text []byte) (values int, err error) {
	s := Scanner{Data: text}
	err = s.all()
	return s.Values, err
}

// What is put into a line stands deeper there than by itself: lineRoom is how much deeper,
// at most, and bodyRoom is that for what becomes a part of such a text before.
const (
	lineRoom = 8
	bodyRoom = 2 * lineRoom
)

// Compact is a text of JSON without the white space that says nothing, and how many
// values it has: the text itself where there is none. It is nil where Count has an error,
// or would have one with the text in a line of a trace.
func Compact(text []byte) (compact []byte, values int) {
	s := Scanner{Data: text, depth: lineRoom}
	if s.all() != nil {
		return nil, 0
	}
	if !s.Blanks {
		return text, s.Values
	}
	var out bytes.Buffer
	out.Grow(len(text))
	if json.Compact(&out, text) != nil {
		return nil, 0
	}
	return out.Bytes(), s.Values
}

// IsCompact reports whether Compact gives a text as it is, and what it becomes a part of.
func IsCompact(text []byte) bool {
	s := Scanner{Data: text, depth: bodyRoom}
	return s.all() == nil && !s.Blanks
}

// all takes all of the text.
func (s *Scanner) all() error {
	if err := s.Skip(); err != nil {
		return err
	}
	return s.End()
}
