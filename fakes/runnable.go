package fakes

import (
	"context"
	"slices"
)

// runnable keeps the strands of a run that can go on. To choose one, it looks only at the strands
// whose state may have changed, not at all of them.
type runnable struct {
	numbers []int     // sorted numbers of the strands that can go on; entries before first are free
	first   int       // index in numbers of the lowest strand
	parked  []*strand // strands that wait inside the engine and were not ready when last asked
	woken   []*strand // sleeping strands that may be ready now
	beds    []*bed    // of all sleeping strands
	work    int       // counts the strands looked at or moved; a measure of cost
}

// add adds a strand that wants the turn. Two cases are cheap: strands are usually forked in the
// order of their numbers, or the added strand is the lowest, which waits for the others.
func (r *runnable) add(number int) {
	r.work++
	at, ok := slices.BinarySearch(r.numbers[r.first:], number)
	switch {
	case ok:
	case at == 0 && r.first > 0:
		r.first--
		r.numbers[r.first] = number
	default:
		at += r.first
		r.work += len(r.numbers) - at
		r.numbers = slices.Insert(r.numbers, at, number)
	}
}

// remove removes a strand that can no longer go on. It is cheap for the lowest strand, because
// strands usually end in the order in which they were forked.
func (r *runnable) remove(number int) {
	r.work++
	at, ok := slices.BinarySearch(r.numbers[r.first:], number)
	switch {
	case !ok:
	case at == 0:
		r.first++
	default:
		at += r.first
		r.work += len(r.numbers) - at
		r.numbers = slices.Delete(r.numbers, at, at+1)
	}
}

// park adds a strand that waits until its ready function returns true.
func (r *runnable) park(st *strand) {
	if !st.parked {
		st.parked = true
		r.parked = append(r.parked, st)
	}
}

// list returns the sorted numbers of all strands that can go on. A strand that was found ready
// stays ready, so list asks only those that were not.
func (r *runnable) list() []int {
	r.rouse()
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

// bed groups all strands that sleep until the same context ends, identified by its Done channel.
// The channel is checked once, however many strands sleep.
type bed struct {
	done  <-chan struct{}
	first *berth // list of the strands in it
}

// berth is the place of a strand in the linked list of a bed.
type berth struct {
	bed            *bed // nil if the place is not used
	strand         *strand
	before, behind *berth
}

// sleep adds a strand that sleeps until it is woken or until its own context or the run's context
// ends. Any of these may already have happened.
func (r *runnable) sleep(st *strand, own, run context.Context) {
	st.asleep = true
	r.woken = append(r.woken, st)
	r.lay(st, &st.berths[0], own.Done())
	if run.Done() != own.Done() {
		r.lay(st, &st.berths[1], run.Done())
	}
}

// lay puts a strand into the bed of a context, unless the context can never end.
func (r *runnable) lay(st *strand, in *berth, done <-chan struct{}) {
	if done == nil {
		return
	}
	at := slices.IndexFunc(r.beds, func(b *bed) bool { return b.done == done })
	if at < 0 {
		at = len(r.beds)
		r.beds = append(r.beds, &bed{done: done})
	}
	b := r.beds[at]
	*in = berth{bed: b, strand: st, behind: b.first}
	if b.first != nil {
		b.first.before = in
	}
	b.first = in
}

// wake marks a strand to be asked whether it can go on, if it sleeps.
func (r *runnable) wake(st *strand) {
	if st.asleep {
		r.woken = append(r.woken, st)
	}
}

// rise takes a strand out of the beds in which it sleeps.
func (r *runnable) rise(st *strand) {
	for i := range st.berths {
		if in := &st.berths[i]; in.bed != nil {
			r.leave(in)
		}
	}
	st.asleep = false
}

// leave takes a strand out of a bed, and drops the bed if the strand was the last in it.
func (r *runnable) leave(in *berth) {
	b := in.bed
	if in.before != nil {
		in.before.behind = in.behind
	} else {
		b.first = in.behind
	}
	if in.behind != nil {
		in.behind.before = in.before
	}
	if b.first == nil {
		r.beds = slices.DeleteFunc(r.beds, func(other *bed) bool { return other == b })
	}
	*in = berth{}
}

// rouse adds the sleeping strands that can go on. It asks those that were woken and those for which
// a context has ended.
func (r *runnable) rouse() {
	r.work += len(r.beds)
	for _, b := range r.beds {
		select {
		case <-b.done:
			for in := b.first; in != nil; in = in.behind {
				r.woken = append(r.woken, in.strand)
			}
		default:
		}
	}
	r.work += len(r.woken)
	for _, st := range r.woken {
		if st.asleep && st.ready() {
			r.rise(st)
			r.add(st.number)
		}
	}
	clear(r.woken)
	r.woken = r.woken[:0]
}
