package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// This file is shared by check and lint, which read traces and report what they find in them.

// examineOptions say what to examine.
type examineOptions struct {
	paths  []string // if empty: the embedded traces
	json   bool
	github bool
	list   listOptions
}

// inquiry is what a command looks for, and the words for it.
type inquiry struct {
	done, good, bad, counts string
	colour                  string
	level                   string // of the annotations for GitHub Actions
	// find returns what was found, and adds it to the result.
	find func(*property.Examination, *examined) []finding
}

// finding is one thing that was found, and where in the transcript.
type finding struct {
	text, stretch string
	title         string // of an annotation
	// what, words and crossing say what was found, in which words, and where, so that what is found
	// repeatedly is shown once. what is empty if each finding is shown.
	what, words string
	crossing    int
}

// like returns a key that is the same for findings that differ only in numbers and in quoted texts,
// since ids and names differ between traces.
func (f finding) like() string {
	return f.what + ": " + numbers.ReplaceAllString(quoted.ReplaceAllString(f.words, "#"), "0")
}

// named returns a key that is the same for findings that differ only in numbers and ids, since two
// names in one trace denote two things.
func (f finding) named() string {
	return numbers.ReplaceAllString(quoted.ReplaceAllStringFunc(f.words, func(name string) string {
		if numbers.MatchString(name) {
			return "#"
		}
		return name
	}), "0")
}

var (
	numbers = regexp.MustCompile(`\d+`)
	quoted  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// repeats holds what was shown once, and where else the like was found.
type repeats struct {
	shown []finding
	found map[string]*repeated // by like
}

// repeated is one thing that was found repeatedly.
type repeated struct {
	first  string          // the trace in which it was shown
	names  map[string]bool // the keys of named that were shown
	places []string
	traces map[string]bool // the traces in places
}

// isShown reports whether the like of a finding was shown already. If so, it records where it was
// found again.
func (r *repeats) isShown(f finding, trace string) bool {
	if r == nil || f.what == "" {
		return false
	}
	again := r.found[f.like()]
	if again == nil {
		again = &repeated{first: trace, names: map[string]bool{}, traces: map[string]bool{}}
		r.found[f.like()] = again
		r.shown = append(r.shown, f)
	}
	if trace == again.first && !again.names[f.named()] {
		again.names[f.named()] = true
		return false
	}
	again.traces[trace] = true
	again.places = append(again.places, fmt.Sprintf("%s (crossing %d)", safetext.Line(trace), f.crossing))
	return true
}

// mostPlaces is how many places are named for repeated findings.
const mostPlaces = 3

// print says what was shown once and found several times.
func (r *repeats) print(t *terminal, q *inquiry) {
	for _, f := range r.shown {
		again := r.found[f.like()]
		places := again.places
		if len(places) == 0 {
			continue
		}
		text := strings.Join(places[:min(mostPlaces, len(places))], ", ")
		if more := len(places) - mostPlaces; more > 0 {
			text += fmt.Sprintf(" and %d more, all with --verbose", more)
		}
		t.judged(q.colour, q.bad, fmt.Sprintf("%s, %s more, in %s: %s", f.what, safetext.Counted(len(places), "time"), safetext.Counted(len(again.traces), "trace"), text))
	}
}

// examined is the result for one trace.
type examined struct {
	Trace      string               `json:"trace"`
	Crossings  int                  `json:"crossings"`
	Violations []property.Violation `json:"violations,omitempty"`
	Hints      []property.Hint      `json:"hints,omitempty"`
	// Cut says that the trace breaks off, and was examined up to that point.
	Cut string `json:"cut,omitempty"`
	// Error says why the trace could not be read to its end.
	Error string `json:"error,omitempty"`

	found  []finding
	killed bool // it breaks off because its host was killed, as a journal says, so it is not faulty
}

// findings is the result for all traces.
type findings struct {
	Traces    []examined `json:"traces"`
	Crossings int        `json:"crossings"`
	// Found counts the violations, or the hints.
	Found      int `json:"found"`
	Unreadable int `json:"unreadable"`
	ExitCode   int `json:"exitCode"`
	// Error says why some traces were not examined.
	Error string `json:"error,omitempty"`

	cut int // how many traces break off
}

// examining completes cmd as a command that looks for something in traces.
func examining(t *terminal, q *inquiry, cmd *cobra.Command) *cobra.Command {
	var asJSON, github bool
	var list listOptions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := parseExamine(asJSON, github, list, args)
		if err != nil {
			return misused(cmd, err)
		}
		return runExamine(cmd.Context(), t, o, q)
	}
	list.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON document")
	cmd.Flags().BoolVar(&github, "github", false, "print what is found as annotations for GitHub Actions too")
	return cmd
}

// parseExamine refuses an empty path, as parseVerify does.
func parseExamine(asJSON, github bool, list listOptions, args []string) (examineOptions, error) {
	if asJSON && github {
		return examineOptions{}, errors.New("--github prints on the standard output, and with --json a document stands there alone: leave one of them out")
	}
	return examineOptions{paths: args, json: asJSON, github: github, list: list}, checkPaths(args)
}

func runExamine(ctx context.Context, t *terminal, o examineOptions, q *inquiry) error {
	t.quiet = o.list.quiet // also about journals that are left out
	traces := t.besideJournals(ctx, o.paths)
	recordings, _ := findRecordings(ctx, o.paths)
	all := &findings{Traces: []examined{}}
	o.list.applyTo(t, len(traces))
	var again *repeats
	if !o.list.verbose {
		again = &repeats{found: map[string]*repeated{}}
	}
	defer t.busy("reading " + safetext.Counted(len(traces), "trace"))()
	for i, trace := range traces {
		t.step(i, len(traces), trace.Name)
		one := q.examine(ctx, t, trace)
		if ctx.Err() != nil {
			all.Error, all.ExitCode = fmt.Sprintf("interrupted: %d of %s were %s", len(all.Traces), safetext.Counted(len(traces), "trace"), q.done), exitInternal
			break // a trace that was cut short gives no result
		}
		one.killed = one.Cut != "" && t.isCut(trace.Name, recordings)
		all.add(one)
		if one.Cut != "" && !one.killed {
			t.warn(fmt.Sprintf("%s as far as it goes: %s", q.done, one.Cut))
		}
		if !o.json {
			q.print(t, one, again)
		}
		if o.github {
			q.annotate(t, one)
		}
	}
	if again != nil {
		again.print(t, q)
	}
	return q.conclude(t, o, all)
}

// examine examines one trace.
func (q *inquiry) examine(ctx context.Context, t *terminal, recorded corpus.Source) examined {
	one := examined{Trace: recorded.Name}
	f, err := recorded.Open()
	if err != nil {
		one.Error = err.Error()
		return one
	}
	defer f.Close()
	e, err := property.Examine(interruptible{ctx, f}, t.reading(traceFile{name: recorded.Name}))
	if err != nil {
		one.Error = safetext.OfFile(recorded.Name, err)
	}
	if e != nil {
		one.Crossings = e.Crossings
		one.found = q.find(e, &one)
		if e.Cut != nil {
			one.Cut = safetext.OfFile(recorded.Name, e.Cut)
		}
	}
	return one
}

// add adds the result for a trace. The exit codes are ordered: the highest wins.
func (all *findings) add(one examined) {
	all.Traces = append(all.Traces, one)
	all.Crossings += one.Crossings
	all.Found += len(one.found)
	if len(one.found) > 0 {
		all.ExitCode = max(all.ExitCode, exitFound)
	}
	if one.Error != "" {
		all.Unreadable++
	}
	if one.Cut != "" {
		all.cut++
	}
	if one.Error != "" || one.Cut != "" && !one.killed {
		all.ExitCode = max(all.ExitCode, exitUnreadable)
	}
}

// print prints one line about the trace, and a few lines about each finding.
func (q *inquiry) print(t *terminal, one examined, again *repeats) {
	for _, f := range one.found {
		if again.isShown(f, one.Trace) {
			continue
		}
		t.judged(q.colour, q.bad, fmt.Sprintf("%s: %s\n%s", safetext.Line(one.Trace), below(f.text), safetext.Inset(f.stretch)))
	}
	switch {
	case one.Error != "":
		t.unreadable(one.Error)
	case one.killed && len(one.found) == 0:
		t.judged(yellow, "cut off", fmt.Sprintf("%s: %s to where its host was killed, %s", safetext.Line(one.Trace), q.good, safetext.Counted(one.Crossings, "crossing")))
	case one.Cut != "" && len(one.found) == 0: // the rest is unknown
		t.judged(yellow, "cut off", fmt.Sprintf("%s: %s as far as it goes, %s", safetext.Line(one.Trace), q.good, safetext.Counted(one.Crossings, "crossing")))
	case len(one.found) == 0:
		t.good(q.good, fmt.Sprintf("%s: %s", safetext.Line(one.Trace), safetext.Counted(one.Crossings, "crossing")))
	}
}

// annotate prints an annotation for GitHub Actions for each finding, at its line in the file, and for
// a trace that cannot be read.
func (q *inquiry) annotate(t *terminal, one examined) {
	t.clear()
	for _, f := range one.found {
		fmt.Fprint(t.out, safetext.Annotation(q.level, one.Trace, f.crossing+1, f.title, f.text))
	}
	if one.Error != "" {
		fmt.Fprint(t.out, safetext.Annotation("error", one.Trace, 0, "unreadable", one.Error))
	}
}

// below indents the lines after the first.
func below(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// conclude prints the summary of all traces, and returns the exit code as an error.
func (q *inquiry) conclude(t *terminal, o examineOptions, all *findings) error {
	switch {
	case o.json:
		if err := printJSON(t, all); err != nil {
			return err
		}
	default:
		if all.Unreadable > 0 {
			t.printf("%s could not be read", safetext.Counted(all.Unreadable, "trace"))
		}
		if all.cut > 0 {
			t.printf("%s cut off", safetext.Counted(all.cut, "trace"))
		}
		t.printf("%s, %s, %s", safetext.Counted(len(all.Traces), "trace"), safetext.Counted(all.Crossings, "crossing"), safetext.Counted(all.Found, q.counts))
	}
	if all.Error != "" {
		t.warn(all.Error)
	}
	return ended(all.ExitCode)
}

// printJSON prints the only document on the standard output.
func printJSON(t *terminal, document any) error {
	t.clear()
	if err := safetext.WriteJSON(t.out, document, "  "); err != nil {
		return internal(err)
	}
	return nil
}

// concluded prints the only document of a command, and returns its exit code as an error. It also
// prints the error itself, because returning it would print a second document.
func concluded(t *terminal, document any, exit *exitError) error {
	if err := printJSON(t, document); err != nil {
		return err
	}
	if exit.err != nil {
		t.warn(exit.Error())
	}
	return ended(exit.code)
}
