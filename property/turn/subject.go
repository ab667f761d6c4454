package turn

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/adkreplay/adkreplay/adk"
)

// Subject is a turn, or a standalone dispatch, that can be run again and again.
type Subject struct {
	// Name is the name in reports.
	Name string
	// Build makes everything that one run needs, anew: storage, tools and whatever else has state.
	// The runner of the subject sets clock, ids, scheduling and probe; it keeps a *fakes.Clock in
	// the config, for user code that waits by it. cancel ends the context that is given to Run.
	// Goroutines that Build starts may outlive the run.
	Build func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn)
	// Open replaces Build if a run has more of its own: a check that looks into it, a turn that
	// follows, or something to be closed.
	Open func(cancel context.CancelCauseFunc) Instance
	// Check is called for every run, in addition to the invariants; an error is a violation. It may
	// be called concurrently for different runs.
	Check func(Run) error
	// Errors returns the error that a client gets when an explorer breaks an ask outside HTTP,
	// given the party asked and the kind of fault: for gRPC, for example, codes.Unavailable for
	// AskRefused, and for Redis redis.Nil for AskEmpty. If Errors is set, AskBusy, AskFailed,
	// AskUnavailable and AskUnauthorized are tried for such asks too. If it is nil, or returns nil,
	// a broken connection gives an error of package net, and an empty answer is empty.
	Errors func(of string, kind FaultKind) error
	// Scripted says that user code always does what is written down, whatever happens to it. Then
	// nothing is reported about how it handles faults, except by the invariants and the checks.
	Scripted bool
	// Standalone makes it a standalone dispatch; nil means a turn.
	Standalone *Standalone
}

// Instance is what one run of a subject needs and owns.
type Instance struct {
	Config adk.Config
	Raw    adk.RawTurn
	// Check is called for this run, in addition to Subject.Check, and may look into what Open has
	// made for it, such as a database or a map. What the run asked over HTTP is in Run.Asks. A
	// server that Open made does not see all of it: once an explorer breaks an answer, that host is
	// no longer called, and further asks are answered from the undisturbed run.
	Check func(Run) error
	// Next makes the turn that follows this one in a program that was started anew: it must share
	// nothing with this run except what its storage has written. If Next is set, a run is also
	// ended by crashes, and every run is followed by that turn, undisturbed; Run.Next holds its
	// result.
	Next func() (adk.Config, adk.RawTurn)
	// Close is called once, after the run is over and was judged, but not if the run hangs. It may
	// be nil.
	Close func()
}

// Run is a finished run of a subject, for a check of the user's own.
type Run struct {
	Schedule Schedule
	// Config is what the subject made for this run; a check may look into its storage.
	Config adk.Config
	// Info is what the probe's Observe received for the run.
	Info adk.RunInfo
	// Crossings yields all crossings of the run. It may be used only during the check.
	Crossings iter.Seq[*adk.Crossing]
	// Crashed says that the run was ended by a crash: it has no end.
	Crashed bool
	// Next is the turn that followed, if Instance.Next makes one.
	Next *Run
}

// Begin calls Build or Open, whichever is set. The Close that it returns is never nil.
func (s Subject) Begin(cancel context.CancelCauseFunc) (i Instance) {
	if s.Open == nil {
		i.Config, i.Raw = s.Build(cancel)
	} else {
		i = s.Open(cancel)
	}
	if i.Close == nil {
		i.Close = func() {}
	}
	return i
}

// Judge calls the checks of the subject and of the instance for a run, and returns the first error.
func (s Subject) Judge(i Instance, r Run) error {
	for _, check := range []func(Run) error{s.Check, i.Check} {
		if check == nil {
			continue
		}
		if err := check(r); err != nil {
			return err
		}
	}
	return nil
}

// IsJudged reports whether the subject or the instance has a check.
func (s Subject) IsJudged(i Instance) bool { return s.Check != nil || i.Check != nil }

// Validate returns an error if the subject does not make a valid turn.
func (s Subject) Validate() error {
	if s.Build == nil && s.Open == nil {
		return errors.New("the subject has no Build: it makes the config and the raw turn of one run")
	}
	if s.Build != nil && s.Open != nil {
		return fmt.Errorf("%s has a Build and an Open: it is either that makes what one run needs", s.Name)
	}
	if s.Standalone != nil {
		return fmt.Errorf("%s is a dispatch called alone: only turns are explored", s.Name)
	}
	i := s.Begin(func(error) {})
	defer i.Close()
	config := i.Config
	config.Probe, config.Clock, config.IDs = nil, nil, nil
	runner, err := adk.NewRunner(config)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel() // Run validates the raw turn, but runs no user code
	if err := runner.Run(ended, i.Raw); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}
