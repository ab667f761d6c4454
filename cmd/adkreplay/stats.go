package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/near"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/stats"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// statsOptions say what to count, and how to print it.
type statsOptions struct {
	before, now []string // paths; before is nil without a second folder, and an empty now means the embedded traces
	prices      *stats.Prices
	encoding    adk.Encoding
	conditions  []stats.Condition
	json, csv   bool
}

// statsFlags are the flags of stats as given.
type statsFlags struct {
	prices, encoding string
	conditions       []string
	json, csv        bool
}

// statistics is the whole result.
type statistics struct {
	// Figures are those of the folder, or of the second of two.
	Figures *stats.Figures `json:"figures,omitempty"`
	// Before are the figures of the first of two folders, and Changes compares both.
	Before  *stats.Figures     `json:"before,omitempty"`
	Changes []stats.Difference `json:"changes,omitempty"`
	// Failed lists the conditions of --fail-if that hold.
	Failed   []string `json:"failed"`
	ExitCode int      `json:"exitCode"`
	// Error says why not everything was counted.
	Error string `json:"error,omitempty"`
}

func newStats(t *terminal) *cobra.Command {
	var flags statsFlags
	cmd := &cobra.Command{
		Use:   "stats [folder [folder2]]",
		Short: "Count what turns did and cost, or how that has changed",
		Long: `stats counts what recorded turns did and cost: turns, iterations, asks, tokens,
time, calls of tools, why models stopped, failures. It runs nothing. Of a folder
it takes all files that end in .jsonl or .jsonl.zst, at any depth; a file is a
folder of one. Of two folders it says what has changed from the first one to the
second. Without arguments it takes the traces that are part of this command.

Tokens are those that the answers of models say. Where none are said they are
counted, in the encoding that --encoding names; tokens.counted says of how many
answers that is so. A percentile is off by a hundredth at most.

--prices names a file with what a million tokens cost. In the names of models *
stands for any characters:

  {"currency": "USD",
   "models": {"small*": {"in": 0.15, "cached": 0.075, "out": 0.6}}}

--fail-if is a condition with which stats fails: a figure by its name, one of
> >= < <=, and a number or a duration. With a sign it is on the change from the
first folder. Of a tool, an error or a model that nothing is recorded of there
are none, and that is no mistake.

It prints Markdown; --csv and --json have all figures, also those that are
nothing.
` + spansHelp + exits("it was counted, and no condition of --fail-if holds", "a condition of --fail-if holds", "prices that cannot be read, or "+traceWords, ""),
		Example: `  adkreplay stats testdata/turns
  adkreplay stats --prices prices.json --csv testdata/turns >figures.csv
  adkreplay stats main/turns branch/turns \
      --fail-if 'tokens.out > +10%' --fail-if 'tools.weather.failed > 0'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := parseStats(flags, args)
			if _, ok := errors.AsType[*exitError](err); ok {
				return err
			}
			if err != nil {
				return misused(cmd, err)
			}
			return runStats(cmd, t, o)
		},
	}
	cmd.Flags().StringVar(&flags.prices, "prices", "", "count what tokens cost by the prices in this `file`")
	registerEncoding(cmd, &flags.encoding, "the `name` of the encoding in which tokens are counted that no answer says")
	cmd.Flags().StringArrayVar(&flags.conditions, "fail-if", nil, "fail where this `condition` holds; may be given several times")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print the figures as one JSON document")
	cmd.Flags().BoolVar(&flags.csv, "csv", false, "print the figures as CSV")
	return cmd
}

func parseStats(flags statsFlags, args []string) (o statsOptions, err error) {
	if err := checkPaths(args); err != nil {
		return o, err
	}
	o = statsOptions{now: args, encoding: flags.encoding, json: flags.json, csv: flags.csv}
	switch {
	case len(args) > 2:
		return o, fmt.Errorf("stats takes one folder, or two to compare, and got %d", len(args))
	case len(args) == 2:
		o.before, o.now = args[:1], args[1:]
	}
	for _, text := range flags.conditions {
		condition, err := stats.ParseCondition(text)
		switch {
		case err != nil:
			return o, fmt.Errorf("--fail-if: %w", err)
		case condition.Compares() && o.before == nil:
			return o, fmt.Errorf("--fail-if: %s is on a change: give two folders", safetext.Quoted(text))
		}
		o.conditions = append(o.conditions, condition)
	}
	o.prices, err = readPrices(flags.prices)
	if err != nil {
		return o, err
	}
	_, err = holding(o.conditions, stats.TableOf(nil, stats.NewFigures(o.prices))) // refuse unknown names before reading anything
	return o, err
}

// readPrices reads the file of prices. It returns nil if there is none.
func readPrices(path string) (*stats.Prices, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(fileError(path, err))
	}
	defer f.Close()
	prices, err := stats.ReadPrices(f)
	if err != nil {
		return nil, unreadable(errors.New(safetext.OfFile(path, err)))
	}
	return prices, nil
}

func runStats(cmd *cobra.Command, t *terminal, o statsOptions) error {
	result := &statistics{Failed: []string{}}
	var err error
	if o.before != nil {
		result.Before, err = gather(cmd.Context(), t, withSpans(t, t.findTraces(cmd.Context(), o.before)), o)
	}
	if err == nil {
		result.Figures, err = gather(cmd.Context(), t, withSpans(t, t.findTraces(cmd.Context(), o.now)), o)
	}
	if err != nil {
		return err
	}
	table := stats.TableOf(result.Before, result.Figures)
	if table.Compared {
		result.Changes = table.Figures
	}
	held, err := holding(o.conditions, table)
	if err != nil {
		return misused(cmd, err)
	}
	result.Failed = append(result.Failed, held...)
	result.ExitCode = result.code()
	if err := result.print(t, o, table); err != nil {
		return err
	}
	for _, text := range held {
		t.warn("--fail-if " + text)
	}
	return ended(result.ExitCode)
}

// gather counts what is in traces, and warns of those that cannot be read.
func gather(ctx context.Context, t *terminal, sources []corpus.Source, o statsOptions) (*stats.Figures, error) {
	defer t.busy("counting in " + safetext.Counted(len(sources), "trace"))()
	done := 0
	figures, err := stats.Gather(ctx, sources, stats.Options{Prices: o.prices, Encoding: o.encoding, Options: t.readingOf(len(sources), &done)})
	if err != nil {
		return nil, internal(fmt.Errorf("interrupted: %d of %s were counted", done, safetext.Counted(len(sources), "trace")))
	}
	return figures, nil
}

// holding returns the conditions that hold.
func holding(conditions []stats.Condition, table stats.Table) (held []string, err error) {
	var names []string
	for _, d := range table.Figures {
		names = append(names, d.Name)
	}
	for _, condition := range conditions {
		words, holds, err := condition.Holds(table)
		if err != nil {
			return nil, fmt.Errorf("--fail-if: %w%s", err, cmp.Or(near.DidYouMean(condition.Name, names), ": adkreplay stats --csv prints their names"))
		}
		if holds {
			held = append(held, words)
		}
	}
	return held, nil
}

// code returns the exit code. If several apply, it is the highest.
func (s *statistics) code() int {
	code := exitSame
	if len(s.Failed) > 0 {
		code = exitFound
	}
	for _, f := range []*stats.Figures{s.Before, s.Figures} {
		if f != nil && f.Unreadable > 0 {
			code = exitUnreadable
		}
	}
	return code
}

// isEmpty reports whether no trace gave any figures.
func (s *statistics) isEmpty() bool {
	return s.Before == nil && s.Figures.Unreadable > 0 && s.Figures.Crossings == 0
}

// print prints the result in the requested form.
func (s *statistics) print(t *terminal, o statsOptions, table stats.Table) error {
	var out bytes.Buffer
	switch {
	case o.json:
		return printJSON(t, s)
	case o.csv:
		_ = table.WriteCSV(&out) // a buffer never fails
	default:
		if s.isEmpty() { // the reason was printed
			return nil
		}
		_ = table.WriteMarkdown(&out)
	}
	t.clear()
	_, err := t.out.Write(out.Bytes())
	return err
}
