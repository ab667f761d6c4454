package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/replay"
)

// The exit codes. Where several apply, the one further down wins.
const (
	exitSame       = 0 // everything is as it was recorded
	exitDivergence = 1 // something differs from the recording
	exitUsage      = 2 // wrong usage; nothing was done
	exitUnreadable = 3 // a trace cannot be read: malformed, truncated, of an unknown version, absent
	exitInternal   = 4 // the command itself failed
)

const exitHelp = `
Exit codes:
  0  the same: every crossing is as it was recorded
  1  a divergence: at least one crossing differs
  2  wrong usage: nothing was done
  3  a trace that cannot be read: malformed, truncated, of an unknown
     version, or absent; it wins over 1
  4  an internal failure; it wins over all
`

// exitError is an error that knows with which code the command ends. Its text
// has been printed already if silent.
type exitError struct {
	code   int
	silent bool
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// errSilent ends the command with a code when all has been said.
func errSilent(code int) error {
	if code == exitSame {
		return nil
	}
	return &exitError{code: code, silent: true, err: errors.New("said already")}
}

// execute runs the command and turns its error into an exit code: the only
// place that knows how.
func execute(args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "adkreplay: internal failure: %v\n", r)
			code = exitInternal
		}
	}()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := newRoot(newTerminal(stdout, stderr))
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitSame
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{code: codeOf(err), err: err}
	}
	if !exit.silent {
		fmt.Fprintf(stderr, "adkreplay: %s\n", exit.err)
	}
	return exit.code
}

// codeOf classifies an error that no command classified: what cobra complains
// of is usage.
func codeOf(err error) int {
	if unreadable(err) {
		return exitUnreadable
	}
	return exitUsage
}

// unreadable tells whether an error says that a trace cannot be read.
func unreadable(err error) bool {
	var format *replay.FormatError
	var path *fs.PathError
	return errors.As(err, &format) || errors.As(err, &path)
}

func newRoot(t *terminal) *cobra.Command {
	root := &cobra.Command{
		Use:   "adkreplay",
		Short: "Run recorded agent turns again and say whether they still do the same",
		Long: `adkreplay runs recorded agent turns again on today's engine and says whether
they still do the same.

Everything happens in this process: no network, no model, no key.
` + exitHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newVerify(t), newRun(t), newShow(t))
	return root
}
