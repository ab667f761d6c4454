package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/replay"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	json bool
}

func newVerify(t *terminal) *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify [file|folder ...]",
		Short: "Run traces again and compare every crossing",
		Long: `verify runs the turn of every trace again on today's engine, with every seam
doing what was recorded, and compares every crossing. Of a folder it takes all
files that end in .jsonl, at any depth. Without arguments it takes the traces
that are part of this command.
` + exitHelp,
		Example: "  adkreplay verify\n  adkreplay verify testdata/turns\n  adkreplay verify --json turn.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVerify(cmd.Context(), t, o, args)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print the result as one JSON document")
	return cmd
}

// verdict is what verify found out about one trace.
type verdict struct {
	Trace      string             `json:"trace"`
	Crossings  int                `json:"crossings"`
	Divergence *replay.Divergence `json:"divergence,omitempty"`
	// Error says why the trace could not be read, or why it was not replayed.
	Error string `json:"error,omitempty"`

	code int
}

// summary is the result of verify as a whole.
type summary struct {
	Traces      []verdict `json:"traces"`
	Crossings   int       `json:"crossings"`
	Divergences int       `json:"divergences"`
	Unreadable  int       `json:"unreadable"`
	// UserCode tells whether code other than the engine's ran.
	UserCode bool `json:"userCode"`
	ExitCode int  `json:"exitCode"`
}

func runVerify(ctx context.Context, t *terminal, o verifyOptions, args []string) error {
	traces, err := findTraces(args)
	if err != nil {
		return err
	}
	var all summary
	for i, trace := range traces {
		t.step(i, len(traces), trace.name)
		v := verifyTrace(ctx, trace)
		all.add(v)
		if !o.json {
			printVerdict(t, v)
		}
	}
	t.clear()
	if o.json {
		return all.printJSON(t)
	}
	t.printf("every seam was played from its recording: no user code ran\n")
	t.printf("%d traces, %d crossings, %d divergences\n", len(all.Traces), all.Crossings, all.Divergences)
	return errSilent(all.ExitCode)
}

// add counts a verdict in. The codes are ordered: the highest wins.
func (s *summary) add(v verdict) {
	s.Traces = append(s.Traces, v)
	s.Crossings += v.Crossings
	if v.Divergence != nil {
		s.Divergences++
	}
	if v.code == exitUnreadable {
		s.Unreadable++
	}
	s.ExitCode = max(s.ExitCode, v.code)
}

func (s *summary) printJSON(t *terminal) error {
	encoded, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	t.printf("%s\n", encoded)
	return errSilent(s.ExitCode)
}

// verifyTrace replays one trace.
func verifyTrace(ctx context.Context, trace traceFile) verdict {
	v := verdict{Trace: trace.name}
	f, err := trace.open()
	if err != nil {
		v.Error, v.code = err.Error(), exitUnreadable
		return v
	}
	defer f.Close()
	report, err := replay.Verify(ctx, f, replay.Live{})
	if report != nil {
		v.Crossings, v.Divergence = report.Crossings, report.Divergence
	}
	if v.Divergence != nil {
		v.code = exitDivergence
	}
	if err != nil {
		v.Error, v.code = err.Error(), exitInternal
		var format *replay.FormatError
		if errors.As(err, &format) {
			v.code = exitUnreadable
		}
	}
	return v
}

func printVerdict(t *terminal, v verdict) {
	switch {
	case v.Error != "":
		t.printf("%s %s: %s\n", t.bad("unreadable"), v.Trace, v.Error)
	case v.Divergence == nil:
		t.printf("%s %s: %s\n", t.good("same"), v.Trace, crossings(v.Crossings))
	}
	if v.Divergence != nil {
		t.printf("%s %s: %s", t.bad("divergence"), v.Trace, v.Divergence)
	}
}

func crossings(n int) string {
	if n == 1 {
		return "1 crossing"
	}
	return fmt.Sprintf("%d crossings", n)
}
