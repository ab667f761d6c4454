package streamre

import (
	"math/bits"

	"github.com/armon/go-radix"
)

// This file finds many texts at once. The time depends on the length of the text that is searched,
// and not on the number of texts to find.

// Texts are literal secrets, each with the ways to write it. Each secret is found independently,
// like a Pattern that is an alternative of its ways, the longest first.
type Texts struct {
	// Steps is the number of positions, in all searches, that were examined because a secret might
	// begin there.
	Steps int

	tree    *radix.Tree // of *written
	longest int
	least   int      // how many first bytes are hashed; no way is shorter
	begins  []uint64 // a bit for each beginning, by its hash
}

// written is one way to write one or more secrets.
type written struct{ of []*known }

// known is a secret.
type known struct {
	kind string
	rank int
}

const (
	// mostLeast is how many bytes fit into a word, which is hashed.
	mostLeast = 8
	// bitsOfText is the smallest number of bits for each text. So about one in that many positions
	// is examined although no text begins there.
	bitsOfText = 16
	// leastWords is the smallest length of begins.
	leastWords = 16
)

// Add adds a secret with the ways to write it, none of which may be empty. Its spans have the given
// rank.
func (t *Texts) Add(kind string, rank int, ways ...string) {
	if t.tree == nil {
		t.tree, t.least = radix.New(), mostLeast
	}
	secret := &known{kind, rank}
	for _, way := range ways {
		if others, ok := t.tree.Get(way); ok {
			w := others.(*written)
			w.of = append(w.of, secret)
			continue
		}
		t.tree.Insert(way, &written{[]*known{secret}})
		t.longest = max(t.longest, len(way))
		if len(way) < t.least || t.tree.Len()*bitsOfText > len(t.begins)*64 {
			t.least = min(t.least, len(way))
			t.hashAll()
		} else {
			t.mark(t.hash(t.word(way)))
		}
	}
}

// hashAll rebuilds begins with more room.
func (t *Texts) hashAll() {
	t.begins = make([]uint64, max(leastWords, 1<<bits.Len(uint(t.tree.Len()*bitsOfText/64))))
	t.tree.Walk(func(way string, _ any) bool {
		t.mark(t.hash(t.word(way)))
		return false
	})
}

func (t *Texts) mark(hash uint64) { t.begins[hash/64] |= 1 << (hash % 64) }

// word returns the first bytes of a text as a number.
func (t *Texts) word(text string) (word uint64) {
	for i := range min(t.least, len(text)) {
		word = word<<8 | uint64(text[i])
	}
	return word
}

// hash returns the index in begins of the last bytes of a word. It ignores any bytes before them.
func (t *Texts) hash(word uint64) uint64 {
	word <<= 64 - 8*t.least
	return word * 0x9e3779b97f4a7c15 >> (64 - bits.TrailingZeros(uint(len(t.begins)*64)))
}

// mayBegin returns the first position, from at on, at which a text may begin, or limit.
func (t *Texts) mayBegin(text string, at, limit int) int {
	word := t.word(text[at:]) >> 8
	for ; at < limit && at+t.least <= len(text); at++ {
		word = word<<8 | uint64(text[at+t.least-1])
		if hash := t.hash(word); t.begins[hash/64]>>(hash%64)&1 != 0 {
			break
		}
	}
	return at
}

// Search looks for texts in one text, from left to right. More texts may be added meanwhile.
type Search struct {
	Texts *Texts
	// At is the position up to which everything was found, or at which a text may begin that the
	// text so far is too short to decide about. A caller may move it back, but not into a text that
	// was found, to look for texts that were added since.
	At int

	found map[*known]last // for each secret, the latest match; it does not match again before its end
	ended int             // the largest end of these
}

// last is where the latest match of a secret ends, and the step in which it was found.
type last struct{ to, step int }

// Next returns what begins at the first position before limit at which a secret begins: the longest
// one, with the kind of the lowest rank. Unless the text is whole, Next waits if a secret may
// continue after its end.
func (s *Search) Next(text string, limit int, whole bool) (found Span, ok bool) {
	if s.Texts.tree == nil {
		s.At = limit
	}
	for ; s.At < limit; s.At++ {
		s.At = s.Texts.mayBegin(text, s.At, limit)
		rest := text[s.At:]
		if s.At == limit || whole && len(rest) < s.Texts.least {
			s.At = limit
			break
		}
		s.Texts.Steps++
		if !whole && s.goesOn(rest) {
			break
		}
		if _, _, ok := s.Texts.tree.LongestPrefix(rest); !ok { // usually not; continuing early avoids an allocation in here
			continue
		}
		if found, ok = s.here(rest); ok {
			s.At++
			break
		}
	}
	return found, ok
}

// goesOn reports whether the rest of the text is a text to find, or the beginning of one.
func (s *Search) goesOn(rest string) (may bool) {
	if len(rest) <= s.Texts.longest {
		s.Texts.tree.WalkPrefix(rest, func(_ string, way any) bool {
			for _, secret := range way.(*written).of {
				may = may || s.found[secret].to <= s.At
			}
			return may
		})
	}
	return may
}

// here returns what begins at the current position.
func (s *Search) here(rest string) (found Span, ok bool) {
	if s.At >= s.ended {
		clear(s.found)
	}
	s.Texts.tree.WalkPath(rest, func(way string, of any) bool { // the shortest first
		for _, secret := range of.(*written).of {
			if before := s.found[secret]; before.to > s.At && before.step != s.Texts.Steps {
				continue
			}
			if s.found == nil {
				s.found = map[*known]last{}
			}
			this := Span{From: s.At, To: s.At + len(way), Kind: secret.kind, Rank: secret.rank}
			s.found[secret] = last{this.To, s.Texts.Steps}
			s.ended = max(s.ended, this.To)
			if !ok {
				found, ok = this, true
			}
			found.Join(this)
		}
		return false
	})
	return found, ok
}
