package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/cmd/adkreplay/internal/review"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/shell"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// reviewOptions say what to review.
type reviewOptions struct {
	paths   []string
	pending string // the folder that go test wrote to; empty is none
}

func newReview(t *terminal) *cobra.Command {
	var o reviewOptions
	cmd := &cobra.Command{
		Use:   "review [file|folder ...]",
		Short: "Go through what has changed, to accept or leave it by its cause",
		Long: `review runs traces again as verify does, and asks about each cause of a
divergence what to do with it: accept it with a reason, in all traces that it
hits or in some of them, leave it, open a trace in an editor (VISUAL or EDITOR).
A trace that several causes hit is accepted where all of them are. Nothing is
written before the end, where it says what would be, and asks.

With --pending it goes through what go test has left: where the environment
variable ADKREPLAY_PENDING names a folder by its whole path, package golden
keeps there what it found in the place of golden files and traces, with your own
code in it. What of that cannot be accepted is shown, and why; traces that are given
beside it are run again as well. Where there is no such folder no check has been made
that could have left something in it.

It needs a terminal. Without one it shows the causes, and says what to call.
What is accepted is written as accept does, and nothing is where the environment
variable CI is set.
` + exits("nothing has changed, or all of it was accepted", "a change that was left, or that nobody was asked about", traceWords+"; or what go test left", ", a file that cannot be replaced"),
		Example: `  adkreplay review testdata/turns
  ADKREPLAY_PENDING="$PWD/bin/pending" go test ./...
  adkreplay review --pending bin/pending`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args
			if err := o.check(os.Getenv); err != nil {
				return misused(cmd, err)
			}
			return runReview(cmd.Context(), t, o)
		},
	}
	cmd.Flags().StringVar(&o.pending, "pending", "", "go through what go test has left in this `folder`")
	return cmd
}

func (o reviewOptions) check(env func(string) string) error {
	switch {
	case len(o.paths) == 0 && o.pending == "":
		return errors.New("review takes files or folders, and got none: the embedded traces are no files")
	case slices.Contains(o.paths, stdin):
		return errors.New("review reads answers from the standard input, and no trace: give a file or a folder")
	case corpus.InCI(env):
		return errors.New("nothing is reviewed where the environment variable CI is set: verify says what has changed")
	}
	return checkPaths(o.paths)
}

// reviewed holds what changed, and how to accept each file.
type reviewed struct {
	changes []review.Change
	report  *corpus.Report // of the traces; nil if none were given
	pending map[string]corpus.Pending
	refused []corpus.Pending // what go test left that cannot be accepted
}

func runReview(ctx context.Context, t *terminal, o reviewOptions) error {
	r, err := findChanges(ctx, t, o)
	if err != nil {
		return err
	}
	code := max(r.unreadable(t), r.unacceptable(t))
	switch {
	case len(r.changes) == 0:
		if code == exitSame {
			t.printf("nothing has changed")
		}
		return ended(code)
	case !t.asks:
		r.show(ctx, t, o)
		return ended(max(code, exitDivergence))
	}
	dialog := review.Dialog{In: bufio.NewReader(t.in), Out: t.out, Edit: func(file string) error { return edit(ctx, file, os.Getenv) }}
	decisions, meant := dialog.Ask(r.changes)
	if !meant {
		return ended(max(code, exitDivergence))
	}
	return ended(max(code, r.accept(ctx, t, decisions)))
}

// findChanges finds what changed in traces, and in what go test left.
func findChanges(ctx context.Context, t *terminal, o reviewOptions) (*reviewed, error) {
	r := &reviewed{pending: map[string]corpus.Pending{}}
	if o.pending != "" {
		all, err := corpus.ReadPending(o.pending)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, unreadable(fmt.Errorf("there is no folder %s: no check of package golden has run with ADKREPLAY_PENDING set to its whole path", safetext.Line(o.pending)))
		}
		if info, _ := os.Stat(o.pending); info != nil && !info.IsDir() {
			return nil, unreadable(fmt.Errorf("%s is no folder: give the one that ADKREPLAY_PENDING named", safetext.Line(o.pending)))
		}
		if err != nil {
			return nil, unreadable(err)
		}
		if other := visibleIn(o.pending); len(all) == 0 && other != "" {
			return nil, unreadable(fmt.Errorf("%s has nothing that go test left, but %s: give the folder that ADKREPLAY_PENDING named", safetext.Line(o.pending), safetext.Line(other)))
		}
		r.addPending(all)
	}
	if len(o.paths) == 0 {
		return r, nil
	}
	sources, done := t.findTraces(ctx, o.paths), 0
	report, err := corpus.Verify(ctx, sources, nil, corpus.Options{Reading: t.limits, Each: func(v *corpus.TraceReport) {
		done++
		t.step(done, len(sources), v.Trace)
	}})
	if err != nil {
		return nil, internal(safetext.WithoutPackage(err))
	}
	t.clear()
	r.report = report
	for _, cause := range report.Causes {
		r.changes = append(r.changes, review.Change{Shown: cause.String(), Files: cause.Traces})
	}
	return r, nil
}

// visibleIn returns the first file of a folder whose name does not begin with a dot, or "" if there
// is none.
func visibleIn(folder string) string {
	entries, _ := os.ReadDir(folder)
	at := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".") })
	if at < 0 {
		return ""
	}
	return entries[at].Name()
}

// reviewWidth is the width of a line after the number of a change.
const reviewWidth = 70

// addPending adds what go test left. Files with the same causes are one change.
func (r *reviewed) addPending(all []corpus.Pending) {
	places := map[string]int{}
	for _, p := range all {
		if p.Refused != "" {
			r.refused = append(r.refused, p)
			continue
		}
		cause := strings.Join(p.Causes, "\n")
		r.pending[p.File] = p
		if at, known := places[cause]; known {
			r.changes[at].Files = append(r.changes[at].Files, p.File)
			continue
		}
		places[cause] = len(r.changes)
		r.changes = append(r.changes, review.Change{Shown: safetext.Lines(said(p)), Files: []string{p.File}})
	}
	for i := range r.changes {
		c := &r.changes[i]
		files := fmt.Sprintf("in %s: %s", safetext.Counted(len(c.Files), "file"), safetext.Short(c.Files, safetext.Line))
		c.Shown = safetext.Folded(files, reviewWidth) + "\n" + c.Shown
	}
}

// said returns the causes of what go test left, followed by what it shows unless that includes the
// causes.
func said(p corpus.Pending) string {
	shown := withoutBlanks(p.Shown)
	for _, line := range strings.Split(strings.Join(p.Causes, "\n"), "\n") {
		if !strings.Contains(shown, withoutBlanks(line)) {
			return strings.Join(append(slices.Clip(p.Causes), p.Shown), "\n")
		}
	}
	return p.Shown
}

// withoutBlanks removes white space, so that texts compare equal however their lines are folded.
func withoutBlanks(text string) string { return strings.Join(strings.Fields(text), "") }

// unreadable prints which traces could not be read, and returns the exit code.
func (r *reviewed) unreadable(t *terminal) int {
	if r.report == nil {
		return exitSame
	}
	for _, one := range r.report.Traces {
		if one.Error != "" {
			t.unreadable(one.Error)
		}
	}
	return unreadableCode(r.report)
}

// unacceptable prints what go test left that cannot be accepted, and why, and returns the exit
// code.
func (r *reviewed) unacceptable(t *terminal) int {
	for _, p := range r.refused {
		t.judged(red, "refused", safetext.Line(p.File+": "+p.Refused))
		for _, cause := range p.Causes {
			t.printf("    %s", safetext.Line(cause))
		}
	}
	if len(r.refused) == 0 {
		return exitSame
	}
	t.printf("to have such a turn all the same, %s", corpus.RecordAnew)
	return exitDivergence
}

// show prints what changed, and what to run next, if there is no person to ask.
func (r *reviewed) show(ctx context.Context, t *terminal, o reviewOptions) {
	for i, c := range r.changes {
		t.printf("%d of %d: %s", i+1, len(r.changes), strings.TrimRight(c.Shown, "\n"))
	}
	if r.acceptable(ctx, t) {
		args := []string{"accept", "--reason", "why it is meant"}
		for _, path := range o.paths {
			args = append(args, shell.Operand(path))
		}
		t.printf("next: %s", shell.Adkreplay(args...))
	}
	for _, command := range r.commands() {
		t.printf("next: %s", command)
	}
	t.printf("nothing is asked, since this is no terminal")
}

// acceptable reports whether any trace can be accepted, and prints those that cannot.
func (r *reviewed) acceptable(ctx context.Context, t *terminal) (some bool) {
	if r.report == nil {
		return false
	}
	for _, result := range r.report.Accept(ctx, nil, nil, t.holding(traceFile{}, 8)) {
		if result.Refused == nil {
			some = true
			continue
		}
		t.judged(red, "refused", safetext.OfFile(result.Trace, result.Refused))
	}
	return some
}

// commands returns the test commands that accept what the tests left, each once.
func (r *reviewed) commands() (all []string) {
	for _, c := range r.changes {
		for _, file := range c.Files {
			if command := r.pending[file].Accept; command != "" && !slices.Contains(all, command) {
				all = append(all, command)
			}
		}
	}
	slices.Sort(all)
	return all
}

// accept carries out the decisions, and returns the exit code. What is left counts as a divergence.
func (r *reviewed) accept(ctx context.Context, t *terminal, decisions []review.Decision) int {
	code, accepted := exitSame, 0
	traces := map[string][]*corpus.TraceReport{} // by reason
	var reasons []string
	for _, one := range decisions {
		p, isPending := r.pending[one.File]
		switch {
		case one.Reason == "":
			code = max(code, exitDivergence)
		case isPending:
			n, refused := acceptPending(t, p, one.Reason)
			accepted, code = accepted+n, max(code, refused)
		default:
			if traces[one.Reason] == nil {
				reasons = append(reasons, one.Reason)
			}
			traces[one.Reason] = append(traces[one.Reason], r.traceOf(one.File))
		}
	}
	for _, reason := range reasons {
		n, refused := r.acceptTraces(ctx, t, traces[reason], reason)
		accepted, code = accepted+n, max(code, refused)
	}
	t.printf("%d of %s accepted", accepted, safetext.Counted(len(decisions)+len(r.refused), "file"))
	return code
}

func acceptPending(t *terminal, p corpus.Pending, reason string) (accepted, code int) {
	a, err := corpus.NewAcceptance(reason, time.Now(), os.Getenv)
	if err == nil {
		err = a.ReplacePending(p)
	}
	if err != nil {
		t.judged(red, "refused", safetext.OfFile(p.File, err))
		return 0, max(refusedCode(err), exitDivergence)
	}
	t.judged(green, "accepted", fmt.Sprintf("%s: the reason is in %s", safetext.Line(p.File), safetext.Line(p.File+corpus.ReasonEnding)))
	return 1, exitSame
}

func (r *reviewed) traceOf(file string) *corpus.TraceReport {
	at := slices.IndexFunc(r.report.Traces, func(t *corpus.TraceReport) bool { return t.Trace == file })
	return r.report.Traces[at]
}

// acceptTraces accepts traces for one reason.
func (r *reviewed) acceptTraces(ctx context.Context, t *terminal, traces []*corpus.TraceReport, reason string) (accepted, code int) {
	a, err := corpus.NewAcceptance(reason, time.Now(), os.Getenv)
	if err != nil {
		t.warn(safetext.WithoutPackage(err).Error())
		return 0, exitInternal
	}
	return acceptTraces(ctx, t, r.report, traces, a, func(one corpus.Accepted) { printAccepted(t, one, a) })
}

// edit opens a file in the person's editor.
func edit(ctx context.Context, file string, env func(string) string) error {
	words := strings.Fields(cmp.Or(env("VISUAL"), env("EDITOR")))
	if len(words) == 0 {
		return fmt.Errorf("no editor is known: set VISUAL or EDITOR, or open %s yourself", safetext.Line(file))
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	return nil
}
