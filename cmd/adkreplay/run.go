package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wholefile"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/scenarios"
)

// runOptions say what to run. Without scenarios they are listed.
type runOptions struct {
	scenarios []scenarios.Scenario
	// file takes the trace of the one scenario; empty, it is shown only.
	file string
	// folder takes the traces of all scenarios; empty, only one is run.
	folder string
}

// runFlags are the flags of run as they were given.
type runFlags struct {
	output    string
	hasOutput bool
	all       bool
}

func newRun(t *terminal) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run [scenario]",
		Short: "Run a named scenario and show its turn; without a name, list them all",
		Long: `run runs one of the named scenarios and prints its transcript: everything that
passed between the engine and user code, in order. With -o it records the turn
as a trace. Without a name it lists the scenarios; with --all it records every
one of them into the folder given with -o.
` + exitHelp,
		Example:   "  adkreplay run\n  adkreplay run tool-round-trip\n  adkreplay run hello -o hello.jsonl\n  adkreplay run --all -o traces",
		ValidArgs: scenarioNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.hasOutput = cmd.Flags().Changed("output")
			o, err := parseRun(flags, args)
			if err != nil {
				return misused(cmd, err)
			}
			return runRun(cmd.Context(), t, o)
		},
	}
	cmd.Flags().StringVarP(&flags.output, "output", "o", "", "record to this `file`; with --all, into this folder")
	cmd.Flags().BoolVar(&flags.all, "all", false, "record all scenarios into the folder given with -o")
	return cmd
}

func parseRun(flags runFlags, args []string) (runOptions, error) {
	switch {
	case len(args) > 1:
		return runOptions{}, fmt.Errorf("run takes one scenario, and got %d", len(args))
	case flags.hasOutput && flags.output == "":
		return runOptions{}, errors.New("-o is empty: give the name of a file, or with --all of a folder")
	case flags.all && len(args) > 0:
		return runOptions{}, fmt.Errorf("--all runs every scenario: leave it or %q out", args[0])
	case flags.all && !flags.hasOutput:
		return runOptions{}, errors.New("--all records: give the folder with -o")
	case flags.all:
		return runOptions{scenarios: scenarios.All(), folder: flags.output}, nil
	case len(args) == 0 && flags.hasOutput:
		return runOptions{}, errors.New("-o needs the name of a scenario to record, or --all")
	case len(args) == 0:
		return runOptions{}, nil
	}
	s, ok := scenarios.Named(args[0])
	if !ok {
		return runOptions{}, fmt.Errorf("there is no scenario %q%s", args[0], didYouMean(args[0], scenarioNames()))
	}
	return runOptions{scenarios: []scenarios.Scenario{s}, file: flags.output}, nil
}

func scenarioNames() (names []string) {
	for _, s := range scenarios.All() {
		names = append(names, s.Name)
	}
	return names
}

func runRun(ctx context.Context, t *terminal, o runOptions) error {
	switch {
	case len(o.scenarios) == 0:
		listScenarios(t)
		return nil
	case o.folder != "":
		return recordAll(ctx, t, o)
	}
	return runScenario(ctx, t, o)
}

// listScenarios prints a line a scenario, its name first.
func listScenarios(t *terminal) {
	all := scenarios.All()
	width := 0
	for _, s := range all {
		width = max(width, len(s.Name))
	}
	for _, s := range all {
		t.printf("%-*s  %s", width, s.Name, s.About)
	}
}

func runScenario(ctx context.Context, t *terminal, o runOptions) error {
	s := o.scenarios[0]
	trace, err := record(ctx, s)
	if err != nil {
		return err
	}
	if o.file != "" {
		if err := writeTrace(o.file, trace); err != nil {
			return err
		}
	}
	return showTrace(ctx, t, traceFile{name: s.Name}, bytes.NewReader(trace))
}

// recordAll records every scenario into a folder, a file each. Nothing is
// written before all of them have done what they must.
func recordAll(ctx context.Context, t *terminal, o runOptions) error {
	traces := make([][]byte, len(o.scenarios))
	for i, s := range o.scenarios {
		t.step(i, len(o.scenarios), s.Name)
		var err error
		if traces[i], err = record(ctx, s); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(o.folder, 0o755); err != nil {
		return internal(fmt.Errorf("%s: the folder for the traces cannot be made: %w", safetext.Line(o.folder), withoutPath(err)))
	}
	for i, s := range o.scenarios {
		if err := writeTrace(filepath.Join(o.folder, s.Name+corpus.Ending), traces[i]); err != nil {
			return err
		}
	}
	t.printf("%s in %s", counted(len(traces), "trace"), safetext.Line(o.folder))
	return nil
}

// record runs a scenario and gives its trace.
func record(ctx context.Context, s scenarios.Scenario) ([]byte, error) {
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	err := errors.Join(s.Run(ctx, recorder), recorder.Err())
	if ctx.Err() != nil {
		return nil, internal(fmt.Errorf("interrupted in scenario %s: nothing was recorded", s.Name))
	}
	if err != nil {
		return nil, internal(err)
	}
	return trace.Bytes(), nil
}

func writeTrace(path string, trace []byte) error {
	err := wholefile.Write(path, trace)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return internal(fmt.Errorf("%s: the trace cannot be written: there is no folder %s", safetext.Line(path), safetext.Line(filepath.Dir(path))))
	case err != nil:
		return internal(fmt.Errorf("%s: the trace cannot be written: %w", safetext.Line(path), withoutPath(err)))
	}
	return nil
}
