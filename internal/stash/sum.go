package stash

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/adkreplay/adkreplay/internal/digest"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// Sum identifies the content of a tree, and is updated incrementally: a change costs only as much
// as the old and the new value, whatever the size of the rest of the tree. The zero Sum is that of
// an empty tree. It is not collision-resistant: somebody who controls both trees can construct two
// trees with the same sum.
//
// It consists of the number of branches and leaves, and of the sum, modulo 2^256, of a SHA-256 for
// each of them. That hash covers the place of the branch or leaf and, for a leaf, its JSON. A place
// is a SHA-256 over the place of the surrounding branch and the name.
type Sum struct {
	count uint64
	words [4]uint64 // the lowest first
}

// place identifies a position in a tree. It is zero for the tree itself.
type place [sha256.Size]byte

func (p place) below(name string) place {
	return sha256.Sum256(append(append(make([]byte, 0, usualText), p[:]...), name...))
}

// usualText is the largest length of a text to hash, apart from long values. Such a text needs no
// allocation.
const usualText = 128

// SumOf returns the sum of a tree.
func SumOf(tree map[string]any) (s Sum) {
	s.each(place{}, tree, false)
	return s
}

// Follow calls change, which must change the tree at the given path only, and updates the sum.
func (s *Sum) Follow(root *map[string]any, path string, change func() error) error {
	segments := strings.Split(path, ".")
	changed, was := replaced(*root, segments)
	if err := change(); err != nil {
		return err
	}
	var at place
	for _, name := range changed {
		at = at.below(name)
	}
	if was != nil {
		s.value(at, was, true)
	}
	if _, is := replaced(*root, changed); is != nil {
		s.value(at, is, false)
	}
	return nil
}

// replaced returns what a change at a path replaces: the shortest path whose value will differ
// afterwards, and its current value, or nil if there is none.
func replaced(root map[string]any, path []string) (changed []string, was any) {
	node := root
	for i, name := range path {
		was = node[name]
		branch, ok := was.(map[string]any)
		if !ok || i == len(path)-1 {
			return path[:i+1], was
		}
		node = branch
	}
	return path, was
}

// value adds or, if out is set, subtracts a value, including everything below it.
func (s *Sum) value(at place, value any, out bool) {
	if branch, ok := value.(map[string]any); ok {
		s.part(at[:], out)
		s.each(at, branch, out)
		return
	}
	s.part(plain.AppendJSON(append(make([]byte, 0, usualText), at[:]...), value), out)
}

func (s *Sum) each(at place, branch map[string]any, out bool) {
	for name, value := range branch {
		s.value(at.below(name), value, out)
	}
}

// part adds or, if out is set, subtracts the hash of a text.
func (s *Sum) part(text []byte, out bool) {
	hash, change, carry := sha256.Sum256(text), bits.Add64, uint64(0)
	s.count++
	if out {
		s.count -= 2
		change = bits.Sub64
	}
	for i := range s.words {
		s.words[i], carry = change(s.words[i], binary.LittleEndian.Uint64(hash[8*i:]), carry)
	}
}

// Digest returns the digest of the tree; it is zero if the tree is empty.
func (s Sum) Digest() [16]byte {
	if s.count == 0 {
		return [16]byte{}
	}
	text := binary.BigEndian.AppendUint64(nil, s.count)
	for _, word := range s.words {
		text = binary.BigEndian.AppendUint64(text, word)
	}
	return digest.Of(text)
}
