package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/whatif"
)

// replayOptions say which turn to run again, and what to answer differently.
type replayOptions struct {
	path    string
	answers []whatif.Override
	file    string // receives the new trace; if empty, it is not written
	json    bool
}

// replayFlags are the flags of replay as given.
type replayFlags struct {
	set  []string
	out  string
	json bool
}

func newReplay(t *terminal) *cobra.Command {
	var flags replayFlags
	cmd := &cobra.Command{
		Use:   "replay file --set PATH=VALUE ...",
		Short: "Answer a recorded crossing differently, and see what comes of it",
		Long: `replay runs the turn of a trace again on today's engine with one crossing, or
several, answered differently, and prints in what the new run differs, as diff
does: a is the recording, b the new run. With --out it writes the new trace.

PATH is the number of a crossing, as show --grep . prints it, and a field:
  23.result               what the tool whose return is crossing 23 gave
  23.args.city            a member of arguments
  6.records[0].content    a field of a record of a storage; [q1] is by key
  24.value                what a gate was resolved with
  23.error                how a call failed; it failed if it had not
  run.prompt              the path of a seam that was called once, and a field
  gate1.error             the name of a gate, as show has it, and how it settled
  23.cancel               the caller cancels before crossing 23, for this reason
  23.at                   how long after the crossing before it happened
The fields have the names that they have in the file, and in show --json. One
that the crossing lacks is taken from what belongs to it: of an execute its
tool's result, of a wait-for what settled it.

VALUE is JSON as in the file, or a text. null takes the field away.

What user code or the outside gave can be set; what the engine decided cannot:
seeing that is what this command is for. No user code runs: what it was asked,
shown or answered differently is said, and it does what it did. To have it react,
call whatif.Run of package replay/whatif with it as a live seam.
` + exits("it ran, whatever came of it", "", traceWords, ""),
		Example: "  adkreplay replay turn.jsonl --set 22.result=cold\n  adkreplay replay turn.jsonl --set 19.args='{\"town\":\"Oslo\"}'\n" +
			"  adkreplay replay turn.jsonl \\\n      --set executor/model#1.error='rate limited' --out limited.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := parseReplay(flags, args)
			if err != nil {
				return misused(cmd, err)
			}
			return runReplay(cmd.Context(), t, o)
		},
	}
	cmd.Flags().StringArrayVar(&flags.set, "set", nil, "answer a crossing differently: `PATH=VALUE`; may be given several times")
	cmd.Flags().StringVar(&flags.out, "out", "", "write the trace of the new run to this `file`")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print the result as one JSON document")
	return cmd
}

func parseReplay(flags replayFlags, args []string) (replayOptions, error) {
	switch {
	case len(args) != 1:
		return replayOptions{}, fmt.Errorf("replay takes one file, and got %d", len(args))
	case len(flags.set) == 0:
		return replayOptions{}, errors.New("replay needs --set PATH=VALUE; to run a trace as it is, there is verify")
	}
	if flags.out == stdout {
		return replayOptions{}, errors.New("--out needs a file: the standard output has the text")
	}
	if err := checkFiles(args); err != nil {
		return replayOptions{}, err
	}
	o := replayOptions{path: args[0], file: flags.out, json: flags.json}
	for _, set := range flags.set {
		answer, err := whatif.ParseOverride(set)
		if err != nil {
			return replayOptions{}, fmt.Errorf("--set: %w", safetext.WithoutPackage(err))
		}
		o.answers = append(o.answers, answer)
	}
	return o, nil
}

// replayed is the JSON document of the command.
type replayed struct {
	*whatif.Report
	Error    string `json:"error,omitempty"`
	ExitCode int    `json:"exitCode"`
}

func runReplay(ctx context.Context, t *terminal, o replayOptions) error {
	trace := file(ctx, o.path)
	f, err := trace.open()
	if err != nil {
		return unreadable(err)
	}
	defer f.Close()
	defer t.busy("replaying " + o.path)()
	report, err := whatif.Run(ctx, interruptible{ctx, f}, replay.Live{}, o.answers, t.holding(trace, 8))
	if err != nil {
		return notReplayed(ctx, trace, err)
	}
	if o.file != "" {
		var written bytes.Buffer
		if _, err := report.Trace.WriteTo(&written); err != nil {
			return internal(err)
		}
		if err := writeTrace(o.file, written.Bytes()); err != nil {
			return err
		}
	}
	if o.json {
		return printJSON(t, &replayed{Report: report})
	}
	t.clear()
	_, _ = report.WriteTo(t.page) // the terminal keeps the error
	return nil
}

// notReplayed returns the error, with its exit code, for a turn that was not run again.
func notReplayed(ctx context.Context, recorded traceFile, err error) error {
	format := (*trace.FormatError)(nil)
	switch {
	case ctx.Err() != nil:
		return internal(errors.New("interrupted"))
	case errors.Is(err, whatif.ErrOverride):
		return &exitError{exitUsage, fmt.Errorf("--set %w", safetext.WithoutPackage(err))}
	case errors.As(err, &format):
		return unreadable(errors.New(safetext.OfFile(recorded.name, err)))
	}
	return internal(errors.New(safetext.OfFile(recorded.name, err)))
}
