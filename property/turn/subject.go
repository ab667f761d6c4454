package turn

import (
	"context"
	"errors"
	"fmt"
	"iter"

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
	// Open stands in the place of Build where a run has more of its own: a check that
	// looks into it, a turn that follows, or what has to be closed again.
	Open func(cancel context.CancelCauseFunc) Instance
	// Check is asked about every run beside the invariants; an error is a violation.
	// It may be called from several goroutines at once, for runs that are each its own.
	Check func(Run) error
	// Errors gives the error that a client has for what an explorer breaks in an ask outside
	// HTTP, by whom is asked and how it breaks: of gRPC codes.Unavailable for AskRefused, say, and
	// of Redis redis.Nil for AskEmpty. With one, AskBusy, AskFailed, AskUnavailable and
	// AskUnauthorized are tried there too. Nil, for all or for one, is what package net says
	// where a connection breaks, and an empty answer where nothing comes.
	Errors func(of string, kind FaultKind) error
	// Scripted says that user code does what is written down, whatever happens to it:
	// nothing is said then of how it takes what goes wrong, beside the invariants and
	// the checks.
	Scripted bool
	// Standalone makes it a dispatch that is called alone; nil is a turn.
	Standalone *Standalone
}

// Instance is what one run of a subject needs, and has for itself.
type Instance struct {
	Config adk.Config
	Raw    adk.RawTurn
	// Check is asked about this run beside Subject.Check, and may look into what Open
	// has made for it, such as a database or a map. What the run did over HTTP it reads in
	// Run.Asks: where an explorer breaks an answer, that host is not called from there
	// on, and answered from the undisturbed run, and a server that Open made sees nothing of
	// what is asked.
	Check func(Run) error
	// Next makes the turn that follows this one in a program that was started anew:
	// nothing of this run may be in it but what its storage has written. With it, a run
	// is also broken off as a crash would, and every run is followed by that turn,
	// undisturbed: Run.Next is what came of it.
	Next func() (adk.Config, adk.RawTurn)
	// Close is called once, when the run is over and was judged; not where the run
	// hangs. It may be nil.
	Close func()
}

// Run is a run of a subject that is over, for a check of the user's own.
type Run struct {
	Schedule Schedule
	// Config is what the subject made for this run: its storage is there to be
	// looked into.
	Config adk.Config
	// Info is what the probe was told of the run.
	Info adk.RunInfo
	// Crossings are all crossings of the run. They are good during the check only.
	Crossings iter.Seq[*adk.Crossing]
	// Crashed says that the run was broken off by a crash: it has no end.
	Crashed bool
	// Next is the turn that followed, where Instance.Next makes one.
	Next *Run
}

// Begin is Build or Open, whichever there is; Close is never nil.
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

// Judge asks the checks of the subject and of the instance about a run.
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

// Validate reports whether the subject makes a turn at all.
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
	cancel() // the raw turn is validated, and no user code runs
	if err := runner.Run(ended, i.Raw); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}
