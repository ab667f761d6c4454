package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/sessions"
)

func newMerge(t *terminal) *cobra.Command {
	var out reportOptions
	cmd := &cobra.Command{
		Use:   "merge report.json ...",
		Short: "Put the reports of all shards together",
		Long: `merge puts the reports together that verify --shard i/n --json wrote, one of
every shard, in any order. The result is what one verify of all traces would
have said, with its exit code, but for how long each took. A shard without a report is named: what it would
have found is not known. Reports of other traces, or of another number of
shards, are refused.
` + exits(sameWords, divergenceWords, "a report that cannot be read, or has a trace that could not be", ", a shard without a report"),
		Example: "  adkreplay merge shard-*.json\n  adkreplay merge --junit report.xml shard-*.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkMerge(args, out); err != nil {
				return misused(cmd, err)
			}
			reports, err := readReports(cmd.Context(), args)
			if err != nil {
				return unreadable(err)
			}
			merged, err := corpus.Merge(reports...)
			if merged == nil {
				return misused(cmd, safetext.WithoutPackage(err))
			}
			return runMerge(cmd.Context(), t, merged, out)
		},
	}
	out.register(cmd)
	return cmd
}

func checkMerge(args []string, out reportOptions) error {
	if len(args) == 0 {
		return errors.New("merge takes the reports of all shards, and got none")
	}
	return errors.Join(checkNone(args, "the file of a report"), checkInputs(args), out.check())
}

// readReports reads all reports. The error joins the faults of those that cannot be read.
func readReports(ctx context.Context, paths []string) (reports []*corpus.Report, err error) {
	var faults []error
	for _, path := range paths {
		r, err := readReport(ctx, path)
		if err != nil {
			faults = append(faults, err)
		}
		reports = append(reports, r)
	}
	return reports, errors.Join(faults...)
}

func readReport(ctx context.Context, path string) (*corpus.Report, error) {
	if err := noFolder(path, "a report, which verify --json=FILE writes"); err != nil {
		return nil, err
	}
	f, err := file(ctx, path).open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := corpus.ReadReport(bufio.NewReader(f))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%s: %w", safetext.Line(path), safetext.WithoutPackage(err))
	}
	return r, nil
}

// runMerge prints the traces that are not the same, and then the summary of verify.
func runMerge(ctx context.Context, t *terminal, merged *corpus.Report, out reportOptions) error {
	for _, v := range merged.Traces {
		if (v.Divergence != nil || v.Error != "") && !out.onlyStdout() {
			printVerdict(t, v, merged.Corpus.Traces == 1)
		}
	}
	var names []string
	for _, v := range merged.Traces {
		names = append(names, v.Trace)
	}
	for _, s := range merged.Sessions {
		for _, j := range s.Journals {
			names = append(names, j.Journal)
		}
	}
	var files []corpus.Source
	for _, name := range names { // those that are available
		if _, err := os.Stat(name); err == nil {
			files = append(files, file(ctx, name).source())
		}
	}
	recordings, sources := sessions.Recordings(files)
	return conclude(ctx, t, merged, sources, recordings, out)
}
