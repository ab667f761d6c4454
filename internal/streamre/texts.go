package streamre

import (
	"math/bits"

	"github.com/armon/go-radix"
)

// This file finds many texts at once: what that takes hangs on how long the text is in which
// they are looked for, and not on how many they are.

// Texts are secrets that are known by their letters, in the ways to write each. They are
// looked for each by itself, as a Pattern is that has a way or the other, the longest first.
type Texts struct {
	// Steps is how many places were looked at that may begin one, in all searches.
	Steps int

	tree    *radix.Tree // of *written
	longest int
	least   int      // how many bytes of their beginnings tell them apart: all have as many
	begins  []uint64 // a bit for each beginning, by its hash
}

// written is one way to write secrets.
type written struct{ of []*known }

// known is a secret.
type known struct {
	kind string
	rank int
}

const (
	// mostLeast is how many bytes there are in a word, of which a hash is made.
	mostLeast = 8
	// bitsOfText is how many bits there are for each text, at least. So of as many places
	// that begin none about one looks as if it did.
	bitsOfText = 16
	// leastWords is how long begins is at least.
	leastWords = 16
)

// Add has a secret looked for, in ways to write it of which none is empty. Its spans are of
// the rank.
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

// hashAll makes begins anew, with room for twice as many.
func (t *Texts) hashAll() {
	t.begins = make([]uint64, max(leastWords, 1<<bits.Len(uint(t.tree.Len()*bitsOfText/64))))
	t.tree.Walk(func(way string, _ any) bool {
		t.mark(t.hash(t.word(way)))
		return false
	})
}

func (t *Texts) mark(hash uint64) { t.begins[hash/64] |= 1 << (hash % 64) }

// word is the beginning of a text, or as much of it as there is.
func (t *Texts) word(text string) (word uint64) {
	for i := range min(t.least, len(text)) {
		word = word<<8 | uint64(text[i])
	}
	return word
}

// hash is the place in begins of a beginning, of which what stands before it is left out.
func (t *Texts) hash(word uint64) uint64 {
	word <<= 64 - 8*t.least
	return word * 0x9e3779b97f4a7c15 >> (64 - bits.TrailingZeros(uint(len(t.begins)*64)))
}

// mayBegin is the first place from one on that may begin a text, or the limit.
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

// Search looks for texts along one, from left to right. More may be added meanwhile.
type Search struct {
	Texts *Texts
	// At is the place before which all is found, or where one may have begun that the text
	// so far is too short for. It may be put back to where none that was found goes on: what
	// was added since is looked for from there on.
	At int

	found map[*known]last // of each, before whose end it does not begin again
	ended int             // where all of those have
}

// last is where the latest that was found of a secret ends, and the step in which it was.
type last struct{ to, step int }

// Next is what begins at the first place before a limit at which a secret does: of those that
// begin there the longest, of the kind of the least rank. Unless the text is whole
// it waits where one may go on behind it.
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
		if _, _, ok := s.Texts.tree.LongestPrefix(rest); !ok { // as most, and here would allocate
			continue
		}
		if found, ok = s.here(rest); ok {
			s.At++
			break
		}
	}
	return found, ok
}

// goesOn reports whether what is left of the text is one that is looked for, or begins one.
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

// here is what begins at the place.
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
