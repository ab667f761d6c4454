package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/diff"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// diffOptions say what to compare.
type diffOptions struct {
	a, b     string
	json     bool
	times    bool
	encoding string
}

// compared is the whole result.
type compared struct {
	*diff.Diff
	ExitCode int `json:"exitCode"`
	// Error says why a trace was compared only in part, or not at all.
	Error string `json:"error,omitempty"`
}

func newDiff(t *terminal) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff a b",
		Short: "Say in what two traces differ",
		Long: `diff aligns two traces by cause: an inserted middleware, or a record that is
stored once more, is a difference of its own, and everything else is still
compared with its like. Equal stretches are folded; - is what only a has, + what
only b has. Ids that are renamed one to one, and times, are no differences.

At the end stands what the two come to. Prompt tokens are those of all that the
executor calls were shown, and said tokens those of the messages.

A trace that breaks off is compared as far as it goes; the command then fails.
One with a line that says nothing is not compared.
` + exits("the two are the same", "they differ", traceWords, ""),
		Example: "  adkreplay diff before.jsonl after.jsonl\n  adkreplay diff --json before.jsonl after.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := parseDiff(o, args)
			if err != nil {
				return misused(cmd, err)
			}
			return runDiff(cmd.Context(), t, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print the result as one JSON document")
	cmd.Flags().BoolVar(&o.times, "times", false, "compare times too")
	registerEncoding(cmd, &o.encoding, "the `name` of the encoding in which tokens are counted")
	return cmd
}

func parseDiff(o diffOptions, args []string) (diffOptions, error) {
	if len(args) != 2 {
		return diffOptions{}, fmt.Errorf("diff takes two files, and got %d", len(args))
	}
	o.a, o.b = args[0], args[1]
	return o, checkFiles(args)
}

func runDiff(ctx context.Context, t *terminal, o diffOptions) error {
	defer t.busy("comparing " + o.a + " with " + o.b)()
	a, faultA := readTrace(ctx, t, file(ctx, o.a))
	b, faultB := readTrace(ctx, t, file(ctx, o.b))
	if ctx.Err() != nil {
		return internal(errors.New("interrupted"))
	}
	if faultA != nil && faultB != nil && faultA.Error() == faultB.Error() { // the same file was given twice
		faultB = nil
	}
	faulty := errors.Join(faultA, faultB)
	if a == nil || b == nil {
		return unreadable(faulty)
	}
	d := diff.Traces(a, b, diff.Options{Times: o.times, Encoding: o.encoding})
	var err error
	if !d.Same() {
		err = ended(exitDivergence)
	}
	if faulty != nil {
		err = unreadable(faulty)
	}
	if !o.json {
		t.clear()
		_, _ = d.WriteTo(t.page) // the terminal keeps the error
		return err
	}
	exit := classified(err)
	return concluded(t, compared{d, exit.code, exit.said()}, exit)
}

// readTrace reads a whole trace. If the trace has a fault, readTrace returns the lines before it
// and the error. But for a malformed line, such as the marker of a merge conflict in git, it
// returns no trace, because comparing only the lines before it would show false differences.
func readTrace(ctx context.Context, t *terminal, f traceFile) (*trace.Trace, error) {
	content, err := f.open()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	recorded, err := trace.Read(interruptible{ctx, content}, t.holding(f, 5))
	if format, ok := errors.AsType[*trace.FormatError](err); ok && format.Fault == trace.FaultMalformed {
		recorded = nil
	}
	if err != nil {
		err = errors.New(safetext.OfFile(f.name, err))
	}
	return recorded, err
}
