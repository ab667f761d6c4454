package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/scenarios"
)

// runOptions are the flags of run.
type runOptions struct {
	record string
}

func newRun(t *terminal) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [scenario]",
		Short: "Run a named scenario and show its turn; without a name, list them",
		Long: `run runs one of the named scenarios and prints its transcript: everything that
passed between the engine and user code, in order. With -o it records the turn
as a trace. Without a name it lists the scenarios.
` + exitHelp,
		Example: "  adkreplay run\n  adkreplay run tool-round-trip\n  adkreplay run hello -o hello.jsonl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listScenarios(t, o)
			}
			return runScenario(cmd.Context(), t, o, args[0])
		},
	}
	cmd.Flags().StringVarP(&o.record, "output", "o", "", "record the turn to this `file`")
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
	var trace bytes.Buffer
	recorder := replay.Record(&trace)
	if err := s.Run(ctx, recorder); err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	if err := recorder.Err(); err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	if o.record != "" {
		if err := os.WriteFile(o.record, trace.Bytes(), 0o644); err != nil {
			return &exitError{code: exitInternal, err: err}
		}
	}
	return showTrace(t, name, &trace)
}
