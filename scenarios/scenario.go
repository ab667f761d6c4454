package scenarios

import (
	"context"
	"fmt"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// Scenario is a named turn.
type Scenario struct {
	// Name is the name of the scenario, in lower case with dashes.
	Name string
	// About says in one line what the turn shows.
	About string
	// Build makes everything that one run needs, anew: storage, tools and whatever else has state.
	// Run adds clock, ids and scheduling.
	Build func(outside Outside) (adk.Config, adk.RawTurn)
	// Must is how the turn must end.
	Must Ending
}

// Outside holds what can be done to a turn from outside.
type Outside struct {
	// Cancel ends the context that was given to Run.
	Cancel context.CancelCauseFunc
}

// Ending is what is visible of a turn when it is over.
type Ending struct {
	// Dispatch is the status of the dispatch; empty if there was none.
	Dispatch string
	// Iterations is the number of iterations that were started.
	Iterations int
	// Errors are the codes of the error events, in order.
	Errors []adk.Code
	// Said are the texts of the completed messages, in order.
	Said []string
}

// Run runs the scenario once, observed by the probes, with a clock, ids and a scheduler that make
// every run the same. It returns an error if the turn does not end as it must.
func (s Scenario) Run(ctx context.Context, probes ...adk.Probe) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	config, turn := s.Build(Outside{Cancel: cancel})
	runner, err := adk.NewRunner(fakes.Deterministic(config, probes...))
	if err != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	var seen Ending
	runner.On(adk.Functional{Message: func(e adk.MessageEvent) {
		if e.Complete {
			seen.Said = append(seen.Said, e.Full)
		}
	}})
	runner.Observe(adk.Observability{
		DispatchEnd: func(e adk.DispatchEnd) { seen.Dispatch, seen.Iterations = e.Status, e.Iterations },
		Error:       func(e adk.ErrorEvent) { seen.Errors = append(seen.Errors, e.Error.Code) },
	})
	if err := runner.Run(ctx, turn); err != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	if !seen.equal(s.Must) {
		return fmt.Errorf("scenario %s: the turn ended as %+v and must end as %+v", s.Name, seen, s.Must)
	}
	return nil
}

func (e Ending) equal(other Ending) bool {
	return e.Dispatch == other.Dispatch && e.Iterations == other.Iterations &&
		slices.Equal(e.Errors, other.Errors) && slices.Equal(e.Said, other.Said)
}

// All returns the scenarios, the simple ones first.
func All() []Scenario {
	return slices.Concat(conversations, playground, toolUses, media, artifacts, storages, asks, signals, shortCircuits, failures, aborts, gates, dispatches, grounded, details)
}

// Named finds a scenario by its name.
func Named(name string) (Scenario, bool) {
	all := All()
	at := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if at < 0 {
		return Scenario{}, false
	}
	return all[at], true
}
