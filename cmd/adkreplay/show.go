package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// showOptions say what to show.
type showOptions struct {
	path string
	// at is the crossing after which the state is shown. hasAt is true if it was given.
	at    int
	hasAt bool
	// from and to are the first and the last crossing to show.
	from, to int
	grep     string
	matching *regexp.Regexp // compiled from grep; nil shows everything
	json     bool
	phases   bool
}

// failure is what show --json prints about an error, after the lines that it could print. A program
// that reads them from a pipe does not see the exit code.
type failure struct {
	ExitCode int    `json:"exitCode"`
	Error    string `json:"error"`
}

// shownState is the document of show --at.
type shownState struct {
	*transcript.State
	ExitCode int `json:"exitCode"`
	// Error says what is wrong with the trace after the crossing, or why there is no state.
	Error string `json:"error,omitempty"`
}

func newShow(t *terminal) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show file|folder",
		Short: "Print the transcript of a trace, or the story of a session",
		Long: `show prints the transcript of a trace: everything that passed between the
engine and user code, in order. What a model is asked is shown by what is new
since it was asked before, and its answer as one. Of a trace that breaks off it
shows what there is, and then fails. On a terminal, or with COLUMNS, long lines go on
below themselves; in a pipe and a file each is one line.

With --at it prints instead what the engine held after that crossing: the prompt,
the sets, the tools, the stash, the streams, the gates and the calls that were
open. With --grep it prints the crossings that match, each in a line with its number
and its seam; what a line leaves out of a long text is looked through too. A line of
the transcript that matches as a whole stands at the first of its crossings. With --phases it prints what listeners heard and what user code changed, under
the phases of the turn: its input, each iteration of each dispatch, its output.
With --json it prints a JSON object a crossing with all that is in it, or of --at
the one. What goes wrong is an object too, the last one, with exitCode and error.

Of a journal of sessions it prints the story: what was accepted, and epoch by
epoch which host had the session, each attempt with its turn and the trace that
has it, and what was committed. Of a folder it takes all journals in it as one:
those of the hosts that shared the sessions. --grep prints the steps that match,
--json an object a step.
` + exits("it was shown", "nothing matches --grep", traceWords, ""),
		Example: "  adkreplay show turn.jsonl\n  adkreplay show host.journal.jsonl\n  adkreplay show --phases turn.jsonl\n  adkreplay show --at 23 turn.jsonl\n  adkreplay show --grep 'error|nack' turn.jsonl\n" +
			"  adkreplay show --json turn.jsonl | jq 'select(.kind == \"store\")'",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.hasAt = cmd.Flags().Changed("at")
			o, err := parseShow(o, args)
			if err != nil {
				return misused(cmd, err)
			}
			return runShow(cmd.Context(), t, o)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.at, "at", 0, "show the state after the crossing of this `number`, from 1")
	flags.IntVar(&o.from, "from", 1, "show no crossing before that of this `number`")
	flags.IntVar(&o.to, "to", math.MaxInt, "show no crossing behind that of this `number`")
	flags.Lookup("to").DefValue = "the last"
	flags.StringVar(&o.grep, "grep", "", "show the lines that match this regular `expression`")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.BoolVar(&o.phases, "phases", false, "show events and changes under the phases of the turn")
	return cmd
}

// parseShow checks the options before anything is read.
func parseShow(o showOptions, args []string) (showOptions, error) {
	if len(args) != 1 {
		return showOptions{}, fmt.Errorf("show takes one file, and got %d", len(args))
	}
	o.path = args[0]
	err := checkFiles(args)
	switch {
	case err != nil:
	case o.hasAt && o.at < 1:
		err = fmt.Errorf("--at %d: crossings are numbered from 1", o.at)
	case o.hasAt && (o.grep != "" || o.isRange()):
		err = errors.New("--at shows one state: it goes with --json alone")
	case o.phases && (o.hasAt || o.grep != "" || o.json || o.isRange()):
		err = errors.New("--phases shows the whole turn: it goes with no other flag")
	case o.from < 1:
		err = fmt.Errorf("--from %d: crossings are numbered from 1", o.from)
	case o.to < o.from:
		err = fmt.Errorf("--from %d --to %d: the last one is before the first", o.from, o.to)
	case o.grep != "":
		o.matching, err = regexp.Compile(o.grep)
	}
	if err != nil {
		return showOptions{}, err
	}
	return o, nil
}

// isRange reports whether only a range of the crossings was requested.
func (o showOptions) isRange() bool { return o.from != 1 || o.to != math.MaxInt }

func runShow(ctx context.Context, t *terminal, o showOptions) error {
	trace := file(ctx, o.path)
	if r := journalsIn(o.path); r != nil {
		return exitOfShow(ctx, t, trace, showRecording(t, r, o))
	}
	f, err := trace.open()
	if err != nil {
		return unreadable(fmt.Errorf("%w%s", err, suchJournals(ctx, o.path)))
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if sessions.Begins(in) {
		return exitOfShow(ctx, t, trace, showRecording(t, journalOf(trace, interruptible{ctx, in}), o))
	}
	content := interruptible{ctx, in}
	switch {
	case o.hasAt:
		return showState(ctx, t, trace, content, o)
	case o.phases:
		t.clear()
		err = transcript.WritePhases(t.page, content, t.reading(trace))
	case o.json || o.matching != nil:
		err = showCrossings(t, trace, content, o)
	default:
		err = transcript.WriteRange(t.page, content, o.from, o.to, t.reading(trace))
	}
	return exitOfShow(ctx, t, trace, err)
}

// showTrace prints the transcript of a trace as it is read.
func showTrace(ctx context.Context, t *terminal, trace traceFile, content io.Reader) error {
	return exitOfShow(ctx, t, trace, transcript.Write(t.page, interruptible{ctx, content}, t.reading(trace)))
}

// exitOfShow returns the error, with its exit code, for what went wrong in showing a trace. If the
// result could not be written, the terminal reports that.
func exitOfShow(ctx context.Context, t *terminal, recorded traceFile, err error) error {
	format := (*trace.FormatError)(nil)
	switch {
	case err == nil || t.out.err != nil:
		return nil
	case ctx.Err() != nil:
		return internal(errors.New("interrupted"))
	case errors.As(err, new(*exitError)):
		return err
	case errors.Is(err, transcript.ErrNoCrossing) && !errors.As(err, &format):
		return &exitError{exitUsage, errors.New(safetext.OfFile(recorded.name, err))}
	}
	return unreadable(errors.New(safetext.OfFile(recorded.name, err)))
}

func showState(ctx context.Context, t *terminal, trace traceFile, content io.Reader, o showOptions) error {
	state, err := transcript.At(content, o.at, t.reading(trace))
	err = exitOfShow(ctx, t, trace, err)
	switch {
	case state == nil:
		return err
	case o.json:
		exit := classified(err)
		return concluded(t, shownState{state, exit.code, exit.said()}, exit)
	}
	t.clear()
	_, _ = state.WriteTo(t.page) // the terminal keeps the error
	return err
}

// showCrossings prints the requested crossings, one line each.
func showCrossings(t *terminal, trace traceFile, content io.Reader, o showOptions) error {
	all, looked, found := 0, 0, 0
	for p, err := range o.passages(content, t.reading(trace)) {
		if err != nil {
			return err
		}
		all += len(p.Crossings)
		asked := slices.DeleteFunc(p.Crossings, func(x *transcript.Expanded) bool { return x.Crossing < o.from || x.Crossing > o.to })
		looked += len(asked)
		for _, x := range o.lookedFor(asked, p.Lines) {
			found++
			if err := showCrossing(t, x, o); err != nil {
				return err
			}
		}
	}
	switch {
	case looked == 0 && all > 0:
		return fmt.Errorf("%w as %d: the trace has %s, numbered from 1", transcript.ErrNoCrossing, o.from, safetext.Counted(all, "crossing"))
	case o.matching != nil && found == 0:
		return &exitError{exitFound, fmt.Errorf("%s: nothing in %s matches %s", safetext.Line(trace.name), safetext.Counted(looked, "crossing"), o.matching)}
	}
	return nil
}

// passages returns the passages of a trace if lines are searched, and otherwise its crossings, each
// as soon as it is read.
func (o showOptions) passages(content io.Reader, reading trace.Options) iter.Seq2[*transcript.Passage, error] {
	if o.matching != nil {
		return transcript.Passages(content, reading)
	}
	return func(yield func(*transcript.Passage, error) bool) {
		for x, err := range transcript.Expand(content, reading) {
			if !yield(&transcript.Passage{Crossings: []*transcript.Expanded{x}}, err) {
				return
			}
		}
	}
}

// lookedFor returns the crossings that match, by the line of each or by the fields that the line
// abbreviates. If none matches, it returns the first crossing with a line of the transcript that
// matches, if there is one.
func (o showOptions) lookedFor(asked []*transcript.Expanded, lines []string) (all []*transcript.Expanded) {
	if o.matching == nil {
		return asked
	}
	for _, x := range asked {
		if o.matching.MatchString(x.Line) || o.matching.Match(x.Fields) {
			all = append(all, x)
		}
	}
	for _, line := range lines {
		if len(all) == 0 && len(asked) > 0 && o.matching.MatchString(line) {
			asked[0].Line = line
			return asked[:1]
		}
	}
	return all
}

func showCrossing(t *terminal, x *transcript.Expanded, o showOptions) error {
	if o.json {
		return safetext.WriteJSON(t.out, x, "")
	}
	t.clear()
	fmt.Fprintf(t.page, "%6d  %s  %s\n", x.Crossing, safetext.Line(x.Seam), t.highlight(x.Line, o.matching))
	return nil
}

// highlight colours the matches in a line that is safe to print.
func (t *terminal) highlight(line string, matching *regexp.Regexp) string {
	return matching.ReplaceAllStringFunc(line, func(match string) string {
		if match == "" {
			return match
		}
		return t.paint(red, match)
	})
}

// interruptible is a reader that stops when its context ends.
type interruptible struct {
	ctx context.Context
	io.Reader
}

// Read reads unless the context has ended.
func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// readCloser combines a reader with another closer, such as the source of the reader.
type readCloser struct {
	io.Reader
	io.Closer
}
