package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/replay"
)

// verifyOptions say what to verify.
type verifyOptions struct {
	paths []string // none: the embedded traces
	json  bool
}

func newVerify(t *terminal) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [file|folder ...]",
		Short: "Run traces again and compare every crossing",
		Long: `verify runs the turn of every trace again on today's engine, with every seam
doing what was recorded, and compares every crossing. Of a folder it takes all
files that end in .jsonl, at any depth. Without arguments it takes the traces
that are part of this command. A trace that cannot be read does not keep the
others from being verified.
` + exitHelp,
		Example: "  adkreplay verify\n  adkreplay verify testdata/turns\n  adkreplay verify --json turn.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := parseVerify(asJSON, args)
			if err != nil {
				return misused(cmd, err)
			}
			return runVerify(cmd.Context(), t, o)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	return cmd
}

// parseVerify refuses an empty path, which is what a shell makes of a variable
// that is not set.
func parseVerify(asJSON bool, args []string) (verifyOptions, error) {
	if at := slices.Index(args, ""); at >= 0 {
		return verifyOptions{}, fmt.Errorf("argument %d is empty: give a file or a folder, or no argument", at+1)
	}
	return verifyOptions{paths: args, json: asJSON}, nil
}

func runVerify(ctx context.Context, t *terminal, o verifyOptions) error {
	traces := findTraces(o.paths)
	all := newSummary()
	for i, trace := range traces {
		t.step(i, len(traces), trace.name)
		v := verifyTrace(ctx, trace)
		if ctx.Err() != nil {
			break // what was cut short is no verdict
		}
		all.add(v)
		if !o.json {
			v.print(t)
		}
	}
	if ctx.Err() != nil {
		all.fail(fmt.Sprintf("interrupted: %d of %d traces were verified", len(all.Traces), len(traces)))
	}
	return all.conclude(t, o)
}

// verifyTrace replays one trace. Whatever the replay complains of is in the
// trace: one that tells no turn cannot be read as one.
func verifyTrace(ctx context.Context, trace traceFile) verdict {
	v := verdict{Trace: trace.name}
	f, err := trace.open()
	if err != nil {
		v.Error = err.Error()
		return v
	}
	defer f.Close()
	report, err := replay.Verify(ctx, f, replay.Live{}, trace.options())
	if report != nil {
		v.replayed(report)
	}
	if err != nil {
		v.Error = fault(trace.name, err)
	}
	return v
}
