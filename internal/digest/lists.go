package digest

import (
	"encoding/binary"
	"slices"

	"github.com/adkreplay/adkreplay/internal/ordered"
)

// Block is how many records of a list are hashed together. The sum of a block is a SHA-256
// over the sum of the block before it and the digests of its records; a list is told by its
// length, by the sum of its last whole block and by the digests of what lies behind that.
// So a list that grows costs what is new, one that is edited what lies behind the edit, and
// one that is shorter than a block is told as it is.
const Block = 64

// Lists is the text of lists of digests: Begin begins one, and its End has to be called. A
// list that came to be later than others has a mark, which is not zero: it is left out
// where it is empty, so that what was told without it is told as before, and the mark
// stands before it where it is not.
type Lists[D ~[16]byte] struct{ text *[]byte }

// Begin begins lists with a digest before them.
func Begin[D ~[16]byte](before D) Lists[D] {
	text := scratch.Get().(*[]byte)
	*text = append((*text)[:0], before[:]...)
	return Lists[D]{text}
}

// End is the digest of the lists and of a digest behind them.
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

// marked writes the mark of a list, and reports whether the list is to follow.
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

// add adds a list of a length, of whose blocks some sums are known, and gives all of them.
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

// length keeps a record from moving unseen between two lists.
func (l Lists[D]) length(n int) { *l.text = binary.BigEndian.AppendUint32(*l.text, uint32(n)) }

func (l Lists[D]) write(d D) { *l.text = append(*l.text, d[:]...) }

// sumOfNext is the sum of the block behind those whose sums are known.
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

// Chain carries on the sums of a set's blocks. The zero Chain is of a new set. It is not
// safe for concurrent use.
type Chain[D ~[16]byte] struct {
	carried *carried[D] // nil as long as the set was never a block
}

type carried[D ~[16]byte] struct {
	sums  []D
	asked ordered.Moment
}

// Copy is a chain for a copy of the set that is made at the same time.
func (c *Chain[D]) Copy() (other Chain[D]) {
	if c.carried != nil {
		other.carried = &carried[D]{slices.Clip(c.carried.sums), c.carried.asked}
	}
	return other
}

// AddSet adds the list of what of makes of each value of a set, whose chain it is. Of a
// value it must make the same at every call.
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
		c.sums = c.sums[:whole:whole] // a copy may have the others
	}
	c.asked = now
	c.sums = l.add(set.Len(), c.sums, at)
}

// AddFormer is Add as traces of format 4 and before have it: all digests stand there as
// they are.
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
