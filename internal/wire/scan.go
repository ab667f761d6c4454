package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/internal/jsonscan"
)

// ScannedMember is one member of an object: its name, without quotes and escapes, and the JSON text
// of its value.
type ScannedMember struct{ Name, Value []byte }

// ScanMembers reads data, which must be one object and nothing else, and
// appends its members to dst.
func ScanMembers(dst []ScannedMember, data []byte) ([]ScannedMember, error) {
	return membersOf(&jsonscan.Scanner{Data: data}, dst, math.MaxInt)
}

// ErrManyMembers is the error of a line that has more members than a Decoder takes.
var ErrManyMembers = errors.New("the line has more members than are taken")

// membersOf appends the members of the object that is the whole text of the scanner. It fails if
// there are more than most.
func membersOf(s *jsonscan.Scanner, dst []ScannedMember, most int) ([]ScannedMember, error) {
	if s.Next() != '{' {
		return dst, s.Want("an object")
	}
	first := len(dst)
	for more, err := s.Open(); more || err != nil; more, err = s.More('{') {
		if err != nil {
			return dst, err
		}
		name, value, err := s.Member()
		if err != nil {
			return dst, err
		}
		if dst = append(dst, ScannedMember{name, value}); len(dst)-first > most {
			return dst, ErrManyMembers
		}
	}
	if err := s.End(); err != nil {
		return dst, err
	}
	return dst, uniqueNames(dst[first:])
}

// uniqueNames returns an error if an object has a member twice.
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

// Elements reads data, which must be one list, and returns its elements.
func Elements(data []byte) ([][]byte, error) {
	s := jsonscan.Scanner{Data: data}
	if s.Next() != '[' {
		return nil, ErrWant("a list", data)
	}
	list := [][]byte{}
	for more, err := s.Open(); more || err != nil; more, err = s.More('[') {
		if err != nil {
			return nil, err
		}
		value, err := s.Value()
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, s.End()
}

// ErrWant returns the error of a value that is not what it should be.
func ErrWant(what string, found []byte) error {
	return fmt.Errorf("want %s, found %s", what, Clip(string(found)))
}

// Clip shortens a text for an error message.
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
