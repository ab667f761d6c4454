package distil

import (
	"container/heap"
	"slices"
)

// This file approximates the smallest set of traces that covers all behaviours, since finding the
// exact one takes too long. The greedy algorithm repeatedly takes the trace that adds most. What a
// trace adds can only decrease, so only traces that may still add most are counted again.

// greedy takes traces until all behaviours are covered, or there are most traces.
func (all *collection) greedy(most int) (chosen []candidate) {
	var waiting byGain
	for _, c := range all.shortest {
		waiting = append(waiting, gaining{c, len(c.shows)})
	}
	heap.Init(&waiting)
	covered := make([]bool, len(all.behaviours))
	for len(waiting) > 0 && len(chosen) < most {
		first := &waiting[0]
		if gain := first.adds(covered); gain < first.gain {
			first.gain = gain
			heap.Fix(&waiting, 0)
			continue
		}
		if first.gain == 0 {
			break
		}
		chosen = append(chosen, first.candidate)
		for _, number := range first.shows {
			covered[number] = true
		}
		heap.Pop(&waiting)
	}
	return chosen
}

// needed removes traces that the others cover together. A trace that was chosen early may be
// covered by those chosen later.
func (all *collection) needed(chosen []candidate) (needed []candidate) {
	times := make([]int, len(all.behaviours))
	for _, c := range chosen {
		for _, number := range c.shows {
			times[number]++
		}
	}
	for _, c := range chosen {
		if c.isCovered(times) {
			for _, number := range c.shows {
				times[number]--
			}
			continue
		}
		needed = append(needed, c)
	}
	return needed
}

// isCovered reports whether everything that a trace shows is shown more than once.
func (c candidate) isCovered(times []int) bool {
	return !slices.ContainsFunc(c.shows, func(number int) bool { return times[number] < 2 })
}

// gaining is a trace with an upper bound of how much it adds.
type gaining struct {
	candidate
	gain int
}

// byGain is a heap whose first trace is the one that may add most.
type byGain []gaining

func (h byGain) Len() int { return len(h) }
func (h byGain) Less(i, j int) bool {
	if h[i].gain != h[j].gain {
		return h[i].gain > h[j].gain
	}
	return h[i].before(h[j].candidate)
}
func (h byGain) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *byGain) Push(x any)   { *h = append(*h, x.(gaining)) }
func (h *byGain) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
