package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// This file handles the flags that limit the cost of reading.

// registerLimits adds the flag --limit, which every command has.
func registerLimits(root *cobra.Command, t *terminal) {
	var given []string
	var help strings.Builder
	for _, l := range trace.Limits() {
		fmt.Fprintf(&help, "\n%s (%d): %s", l.Name, l.Usual, l.Of)
	}
	root.PersistentFlags().StringArrayVar(&given, "limit", nil, "read traces up to other limits: `name=number`; may be given several times"+help.String())
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := t.setLimits(given); err != nil {
			return misused(cmd, fmt.Errorf("--limit: %w", err))
		}
		if err := errors.Join(noneEmpty(cmd), noneContradict(cmd)); err != nil {
			return err
		}
		return checkWritten(cmd, args)
	}
}

// setLimits parses and sets limits as given on the command line.
func (t *terminal) setLimits(given []string) error {
	for _, limit := range given {
		name, number, _ := strings.Cut(limit, "=")
		most, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return fmt.Errorf("%q: want a name and a number, as in crossings=10000000", limit)
		}
		if err := t.limits.SetLimit(name, most); err != nil {
			all := safetext.Short(trace.Limits(), func(l trace.Limit) string { return l.Name })
			return errors.New(err.Error() + ": the limits are " + all)
		}
	}
	return nil
}

// reading returns the options for reading a trace; errors name its file.
func (t *terminal) reading(f traceFile) trace.Options {
	o := t.limits
	o.File = f.name
	return o
}

// holding is reading for a command that needs, at worst, that many times the memory of what it
// reads.
func (t *terminal) holding(f traceFile, times int64) trace.Options {
	o := t.reading(f)
	if o.MaxMemory == 0 {
		at := slices.IndexFunc(trace.Limits(), func(l trace.Limit) bool { return l.Name == "memory" })
		o.MaxMemory = trace.Limits()[at].Usual / times
	}
	return o
}
