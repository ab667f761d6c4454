package explore

import (
	"math"
	"math/rand/v2"
	"slices"
)

// This file tries orders of strands by chance. An exhaustive search begins with orders
// that differ little from the usual one, and where strands are many its budget is used
// up before it comes to those that differ much. Random priorities (Burckhardt and others,
// "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs") meet an order
// that a bug of some depth needs with a probability that can be said.

// The random orders of a subject: how many, of which depth, and from how many choices
// of its undisturbed turn on where its strands meet nowhere that is not seen. Code that runs
// may share a lock, of which the search among all orders knows nothing: it leaves out some
// that chance does not.
const (
	randomOrders  = 100
	randomDepth   = 3
	randomChoices = 12
)

// priorities is an order by chance: of the strands that can go on the one with the
// highest priority does, and at some choices it gets the lowest.
type priorities struct {
	chance  *rand.Rand
	of      map[int]int // by strand
	changes []int       // choices at which who goes on loses its priority
	lowest  int
}

func newPriorities(seed uint64, choices int) *priorities {
	p := &priorities{chance: rand.New(rand.NewPCG(seed, 0)), of: map[int]int{}}
	for range randomDepth - 1 {
		p.changes = append(p.changes, 1+p.chance.IntN(choices))
	}
	return p
}

// pick is the place of who goes on at a choice.
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

// randoms are the schedules of random orders, for a turn in which strands have so many
// choices.
func (e *exploring) randoms() (all []candidate) {
	if e.choices == 0 || e.choices < randomChoices && e.subject.Scripted {
		return nil
	}
	for seed := range uint64(randomOrders) {
		all = append(all, candidate{random: seed + 1, from: 1, cost: 1})
	}
	return all
}

// isNew reports whether a schedule is none of chance, or the first that came to its decisions,
// and to any.
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

// randomCover says with which probability a bug was met that needs one strand to be
// overtaken at one choice.
func (e *exploring) randomCover() float64 {
	one := 1 / (float64(max(2, e.strands)) * float64(max(1, e.choices)))
	return 1 - math.Pow(1-one, randomOrders)
}
