// Package moved finds the fewest steps of a call of a new run that stand at another place than
// the recorded ones that they stand for. What is in no order has none: what goroutines that live
// code has begun itself do comes when they get to it, and of asks that were open at once any may
// come first.
package moved

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/align"
)

// Move is that a step stands at another place among those of its strand.
type Move struct {
	Beside *adk.Crossing // the recorded crossing that it stands beside now
	Ahead  bool          // before it, and not behind it
	At     int           // the first recorded crossing at which the order is another
}

// Order is how the steps of new calls are ordered. The zero Order knows no goroutines of live
// code's own.
type Order struct {
	// IsApart reports whether a goroutine that live code has begun made an operation; nil is
	// that none did.
	IsApart func(*adk.Crossing) bool
	// Loosened tells that steps which are in no order came in another one.
	Loosened bool
}

// Steps are the fewest steps of a call that stand at another place than the recorded ones that
// they were matched with: the others of their strand keep their order. Where two changed places,
// it is the one that now comes first.
func (o *Order) Steps(got []*calls.Step, matched map[*calls.Step]*calls.Step) map[*calls.Step]Move {
	var moved map[*calls.Step]Move
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
		for g, gate := range o.aheadOfGates(steps, matched) {
			if moved == nil {
				moved = map[*calls.Step]Move{}
			}
			moved[g] = Move{Beside: gate, Ahead: true, At: gate.Seq}
		}
		if slices.IsSorted(places) {
			continue
		}
		makesApart := slices.ContainsFunc(steps, func(g *calls.Step) bool { return wire.OnlyMakes(g.X) && o.isOfGoroutine(g) })
		if rest := slices.DeleteFunc(slices.Clone(steps), func(g *calls.Step) bool {
			return o.isApart(g) || makesApart && wire.OnlyMakes(g.X) // which of the ids is whose is not known
		}); len(rest) < len(steps) {
			steps, places, o.Loosened = rest, placesOf(rest, matched), true
		}
		if rest := o.withoutAtOnce(steps, places, matched); len(rest) < len(steps) {
			steps, places, o.Loosened = rest, placesOf(rest, matched), true
		}
		if o.loosen(places, steps, matched); slices.IsSorted(places) {
			continue
		}
		behind := lowestBehind(steps, places)
		steps, places = withoutTheMade(steps, places)
		if moved == nil {
			moved = map[*calls.Step]Move{}
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
				moved[g] = Move{Beside: matched[steps[keeps[at]]].X, Ahead: true, At: behind[g]}
			default:
				moved[g] = Move{Beside: matched[steps[keeps[at-1]]].X, At: places[i]}
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

// isOfGoroutine reports whether a goroutine that live code has begun made a step.
func (o *Order) isOfGoroutine(g *calls.Step) bool {
	return o.IsApart != nil && o.IsApart(g.X)
}

// isApart reports whether live code has done something on a goroutine that it has begun
// itself: that comes when the goroutine gets to it, as far as its call is concerned. Asks are
// put in no order but among each other.
func (o *Order) isApart(g *calls.Step) bool { return !g.IsAsk() && o.isOfGoroutine(g) }

// aheadOfGates are the steps of goroutines that do not wait any more for a gate of the call, which
// was settled before they were made, and these gates: what somebody decides takes its time, and
// what came behind that did not come by chance.
func (o *Order) aheadOfGates(steps []*calls.Step, matched map[*calls.Step]*calls.Step) map[*calls.Step]*adk.Crossing {
	isGate := func(s *calls.Step) bool { return wire.AsksForGate(s.X) }
	if !slices.ContainsFunc(steps, isGate) {
		return nil
	}
	ofGoroutines := slices.DeleteFunc(slices.Clone(steps), func(s *calls.Step) bool { return !o.isOfGoroutine(s) })
	var ahead map[*calls.Step]*adk.Crossing
	for _, gate := range steps {
		was := matched[gate]
		if !isGate(gate) || was.Done == nil || o.isOfGoroutine(gate) {
			continue
		}
		for _, g := range ofGoroutines {
			if matched[g].X.Seq > was.Done.Seq && (gate.Done == nil || g.X.Seq < gate.Done.Seq) && ahead[g] == nil {
				if ahead == nil {
					ahead = map[*calls.Step]*adk.Crossing{}
				}
				ahead[g] = was.X
			}
		}
	}
	return ahead
}

// Moment is how far apart goroutines do something at once, at most: as long as one may wait for a
// processor.
const Moment = 10 * time.Millisecond

// withoutAtOnce leaves out the asks of goroutines that have changed places with nothing but what
// the call itself did at the same moment of the recording, without having heard anything between
// the two: who was first is chance.
func (o *Order) withoutAtOnce(steps []*calls.Step, places []int, matched map[*calls.Step]*calls.Step) []*calls.Step {
	if !slices.ContainsFunc(steps, o.isOfGoroutine) {
		return steps
	}
	var own, heard []int // steps of the call itself, and where it heard in the recording what came of them
	for i, g := range steps {
		if o.isOfGoroutine(g) {
			continue
		}
		own = append(own, i)
		if done := matched[g].Done; done != nil {
			heard = append(heard, done.Seq)
		}
	}
	slices.Sort(heard)
	hearsBetween := func(a, b int) bool {
		next, _ := slices.BinarySearch(heard, min(a, b)+1)
		return next < len(heard) && heard[next] < max(a, b)
	}
	atOnce := func(g int) bool {
		changed := false
		for _, i := range own {
			if (i < g) == (places[i] < places[g]) {
				continue
			}
			apart := matched[steps[i]].X.At.Sub(matched[steps[g]].X.At).Abs()
			if changed = true; apart > Moment || hearsBetween(places[i], places[g]) {
				return false
			}
		}
		return changed
	}
	var rest []*calls.Step
	for i, g := range steps {
		if !o.isOfGoroutine(g) || !atOnce(i) {
			rest = append(rest, g)
		}
	}
	return rest
}

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

// mayBeAtOnce reports whether a step is one of those that were in no order where they were open at
// once: an ask, or a tool that runs, which goroutines of live code's own began when they got to it,
// though today's may do one after the other.
func mayBeAtOnce(s *calls.Step) bool { return s.IsAsk() || wire.RunsTool(s.X) }

// loosen gives asks and tools that are in no order the places of their counterparts in the order in
// which they come now. Such are those that were open at once, with all that were begun
// while any of them was, and those of goroutines that user code has begun itself, which ask
// when they get to it.
func (o *Order) loosen(places []int, steps []*calls.Step, matched map[*calls.Step]*calls.Step) {
	groups := o.unordered(places, steps, matched)
	members := map[int][]int{}
	for i, g := range steps {
		if mayBeAtOnce(g) {
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
		o.Loosened = true
		slices.Sort(free)
		for n, i := range of {
			places[i] = free[n]
		}
	}
}

// unordered numbers the groups of asks and tools that are in no order, by the numbers of their steps.
func (o *Order) unordered(places []int, steps []*calls.Step, matched map[*calls.Step]*calls.Step) map[int]int {
	var asks []int // in the order of their counterparts
	for i, g := range steps {
		if mayBeAtOnce(g) {
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
		apart[group] = apart[group] || o.isOfGoroutine(steps[asks[0]])
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

// endOf is the crossing at which an ask or a tool was over.
func endOf(ask *calls.Step) int {
	if ask.Done == nil {
		return math.MaxInt
	}
	return ask.Done.Seq
}
