package distil

import (
	"container/heap"
	"slices"
)

// This file is the cover of a set by the fewest of others, as near as that is told in a
// reasonable time: the one that adds most, again and again. What a trace adds only gets
// less, so that of all traces those alone are looked at again that may still add most.

// greedy gives traces until all is covered, or there are so many.
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

// needed are the traces that show what no other of them does: one that was chosen early may
// be covered by those behind it.
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

// isCovered reports whether each thing that a trace shows is shown more than once.
func (c candidate) isCovered(times []int) bool {
	return !slices.ContainsFunc(c.shows, func(number int) bool { return times[number] < 2 })
}

// gaining is a trace with what it adds, as far as that is known: it is no more.
type gaining struct {
	candidate
	gain int
}

// byGain is a heap: the trace that may add most is first.
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
