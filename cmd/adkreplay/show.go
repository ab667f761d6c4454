package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/replay"
)

// showOptions say what to show.
type showOptions struct {
	path string
}

func newShow(t *terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "show file",
		Short: "Print the transcript of a trace",
		Long: `show prints the transcript of a trace: everything that passed between the
engine and user code, in order. Of a trace that breaks off it shows what there
is, and then fails.
` + exitHelp,
		Example: "  adkreplay show turn.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := parseShow(args)
			if err != nil {
				return misused(cmd, err)
			}
			return runShow(cmd.Context(), t, o)
		},
	}
}

func parseShow(args []string) (showOptions, error) {
	if len(args) != 1 {
		return showOptions{}, fmt.Errorf("show takes one file, and got %d", len(args))
	}
	return showOptions{path: args[0]}, nil
}

func runShow(ctx context.Context, t *terminal, o showOptions) error {
	trace := file(o.path)
	f, err := trace.open()
	if err != nil {
		return unreadable(err)
	}
	defer f.Close()
	return showTrace(ctx, t, trace, f)
}

// showTrace prints the transcript of a trace as it is read. That the transcript
// could not be written is the terminal's to say.
func showTrace(ctx context.Context, t *terminal, trace traceFile, content io.Reader) error {
	err := replay.WriteTranscript(t.out, interruptible{ctx, content}, trace.options())
	switch {
	case err == nil || t.out.err != nil:
		return nil
	case ctx.Err() != nil:
		return internal(errors.New("interrupted"))
	}
	return unreadable(errors.New(fault(trace.name, err)))
}

// interruptible is a reader that ends when its context does.
type interruptible struct {
	ctx context.Context
	io.Reader
}

// Read reads unless the context has ended.
func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
