package explore

import (
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/property/internal/footprint"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file tries the orders of strands. A scheduler decides where an operation
// begins and where a strand waits, so an order is the sequence of its decisions,
// and what a strand does from one decision to the next is a step.
//
// # Orders that cannot differ
//
// Two steps of different strands commute when neither can tell whether the other
// came before it. Then the two orders that differ in nothing but their exchange
// end alike, and one of them is enough. What a step can tell is read off the
// crossings it makes (footprint.Step.Add):
//
//   - A step that changes what handles read (a set, the stash, the registry, the
//     signal, the abort, a flush) commutes with nothing: code of another strand
//     reads handles without a crossing.
//   - Steps that touch the same named thing do not commute: the same tool, whose
//     handler may remember; the same storage collection; the gates, which close in
//     the order they were opened; the stream of one id; the source of ids; the
//     numbers of strands; the same media.
//   - All others do: they tell listeners something, read the clock, start a timer
//     or begin an operation. Time moves only when no strand can go on, so the order
//     in which strands came to wait does not change it.
//
// This takes for granted that user code of two strands meets nowhere else, and that
// listeners of events of two strands, which have no order in production either
// (EVT-2), do not mind theirs. Options.AllOrders is for code of which that is not
// true: it tries every order.
//
// # Sleep sets
//
// The search is depth first. When every order that begins with a step a from some
// decision has been tried, a goes to sleep there: behind a decision for another
// strand it is not tried again before a step came that does not commute with it
// (Godefroid, "Partial-Order Methods", chapter 5). What sleeps is held against what
// really ran, crossing by crossing, so that no step has to be foreseen. A test holds
// the endings of the reduced search against those of the full one.

// sleeper is a strand whose next step need not be tried, until a step comes that
// does not commute with it.
type sleeper struct {
	strand int
	step   *footprint.Step
}

// choice is one decision of the scheduler, as it was made.
type choice struct {
	runnable []int
	usual    int // the strand that goes on usually
	chosen   int
	at       int // the crossing that was to come
	open     bool
	asleep   []sleeper      // before the decision
	step     footprint.Step // what the chosen strand did then
}

// order decides who goes on in one run: as picks say, then as is usual, avoiding
// who sleeps.
type order struct {
	picks  []turn.Decision
	asleep []sleeper // at the last pick, and from there on; never changed in place
	record bool

	mu      sync.Mutex // plain goroutines of user code tell crossings as they like
	made    int
	choices []choice // if recorded
	running bool     // the step of the last choice goes on
	// redundant tells that a strand went on that sleeps, as no other could: the run
	// is one that has been made in another order.
	redundant bool
	random    *priorities // who goes on, where that is by chance
}

// reset begins another run.
func (o *order) reset(picks []turn.Decision, asleep []sleeper, record bool) {
	o.picks, o.asleep, o.record = picks, asleep, record
	o.made, o.choices, o.running, o.redundant = 0, o.choices[:0], false, false
	o.random = nil
}

// pick is asked by the scheduler. at is the crossing to come; open tells that
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

// kept is a list that a choice can keep: that of the choice before, where it is the
// same.
func (o *order) kept(runnable []int) []int {
	if n := len(o.choices); n > 0 && slices.Equal(o.choices[n-1].runnable, runnable) {
		return o.choices[n-1].runnable
	}
	return slices.Clone(runnable)
}

// lastPick is the number of the last choice that is decided by a pick.
func (o *order) lastPick() int {
	if len(o.picks) == 0 {
		return 0
	}
	return o.picks[len(o.picks)-1].Choice
}

// forced is what a pick says of this choice; one that cannot go on does not.
func (o *order) forced(c fakes.Choice) (at int, ok bool) {
	for _, p := range o.picks {
		if p.Choice == o.made {
			at = slices.Index(c.Runnable, p.Strand)
			return at, at >= 0
		}
	}
	return 0, false
}

// awake is the usual strand, or the first that does not sleep.
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

// saw follows what really runs: it belongs to the step of the last choice as long
// as its strand runs, and wakes whom it does not commute with.
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
	if x.Kind.Class() != adk.ClassFact { // a fact may be stamped with the strand that it is about
		o.running = o.running && x.Strand == last.chosen
	}
	if o.running {
		last.step.Add(x)
	}
	if o.made < o.lastPick() || len(o.asleep) == 0 {
		return
	}
	if x.Kind.Class() != adk.ClassFact && o.sleeps(x.Strand) { // no other could go on
		o.redundant = true
	}
	var seen footprint.Step
	seen.Add(x)
	wakes := func(s sleeper) bool { return !s.step.Commutes(&seen) }
	if slices.ContainsFunc(o.asleep, wakes) {
		o.asleep = slices.DeleteFunc(slices.Clone(o.asleep), wakes) // not in place: choices have the list
	}
}

// deviations are the decisions that were not the usual ones, up to the k-th
// choice, counted from 0, and the one to be made there.
func deviations(choices []choice, k, strand int) []turn.Decision {
	var picks []turn.Decision
	for i, c := range choices[:k] {
		if c.chosen != c.usual {
			picks = append(picks, turn.Decision{Choice: i + 1, Strand: c.chosen})
		}
	}
	return append(picks, turn.Decision{Choice: k + 1, Strand: strand})
}

// decisions are all decisions of a run that were not the usual ones, and the
// crossings that were to come then.
func decisions(choices []choice) (picks []turn.Decision, at []int) {
	for i, c := range choices {
		if c.chosen != c.usual {
			picks, at = append(picks, turn.Decision{Choice: i + 1, Strand: c.chosen}), append(at, c.at)
		}
	}
	return picks, at
}
