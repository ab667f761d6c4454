package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// The exit codes. If several apply, the highest wins.
const (
	exitSame       = 0 // everything is as recorded, or as it must be
	exitDivergence = 1 // something differs from the recording
	exitFound      = 1 // an invariant is violated, there is a hint, a file is stale, a turn was shrunk, or nothing matches
	exitUsage      = 2 // wrong usage; nothing was done
	exitUnreadable = 3 // a trace or a report cannot be read
	exitInternal   = 4 // not everything that was requested was done
)

// exitHeading comes before the exit codes in the help of each command.
const exitHeading = "\nExit codes; where several apply, the highest wins:\n"

// The texts of exit codes that several commands share.
const (
	sameWords       = "the same: every crossing is as it was recorded"
	divergenceWords = "a divergence: at least one crossing differs"
	traceWords      = "a trace that cannot be read: malformed, truncated, of an unknown version, or absent"
)

// exits returns the exit codes of a command for its help. found and unread are empty if the command
// never returns these codes; undone continues the text of the last code.
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

// exitError is an error with the exit code of the command. If err is nil, everything was printed
// already.
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

// said returns the text for a JSON document, or "" if everything was printed already.
func (e *exitError) said() string {
	if e.err == nil {
		return ""
	}
	return e.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// ended returns the error for a code when everything was printed already.
func ended(code int) error {
	if code == exitSame {
		return nil
	}
	return &exitError{code: code}
}

func internal(err error) error { return &exitError{exitInternal, err} }

// unreadable returns the error for something that cannot be read, unless the wait for it was
// interrupted.
func unreadable(err error) error {
	if errors.Is(err, context.Canceled) {
		return internal(errors.New("interrupted"))
	}
	return &exitError{exitUnreadable, safetext.WithoutPackage(err)}
}

// misused returns an error about the arguments of cmd, which points to its help.
func misused(cmd *cobra.Command, err error) error {
	return &exitError{exitUsage, fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
}

// classified gives every error a code. An error without a code is one of cobra's about the
// arguments.
func classified(err error) *exitError {
	if err == nil {
		return &exitError{code: exitSame}
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit
	}
	return &exitError{exitUsage, err}
}
