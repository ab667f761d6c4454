package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// The exit codes. Where several apply, the highest wins.
const (
	exitSame       = 0 // everything is as it was recorded, or as it has to be
	exitDivergence = 1 // something differs from the recording
	exitFound      = 1 // an invariant is violated, there is a hint, a file is stale, a turn was shrunk, or nothing matches
	exitUsage      = 2 // wrong usage; nothing was done
	exitUnreadable = 3 // a trace or a report cannot be read
	exitInternal   = 4 // not everything was done that was asked for
)

const exitHelp = `
Exit codes; where several apply, the highest wins:
  0  the same: every crossing is as it was recorded
  1  a divergence: at least one crossing differs, and was not accepted;
     or check found a violation, lint a hint, stale a file, or shrink
     something to keep; or nothing matches show --grep
  2  wrong usage: nothing was done
  3  a trace, or a report to merge, that cannot be read: malformed,
     truncated, of an unknown version, or absent
  4  not everything was done that was asked for: an internal failure,
     an interrupt, a shard without a report, a result that cannot be
     written, a file of which stale cannot tell
`

// exitError is an error that knows with which code the command ends. Without an
// err, all has been said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// said is what a document says of it: nothing where all has been said.
func (e *exitError) said() string {
	if e.err == nil {
		return ""
	}
	return e.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// ended ends the command with a code when all has been said.
func ended(code int) error {
	if code == exitSame {
		return nil
	}
	return &exitError{code: code}
}

func internal(err error) error { return &exitError{exitInternal, err} }

// unreadable is about what cannot be read, unless the wait for it was interrupted.
func unreadable(err error) error {
	if errors.Is(err, context.Canceled) {
		return internal(errors.New("interrupted"))
	}
	return &exitError{exitUnreadable, safetext.WithoutPackage(err)}
}

// misused is a complaint about the arguments of cmd, with where to read what
// would be right.
func misused(cmd *cobra.Command, err error) error {
	return &exitError{exitUsage, fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
}

// classified gives every error a code. What no command of ours classified is a
// complaint of cobra's about the arguments.
func classified(err error) *exitError {
	if err == nil {
		return &exitError{code: exitSame}
	}
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return exit
	}
	return &exitError{exitUsage, err}
}
