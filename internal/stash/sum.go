package stash

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/adkreplay/adkreplay/internal/digest"
	"github.com/adkreplay/adkreplay/internal/plain"
)

// Sum tells trees apart, and is carried on: a change of a tree costs what was there and
// what is there now, and not what the rest of the tree holds. The zero Sum is of an empty
// tree. It is no secret: who wants two trees of one sum and writes both can have them.
//
// It is the number of branches and leaves, and the sum, modulo 2^256, of a SHA-256 for each
// of them, over its place and, for a leaf, over its JSON. The place of what lies in the tree
// is a SHA-256 over the place of its branch and its name.
type Sum struct {
	count uint64
	words [4]uint64 // the lowest first
}

// place is where in a tree something stands: zero for the tree itself.
type place [sha256.Size]byte

func (p place) below(name string) place {
	return sha256.Sum256(append(append(make([]byte, 0, usualText), p[:]...), name...))
}

// usualText is how long what is hashed is at most, but for long values: it is put together
// where it costs no allocation.
const usualText = 128

// SumOf is the sum of a tree.
func SumOf(tree map[string]any) (s Sum) {
	s.each(place{}, tree, false)
	return s
}

// Follow makes a change at a path of the tree whose sum it is, and takes it in.
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

// replaced is what makes room for a change at a path: the shortest path at which something
// else stands afterwards, and what does now, nil where nothing does.
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

// value takes a value in, or out, with all that is below it.
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

// part takes in, or out, the hash of a text.
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

// Digest is the digest of the tree; zero where it is empty.
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
