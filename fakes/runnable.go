package fakes

import (
	"context"
	"slices"
)

// runnable are the strands of a run that can go on. A choice looks at those whose state
// may have changed, and not at all that there are.
type runnable struct {
	numbers []int     // sorted, behind room for as many as first says
	first   int       // position of the lowest in numbers
	parked  []*strand // those that wait inside the engine for what had not come yet
	woken   []*strand // those that sleep, and whose time may have passed
	beds    []*bed    // of all that sleep
	work    int       // how many strands were looked at or moved
}

// add takes up a strand that wants the turn. Most are forked in the order of their
// numbers, or are the lowest, which waits for the others.
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

// remove forgets a strand that cannot go on any more. Most end in the order in which
// they were forked.
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

// bed is for all that sleep until the same context ends, by what it says that it has: that
// is asked for once, however many they are.
type bed struct {
	done  <-chan struct{}
	first *berth // of those in it
}

// berth is the place of a strand in a bed, between two others there.
type berth struct {
	bed            *bed // nil for none
	strand         *strand
	before, behind *berth
}

// sleep takes up a strand that sleeps until it is woken or one of the contexts ends: its own,
// or that of its run. Both may have come already.
func (r *runnable) sleep(st *strand, own, run context.Context) {
	st.asleep = true
	r.woken = append(r.woken, st)
	r.lay(st, &st.berths[0], own.Done())
	if run.Done() != own.Done() {
		r.lay(st, &st.berths[1], run.Done())
	}
}

// lay gives a strand a place in the bed of a context, unless that never ends.
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

// wake has a strand asked whether it can go on, if it sleeps.
func (r *runnable) wake(st *strand) {
	if st.asleep {
		r.woken = append(r.woken, st)
	}
}

// rise takes a strand out of what it sleeps in.
func (r *runnable) rise(st *strand) {
	for i := range st.berths {
		if in := &st.berths[i]; in.bed != nil {
			r.leave(in)
		}
	}
	st.asleep = false
}

// leave takes a strand out of a bed, which is put away when it was the last.
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

// rouse takes up those that slept and can go on. It asks those that were woken, and those of
// whom a context has ended.
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
