package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/fakes/cassette"
	"github.com/adkreplay/adkreplay/internal/safetext"
)

// exportOptions say which trace to read, what of it, and which file gets the conversation.
type exportOptions struct {
	trace, file string
	of          []string // who was asked; none is everybody
}

func newExport(t *terminal) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export trace",
		Short: "Write what a trace holds of a provider as a conversation",
		Long: `export writes what a turn asked over HTTP, and what it was answered, as the
conversation that fakes.ReadConversation reads and fakes.NewProvider and
fakes.NewTransport serve: an agent of another prompt, or of another language,
can be run over it.

Status, headers and the bytes of bodies are those that the trace holds. What it
does not hold, because it was cut off, redacted or too long, is refused with its
crossing, and nothing is written. What was asked otherwise than over HTTP is left
out. The conversation is as private as the trace.
` + exitHelp,
		Example: "  adkreplay export testdata/turns/oslo.jsonl -o oslo.json\n  adkreplay export --of api.openai.com turn.jsonl >model.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(args); err != nil {
				return misused(cmd, err)
			}
			return runExport(t, o)
		},
	}
	cmd.Flags().StringVarP(&o.file, "output", "o", stdout, "write the conversation to this `file`; - is the standard output")
	cmd.Flags().StringArrayVar(&o.of, "of", nil, "what this `name` was asked alone, as the trace names it; may be repeated")
	return cmd
}

func (o *exportOptions) parse(args []string) error {
	switch {
	case len(args) != 1:
		return fmt.Errorf("export takes one trace, and got %d arguments", len(args))
	case args[0] == "":
		return errors.New("argument 1 is empty: give a file")
	case o.file == "":
		return errors.New("--output needs a file, or - for the standard output")
	}
	o.trace = args[0]
	return nil
}

func runExport(t *terminal, o exportOptions) error {
	in, err := file(o.trace).open()
	if err != nil {
		return unreadable(err)
	}
	defer in.Close()
	recording, err := cassette.ReadTrace(safetext.Line(o.trace), in, o.of...)
	if err != nil {
		return unreadable(err)
	}
	return writeConversation(t, recording, o.trace, o.file)
}
