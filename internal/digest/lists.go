package digest

import (
	"encoding/binary"
	"slices"

	"github.com/adkreplay/adkreplay/internal/ordered"
)

// Block is how many records of a list are hashed together. The sum of a block is a SHA-256 over the
// sum of the block before it and the digests of its records. A list is represented by its length,
// the sum of its last whole block, and the digests of the records after that. So a list that grows
// costs only what is new, a list that is edited costs only what follows the edit, and a list
// shorter than a block is represented by its digests.
const Block = 64

// Lists is the text of lists of digests. Begin begins it, and the caller must call End. A list that
// was introduced later than others has a mark, which is not zero. If such a list is empty, nothing
// is written for it, so that older digests stay the same; otherwise the mark precedes it.
type Lists[D ~[16]byte] struct{ text *[]byte }

// Begin begins lists, preceded by a digest.
func Begin[D ~[16]byte](before D) Lists[D] {
	text := scratch.Get().(*[]byte)
	*text = append((*text)[:0], before[:]...)
	return Lists[D]{text}
}

// End returns the digest of the lists, followed by the digest behind.
func (l Lists[D]) End(behind D) D {
	l.write(behind)
	sum := Of(*l.text)
	keepScratch(l.text)
	return sum
}

// Add adds a list with its mark.
func (l Lists[D]) Add(mark D, list []D) {
	if l.marked(mark, len(list)) {
		l.add(len(list), nil, func(i int) D { return list[i] })
	}
}

// marked writes the mark of a list, and reports whether the list must follow.
func (l Lists[D]) marked(mark D, length int) bool {
	var none D
	if mark == none {
		return true
	}
	if length > 0 {
		l.write(mark)
	}
	return length > 0
}

// add adds a list of the given length. sums are the known sums of its first blocks; add returns the
// sums of all blocks.
func (l Lists[D]) add(length int, sums []D, at func(int) D) []D {
	l.length(length)
	whole := length / Block
	for len(sums) < whole {
		sums = append(sums, sumOfNext(sums, at))
	}
	if whole > 0 {
		l.write(sums[whole-1])
	}
	for i := whole * Block; i < length; i++ {
		l.write(at(i))
	}
	return sums
}

// length writes the length of a list, so that moving a record from one list to the next changes the
// digest.
func (l Lists[D]) length(n int) { *l.text = binary.BigEndian.AppendUint32(*l.text, uint32(n)) }

func (l Lists[D]) write(d D) { *l.text = append(*l.text, d[:]...) }

// sumOfNext returns the sum of the block after those whose sums are known.
func sumOfNext[D ~[16]byte](sums []D, at func(int) D) D {
	var room [(1 + Block) * 16]byte
	text, first := room[:0], len(sums)*Block
	if first > 0 {
		before := sums[len(sums)-1]
		text = append(text, before[:]...)
	}
	for i := first; i < first+Block; i++ {
		d := at(i)
		text = append(text, d[:]...)
	}
	return Of(text)
}

// Chain keeps the sums of a set's blocks up to date. The zero Chain belongs to a new set. It is not
// safe for concurrent use.
type Chain[D ~[16]byte] struct {
	carried *carried[D] // nil until the set has had a whole block
}

type carried[D ~[16]byte] struct {
	sums  []D
	asked ordered.Moment
}

// Copy returns a chain for a copy of the set that is made at the same time.
func (c *Chain[D]) Copy() (other Chain[D]) {
	if c.carried != nil {
		other.carried = &carried[D]{slices.Clip(c.carried.sums), c.carried.asked}
	}
	return other
}

// AddSet adds the list of the results of of for the members of a set, with the set's chain. of must
// always return the same for the same member.
func AddSet[K comparable, V any, D ~[16]byte](l Lists[D], mark D, set *ordered.Set[K, V], chain *Chain[D], of func(V) D) {
	if !l.marked(mark, set.Len()) {
		return
	}
	if chain.carried == nil {
		if n := set.Len(); n < Block {
			l.length(n)
			for i := range n {
				l.write(of(set.At(i)))
			}
			return
		}
		chain.carried = &carried[D]{}
	}
	at := func(i int) D { return of(set.At(i)) }
	c := chain.carried
	now, same := set.Since(c.asked)
	if whole := same / Block; whole < len(c.sums) {
		c.sums = c.sums[:whole:whole] // a copy may share the others
	}
	c.asked = now
	c.sums = l.add(set.Len(), c.sums, at)
}

// AddFormer is like Add, in the form of traces of format 4 and older: it writes all digests.
func (l Lists[D]) AddFormer(mark D, list []D) {
	if !l.marked(mark, len(list)) {
		return
	}
	l.length(len(list))
	*l.text = slices.Grow(*l.text, len(list)*16)
	for _, d := range list {
		l.write(d)
	}
}
