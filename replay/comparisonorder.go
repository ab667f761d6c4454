package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/align"
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
func (j *comparison) movedSteps(got []*calls.Step, matched map[*calls.Step]*calls.Step) map[*calls.Step]move {
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
		places := placesOf(steps, matched)
		if slices.IsSorted(places) {
			continue
		}
		if rest := slices.DeleteFunc(slices.Clone(steps), j.isApart); len(rest) < len(steps) {
			steps, places, j.loosened = rest, placesOf(rest, matched), true
		}
		if j.loosen(places, steps, matched); slices.IsSorted(places) {
			continue
		}
		behind := lowestBehind(steps, places)
		steps, places = withoutTheMade(steps, places)
		if moved == nil {
			moved = map[*calls.Step]move{}
		}
		keeps := align.Rise(places)
		for i, g := range steps {
			at, kept := slices.BinarySearch(keeps, i)
			switch {
			case kept:
			case at < len(keeps) && places[keeps[at]] < places[i]:
				for at+1 < len(keeps) && wire.OnlyMakes(matched[steps[keeps[at]]].X) && places[keeps[at+1]] < places[i] { // an id is for what comes next
					at++
				}
				moved[g] = move{beside: matched[steps[keeps[at]]].X, ahead: true, at: behind[g]}
			default:
				moved[g] = move{beside: matched[steps[keeps[at-1]]].X, at: places[i]}
			}
		}
	}
	return moved
}

func placesOf(steps []*calls.Step, matched map[*calls.Step]*calls.Step) []int {
	places := make([]int, len(steps))
	for i, g := range steps {
		places[i] = matched[g].X.Seq
	}
	return places
}

// isApart reports whether live code has done something on a goroutine that it has begun
// itself: that comes when the goroutine gets to it, as far as its call is concerned. Asks are
// put in no order but among each other.
func (j *comparison) isApart(g *calls.Step) bool { return !g.IsAsk() && j.callers.IsApart(g.X) }

// lowestBehind is for each step the lowest of its own place and those of the steps that come
// behind it now: where that is not its own the order is another from there on.
func lowestBehind(steps []*calls.Step, places []int) map[*calls.Step]int {
	lowest, behind := math.MaxInt, make(map[*calls.Step]int, len(steps))
	for i, s := range slices.Backward(steps) {
		lowest = min(lowest, places[i])
		behind[s] = lowest
	}
	return behind
}

// withoutTheMade leaves out the ids and times that are made, where what these are for is in
// another order: one of them is as good as the next, and those of two operations that changed
// places are found in their old order.
func withoutTheMade(steps []*calls.Step, places []int) (rest []*calls.Step, restPlaces []int) {
	for i, s := range steps {
		if !wire.OnlyMakes(s.X) {
			rest, restPlaces = append(rest, s), append(restPlaces, places[i])
		}
	}
	if slices.IsSorted(restPlaces) {
		return steps, places
	}
	return rest, restPlaces
}

// loosen gives asks that are in no order the places of their counterparts in the order in
// which they come now. Such are those that were open at once, with all that were asked
// while any of them was, and those of goroutines that user code has begun itself, which ask
// when they get to it.
func (j *comparison) loosen(places []int, steps []*calls.Step, matched map[*calls.Step]*calls.Step) {
	groups := j.unordered(places, steps, matched)
	members := map[int][]int{}
	for i, g := range steps {
		if g.IsAsk() {
			members[groups[i]] = append(members[groups[i]], i)
		}
	}
	for _, of := range members {
		free := make([]int, len(of))
		for n, i := range of {
			free[n] = places[i]
		}
		if slices.IsSorted(free) {
			continue
		}
		j.loosened = true
		slices.Sort(free)
		for n, i := range of {
			places[i] = free[n]
		}
	}
}

// unordered numbers the groups of asks that are in no order, by the numbers of their steps.
func (j *comparison) unordered(places []int, steps []*calls.Step, matched map[*calls.Step]*calls.Step) map[int]int {
	var asks []int // in the order of their counterparts
	for i, g := range steps {
		if g.IsAsk() {
			asks = append(asks, i)
		}
	}
	slices.SortFunc(asks, func(a, b int) int { return cmp.Compare(places[a], places[b]) })
	groups, apart := map[int]int{}, map[int]bool{}
	for group, end := 0, 0; len(asks) > 0; asks = asks[1:] {
		if places[asks[0]] > end {
			group++
		}
		groups[asks[0]] = group
		apart[group] = apart[group] || j.callers.IsApart(steps[asks[0]].X)
		end = max(end, endOf(matched[steps[asks[0]]]))
	}
	const ofGoroutines = 0
	for i, group := range groups {
		if apart[group] {
			groups[i] = ofGoroutines
		}
	}
	return groups
}

// endOf is the crossing at which an ask was over.
func endOf(ask *calls.Step) int {
	if ask.Done == nil {
		return math.MaxInt
	}
	return ask.Done.Seq
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
