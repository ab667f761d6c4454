package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/scenarios"
)

// runOptions are the flags of run.
type runOptions struct {
	record string
	all    bool
}

func newRun(t *terminal) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [scenario]",
		Short: "Run a named scenario and show its turn; without a name, list them all",
		Long: `run runs one of the named scenarios and prints its transcript: everything that
passed between the engine and user code, in order. With -o it records the turn
as a trace. Without a name it lists the scenarios; with --all it records every
one of them into the folder given with -o.
` + exitHelp,
		Example: "  adkreplay run\n  adkreplay run tool-round-trip\n  adkreplay run hello -o hello.jsonl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.all:
				return recordAll(cmd.Context(), t, o, args)
			case len(args) == 0:
				return listScenarios(t, o)
			}
			return runScenario(cmd.Context(), t, o, args[0])
		},
	}
	cmd.Flags().StringVarP(&o.record, "output", "o", "", "record the turn to this `file`")
	cmd.Flags().BoolVar(&o.all, "all", false, "record all scenarios into the folder given with -o")
	return cmd
}

// listScenarios prints a line a scenario, its name first.
func listScenarios(t *terminal, o runOptions) error {
	if o.record != "" {
		return &exitError{code: exitUsage, err: fmt.Errorf("-o needs the name of a scenario to record")}
	}
	for _, s := range scenarios.All() {
		t.printf("%-28s %s\n", s.Name, s.About)
	}
	return nil
}

func runScenario(ctx context.Context, t *terminal, o runOptions, name string) error {
	s, ok := scenarios.Named(name)
	if !ok {
		return &exitError{code: exitUsage, err: fmt.Errorf("no scenario is called %q: run without a name lists them", name)}
	}
	trace, err := record(ctx, s)
	if err != nil {
		return err
	}
	if o.record != "" {
		if err := writeTrace(o.record, trace); err != nil {
			return err
		}
	}
	return showTrace(t, name, bytes.NewReader(trace))
}

// recordAll records every scenario into a folder, a file each.
func recordAll(ctx context.Context, t *terminal, o runOptions, args []string) error {
	if o.record == "" || len(args) > 0 {
		return &exitError{code: exitUsage, err: errors.New("--all goes with -o and a folder, and with no name")}
	}
	if err := os.MkdirAll(o.record, 0o755); err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	all := scenarios.All()
	for i, s := range all {
		t.step(i, len(all), s.Name)
		trace, err := record(ctx, s)
		if err != nil {
			return err
		}
		if err := writeTrace(filepath.Join(o.record, s.Name+traceEnding), trace); err != nil {
			return err
		}
	}
	t.printf("%d traces in %s\n", len(all), o.record)
	return nil
}

// record runs a scenario and gives its trace.
func record(ctx context.Context, s scenarios.Scenario) ([]byte, error) {
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	if err := errors.Join(s.Run(ctx, recorder), recorder.Err()); err != nil {
		return nil, &exitError{code: exitInternal, err: err}
	}
	return trace.Bytes(), nil
}

func writeTrace(path string, trace []byte) error {
	if err := os.WriteFile(path, trace, 0o644); err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	return nil
}
