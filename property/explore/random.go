package explore

import (
	"math"
	"math/rand/v2"
	"slices"
)

// This file tries random orders of strands. An exhaustive search begins with orders that differ
// little from the usual one; with many strands its budget is used up before it reaches those that
// differ much. Random priorities (Burckhardt and others, "A Randomized Scheduler with Probabilistic
// Guarantees of Finding Bugs") find the order that a bug of a certain depth needs with a known
// probability.

// The random orders of a subject: how many are run, and of which depth. A scripted subject, whose
// strands share nothing that the explorer does not see, gets random orders only if its undisturbed
// turn has at least randomChoices choices. Real code may share a lock, which the search among all
// orders does not know of: it leaves out some orders that random ones may include.
const (
	randomOrders  = 100
	randomDepth   = 3
	randomChoices = 12
)

// priorities is a random order. The strand with the highest priority goes on; at some choices that
// strand gets the lowest priority.
type priorities struct {
	chance  *rand.Rand
	of      map[int]int // by strand
	changes []int       // the choices at which the strand that would go on loses its priority
	lowest  int
}

func newPriorities(seed uint64, choices int) *priorities {
	p := &priorities{chance: rand.New(rand.NewPCG(seed, 0)), of: map[int]int{}}
	for range randomDepth - 1 {
		p.changes = append(p.changes, 1+p.chance.IntN(choices))
	}
	return p
}

// pick returns the index of the strand that goes on at a choice.
func (p *priorities) pick(choice int, runnable []int) int {
	at := p.highest(runnable)
	if slices.Contains(p.changes, choice) {
		p.lowest--
		p.of[runnable[at]] = p.lowest
		at = p.highest(runnable)
	}
	return at
}

func (p *priorities) highest(runnable []int) (at int) {
	for i, strand := range runnable {
		if _, known := p.of[strand]; !known {
			p.of[strand] = 1 + p.chance.IntN(math.MaxInt32)
		}
		if p.of[strand] > p.of[runnable[at]] {
			at = i
		}
	}
	return at
}

// randoms returns the schedules of random orders, if the turn has enough choices.
func (e *exploring) randoms() (all []candidate) {
	if e.choices == 0 || e.choices < randomChoices && e.subject.Scripted {
		return nil
	}
	for seed := range uint64(randomOrders) {
		all = append(all, candidate{random: seed + 1, from: 1, cost: 1})
	}
	return all
}

// isNew reports whether a schedule is to be counted: it is not random, or it is the first random
// one that made these decisions, and made any.
func (e *exploring) isNew(n *candidate) bool {
	if n.random == 0 {
		return true
	}
	text := n.schedule().String()
	if len(n.picks) == 0 || e.met[text] {
		return false
	}
	if e.met == nil {
		e.met = map[string]bool{}
	}
	e.met[text] = true
	return true
}

// randomCover returns the probability with which the random orders have met a bug that needs one
// strand to be overtaken at one choice.
func (e *exploring) randomCover() float64 {
	one := 1 / (float64(max(2, e.strands)) * float64(max(1, e.choices)))
	return 1 - math.Pow(1-one, randomOrders)
}
