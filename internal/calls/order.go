package calls

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// AsRecorded is the recorded order of a run, as Order has it: without live code nobody waits
// where it is not seen, and every strand can keep to it.
func (t *Tree) AsRecorded() []int {
	order := make([]int, len(t.Lines)+1)
	for i := range order {
		order[i] = i
	}
	return order
}

// AsLate are recorded orders, in which a strand begins, and is given an answer, just before what
// it does next: where it takes a lock between, nobody else has that who had it later. In the second,
// where that is another one, so does a strand read the clock, make an id and wake: who shares a limit
// looks at the clock before it comes to the lock, and others may have that first.
func (t *Tree) AsLate() [][]int {
	answered := func(x *adk.Crossing) bool {
		return x.Kind == adk.KindCall && x.Seam.Label == adk.LabelStrand || wire.EndsAsk(x)
	}
	orders := [][]int{t.late(answered), t.late(func(x *adk.Crossing) bool {
		return answered(x) || wire.OnlyMakes(x) || wire.IsPause(x) && x.Phase == adk.Done
	})}
	return slices.CompactFunc(orders, slices.Equal)
}

// late is the recorded order, in which some crossings come just before what their strands do next.
func (t *Tree) late(some func(*adk.Crossing) bool) []int {
	order := t.AsRecorded()
	next := map[int]int{} // of each strand, what it does next
	for _, x := range slices.Backward(t.Lines) {
		order[x.Seq] = 2 * x.Seq
		if behind := next[x.Strand]; behind > 0 && some(x) {
			order[x.Seq] = 2*behind - 1
		}
		next[x.Strand] = x.Seq
	}
	return order
}

// CallerLeft is the crossing at which the caller of the run left in the midst of a call; 0 where
// that was not so.
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
