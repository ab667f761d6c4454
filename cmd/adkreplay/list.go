package main

import "github.com/spf13/cobra"

// listOptions say how a list of verdicts is printed.
type listOptions struct {
	quiet   bool
	verbose bool
}

// mostLines is up to how many traces have a line each. In a longer list, good traces are dots.
const mostLines = 20

func (o *listOptions) register(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "say nothing of traces that are as they have to be")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "print a line for every trace, also for more than 20")
}

// applyTo makes a terminal print a list of that many traces according to the options.
func (o listOptions) applyTo(t *terminal, traces int) {
	t.quiet, t.told = o.quiet, nil
	t.dotted = !o.verbose && traces > mostLines
}
