package sessions

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/adkreplay/adkreplay/adk/session"
)

// WithMutant returns s with hosts whose store is replaced by what mutant makes of it, so that they behave like
// hosts with a mistake. The mutant may call told to report an outcome.
func WithMutant(s Subject, mutant func(s session.Store, told func(session.Outcome)) session.Store) Subject {
	s.mutant = mutant
	return s
}

// Planned returns at which calls of a host each kind of fault is tried before random schedules are
// drawn, and the number of these schedules.
func Planned(s Subject) (tried map[string]map[FaultKind]bool, schedules int) {
	e := newExploring(context.Background(), s, Options{})
	base, left := e.base(), abandoned(1)
	undisturbed, settled := e.run(base), []*run{e.run(left)}
	for i := range s.Deliveries[1:] {
		settled = append(settled, e.run(abandoned(i+2)))
	}
	tried = map[string]map[FaultKind]bool{}
	for _, way := range append(e.ordinary(base, undisturbed), e.behind(settled)...) {
		for s := range way.all {
			schedules++
			for i, a := range s {
				for _, f := range a.Faults {
					name := "a turn"
					if !isInTurn(f.Kind) {
						of := undisturbed
						if s[0].Faults != nil && s[0].Faults[0] == left[0].Faults[0] && len(s) > 1 && s[1].Verb == Expire {
							of = settled[s[0].Arg-1]
						}
						name = of.calls[i].calls[f.At-1]
					}
					if tried[name] == nil {
						tried[name] = map[FaultKind]bool{}
					}
					tried[name][f.Kind] = true
				}
			}
		}
	}
	return tried, schedules
}

// Draw draws n random schedules.
func Draw(s Subject, seed uint64, n int) (all []Schedule) {
	e := newExploring(context.Background(), s, Options{Seed: seed})
	for i := range n {
		all = append(all, e.draw(rand.New(rand.NewPCG(seed, uint64(i)))))
	}
	return all
}

// CallNumber returns the number of the first call with this name while the first delivery is
// delivered, counted from 1.
func CallNumber(s Subject, name string) int {
	e := newExploring(context.Background(), s, Options{})
	return slices.Index(e.run(e.base()).calls[0].calls, name) + 1
}
