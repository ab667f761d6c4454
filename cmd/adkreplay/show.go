package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/replay"
)

func newShow(t *terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "show file",
		Short: "Print the transcript of a trace",
		Long: `show prints the transcript of a trace: everything that passed between the
engine and user code, in order. Of a trace that breaks off it shows what there
is, and then fails.
` + exitHelp,
		Example: "  adkreplay show turn.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := file(args[0]).open()
			if err != nil {
				return &exitError{code: exitUnreadable, err: err}
			}
			defer f.Close()
			return showTrace(t, args[0], f)
		},
	}
}

// showTrace prints the transcript of a trace as it is read.
func showTrace(t *terminal, name string, trace io.Reader) error {
	err := replay.WriteTranscript(t.out, trace)
	var format *replay.FormatError
	if errors.As(err, &format) {
		return &exitError{code: exitUnreadable, err: fmt.Errorf("%s: %w", name, err)}
	}
	if err != nil {
		return &exitError{code: exitInternal, err: fmt.Errorf("%s: %w", name, err)}
	}
	return nil
}
