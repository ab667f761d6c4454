package replay

import (
	"slices"
	"sort"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
)

// move is that a step stands at another place among those of its strand.
type move struct {
	beside *adk.Crossing // the recorded crossing that it stands beside now
	ahead  bool          // before it, and not behind it
	at     int           // the first recorded crossing at which the order is another
}

// movedSteps are the fewest steps of a call that stand at another place than
// their counterparts: the others of their strand keep their order. Where two
// changed places, it is the one that now comes first.
func movedSteps(got []*calls.Step, matched map[*calls.Step]*calls.Step) map[*calls.Step]move {
	var moved map[*calls.Step]move
	strands := map[int][]*calls.Step{}
	var order []int
	for _, g := range got {
		w := matched[g]
		if w == nil {
			continue
		}
		if strands[w.X.Strand] == nil {
			order = append(order, w.X.Strand)
		}
		strands[w.X.Strand] = append(strands[w.X.Strand], g)
	}
	for _, strand := range order {
		steps := strands[strand]
		places := make([]int, len(steps))
		for i, g := range steps {
			places[i] = matched[g].X.Seq
		}
		if slices.IsSorted(places) {
			continue
		}
		if moved == nil {
			moved = map[*calls.Step]move{}
		}
		keeps := longestRise(places)
		for i, g := range steps {
			at, kept := slices.BinarySearch(keeps, i)
			switch {
			case kept:
			case at < len(keeps) && places[keeps[at]] < places[i]:
				beside := matched[steps[keeps[at]]].X
				moved[g] = move{beside: beside, ahead: true, at: beside.Seq}
			default:
				moved[g] = move{beside: matched[steps[keeps[at-1]]].X, at: places[i]}
			}
		}
	}
	return moved
}

// longestRise are the positions of a longest rising subsequence, in order.
func longestRise(values []int) []int {
	var ends []int // the position of the least end of a rise, by its length less one
	before := make([]int, len(values))
	for i, v := range values {
		n := sort.Search(len(ends), func(k int) bool { return values[ends[k]] >= v })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	rise := make([]int, len(ends))
	for i, at := len(ends)-1, ends[len(ends)-1]; i >= 0; i, at = i-1, before[at] {
		rise[i] = at
	}
	return rise
}

// cameTo is the last recorded crossing of a strand whose counterpart happened
// before a crossing of the new run.
func (j *comparison) cameTo(strand string, x *adk.Crossing) (last int) {
	for i, seq := range slices.Backward(j.counterparts) {
		if seq > 0 && seq < x.Seq && j.want.Strands[j.want.Lines[i].Strand] == strand {
			return i + 1
		}
	}
	return 0
}
