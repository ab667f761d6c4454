package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/page"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/shell"
	"github.com/adkreplay/adkreplay/property/explore"
	"github.com/adkreplay/adkreplay/property/turn"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/scenarios"
)

// exploreOptions say what to explore, and how far.
type exploreOptions struct {
	targets []target
	// only is the one schedule to run; nil means to explore.
	only   *turn.Schedule
	limits explore.Options
	budget time.Duration // for all subjects together; zero is unlimited
	json   bool
	table  bool   // print what was tried at which kind of crossing
	html   string // the file of the page; empty is none
}

// target is something to explore: a scenario, or the file of a trace.
type target struct {
	name string
	open func(context.Context, *terminal) (turn.Subject, error)
}

// exploreFlags are the flags of explore as given, including the options that need no conversion.
type exploreFlags struct {
	exploreOptions
	all      bool
	schedule string
}

func newExplore(t *terminal) *cobra.Command {
	var flags exploreFlags
	cmd := &cobra.Command{
		Use:   "explore scenario|file ...",
		Short: "Break a turn at every crossing, in every order of its strands",
		Long: `explore runs a turn again and again, and breaks it at every crossing in every
way that applies there: the caller cancels before and after it, a deadline
passes, user code fails or panics, a stream is cut, a storage fails before and
after its write, a tool returns after the abort, a gate is settled early, late
or twice. Strands run in every order that can make a difference. After each run
all invariants are held against it.

The turn is that of a scenario, or of a trace: then user code does what the
trace says that it did, whatever else goes wrong. Code of your own is explored
in a test, with explore.Test and explore.Traces of package property/explore.

With --bound 2 things go wrong in pairs; the number of schedules grows with its
power. Time is virtual, so nothing is waited for. Each violation comes with the
command that makes exactly that run again, with --only, and shows where it goes
wrong.
` + exits("no run violated anything", "a violation: at least one run did", "a trace that cannot be read: nothing was explored", ", a budget that was used up before the first run"),
		Example: "  adkreplay explore hello\n  adkreplay explore --bound 2 tool-round-trip\n  adkreplay explore --all --budget 10s\n" +
			"  adkreplay explore turn.jsonl\n  adkreplay explore hello --only 'cancel@7,panic@12'",
		ValidArgs: scenarioNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := parseExplore(flags, cmd.Flags().Changed, args)
			if err != nil {
				return misused(cmd, err)
			}
			return runExplore(cmd.Context(), t, o)
		},
	}
	cmd.Flags().BoolVar(&flags.all, "all", false, "explore all scenarios")
	cmd.Flags().IntVar(&flags.limits.Bound, "bound", 1, "how much goes wrong in one run at most")
	cmd.Flags().DurationVar(&flags.budget, "budget", 0, "stop after this `time`, such as 10s, and say what was not covered")
	cmd.Flags().IntVar(&flags.limits.Schedules, "schedules", 0, "run this `number` of schedules of each scenario at most")
	cmd.Flags().StringVar(&flags.schedule, "only", "", "run this one `schedule`, as a violation names it")
	cmd.Flags().IntVar(&flags.limits.Workers, "workers", 0, "how many runs are under way at once (default: as many as there are cores)")
	cmd.Flags().BoolVar(&flags.table, "table", false, "print what was tried at which kind of crossing, and why not")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print the result as one JSON document")
	cmd.Flags().StringVar(&flags.html, "html", "", "write a page to look at what was found, in a browser, to this `file`")
	return cmd
}

// mostWorkers is the maximum of --workers.
const mostWorkers = 1024

func parseExplore(flags exploreFlags, given func(name string) bool, args []string) (exploreOptions, error) {
	o := flags.exploreOptions
	switch {
	case flags.all && len(args) > 0:
		return o, fmt.Errorf("--all explores every scenario: leave it or %q out", args[0])
	case !flags.all && len(args) == 0:
		return o, errors.New("explore needs the name of a scenario, the file of a trace, or --all")
	case o.limits.Bound < 1:
		return o, fmt.Errorf("--bound %d: at least one thing has to go wrong", o.limits.Bound)
	case given("schedules") && o.limits.Schedules < 1:
		return o, fmt.Errorf("--schedules %d: give how many to run at most, 1 or more, or leave it out", o.limits.Schedules)
	case given("workers") && o.limits.Workers < 1:
		return o, fmt.Errorf("--workers %d: give how many runs to have under way, 1 or more, or leave it out", o.limits.Workers)
	case o.limits.Workers > mostWorkers:
		return o, fmt.Errorf("--workers %d: give %d at most: each needs memory of its own, and no machine has so many cores", o.limits.Workers, mostWorkers)
	case given("budget") && o.budget <= 0:
		return o, fmt.Errorf("--budget %s: give a time such as 10s, or leave it out", o.budget)
	}
	if flags.all {
		args = scenarioNames()
	}
	if o.html == stdout {
		return o, errors.New("--html needs a file: the standard output has the text")
	}
	if err := errors.Join(checkInputs(args), checkPage("--html", o.html)); err != nil {
		return o, err
	}
	for _, name := range args {
		one, err := targetNamed(name)
		if err != nil {
			return o, err
		}
		o.targets = append(o.targets, one)
	}
	if !given("only") {
		return o, nil
	}
	if len(o.targets) != 1 {
		return o, errors.New("--only is a schedule of one turn: name that one alone")
	}
	only, err := turn.ParseSchedule(flags.schedule)
	o.only = &only
	return o, err
}

// targetNamed returns what an argument names: a scenario, or else a file.
func targetNamed(name string) (target, error) {
	if s, ok := scenarios.Named(name); ok {
		return target{name, func(context.Context, *terminal) (turn.Subject, error) { return subjectOf(s), nil }}, nil
	}
	_, err := os.Stat(name)
	if err != nil && !corpus.IsTrace(name) && name != stdin {
		return target{}, noScenario(name, ", and no file", scenarioNames())
	}
	return target{name, func(ctx context.Context, t *terminal) (turn.Subject, error) {
		_, turn, err := readTurn(ctx, t, file(ctx, name))
		s := turn.Subject()
		s.Name = safetext.Line(name)
		if err == nil && s.Standalone != nil {
			err = unreadable(s.Validate())
		}
		return s, err
	}}, nil
}

func subjectOf(s scenarios.Scenario) turn.Subject {
	return turn.Subject{Name: s.Name, Scripted: true, Build: func(cancel context.CancelCauseFunc) (adk.Config, adk.RawTurn) {
		return s.Build(scenarios.Outside{Cancel: cancel})
	}}
}

// explored is the whole result of explore.
type explored struct {
	Explorations []*explore.Exploration `json:"explorations"`
	// NotBegun lists the subjects for which there was no time left.
	NotBegun   []string `json:"notBegun,omitempty"`
	Schedules  int      `json:"schedules"`
	Violations int      `json:"violations"`
	ExitCode   int      `json:"exitCode"`
	// Error says why not everything was explored.
	Error string `json:"error,omitempty"`
}

// garbagePercent is the GOGC value of explore, unless the environment sets one. explore needs
// little memory, and at the default of 100, garbage collection takes a quarter of its time.
const garbagePercent = 400

func runExplore(ctx context.Context, t *terminal, o exploreOptions) error {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(garbagePercent))
	}
	now := o.limits.Now
	if now == nil {
		now = time.Now
	}
	subjects, err := o.open(ctx, t)
	if err != nil {
		return err
	}
	begun := now() // the budget does not include reading files
	all := &explored{Explorations: []*explore.Exploration{}}
	for i, s := range subjects {
		left := o.budget
		if i > 0 {
			left -= now().Sub(begun).Round(time.Millisecond)
		}
		if o.budget > 0 && left <= 0 && len(all.Explorations) > 0 {
			all.NotBegun = append(all.NotBegun, s.Name)
			continue
		}
		x, err := o.explore(ctx, t, o.targets[i].name, s, left)
		switch {
		case err != nil && o.only != nil: // the schedule belongs to another turn
			return &exitError{exitUsage, err}
		case err != nil:
			return internal(err)
		}
		all.add(x)
		if !o.json {
			printExploration(t, x, o.table)
		}
		if ctx.Err() != nil {
			all.Error, all.ExitCode = fmt.Sprintf("interrupted: %d of %s explored to the end", len(all.Explorations)-1, safetext.Counted(len(subjects), "turn")), exitInternal
			break
		}
	}
	if all.Schedules == 0 && all.ExitCode == exitSame { // a success would say nothing
		all.Error, all.ExitCode = fmt.Sprintf("nothing was explored: the budget of %s was used up before the first run; give a longer --budget, or leave it out", o.budget), exitInternal
	}
	if o.html != "" {
		if err := all.page(ctx, t, o); err != nil {
			return err
		}
	}
	return all.conclude(t, o)
}

// page writes the page of the result. It has the runs that violate something, and, for turns that
// were read from files, the turns without faults.
func (all *explored) page(ctx context.Context, t *terminal, o exploreOptions) error {
	p := &page.Page{Title: "explored " + safetext.Counted(len(all.Explorations), "turn"), Explored: all, Reading: t.limits}
	listed := map[string]bool{}
	for _, x := range all.Explorations {
		for _, b := range x.Violations {
			name := x.Subject + " " + b.Schedule.String() // the scripts of the page use this name
			if b.Run != nil && !listed[name] {
				listed[name] = true
				p.Sources = append(p.Sources, page.Source{Name: name, Open: func() (io.ReadCloser, error) { return recordedRun(b.Run) }})
			}
		}
	}
	for _, one := range o.targets {
		if _, err := os.Stat(one.name); err == nil {
			p.Sources = append(p.Sources, page.Source{Name: one.name, Open: file(ctx, one.name).open})
		}
	}
	_, words, err := writePage(ctx, t, o.html, p)
	if err == nil && !o.json {
		t.printf("%s", words)
	}
	return err
}

// open makes the subjects. It reads all files before anything is explored.
func (o exploreOptions) open(ctx context.Context, t *terminal) (subjects []turn.Subject, err error) {
	for _, one := range o.targets {
		s, err := one.open(ctx, t)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, s)
	}
	return subjects, nil
}

// explore explores one subject, named by an argument, within the rest of the budget, or runs its
// one schedule.
func (o exploreOptions) explore(ctx context.Context, t *terminal, name string, s turn.Subject, left time.Duration) (*explore.Exploration, error) {
	limits := o.limits
	limits.Command = shell.Adkreplay("explore", shell.Operand(name))
	limits.Progress = func(run, known int) { t.step(run, known, "schedules of "+s.Name) }
	if o.only != nil {
		return explore.RunSchedule(ctx, s, *o.only, limits)
	}
	if o.budget > 0 {
		limits.Budget = max(left, 1)
	}
	return explore.Explore(ctx, s, limits)
}

func (all *explored) add(x *explore.Exploration) {
	all.Explorations = append(all.Explorations, x)
	all.Schedules += x.Schedules
	all.Violations += len(x.Violations)
	if len(x.Violations) > 0 {
		all.ExitCode = exitFound
	}
}

// recordedRun returns a trace in memory as a file.
func recordedRun(run *trace.Trace) (io.ReadCloser, error) {
	var content bytes.Buffer
	_, err := run.WriteTo(&content)
	return io.NopCloser(&content), err
}

// printExploration prints the result for a subject, with the table if it was requested.
func printExploration(t *terminal, x *explore.Exploration, table bool) {
	t.printf("%s", strings.TrimSuffix(x.String(), "\n"))
	if table && len(x.Table.Rows) > 0 {
		t.printf("\n%s", strings.TrimSuffix(x.Table.String(), "\n"))
	}
}

// conclude prints the summary of all subjects, and returns the exit code as an error.
func (all *explored) conclude(t *terminal, o exploreOptions) error {
	switch {
	case o.json:
		if err := printJSON(t, all); err != nil {
			return err
		}
	case len(o.targets) > 1:
		all.print(t, o)
	}
	if all.Error != "" {
		t.warn(all.Error)
	}
	return ended(all.ExitCode)
}

// print prints the end of the list of explorations.
func (all *explored) print(t *terminal, o exploreOptions) {
	left := ""
	if len(all.NotBegun) > 0 {
		t.printf("not begun, as the budget of %s was used up: %s", o.budget, strings.Join(all.NotBegun, ", "))
		left = ", not all of it"
	}
	if slices.ContainsFunc(all.Explorations, func(x *explore.Exploration) bool { return len(x.NotCovered) > 0 }) {
		left = ", not all of it"
	}
	t.printf("%s, %s, bound %d, %s%s", safetext.Counted(len(all.Explorations), "turn"), safetext.Counted(all.Schedules, "schedule"), o.limits.Bound,
		safetext.Counted(all.Violations, "violation"), left)
}
