package calls

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// AsRecorded returns the recorded order of a run, in the form of Tree.Order. Without live code
// nothing waits unseen, so every strand can keep to this order.
func (t *Tree) AsRecorded() []int {
	order := make([]int, len(t.Lines)+1)
	for i := range order {
		order[i] = i
	}
	return order
}

// AsLate returns orders in which some crossings come as late as possible: just before what their
// strand does next. In the first order these are the beginnings of strands and the answers of asks.
// If the strand takes a lock in between, no other strand can then hold it that took it later in the
// recorded run. In the second order, which is left out if it is equal, a strand also reads the
// clock, makes ids and wakes as late as possible. That serves code that shares a rate limit: it
// reads the clock before it takes the lock, and another strand may take the lock first.
func (t *Tree) AsLate() [][]int {
	answered := func(x *adk.Crossing) bool {
		return x.Kind == adk.KindCall && x.Seam.Label == adk.LabelStrand || wire.EndsAsk(x)
	}
	orders := [][]int{t.late(answered), t.late(func(x *adk.Crossing) bool {
		return answered(x) || wire.OnlyMakes(x) || wire.IsPause(x) && x.Phase == adk.Done
	})}
	return slices.CompactFunc(orders, slices.Equal)
}

// late returns the recorded order, except that the crossings chosen by some come just before what
// their strands do next.
func (t *Tree) late(some func(*adk.Crossing) bool) []int {
	order := t.AsRecorded()
	next := map[int]int{} // by strand, the number of what it does next
	for _, x := range slices.Backward(t.Lines) {
		order[x.Seq] = 2 * x.Seq
		if behind := next[x.Strand]; behind > 0 && some(x) {
			order[x.Seq] = 2*behind - 1
		}
		next[x.Strand] = x.Seq
	}
	return order
}

// CallerLeft returns the number of the crossing at which the caller of the run cancelled it while
// the call in was open, or 0 if that did not happen.
func (t *Tree) CallerLeft(in *Call) int {
	for _, x := range t.Lines[in.Begin.Seq:] {
		switch {
		case wire.CancelledBy(x) == wire.OutsideCancel:
			return x.Seq
		case in.Return != nil && x.Seq >= in.Return.Seq:
			return 0
		}
	}
	return 0
}
