package tokens

import (
	"slices"
	"unicode/utf8"
)

// Estimate returns the number of tokens of text in an encoding, exactly or by a heuristic. Any
// other name counts as an unknown encoding. The exact count takes O(n log n) time for the longest
// unbroken run of n bytes, whatever the text is; a run of more than 256 KiB is counted in pieces of
// that size. Estimate is safe for concurrent use.
func Estimate(text, encoding string) int {
	if text == "" {
		return 0
	}
	name := countedAs(encoding)
	if load, ok := exactEncodings[name]; ok {
		if pairs := load(); pairs != nil {
			return pairs.count(text)
		}
	}
	chars := utf16Units(text)
	if name == Claude {
		return ceilDiv(chars*2, 7)
	}
	return ceilDiv(chars, 4)
}

func ceilDiv(n, by int) int { return (n + by - 1) / by }

// utf16Units is the length of text in UTF-16 code units.
func utf16Units(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// maxRun is how many bytes of an unbroken run are counted together. Merging needs many times their
// memory, and a token more or less in so many does not matter.
const maxRun = 256 << 10

// count splits the text and adds up the tokens of its pieces.
func (p *bytePairs) count(text string) int {
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // U+FFFD for each byte that is not UTF-8
	}
	total := 0
	var merge bytePairMerge
	for at := 0; at < len(text); {
		end := min(p.split(text, at), at+maxRun)
		piece := text[at:end]
		if _, whole := p.ranks[piece]; whole {
			total++
		} else {
			total += merge.count(piece, p.ranks)
		}
		at = end
	}
	return total
}

// bytePairMerge counts the tokens of one piece. Beginning with single bytes, it merges the pair of
// neighbours with the lowest rank, the leftmost of equals, until no pair has a rank. The pairs wait
// in a heap and the parts form a linked list, so that a piece of n bytes takes O(n log n) steps; a
// new search for the lowest pair each time would take O(n²). Its slices are reused for the next
// piece.
type bytePairMerge struct {
	heap []mergePair
	// next and prev link the parts; a part is identified by the offset of its first byte. next of
	// the last part is the piece's length. A part that was merged into the one before it has next
	// 0.
	next, prev []int32
}

// mergePair is two neighbouring parts, from start to end, that may be merged.
type mergePair struct {
	rank, start, end int32
}

func (a mergePair) before(b mergePair) bool {
	return a.rank < b.rank || a.rank == b.rank && a.start < b.start
}

func (m *bytePairMerge) count(piece string, ranks map[string]int) int {
	m.begin(len(piece))
	for i := range len(piece) - 1 {
		m.offer(piece, ranks, int32(i))
	}
	parts := len(piece)
	for len(m.heap) > 0 {
		pair := m.pop()
		middle := m.next[pair.start]
		// A pair is stale when one of its parts has been merged since.
		if middle == 0 || int(middle) >= len(piece) || m.next[middle] != pair.end {
			continue
		}
		m.join(pair.start, middle)
		parts--
		m.offer(piece, ranks, pair.start)
		if pair.start > 0 {
			m.offer(piece, ranks, m.prev[pair.start])
		}
	}
	return parts
}

// begin makes each byte a part of its own.
func (m *bytePairMerge) begin(n int) {
	m.heap, m.next, m.prev = m.heap[:0], slices.Grow(m.next[:0], n), slices.Grow(m.prev[:0], n)
	for i := range int32(n) {
		m.next = append(m.next, i+1)
		m.prev = append(m.prev, i-1)
	}
}

// join merges the part at middle into the part before it.
func (m *bytePairMerge) join(start, middle int32) {
	end := m.next[middle]
	m.next[start], m.next[middle] = end, 0
	if int(end) < len(m.prev) {
		m.prev[end] = start
	}
}

// offer puts the pair that begins at start into the heap if it has a rank.
func (m *bytePairMerge) offer(piece string, ranks map[string]int, start int32) {
	middle := m.next[start]
	if int(middle) >= len(piece) {
		return
	}
	end := m.next[middle]
	if rank, ok := ranks[piece[start:end]]; ok {
		m.push(mergePair{rank: int32(rank), start: start, end: end})
	}
}

func (m *bytePairMerge) push(pair mergePair) {
	m.heap = append(m.heap, pair)
	at := len(m.heap) - 1
	for at > 0 {
		above := (at - 1) / 2
		if !pair.before(m.heap[above]) {
			break
		}
		m.heap[at] = m.heap[above]
		at = above
	}
	m.heap[at] = pair
}

func (m *bytePairMerge) pop() mergePair {
	top, last := m.heap[0], m.heap[len(m.heap)-1]
	m.heap = m.heap[:len(m.heap)-1]
	if len(m.heap) == 0 {
		return top
	}
	at := 0
	for {
		below := 2*at + 1
		if below >= len(m.heap) {
			break
		}
		if right := below + 1; right < len(m.heap) && m.heap[right].before(m.heap[below]) {
			below = right
		}
		if !m.heap[below].before(last) {
			break
		}
		m.heap[at] = m.heap[below]
		at = below
	}
	m.heap[at] = last
	return top
}
