package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// exitHeading stands above the exit codes in the help of each command.
const exitHeading = "\nExit codes; where several apply, the highest wins:\n"

// What is said of a code by more than one command.
const (
	sameWords       = "the same: every crossing is as it was recorded"
	divergenceWords = "a divergence: at least one crossing differs"
	traceWords      = "a trace that cannot be read: malformed, truncated, of an unknown version, or absent"
)

// exits are the exit codes of a command, as its help says them: what each is of that command.
// found and unread are empty where it never ends so; undone goes on with what it may leave undone.
func exits(same, found, unread, undone string) string {
	undone = "not everything was done that was asked for: an internal failure, an interrupt, a result that cannot be written" + undone
	text := exitHeading
	for code, words := range []string{same, found, "wrong usage: nothing was done", unread, undone} {
		if words != "" {
			text += fmt.Sprintf("  %d  %s\n", code, strings.ReplaceAll(safetext.Wrapped(words, usualColumns-len("  0  "), ""), "\n", "\n     "))
		}
	}
	return text
}

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
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit
	}
	return &exitError{exitUsage, err}
}
