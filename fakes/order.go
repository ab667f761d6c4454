package fakes

import (
	"math/rand/v2"
	"slices"
)

// Choice is what a scheduler asks its order: who of several goes on.
type Choice struct {
	// Current is the strand whose turn ends here. It is among Runnable if it
	// could go on.
	Current int
	// Runnable are the strands that can go on, sorted; always more than one.
	// The slice is used again and must not be kept.
	Runnable []int
}

// Order begins a run's order: what it returns is asked at every choice of the
// run, by one goroutine at a time, for the position in Runnable of the strand
// to run. Any number is an answer: it counts modulo the number of strands. An
// order must not call into the engine.
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

// RoundRobin lets every strand make one operation in turn.
func RoundRobin() Order {
	return func() func(Choice) int {
		return func(c Choice) int {
			next, _ := slices.BinarySearch(c.Runnable, c.Current+1)
			return next % len(c.Runnable)
		}
	}
}

// Seeded chooses by chance, the same for the same seed: every run begins the
// seed's sequence again.
func Seeded(seed uint64) Order {
	return func() func(Choice) int {
		chance := rand.New(rand.NewPCG(seed, 0))
		return func(c Choice) int { return chance.IntN(len(c.Runnable)) }
	}
}

// Pick lets a function choose: a test, or an explorer that tries every order.
// The one function serves all runs of the scheduler.
func Pick(choose func(Choice) int) Order {
	return func() func(Choice) int { return choose }
}
