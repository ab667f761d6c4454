package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/page"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/wholefile"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/sessions"
)

// reportOptions say where a report goes, in addition to the text for people.
type reportOptions struct {
	json, junit string // files; - is the standard output, and empty is none
	html        string // a file; empty is none
	github      bool
	watched     bool // the page is written again after changes
}

// stdout is the file name that denotes the standard output.
const stdout = "-"

func (o *reportOptions) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.json, "json", "", "print the report as one JSON document, or with =`file` write it there")
	cmd.Flags().Lookup("json").NoOptDefVal = stdout // so that --json alone is a switch, as in the other commands
	cmd.Flags().StringVar(&o.junit, "junit", "", "write the report as JUnit XML to this `file`; - is the standard output, without the text")
	cmd.Flags().StringVar(&o.html, "html", "", "write a page to look at what was found, in a browser, to this `file`")
	cmd.Flags().BoolVar(&o.github, "github", false, "print the causes as annotations for GitHub Actions too")
}

// check refuses outputs that would overwrite a trace, and two documents in one output.
func (o *reportOptions) check() error {
	for _, f := range []struct{ flag, file string }{{"--json", o.json}, {"--junit", o.junit}} {
		switch {
		case f.file != stdout && strings.HasPrefix(f.file, "-"):
			return fmt.Errorf("%s needs a file, or - for the standard output: %q is a flag", f.flag, f.file)
		case corpus.IsTrace(f.file):
			return fmt.Errorf("%s writes a report, and %s is the name of a trace: give another name, or - for the standard output", f.flag, safetext.Line(f.file))
		}
	}
	if err := checkPage("--html", o.html); err != nil {
		return err
	}
	switch {
	case o.html == stdout:
		return errors.New("--html needs a file: the standard output has the text")
	case o.html != "" && (o.html == o.json || o.html == o.junit):
		return errors.New("--html cannot write the file of another report")
	case o.json != "" && o.json == o.junit:
		return errors.New("--json and --junit cannot write the same file")
	case o.github && o.onlyStdout():
		return errors.New("--github prints on the standard output, and a document stands there alone: give it a file")
	}
	return nil
}

// checkApart refuses a file that follows --json as a separate argument. It would be read as a trace
// that does not exist.
func (o *reportOptions) checkApart(args []string) error {
	for _, arg := range args {
		if _, err := os.Stat(arg); o.json == stdout && strings.HasSuffix(arg, ".json") && errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("--json takes its file behind an equals sign: --json=%s", arg)
		}
	}
	return nil
}

// checkWatch refuses options that describe the result of a single run.
func (o *reportOptions) checkWatch(isShard bool) error {
	if o.json != "" || o.junit != "" || o.github || isShard {
		return errors.New("--json, --junit, --github and --shard are of one run: leave them or --watch out")
	}
	return nil
}

// onlyStdout reports whether the standard output contains only one document.
func (o *reportOptions) onlyStdout() bool { return o.json == stdout || o.junit == stdout }

// result is the JSON document of a report, with the exit code of the command.
type result struct {
	*corpus.Report
	ExitCode int `json:"exitCode"`
}

// codeOf returns the exit code of a report. If several apply, it is the highest.
func codeOf(r *corpus.Report) int {
	divergent, unreadable := r.OfSessions()
	switch {
	case r.Error != "":
		return exitInternal
	case r.Unreadable+unreadable > 0:
		return exitUnreadable
	case r.Divergent+divergent > 0:
		return exitDivergence
	}
	return exitSame
}

// conclude prints the summary of all traces, writes the requested reports, and returns the exit
// code as an error. sources and recordings are for a page.
func conclude(ctx context.Context, t *terminal, r *corpus.Report, sources []corpus.Source, recordings []*sessions.Recording, o reportOptions) error {
	t.clear()
	if o.github {
		if err := r.WriteAnnotations(t.out); err != nil {
			return internal(err)
		}
	}
	if !o.onlyStdout() {
		printSummary(t, r)
	}
	asJSON := func(w io.Writer) error { return result{r, codeOf(r)}.write(w) }
	if err := errors.Join(writeReport(t, o.json, asJSON), writeReport(t, o.junit, r.WriteJUnit)); err != nil {
		return internal(err)
	}
	if o.html != "" {
		if err := writeCorpusPage(ctx, t, r, sources, recordings, o); err != nil {
			return err
		}
	}
	if r.Error != "" {
		t.warn(r.Error)
	}
	return ended(codeOf(r))
}

// writeCorpusPage writes the page of a report. What was read from the standard input cannot be read
// again, so it is only listed.
func writeCorpusPage(ctx context.Context, t *terminal, r *corpus.Report, sources []corpus.Source, recordings []*sessions.Recording, o reportOptions) error {
	rereadable := slices.DeleteFunc(slices.Clone(sources), func(s corpus.Source) bool { return s.Name == stdin })
	p := page.OfCorpus("verified "+safetext.Counted(len(r.Traces), "trace"), r, rereadable, t.limits)
	p.Watched = o.watched
	p.Recordings = slices.DeleteFunc(slices.Clone(recordings), func(r *sessions.Recording) bool { return r.Has(stdin) })
	_, words, err := writePage(ctx, t, o.html, p)
	if err == nil && !o.onlyStdout() {
		t.printf("%s", words)
	}
	return err
}

// writeReport writes one rendering of the report, as a whole, if a file is given.
func writeReport(t *terminal, file string, render func(io.Writer) error) error {
	var content bytes.Buffer
	if file == "" {
		return nil
	}
	if err := render(&content); err != nil {
		return err
	}
	if file == stdout {
		_, err := t.out.Write(content.Bytes())
		return err
	}
	if err := wholefile.Write(file, content.Bytes()); err != nil {
		return fmt.Errorf("%s: the report cannot be written: %w", safetext.Line(file), withoutPath(err))
	}
	return nil
}

// write writes the document, indented for people who read it too.
func (d result) write(w io.Writer) error { return safetext.WriteJSON(w, d, "  ") }

// refusal returns the document of a command that could not start, or that failed.
func refusal(exit *exitError) result {
	return result{&corpus.Report{Format: corpus.Format, Error: exit.Error(),
		Traces: []*corpus.TraceReport{}, Causes: []*corpus.CauseReport{}}, exit.code}
}

// printSummary prints the end of a list of verdicts. Programs read its last line too.
func printSummary(t *terminal, r *corpus.Report) {
	if causes := r.DescribeCauses(); causes != "" && r.Corpus.Traces > 1 {
		t.printf("%s", strings.TrimSuffix(causes, "\n"))
	}
	if r.Unreadable > 0 {
		t.printf("%s could not be read", safetext.Counted(r.Unreadable, "trace"))
	}
	printSessions(t, r)
	if ran(r) && !r.UserCode {
		t.printf("every seam was played from its recording: no user code ran")
	}
	if r.Shard != nil {
		t.printf("shard %s: %d of %s", r.Shard, len(r.Traces), safetext.Counted(r.Corpus.Traces, "trace"))
	}
	t.printf("%s, %s, %s", safetext.Counted(len(r.Traces), "trace"), safetext.Counted(r.Crossings, "crossing"), safetext.Counted(r.Divergent, "divergence"))
}

// ran reports whether anything was replayed.
func ran(r *corpus.Report) bool { return r.Crossings > 0 || r.Divergent > 0 }
