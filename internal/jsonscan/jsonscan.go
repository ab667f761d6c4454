// Package jsonscan scans JSON without decoding it. It finds out whether a text is exactly one
// value, how many values that contains, and whether there is insignificant white space, in a single
// pass. A Scanner lets callers walk a text themselves.
//
// The standard library only does the first of these, with a call for each byte; its package
// jsontext is still experimental.
package jsonscan

import (
	"bytes"
	"encoding/json"
)

// Count returns how many values a text has, at any depth. It returns an error if the text is not
// exactly one JSON value in UTF-8, or is nested deeper than MaxDepth.
func Count(text []byte) (values int, err error) {
	s := Scanner{Data: text}
	err = s.all()
	return s.Values, err
}

// A text that is put into a line is nested more deeply there. lineRoom is the largest additional
// depth in a line, and bodyRoom the largest one for a text that first becomes a part of such a
// text.
const (
	lineRoom = 8
	bodyRoom = 2 * lineRoom
)

// Compact returns a text of JSON without insignificant white space, which is the text itself if it
// has none, and how many values it has. It returns nil if Count would return an error for the text,
// either by itself or within a line of a trace.
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

// IsCompact reports whether Compact returns a text unchanged, and also a text that the text becomes
// a part of.
func IsCompact(text []byte) bool {
	s := Scanner{Data: text, depth: bodyRoom}
	return s.all() == nil && !s.Blanks
}

// all consumes the whole text.
func (s *Scanner) all() error {
	if err := s.Skip(); err != nil {
		return err
	}
	return s.End()
}
