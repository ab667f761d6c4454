// Package moved finds the smallest set of steps of a new call that are in another place than the
// recorded steps that they stand for. Some steps have no order and never move: what goroutines that
// live code started do comes when they get to it, and asks that were open at the same time may come
// in any order.
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

// Move says that a step is in another place among those of its strand.
type Move struct {
	Beside *adk.Crossing // the recorded crossing next to which it is now
	Ahead  bool          // before Beside, and not after it
	At     int           // the first recorded crossing at which the order differs
}

// Order compares the order of steps in new calls. The zero Order knows of no goroutines that live
// code started.
type Order struct {
	// IsApart reports whether a goroutine that live code started made an operation; nil means that
	// none did.
	IsApart func(*adk.Crossing) bool
	// Loosened reports that steps without an order came in another order.
	Loosened bool
}

// Steps finds the smallest set of steps of a call that are in another place than the recorded ones
// that they were matched with: all other steps of their strand keep their order. Of two steps that
// changed places, it is the one that comes first now.
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
			return o.isApart(g) || makesApart && wire.OnlyMakes(g.X) // which id belongs to which goroutine is not known
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

// isOfGoroutine reports whether a goroutine that live code started made a step.
func (o *Order) isOfGoroutine(g *calls.Step) bool {
	return o.IsApart != nil && o.IsApart(g.X)
}

// isApart reports whether a step has no order because such a goroutine made it. Asks of goroutines
// are ordered among each other.
func (o *Order) isApart(g *calls.Step) bool { return !g.IsAsk() && o.isOfGoroutine(g) }

// aheadOfGates finds steps of goroutines that came after the settlement of a gate in the recording,
// and come before it now, and the gate that each no longer waits for. Somebody who decides takes
// time, so the recorded order was no coincidence.
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

// Moment is the longest time between two things that goroutines do at the same time: as long as a
// goroutine may wait for a processor.
const Moment = 10 * time.Millisecond

// withoutAtOnce removes asks of goroutines that changed places only with steps that the call itself
// did at the same moment of the recording, if the call got no answer between the two. Which was
// first is then nondeterministic.
func (o *Order) withoutAtOnce(steps []*calls.Step, places []int, matched map[*calls.Step]*calls.Step) []*calls.Step {
	if !slices.ContainsFunc(steps, o.isOfGoroutine) {
		return steps
	}
	var own, heard []int // steps of the call itself, and where it got their results in the recording
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

// lowestBehind is, for each step, the lowest place among its own and those of the steps after it
// now. Where it is not the step's own, the order differs from there on.
func lowestBehind(steps []*calls.Step, places []int) map[*calls.Step]int {
	lowest, behind := math.MaxInt, make(map[*calls.Step]int, len(steps))
	for i, s := range slices.Backward(steps) {
		lowest = min(lowest, places[i])
		behind[s] = lowest
	}
	return behind
}

// withoutTheMade removes steps that only make ids and times if the other steps are out of order
// without them as well. One such step is as good as the next, so those of two operations that
// changed places are found in their old order.
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

// mayBeAtOnce reports whether a step is an ask or the run of a tool. Several of these that were
// open at the same time have no order, because goroutines began them when they got to it, even if
// today's code makes them one after the other.
func mayBeAtOnce(s *calls.Step) bool { return s.IsAsk() || wire.RunsTool(s.X) }

// loosen sorts the places of asks and tools that have no order, so that they count as unmoved.
// These are groups of steps that were open at the same time in the recording, and the steps of
// goroutines that user code started.
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

// unordered numbers the groups of asks and tools that have no order, by the index of their steps.
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
