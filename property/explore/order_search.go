package explore

import (
	"slices"

	"github.com/adkreplay/adkreplay/property/internal/footprint"
)

// orderSearch is the depth-first search for the orders of one schedule. Each run that it asks for
// differs from an earlier one by one more decision.
type orderSearch struct {
	e     *exploring
	limit int // how many orders may be tried at most
	all   []tried

	n      candidate // the schedule to run next
	asleep []sleeper // the sleepers after its last pick
	begun  bool      // the schedule itself was run
	path   []*fork
}

// fork is a run whose other orders are being tried. These differ from it after its last pick; the
// latest choices are varied first.
type fork struct {
	n       candidate
	choices []choice
	at      int       // the choice that is decided differently
	asleep  []sleeper // the sleepers at that choice
	strand  int       // the strand that goes on instead
}

func searchOrders(e *exploring, n candidate) *orderSearch {
	n.orders = false
	return &orderSearch{e: e, limit: e.remaining(), all: []tried{}, n: n}
}

// next prepares an attempt for the next run, and reports whether there is one.
func (s *orderSearch) next(a *attempt) bool {
	if s.begun && !s.branch() {
		return false
	}
	further := s.begun && s.n.cost < s.e.options.Bound
	a.reset(s.n, s.asleep, further, true)
	return true
}

// ran judges a run, except for the first, which was judged before, and for runs that are equivalent
// to an earlier order.
func (s *orderSearch) ran(a *attempt, gone *stall) {
	choices := slices.Clone(a.order.choices)
	n := s.n
	if !s.begun {
		n.cost++
	} else if !a.order.redundant {
		ran := n
		ran.picks, ran.pickedAt = decisions(choices)
		s.all = append(s.all, s.e.judge(a, ran, gone))
	}
	s.begun = true
	for i := range choices {
		choices[i].open = choices[i].open && gone == nil // nothing follows from a run that hangs
	}
	s.path = append(s.path, &fork{n: n, choices: choices, at: len(choices)})
}

// branch finds the next order to try. It goes back to an earlier run when the last one has no other
// order left.
func (s *orderSearch) branch() bool {
	for len(s.path) > 0 {
		if len(s.all) >= s.limit || s.e.over() {
			return false
		}
		f := s.path[len(s.path)-1]
		if f.turns() {
			s.n = candidate{input: f.n.input, faults: f.n.faults, picks: deviations(f.choices, f.at, f.strand), from: max(f.n.from, f.choices[f.at].at), cost: f.n.cost}
			s.asleep = f.asleep
			if s.e.options.AllOrders {
				s.asleep = nil
			}
			return true
		}
		s.path = s.path[:len(s.path)-1]
		if len(s.path) > 0 {
			s.path[len(s.path)-1].sleeps(f.lastStep())
		}
	}
	return false
}

// turns finds another strand that can go on at a choice, from the last choice to the first.
func (f *fork) turns() bool {
	for {
		if f.at < len(f.choices) && f.choices[f.at].open {
			for _, f.strand = range f.choices[f.at].runnable {
				if !slices.ContainsFunc(f.asleep, func(s sleeper) bool { return s.strand == f.strand }) {
					return true
				}
			}
		}
		if f.at == 0 {
			return false
		}
		f.at--
		c := &f.choices[f.at]
		f.asleep = append(slices.Clone(c.asleep), sleeper{c.chosen, &c.step})
	}
}

// sleeps puts the strand whose orders were tried at the present choice to sleep.
func (f *fork) sleeps(step *footprint.Step) {
	f.asleep = append(slices.Clip(f.asleep), sleeper{f.strand, step})
}

// lastStep returns the step that was taken at the run's last pick.
func (f *fork) lastStep() *footprint.Step {
	if last := len(f.n.picks); last > 0 && f.n.picks[last-1].Choice <= len(f.choices) {
		return &f.choices[f.n.picks[last-1].Choice-1].step
	}
	return &footprint.Step{}
}
