package explore

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/adkreplay/adkreplay/internal/race"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Options say how far to explore. The zero value is bound 1, without a limit.
type Options struct {
	// Bound is how much goes wrong in one run at most: each fault counts one, and
	// so does an order of strands that is not the usual one. Zero means 1. The
	// number of schedules grows with its power.
	Bound int
	// Schedules is how many schedules to run at most; zero means all.
	Schedules int
	// Budget is how long to explore, by Now; zero means to the end.
	Budget time.Duration
	// Workers is how many runs are under way at once; zero means GOMAXPROCS. What
	// is found does not depend on it.
	Workers int
	// Faults are the kinds of faults to try; nil means all, and a list that is empty
	// none, but for the orders of strands.
	Faults []turn.FaultKind
	// UsualInput has every run begin with the conversation that the subject's storage
	// has, and with no other one, and with the system prompt as it is.
	UsualInput bool
	// Free is how many runs have their strands free, one beside the other, so that the race
	// detector sees what they share; nothing else is said of these. Zero means 20 where it
	// watches, and none where it does not; less than zero means none.
	Free int
	// AllOrders tries orders of strands that cannot differ too, for user code whose
	// strands meet elsewhere than in the engine, the storage and the tools.
	AllOrders bool
	// Background names functions, as stack traces do, whose goroutines may outlive a
	// turn: a driver's, say, that go with connections of a pool. The idle connections
	// of net/http and the pools of database/sql are known.
	Background []string
	// Now is the clock of the budget and of Elapsed; nil means the system's.
	Now func() time.Time
	// Progress is told how many schedules were run, and how many follow as far as
	// is known. It is called from one goroutine at a time.
	Progress func(run, known int)
	// Command is the command that explores the subject, for the commands that
	// reproduce; empty if there is none.
	Command string

	ownClock bool   // Now is not the system's
	test     string // the line of Go that reproduces, with a verb for the schedule
	known    known  // what other subjects of the test have violated; nil where there is one alone
}

// Explore runs a subject again and again and breaks it at every crossing in every
// way that applies there: FaultKinds has the list, and Exploration.Table says what
// was tried. Strands are run in every order that can make a difference: two orders
// make none when one comes of the other by exchanging neighbouring steps of two
// strands, of which the crossings show that they touch nothing in common and change
// nothing that handles read (the comment in orders.go has the whole of it). After each
// run the invariants are held against it (Violations), and what only an explorer
// sees: that Run gave nil, that the turn came to an end, that nothing was left
// behind, that the same schedule does the same.
//
//	result, err := explore.Explore(ctx, subject, explore.Options{Bound: 2})
//	require.NoError(t, err)
//	require.Empty(t, result.Violations, result)
//
// In go test, Test is shorter.
//
// Time is virtual where it is the context's: hours of Sleep and of gates pass at once, and a
// caller that nobody answers cancels after a hundred years. What packages context and time
// measure, such as a context.WithTimeout, is the machine's, and takes as long in each schedule
// that waits for it. A strand that is blocked by other means than the
// engine's, such as a lock, loses its turn to another one, and what lies between that and
// its next operation has no order. Code that waits for the machine is waited for. Where
// nothing of a run can ever go on that is a deadlock, with the lines of user code that
// wait; code that neither returns nor asks the engine for anything is a hang, and ends
// the exploration, since it is left behind. An exploration ends within a second of its
// budget, or of ctx, whatever user code does.
//
// Left behind are goroutines that were started in a run and outlive it, but for the
// pools of net/http and database/sql and what Options.Background names. A port that
// the system chose is no difference between two runs of a schedule, where an error
// of package net names it, or it is that of a loopback address in whatever text.
//
// An exploration makes much garbage and keeps little of it: where it runs for long
// on several cores, GOGC=400 makes it half as fast again.
//
// The error says that the subject makes no turn. When ctx ends, the exploration
// ends with what it has found, and says so in NotCovered.
func Explore(ctx context.Context, subject turn.Subject, options Options) (*Exploration, error) {
	e, err := measured(ctx, subject, options)
	if err != nil {
		return nil, err
	}
	defer e.close()
	e.explore()
	return e.result, nil
}

// RunSchedule runs one schedule of a subject, and gives what it violates. The error
// says that the subject makes no turn, or none in which the schedule can happen.
func RunSchedule(ctx context.Context, subject turn.Subject, schedule turn.Schedule, options Options) (*Exploration, error) {
	e, err := measured(ctx, subject, options)
	if err != nil {
		return nil, err
	}
	defer e.close()
	n, err := e.resolve(schedule)
	if err != nil {
		return nil, impossible{fmt.Errorf("%s: %w", subject.Name, err)}
	}
	n.again = true
	e.options.Bound, e.result.Bound = n.cost, n.cost
	e.reproduce(n)
	return e.result, nil
}

// impossible says that a schedule cannot happen.
type impossible struct{ error }

func (i impossible) Unwrap() error { return i.error }

// measured is an exploration that knows how long the undisturbed turn is.
func measured(ctx context.Context, subject turn.Subject, options Options) (*exploring, error) {
	e := newExplorer(ctx, subject, options.withDefaults())
	err := e.validate()
	if err == nil {
		err = e.measure()
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// validate has the subject make a turn, which nobody runs, and close it.
func (e *exploring) validate() error {
	valid := make(chan error, 1)
	if !e.limit.Wait(func() { valid <- e.subject.Validate() }) {
		return fmt.Errorf("%s: the first turn that it makes is not made, or not closed: %s", e.subject.Name, e.whyOver())
	}
	return <-valid
}

// realBudget is the budget as far as it is that of the system's clock.
func (o Options) realBudget() time.Duration {
	if o.ownClock {
		return 0
	}
	return o.Budget
}

func (o Options) withDefaults() Options {
	if o.Bound <= 0 {
		o.Bound = 1
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Faults == nil {
		o.Faults = turn.FaultKinds()
	}
	if o.Free == 0 && race.Detector {
		o.Free = usualFree
	}
	if o.test == "" {
		o.test = "explore.Reproduce(t, subject, %q)"
	}
	o.ownClock = o.Now != nil
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
