package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"slices"

	"github.com/adkreplay/adkreplay/internal/jsonscan"
)

// SameJSON reports whether two texts have the same JSON value, whatever the order of their members
// and their white space. Numbers are equal only in the same spelling. A text that is not JSON, or
// that has a member twice, equals only itself.
func SameJSON(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || len(a) > 0 && len(b) > 0 && SumOfJSON(a) == SumOfJSON(b)
}

// JSONSum is a hash that is equal for two texts that are equal to SameJSON. Other texts have equal
// sums only as often as two ids of 128 random bits are equal. A sum has no meaning in another
// process.
type JSONSum [2]uint64

// SumOfJSON returns the sum of a text. It walks the text once without building the values. The sum
// of a list depends on its order; the sums of an object's members are added, so their order does
// not matter.
func SumOfJSON(text json.RawMessage) JSONSum {
	s := jsonSummer{Scanner: jsonscan.Scanner{Data: text}}
	sum, err := s.value()
	if err != nil || s.End() != nil {
		return sumOf('?', text)
	}
	return sum
}

// jsonSummer computes the sum of a text.
type jsonSummer struct {
	jsonscan.Scanner
	text []byte // buffer for a string whose escapes are resolved
}

var sumSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// sumOf returns the sum of bytes that stand for something of the given sort.
func sumOf(sort byte, text []byte) JSONSum {
	return JSONSum{maphash.Bytes(sumSeeds[0], text) + uint64(sort), maphash.Bytes(sumSeeds[1], text) + uint64(sort)}
}

// then returns the sum of two things in this order.
func (a JSONSum) then(b JSONSum) JSONSum {
	var both [32]byte
	for i, part := range [4]uint64{a[0], a[1], b[0], b[1]} {
		binary.LittleEndian.PutUint64(both[8*i:], part)
	}
	return JSONSum{maphash.Bytes(sumSeeds[0], both[:]), maphash.Bytes(sumSeeds[1], both[:])}
}

func (s *jsonSummer) value() (JSONSum, error) {
	switch s.Next() {
	case '{':
		return s.object()
	case '[':
		return s.list()
	case '"':
		return s.string()
	}
	start := s.At
	if err := s.Skip(); err != nil {
		return JSONSum{}, err
	}
	return sumOf('v', s.Data[start:s.At]), nil
}

func (s *jsonSummer) string() (JSONSum, error) {
	start := s.At
	if err := s.SkipString(); err != nil {
		return JSONSum{}, err
	}
	return s.unquoted(s.Data[start:s.At])
}

func (s *jsonSummer) unquoted(quoted []byte) (_ JSONSum, err error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return sumOf('"', quoted[1:len(quoted)-1]), nil
	}
	if s.text, err = jsonscan.AppendUnquoted(s.text[:0], quoted); err != nil {
		return JSONSum{}, err
	}
	return sumOf('"', s.text), nil
}

func (s *jsonSummer) list() (JSONSum, error) {
	sum := JSONSum{'['}
	for more, err := s.Open(); more || err != nil; more, err = s.More('[') {
		if err != nil {
			return sum, err
		}
		one, err := s.value()
		if err != nil {
			return sum, err
		}
		sum = sum.then(one)
	}
	return sum, nil
}

func (s *jsonSummer) object() (JSONSum, error) {
	var sum JSONSum
	var few [16]uint64 // most objects have no more members
	names := few[:0]
	for more, err := s.Open(); more || err != nil; more, err = s.More('{') {
		if err != nil {
			return sum, err
		}
		name, member, err := s.member()
		if err != nil {
			return sum, err
		}
		sum[0], sum[1] = sum[0]+member[0], sum[1]+member[1]
		names = append(names, name[0])
	}
	if hasTwice(names) {
		return sum, errTwice(nil)
	}
	return JSONSum{'{'}.then(sum), nil
}

func (s *jsonSummer) member() (name, both JSONSum, err error) {
	quoted, err := s.SkipName()
	if err != nil {
		return name, both, err
	}
	if name, err = s.unquoted(quoted); err != nil {
		return name, both, err
	}
	value, err := s.value()
	return name, name.then(value), err
}

// hasTwice reports whether a number occurs twice. It sorts all in place.
func hasTwice(all []uint64) bool {
	slices.Sort(all)
	return len(slices.Compact(all)) < len(all)
}
