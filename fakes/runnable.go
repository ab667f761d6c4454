package fakes

import "slices"

// runnable are the strands of a run that can go on. A choice looks at those whose state
// may have changed, and not at all that there are.
type runnable struct {
	numbers []int     // sorted, behind room for as many as first says
	first   int       // position of the lowest in numbers
	parked  []*strand // those that wait inside the engine for what had not come yet
	work    int       // how many strands were looked at or moved
}

// add takes up a strand that wants the turn. Most are forked in the order of their
// numbers, or are the lowest, which waits for the others.
func (r *runnable) add(number int) {
	r.work++
	at, is := slices.BinarySearch(r.numbers[r.first:], number)
	switch {
	case is:
	case at == 0 && r.first > 0:
		r.first--
		r.numbers[r.first] = number
	default:
		at += r.first
		r.work += len(r.numbers) - at
		r.numbers = slices.Insert(r.numbers, at, number)
	}
}

// remove forgets a strand that cannot go on any more. Most end in the order in which
// they were forked.
func (r *runnable) remove(number int) {
	r.work++
	at, is := slices.BinarySearch(r.numbers[r.first:], number)
	switch {
	case !is:
	case at == 0:
		r.first++
	default:
		at += r.first
		r.work += len(r.numbers) - at
		r.numbers = slices.Delete(r.numbers, at, at+1)
	}
}

// park takes up a strand that waits for its ready.
func (r *runnable) park(st *strand) {
	if !st.parked {
		st.parked = true
		r.parked = append(r.parked, st)
	}
}

// list gives the numbers of all that can go on, sorted. What a strand waits for does not
// go away once it has come: those are asked for which it had not.
func (r *runnable) list() []int {
	r.work += len(r.parked)
	r.parked = slices.DeleteFunc(r.parked, func(st *strand) bool {
		st.parked = st.ready != nil && !st.ready()
		if !st.parked && st.ready != nil {
			r.add(st.number)
		}
		return !st.parked
	})
	return r.numbers[r.first:]
}
