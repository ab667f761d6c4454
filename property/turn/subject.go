package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
)

// Subject is a turn, or a dispatch called alone, that can be run again and again.
type Subject struct {
	// Name is what reports call it by.
	Name string
	// Build makes what one run needs, fresh: storage, tools and whatever else
	// remembers. Clock, ids, scheduling and probe are set by whoever runs it; a
	// *fakes.Clock that the config brings is kept, for user code that waits by it.
	// Cancel ends the context that is given to Run.
	// Goroutines that it starts may outlive the run.
	Build func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn)
	// Open stands in the place of Build where a run needs what has to be closed
	// again, such as a server or a pool of connections. The function that it gives,
	// which may be nil, is called once, when the run is over and was judged; not
	// where the run hangs.
	Open func(cancel context.CancelCauseFunc) (config adk.Config, raw adk.RawTurn, closeAll func())
	// Alone makes it a dispatch that is called alone; nil is a turn.
	Alone *Alone
}

// Begin is Build or Open, whichever there is; what closes is never nil.
func (s Subject) Begin(cancel context.CancelCauseFunc) (config adk.Config, raw adk.RawTurn, closeAll func()) {
	if s.Open == nil {
		config, raw = s.Build(cancel)
	} else {
		config, raw, closeAll = s.Open(cancel)
	}
	if closeAll == nil {
		closeAll = func() {}
	}
	return config, raw, closeAll
}

// Check reports whether the subject makes a turn at all.
func (s Subject) Check() error {
	if s.Build == nil && s.Open == nil {
		return errors.New("the subject has no Build: it makes the config and the raw turn of one run")
	}
	if s.Build != nil && s.Open != nil {
		return fmt.Errorf("%s has a Build and an Open: it is either that makes what one run needs", s.Name)
	}
	if s.Alone != nil {
		return fmt.Errorf("%s is a dispatch called alone: only turns are explored", s.Name)
	}
	config, raw, closeAll := s.Begin(func(error) {})
	defer closeAll()
	config.Probe, config.Clock, config.IDs = nil, nil, nil
	runner, err := adk.NewRunner(config)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel() // the raw turn is validated, and no user code runs
	if err := runner.Run(ended, raw); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}
