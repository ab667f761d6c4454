package fakes

import (
	"math/rand/v2"
	"slices"
)

// Choice is the question that a scheduler asks its order: which strand runs next.
type Choice struct {
	// Current is the strand whose turn ends here. It is among Runnable if it could go on.
	Current int
	// Runnable are the numbers of the strands that can go on, sorted; there is always more than
	// one. The scheduler reuses the slice: do not keep it.
	Runnable []int
}

// Order is called at the start of a run and returns the function that orders it. At each choice of
// the run, on one goroutine at a time, that function returns the position in Runnable of the strand
// to run. It may return any number, which is taken modulo the number of strands. It must not call
// into the engine.
type Order func() func(Choice) int

// RunInOrder keeps a strand running until it blocks or ends, and then runs the
// one with the lowest number.
func RunInOrder() Order {
	return func() func(Choice) int {
		return func(c Choice) int {
			if at, ok := slices.BinarySearch(c.Runnable, c.Current); ok {
				return at
			}
			return 0
		}
	}
}

// RoundRobin gives the turn to the next strand after each operation.
func RoundRobin() Order {
	return func() func(Choice) int {
		return func(c Choice) int {
			next, _ := slices.BinarySearch(c.Runnable, c.Current+1)
			return next % len(c.Runnable)
		}
	}
}

// Seeded chooses at random, but the same for the same seed: every run starts the seed's sequence
// from its beginning.
func Seeded(seed uint64) Order {
	return func() func(Choice) int {
		chance := rand.New(rand.NewPCG(seed, 0))
		return func(c Choice) int { return chance.IntN(len(c.Runnable)) }
	}
}

// Pick lets a function choose, for example a test or an explorer that tries every order. All runs
// of the scheduler call the same function.
func Pick(choose func(Choice) int) Order {
	return func() func(Choice) int { return choose }
}
