package explore

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/adkreplay/adkreplay/internal/race"
	"github.com/adkreplay/adkreplay/property/turn"
)

// Options configures an exploration. The zero value means bound 1, without a limit.
type Options struct {
	// Bound is the largest number of things that go wrong in one run: each fault counts as one, and
	// so does an order of strands that is not the usual one. Zero means 1. The number of schedules
	// grows exponentially with Bound.
	Bound int
	// Schedules is the largest number of schedules to run; zero means all.
	Schedules int
	// Budget limits the time of the exploration, measured by Now; zero means no limit.
	Budget time.Duration
	// Workers is how many runs are under way at once; zero means GOMAXPROCS. The findings do not
	// depend on it.
	Workers int
	// Faults lists the kinds of faults to try. Nil means all; an empty list means none, so that
	// only orders of strands (and other inputs) are tried.
	Faults []turn.FaultKind
	// UsualInput makes every run begin with the conversation in the subject's storage and with its
	// system prompt unchanged: the explorer tries no other inputs.
	UsualInput bool
	// Free is the number of additional runs whose strands run in parallel, so that the race
	// detector sees what they share. These runs are not checked for anything else. Zero means 20 if
	// the race detector is on, and none otherwise; a negative number means none.
	Free int
	// AllOrders also tries the orders of strands that are taken to be equivalent. Set it for user
	// code whose strands share state outside the engine, the storage and the tools.
	AllOrders bool
	// Background names functions, as they appear in stack traces, whose goroutines may outlive a
	// turn, such as those that a driver runs for its pooled connections. The idle connections of
	// net/http and the pools of database/sql need not be named.
	Background []string
	// Now is the clock for Budget and Exploration.Elapsed; nil means the system's.
	Now func() time.Time
	// Progress, if not nil, is called with the number of schedules that were run, and the number
	// known so far in all. It is called from one goroutine at a time.
	Progress func(run, known int)
	// Command is the terminal command that explores the subject. It is the prefix of
	// Breach.Command; empty means that there is none.
	Command string

	ownClock bool   // whether Now was set by the caller
	test     string // format of the line of Go that reproduces a violation; its verb is for the schedule
	known    known  // violations of other subjects of the same test; nil if there is only one subject
}

// Explore runs a subject again and again, and breaks it at every crossing in every way that applies
// there. FaultKinds lists the faults, and Exploration.Table says what was tried. Explore also runs
// the strands in every order that can matter. Two orders are equivalent if one results from the
// other by exchanging neighbouring steps of two strands whose crossings show that the steps touch
// nothing in common and change nothing that handles read (see the comment in orders.go). After each
// run Explore checks the invariants, and what only an explorer can see: that Run returned nil, that
// the turn ended, that nothing was left behind, and that the same schedule does the same again.
//
//	result, err := explore.Explore(ctx, subject, explore.Options{Bound: 2})
//	require.NoError(t, err)
//	require.Empty(t, result.Violations, result)
//
// In go test, Test is shorter.
//
// Time that is read from the engine is virtual: hours of Sleep and of waiting at gates pass at
// once, and a caller whose turn stands still cancels after a hundred virtual years. Time that
// packages context and time measure, as in context.WithTimeout, is real, and passes anew in each
// schedule that waits for it. A strand that is blocked by other means than the engine's, such as a
// lock, loses its turn to another strand, and what it does from there to its next operation has no
// defined order. Code that waits for real time is waited for. If nothing in a run can ever go on,
// that is a deadlock, reported with the lines of user code that wait. Code that neither returns nor
// asks the engine for anything is a hang. It ends the exploration, since the hanging goroutine
// cannot be stopped. An exploration ends within a second of its budget, or of the end of ctx,
// whatever user code does.
//
// Goroutines that were started in a run and outlive it count as left behind, except for the pools
// of net/http and database/sql and what Options.Background names. Two runs of a schedule may differ
// in a port that the system chose, if an error of package net names it or if it belongs to a
// loopback address in any text.
//
// An exploration makes much garbage and keeps little of it. A long one on several cores runs about
// half as fast again with GOGC=400.
//
// The error says that the subject makes no turn. When ctx ends, the exploration ends with what it
// has found, and says so in NotCovered.
func Explore(ctx context.Context, subject turn.Subject, options Options) (*Exploration, error) {
	e, err := measured(ctx, subject, options)
	if err != nil {
		return nil, err
	}
	defer e.close()
	e.explore()
	return e.result, nil
}

// RunSchedule runs one schedule of a subject and returns what it violates. The error says that the
// subject makes no turn, or no turn in which the schedule can happen.
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

// impossible is the error of a schedule that cannot happen.
type impossible struct{ error }

func (i impossible) Unwrap() error { return i.error }

// measured returns an exploration that has run the undisturbed turn and knows its length.
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

// validate makes the subject build a turn, without running it, and close it.
func (e *exploring) validate() error {
	valid := make(chan error, 1)
	if !e.limit.Wait(func() { valid <- e.subject.Validate() }) {
		return fmt.Errorf("%s: the first turn that it makes is not made, or not closed: %s", e.subject.Name, e.whyOver())
	}
	return <-valid
}

// realBudget returns the budget if it is measured by the system's clock, and zero otherwise.
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
