package replay

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/align"
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
		keeps := align.Rise(places)
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
