package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/cmd/adkreplay/internal/distil"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wholefile"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// distilOptions say what to choose from, how many traces to choose, and where they go.
type distilOptions struct {
	paths  []string
	folder string // if empty, nothing is copied
	keep   int
	json   bool
}

// distilled is the whole result.
type distilled struct {
	*distil.Selection
	ExitCode int `json:"exitCode"`
	// Error says why nothing was chosen.
	Error string `json:"error,omitempty"`
}

func newDistil(t *terminal) *cobra.Command {
	var o distilOptions
	cmd := &cobra.Command{
		Use:   "distil folder ...",
		Short: "Choose the fewest traces that show all that a folder shows",
		Long: `distil chooses of many traces the fewest that show everything that any of them
shows: which operations are made where, in which order and how often, which
tools, storages and executors fail and how, how asks are answered, how
dispatches end. It runs nothing, and looks at no data: two turns that differ in
their texts alone show the same, and the shorter one is chosen. Of a folder it
takes all files that end in .jsonl or .jsonl.zst, at any depth.

It prints what each chosen trace adds, what is left out for want of room, and
what no trace shows: middleware that is never entered, tools that are never
called, failures that are never met.

With -o the traces are copied into a folder, at their paths below the one that
they come from. A file that is there with other content is not overwritten, and
nothing is copied then. A trace that breaks off is not chosen, and distil fails.
` + exits("it was chosen", "", traceWords, ""),
		Example: "  adkreplay distil production\n  adkreplay distil production -o testdata/turns --keep 50",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args
			if err := o.check(cmd.Flags().Changed("keep")); err != nil {
				return misused(cmd, err)
			}
			return runDistil(cmd.Context(), t, o)
		},
	}
	cmd.Flags().StringVarP(&o.folder, "output", "o", "", "copy the chosen traces into this `folder`")
	cmd.Flags().IntVar(&o.keep, "keep", 0, "choose so many traces at most, those that show the most")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the choice as one JSON document")
	return cmd
}

func (o distilOptions) check(hasKeep bool) error {
	switch {
	case len(o.paths) == 0:
		return errors.New("distil takes folders, and got none")
	case slices.Contains(o.paths, stdin):
		return errors.New("distil reads no standard input: a trace that is chosen is read again")
	case o.folder == stdout:
		return errors.New("--output needs a folder: the standard output has the text")
	case hasKeep && o.keep < 1:
		return fmt.Errorf("--keep is %d: give how many traces to choose, 1 or more", o.keep)
	}
	return checkPaths(o.paths)
}

func runDistil(ctx context.Context, t *terminal, o distilOptions) error {
	sources := t.findTraces(ctx, o.paths)
	choice, err := chooseOf(ctx, t, sources, o.keep)
	if err != nil {
		return err
	}
	result := distilled{Selection: choice}
	if choice.Unreadable > 0 {
		result.ExitCode = exitUnreadable
	}
	if o.folder != "" {
		if err := copyChosen(choice, o); err != nil {
			return internal(err)
		}
	}
	if o.json {
		if err := printJSON(t, result); err != nil {
			return err
		}
		return ended(result.ExitCode)
	}
	printChoice(t, choice, o)
	return ended(result.ExitCode)
}

// chooseOf chooses traces, and warns of those that cannot be read.
func chooseOf(ctx context.Context, t *terminal, sources []corpus.Source, keep int) (*distil.Selection, error) {
	defer t.busy("reading " + safetext.Counted(len(sources), "trace"))()
	done := 0
	choice, err := distil.Choose(ctx, sources, distil.Options{Keep: keep, Options: t.readingOf(len(sources), &done)})
	if err != nil {
		return nil, internal(fmt.Errorf("interrupted: %d of %s were read, and none is chosen", done, safetext.Counted(len(sources), "trace")))
	}
	return choice, nil
}

// mostAdded is how many of the behaviours that a trace adds are printed.
const mostAdded = 3

// mostUnshown is how many behaviours are printed that no chosen trace, or no trace at all, shows.
const mostUnshown = 30

func printChoice(t *terminal, choice *distil.Selection, o distilOptions) {
	verdict := "chosen"
	if o.folder != "" {
		verdict = "copied"
	}
	for _, one := range choice.Chosen {
		some := one.Adds[:min(len(one.Adds), mostAdded)]
		words := strings.Join(some, "; ")
		if more := len(one.Adds) - len(some); more > 0 {
			words += fmt.Sprintf("; and %d more", more)
		}
		t.judged(green, verdict, fmt.Sprintf("%s: adds %d: %s", safetext.Line(one.Trace), len(one.Adds), words))
	}
	printUnshown(t, "left", choice.Left)
	if choice.Traces == choice.Unreadable { // nothing is known about unreadable traces
		return
	}
	printUnshown(t, "missing", choice.Missing)
	t.printf("%d of %s show %d of %d behaviours", len(choice.Chosen), safetext.Counted(choice.Traces, "trace"), choice.Covered, choice.Behaviours)
}

func printUnshown(t *terminal, verdict string, all []string) {
	for _, one := range all[:min(len(all), mostUnshown)] {
		t.judged(yellow, verdict, one)
	}
	if more := len(all) - mostUnshown; more > 0 {
		t.printf("and %d more are %s: --json has them", more, verdict)
	}
}

// copyChosen copies the chosen traces into the folder. It first checks whether all can be copied,
// and copies all or none.
func copyChosen(choice *distil.Selection, o distilOptions) error {
	if info, err := os.Stat(o.folder); err == nil && !info.IsDir() {
		return fmt.Errorf("--output needs a folder, and %s is a file: nothing is copied", safetext.Line(o.folder))
	}
	targets := map[string]string{} // traces by target file
	for _, one := range choice.Chosen {
		target := filepath.Join(o.folder, o.below(one.Trace))
		if other, ok := targets[target]; ok {
			return fmt.Errorf("%s and %s would both be %s: nothing is copied; distil one folder at a time", safetext.Line(other), safetext.Line(one.Trace), safetext.Line(target))
		}
		targets[target] = one.Trace
		same, err := isSame(one.Trace, target)
		if err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("%s is there, and has other content than %s: nothing is copied", safetext.Line(target), safetext.Line(one.Trace))
		}
	}
	var copied []string
	for _, one := range choice.Chosen {
		target := filepath.Join(o.folder, o.below(one.Trace))
		_, err := os.Lstat(target)
		isNew := errors.Is(err, os.ErrNotExist)
		if err := copyFile(one.Trace, target); err != nil {
			for _, made := range copied {
				err = errors.Join(err, os.Remove(made))
			}
			return fmt.Errorf("a trace cannot be copied, and nothing is: %w", err)
		}
		if isNew {
			copied = append(copied, target)
		}
	}
	return nil
}

// below returns the path of a trace relative to the folder in which it was found.
func (o distilOptions) below(trace string) string {
	for _, folder := range o.paths {
		if path, err := filepath.Rel(folder, trace); err == nil && filepath.IsLocal(path) && path != "." {
			return path
		}
	}
	return filepath.Base(trace)
}

// isSame reports whether a file does not exist, or has the content of another file.
func isSame(from, to string) (bool, error) {
	there, err := os.ReadFile(to)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fileError(to, err)
	}
	content, err := contentOf(from)
	return bytes.Equal(content, there), err
}

func copyFile(from, to string) error {
	content, err := contentOf(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fileError(to, err)
	}
	if err := wholefile.WriteBeside(to, content, from); err != nil {
		return fileError(to, err)
	}
	return nil
}

func contentOf(path string) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		return nil, fileError(path, err)
	}
	return content, nil
}
