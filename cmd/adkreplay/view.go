package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/page"
	"github.com/adkreplay/adkreplay/internal/safetext"
)

// viewOptions say what to view, and where the page goes.
type viewOptions struct {
	paths []string // if empty: the embedded traces
	file  string
	watch bool // run until interrupted
}

// usualPage is the default file of a page.
const usualPage = "adkreplay.html"

func newView(t *terminal) *cobra.Command {
	var o viewOptions
	cmd := &cobra.Command{
		Use:   "view [file|folder ...]",
		Short: "Write a page in which turns can be looked at in a browser",
		Long: `view writes one HTML file in which turns can be looked at: as a timeline with a
lane for each strand, as a tree of calls, as the conversation that a model saw
at each ask, and as what the engine held at any crossing. Of a folder it takes
all files that end in .jsonl or .jsonl.zst, at any depth; of several traces the
page begins with a list. Of journals of sessions it shows who had them when, each
delivery with its attempts and what became of it, and leads to their turns.
Without arguments it takes the traces that are part of this command.

The file stands alone: it is opened from disk, and asks no network for anything.
It holds the traces, so it is as private as they are. A link such as
adkreplay.html#23 leads to a crossing. In the page ? shows the keys.

Of a trace that breaks off the page shows what there is and says so, and view
fails, but where a journal says that its host was killed. Where all traces
together are beyond ` + mostInPage + ` when they are compressed, the last ones are listed
without what is in them.
` + watchHelp + `A browser in which the page is open loads it again while one works elsewhere, and
when it comes into view, and stays where it was.
` + spansHelp + exits("the page is written", "", traceWords, ""),
		Example: "  adkreplay view turn.jsonl\n  adkreplay view testdata/turns -o turns.html\n  adkreplay view --watch testdata/turns\n  adkreplay view - <turn.jsonl -o - >turn.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args
			if err := o.check(); err != nil {
				return misused(cmd, err)
			}
			if err := absent(o.paths, o.watch); err != nil {
				return &exitError{exitUnreadable, err}
			}
			if o.watch {
				return watchView(cmd.Context(), t, o, forASecond)
			}
			return viewOnce(cmd.Context(), t, o, false)
		},
	}
	cmd.Flags().StringVarP(&o.file, "output", "o", usualPage, "write the page to this `file`; - is the standard output")
	cmd.Flags().BoolVar(&o.watch, "watch", false, "write the page again when a trace has changed, until it is interrupted")
	return cmd
}

func (o *viewOptions) check() error {
	err := errors.Join(checkPaths(o.paths), checkPage("--output", o.file))
	switch {
	case err != nil || !o.watch:
		return err
	case o.file == stdout:
		return errors.New("--watch needs a file that it can write again")
	}
	return checkWatch(o.paths)
}

// absent refuses paths if each of them is missing or is a folder without a trace, because an empty
// page would replace the previous one. With watch, a folder without a trace is accepted. If one of
// the paths has a trace, the page says what cannot be read.
func absent(paths []string, watch bool) error {
	var none []error
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case path == stdin:
			return nil
		case errors.Is(err, fs.ErrNotExist):
			none = append(none, errors.New(safetext.Line(path)+": no such file or directory"))
			continue
		case err != nil || !info.IsDir() || watch:
			return nil
		}
		first := folderTraces(path)[0]
		if first.name != path {
			return nil
		}
		_, err = first.open()
		none = append(none, err)
	}
	return errors.Join(none...)
}

// mostInPage is the limit for the traces in a page, as text.
var mostInPage = strconv.Itoa(page.DefaultMostBytes>>20) + " MB"

// viewOnce writes the page. watched says whether browsers reload it.
func viewOnce(ctx context.Context, t *terminal, o viewOptions, watched bool) error {
	recordings, traces := findRecordings(ctx, o.paths)
	p := &page.Page{Title: titleOf(o.paths), Reading: t.limits, Watched: watched, Recordings: recordings}
	for _, source := range withSpans(t, traces) {
		p.Sources = append(p.Sources, page.Source{Name: source.Name, Open: func() (io.ReadCloser, error) {
			content, err := source.Open()
			if err != nil {
				return nil, err
			}
			return readCloser{interruptible{ctx, content}, content}, nil
		}})
	}
	written, words, err := writePage(ctx, t, o.file, p)
	if err != nil {
		return err
	}
	if words != "" {
		t.printf("%s", words)
	}
	var faults, notes []string
	for _, one := range written.Sessions {
		faults, notes = append(faults, one.Faults...), append(notes, one.Notes...)
	}
	for _, one := range written.Traces {
		switch {
		case one.Fault == "":
		case t.isCut(one.Name, recordings): // not damaged
			notes = append(notes, one.Fault)
		default:
			faults = append(faults, one.Fault)
		}
	}
	for _, text := range append(faults, notes...) {
		t.warn(text)
	}
	if len(faults) > 0 {
		return &exitError{code: exitUnreadable}
	}
	return nil
}

// titleOf returns the title of a page.
func titleOf(paths []string) string {
	switch len(paths) {
	case 0:
		return "adkreplay: embedded traces"
	case 1:
		return filepath.ToSlash(paths[0])
	}
	return safetext.Counted(len(paths), "file") + " and folders"
}

// writePage writes a page as a whole. It returns the results for its traces, and a text that says
// where the page is, which is empty for the standard output.
func writePage(ctx context.Context, t *terminal, file string, p *page.Page) (written page.Written, words string, err error) {
	size := 0
	if file == stdout {
		written, err = p.Write(t.out)
	} else {
		written, size, err = p.WriteFile(file)
	}
	switch {
	case ctx.Err() != nil:
		return written, "", internal(errors.New("interrupted: there is no page"))
	case err != nil:
		return written, "", internal(fmt.Errorf("%s: the page cannot be written: %w", safetext.Line(file), withoutPath(err)))
	case file == stdout:
		return written, "", nil
	}
	return written, pageWords(file, written, size), nil
}

func pageWords(file string, written page.Written, size int) string {
	words := safetext.Counted(len(written.Traces), "trace")
	listed, unreadable, told := 0, 0, 0
	for _, one := range written.Traces {
		switch {
		case one.Held:
		case one.Fault != "":
			unreadable++
		default:
			listed++
		}
	}
	if unreadable > 0 {
		words += fmt.Sprintf(", %d unreadable", unreadable)
	}
	if listed > 0 {
		words += fmt.Sprintf(", %d of %d without what is in it", listed, len(written.Traces))
	}
	for _, one := range written.Sessions {
		told += one.Sessions
	}
	if told > 0 {
		words += ", " + safetext.Counted(told, "session")
	}
	return fmt.Sprintf("%s: %s, %s; open it in a browser", safetext.Line(file), words, sizeWords(size))
}

// sizeWords says how large a file is.
func sizeWords(size int) string {
	if size < 1<<20 {
		return fmt.Sprintf("%d KB", (size+1<<10-1)>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(size)/(1<<20))
}
