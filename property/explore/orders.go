package explore

import (
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/internal/footprint"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file tries the orders of strands. A scheduler decides which strand goes on wherever an
// operation begins or a strand waits. So an order is the sequence of these decisions, and what a
// strand does from one decision to the next is a step.
//
// # Equivalent orders
//
// Two steps of different strands commute if neither can tell whether the other came before it. Two
// orders that differ only in the exchange of such steps end in the same way, and it is enough to
// try one of them. What a step can observe is derived from the crossings that it makes
// (footprint.Step.Add):
//
//  - A step that changes what handles read (a set, the stash, the registry, the
//    signal, the abort, a flush) commutes with nothing: code of another strand
//    reads handles without a crossing.
//  - Steps that touch the same named thing do not commute: the same tool, whose
//    handler may remember; the same storage collection; the gates, which close in
//    the order they were opened; the stream of one id; the source of ids; the
//    numbers of strands; the same media.
//  - All other steps commute: they emit something to listeners, read the clock, start
//    a timer or begin an operation. Time moves only when no strand can go on, so the
//    order in which strands began to wait does not change it.
//
// This assumes that user code of two strands shares nothing else, and that listeners do not depend
// on the order of events of two strands, which have no order in production either (EVT-2). Set
// Options.AllOrders for code that does not meet these assumptions: it tries every order.
//
// # Sleep sets
//
// The search is depth first. When every order that begins with a step of strand a at some decision
// has been tried, a goes to sleep there: after a decision for another strand at this place, the
// search does not try a again until a step has run that does not commute with a's step (Godefroid,
// "Partial-Order Methods", chapter 5). Sleeping steps are compared with what really ran, crossing
// by crossing, so no step has to be predicted. A test compares the endings of the reduced search
// with those of the full one.

// sleeper is a strand whose next step need not be tried until a step comes that does not commute
// with it.
type sleeper struct {
	strand int
	step   *footprint.Step
}

// choice is one decision of the scheduler, as it was made.
type choice struct {
	runnable []int
	usual    int // the strand that usually goes on
	chosen   int
	at       int // the number of the crossing to come
	open     bool
	asleep   []sleeper      // the sleepers before the decision
	step     footprint.Step // what the chosen strand did next
}

// order decides which strand goes on at each choice of a run. Picks come first. Behind them it
// chooses the usual strand, or another one if that strand sleeps.
type order struct {
	picks  []turn.Decision
	asleep []sleeper // the sleepers at the last pick, and from there on; never changed in place
	record bool

	mu      sync.Mutex // needed as plain goroutines of user code report crossings in parallel
	made    int
	choices []choice // if recorded
	running bool     // the step of the last choice is still under way
	// redundant is set if a sleeping strand had to go on because no other could. Then the run is
	// equivalent to one that was made in another order.
	redundant bool
	random    *priorities // decides instead, in a run with a random order
}

// reset prepares the order for another run.
func (o *order) reset(picks []turn.Decision, asleep []sleeper, record bool) {
	o.picks, o.asleep, o.record = picks, asleep, record
	o.made, o.choices, o.running, o.redundant = 0, o.choices[:0], false, false
	o.random = nil
}

// pick chooses a strand for the scheduler. at is the number of the crossing to come; open says that
// other decisions may be tried here.
func (o *order) pick(c fakes.Choice, at int, open bool) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.made++
	usual := max(slices.Index(c.Runnable, c.Current), 0)
	chosen, forced := o.forced(c)
	switch {
	case o.random != nil:
		chosen = o.random.pick(o.made, c.Runnable)
	case !forced:
		chosen = o.awake(c, usual)
	}
	if o.record {
		open = open && o.made > o.lastPick() && !o.redundant
		o.choices = append(o.choices, choice{runnable: o.kept(c.Runnable), usual: c.Runnable[usual],
			chosen: c.Runnable[chosen], at: at, open: open, asleep: o.asleep})
		o.running = true
	}
	return chosen
}

// kept returns a list that a choice can keep: the list of the choice before if that is equal, and a
// copy otherwise.
func (o *order) kept(runnable []int) []int {
	if n := len(o.choices); n > 0 && slices.Equal(o.choices[n-1].runnable, runnable) {
		return o.choices[n-1].runnable
	}
	return slices.Clone(runnable)
}

// lastPick returns the number of the last choice that is decided by a pick.
func (o *order) lastPick() int {
	if len(o.picks) == 0 {
		return 0
	}
	return o.picks[len(o.picks)-1].Choice
}

// forced returns the strand that a pick demands at this choice. A pick is ignored if its strand
// cannot go on.
func (o *order) forced(c fakes.Choice) (at int, ok bool) {
	for _, p := range o.picks {
		if p.Choice == o.made {
			at = slices.Index(c.Runnable, p.Strand)
			return at, at >= 0
		}
	}
	return 0, false
}

// awake returns the usual strand, or the first that does not sleep.
func (o *order) awake(c fakes.Choice, usual int) int {
	if o.made <= o.lastPick() || !o.sleeps(c.Runnable[usual]) {
		return usual
	}
	at := slices.IndexFunc(c.Runnable, func(strand int) bool { return !o.sleeps(strand) })
	if at < 0 {
		o.redundant = true
		return usual
	}
	return at
}

func (o *order) sleeps(strand int) bool {
	return slices.ContainsFunc(o.asleep, func(s sleeper) bool { return s.strand == strand })
}

// saw records a crossing. It belongs to the step of the last choice as long as the strand of that
// choice runs. saw wakes the sleepers whose step does not commute with the crossing.
func (o *order) saw(x *adk.Crossing) {
	if !o.record {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.choices) == 0 {
		return
	}
	last := &o.choices[len(o.choices)-1]
	if x.Kind.Class() != adk.ClassFact { // a fact may carry the strand that it is about
		o.running = o.running && x.Strand == last.chosen
	}
	if o.running {
		last.step.Add(x)
	}
	if o.made < o.lastPick() || len(o.asleep) == 0 {
		return
	}
	if x.Kind.Class() != adk.ClassFact && o.sleeps(x.Strand) { // no other strand could go on
		o.redundant = true
	}
	var seen footprint.Step
	seen.Add(x)
	wakes := func(s sleeper) bool { return !s.step.Commutes(&seen) }
	if slices.ContainsFunc(o.asleep, wakes) {
		o.asleep = slices.DeleteFunc(slices.Clone(o.asleep), wakes) // not in place: choices share the list
	}
}

// deviations returns the decisions that were not the usual ones, up to the k-th choice, counted
// from 0, and the decision for strand at that choice.
func deviations(choices []choice, k, strand int) []turn.Decision {
	var picks []turn.Decision
	for i, c := range choices[:k] {
		if c.chosen != c.usual {
			picks = append(picks, turn.Decision{Choice: i + 1, Strand: c.chosen})
		}
	}
	return append(picks, turn.Decision{Choice: k + 1, Strand: strand})
}

// decisions returns all decisions of a run that were not the usual ones, and the crossings that
// were to come at them.
func decisions(choices []choice) (picks []turn.Decision, at []int) {
	for i, c := range choices {
		if c.chosen != c.usual {
			picks, at = append(picks, turn.Decision{Choice: i + 1, Strand: c.chosen}), append(at, c.at)
		}
	}
	return picks, at
}
