package diff

import "slices"

// match says that the element at a of one sequence is that at b of the other.
type match struct{ a, b int }

// longestCommon aligns two sequences: a longest common subsequence, in order.
// Of sequences that are alike it takes time in their length and in how much
// they differ; of those that differ in more than mostEdits places it gives a
// common subsequence that may be shorter, in n log n.
func longestCommon(a, b []int32) []match {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	matches := make([]match, 0, head+tail)
	for i := range head {
		matches = append(matches, match{i, i})
	}
	for _, m := range commonBetween(a[head:len(a)-tail], b[head:len(b)-tail]) {
		matches = append(matches, match{m.a + head, m.b + head})
	}
	for i := tail; i > 0; i-- {
		matches = append(matches, match{len(a) - i, len(b) - i})
	}
	return matches
}

// mostEdits bounds the exact search: its memory grows with the square of it.
const mostEdits = 800

// commonBetween is longestCommon of sequences that begin and end differently.
// What one of them has alone can be no part of the answer.
func commonBetween(a, b []int32) []match {
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
		matches[i] = match{placesA[m.a], placesB[m.b]}
	}
	return matches
}

// onlyThoseIn are the elements of all that are in there too, and their places.
func onlyThoseIn(there, all []int32) (kept []int32, places []int) {
	known := make(map[int32]bool, len(there))
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

// shortestEdit is Myers' greedy search: the fewest elements to take out of a and
// to put in from b, and so the most that stay. It gives up beyond mostEdits.
//
// A diagonal k holds the places with a-b = k. After each round of one edit more
// it is known how far into a each diagonal leads.
func shortestEdit(a, b []int32) (matches []match, found bool) {
	most := min(len(a)+len(b), mostEdits)
	reach := make([]int, 2*most+3)
	diagonal := func(k int) int { return k + most + 1 }
	var rounds [][]int // what was reached before each round, from its lowest diagonal
	for edits := 0; edits <= most; edits++ {
		rounds = append(rounds, slices.Clone(reach[diagonal(-edits-1):diagonal(edits+1)+1]))
		for k := -edits; k <= edits; k += 2 {
			x := reach[diagonal(k-1)] + 1 // one of a is taken out
			if k == -edits || k != edits && reach[diagonal(k+1)] >= x {
				x = reach[diagonal(k+1)] // one of b is put in
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

// walkBack finds the way that led to the ends of both sequences.
func walkBack(rounds [][]int, x, y int) []match {
	var matches []match
	for edits := len(rounds) - 1; edits >= 0; edits-- {
		reach := func(k int) int { return rounds[edits][k+edits+1] }
		k := x - y
		above := k + 1 // the diagonal that it came from
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
			matches = append(matches, match{x, y})
		}
		x, y = fromX, fromY
	}
	slices.Reverse(matches)
	return matches
}

// commonByOccurrence pairs the n-th of one kind in a with the n-th in b, and
// keeps as many of the pairs as stand in the same order in both.
func commonByOccurrence(a, b []int32) []match {
	places := map[int32][]int{}
	for i, x := range b {
		places[x] = append(places[x], i)
	}
	var pairs []match
	for i, x := range a {
		if all := places[x]; len(all) > 0 {
			pairs, places[x] = append(pairs, match{i, all[0]}), all[1:]
		}
	}
	return longestRising(pairs)
}

// longestRising keeps the most pairs whose places in b rise, as those in a do.
func longestRising(pairs []match) []match {
	var ends []int // by length: the pair with the lowest b that a run of it ends with
	before := make([]int, len(pairs))
	for i, p := range pairs {
		length, _ := slices.BinarySearchFunc(ends, p.b, func(end, b int) int { return pairs[end].b - b })
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
	var rising []match
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		rising = append(rising, pairs[i])
	}
	slices.Reverse(rising)
	return rising
}
