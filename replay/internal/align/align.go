package align

import (
	"slices"
	"sort"
)

// Pair says that the element at A of one sequence is the element at B of the other.
type Pair struct{ A, B int }

// Common aligns two sequences: it returns a longest common subsequence, in order. For similar
// sequences it takes time proportional to their length and to how much they differ. For sequences
// with more than mostEdits differences it returns a common subsequence that may be shorter, in n
// log n.
func Common[T comparable](a, b []T) []Pair {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	matches := make([]Pair, 0, head+tail)
	for i := range head {
		matches = append(matches, Pair{i, i})
	}
	for _, m := range commonBetween(a[head:len(a)-tail], b[head:len(b)-tail]) {
		matches = append(matches, Pair{m.A + head, m.B + head})
	}
	for i := tail; i > 0; i-- {
		matches = append(matches, Pair{len(a) - i, len(b) - i})
	}
	return matches
}

// mostEdits limits the exact search: its memory grows with the square of it.
const mostEdits = 800

// commonBetween is Common for sequences that begin and end differently. It ignores elements that
// only one of them has.
func commonBetween[T comparable](a, b []T) []Pair {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	a, placesA := onlyThoseIn(b, a)
	b, placesB := onlyThoseIn(a, b)
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	matches, found := shortestEdit(a, b)
	if !found {
		matches = commonByOccurrence(a, b)
	}
	for i, m := range matches {
		matches[i] = Pair{placesA[m.A], placesB[m.B]}
	}
	return matches
}

// onlyThoseIn returns the elements of all that are also in there, and their places.
func onlyThoseIn[T comparable](there, all []T) (kept []T, places []int) {
	known := make(map[T]bool, len(there))
	for _, x := range there {
		known[x] = true
	}
	for i, x := range all {
		if known[x] {
			kept, places = append(kept, x), append(places, i)
		}
	}
	return kept, places
}

// shortestEdit is Myers' greedy search: it finds the fewest elements to remove from a and to insert
// from b, and so the most that stay. It gives up beyond mostEdits.
//
// A diagonal k holds the places with a-b = k. After each round with one more edit, it is known how
// far into a each diagonal leads.
func shortestEdit[T comparable](a, b []T) (matches []Pair, found bool) {
	most := min(len(a)+len(b), mostEdits)
	reach := make([]int, 2*most+3)
	diagonal := func(k int) int { return k + most + 1 }
	var rounds [][]int // what was reached before each round, from its lowest diagonal
	for edits := 0; edits <= most; edits++ {
		rounds = append(rounds, slices.Clone(reach[diagonal(-edits-1):diagonal(edits+1)+1]))
		for k := -edits; k <= edits; k += 2 {
			x := reach[diagonal(k-1)] + 1 // an element of a is removed
			if k == -edits || k != edits && reach[diagonal(k+1)] >= x {
				x = reach[diagonal(k+1)] // an element of b is inserted
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[diagonal(k)] = x
			if x >= len(a) && x-k >= len(b) {
				return walkBack(rounds, len(a), len(b)), true
			}
		}
	}
	return nil, false
}

// walkBack follows the path that led to the ends of both sequences back to the start.
func walkBack(rounds [][]int, x, y int) []Pair {
	var matches []Pair
	for edits := len(rounds) - 1; edits >= 0; edits-- {
		reach := func(k int) int { return rounds[edits][k+edits+1] }
		k := x - y
		above := k + 1 // the diagonal from which it came
		if k != -edits && (k == edits || reach(k-1)+1 > reach(k+1)) {
			above = k - 1
		}
		fromX := reach(above)
		fromY := fromX - above
		if edits == 0 {
			fromX, fromY = 0, 0
		}
		for x > fromX && y > fromY {
			x, y = x-1, y-1
			matches = append(matches, Pair{x, y})
		}
		x, y = fromX, fromY
	}
	slices.Reverse(matches)
	return matches
}

// commonByOccurrence pairs the n-th occurrence of an element in a with the n-th one in b, and keeps
// as many of the pairs as are in the same order in both.
func commonByOccurrence[T comparable](a, b []T) []Pair {
	places := map[T][]int{}
	for i, x := range b {
		places[x] = append(places[x], i)
	}
	var pairs []Pair
	var inB []int
	for i, x := range a {
		if all := places[x]; len(all) > 0 {
			pairs, inB, places[x] = append(pairs, Pair{i, all[0]}), append(inB, all[0]), all[1:]
		}
	}
	rising := Rise(inB)
	kept := make([]Pair, len(rising))
	for i, at := range rising {
		kept[i] = pairs[at]
	}
	return kept
}

// Rise finds a longest strictly increasing subsequence of numbers, and returns its places in order.
// Of several it takes the one whose ends are the lowest.
func Rise(numbers []int) []int {
	var ends []int // by length: the place of the lowest number with which a subsequence of it ends
	before := make([]int, len(numbers))
	for i, number := range numbers {
		length := sort.Search(len(ends), func(k int) bool { return numbers[ends[k]] >= number })
		before[i] = -1
		if length > 0 {
			before[i] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, i)
		} else {
			ends[length] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	rise := make([]int, len(ends))
	for i, at := len(ends)-1, ends[len(ends)-1]; i >= 0; i, at = i-1, before[at] {
		rise[i] = at
	}
	return rise
}
