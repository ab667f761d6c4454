package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/sessions"
)

// This file handles the journals of sessions for all commands.

// findRecordings returns the recordings that the arguments name, each with the traces of its turns,
// and all traces. A journal that is given without traces gets those of its folder.
func findRecordings(ctx context.Context, args []string) (recordings []*sessions.Recording, traces []corpus.Source) {
	recordings, traces = sessions.Recordings(findSources(ctx, args))
	for _, r := range recordings {
		if len(r.Traces) == 0 && !r.Has(stdin) {
			r.Traces = tracesBeside(r)
			traces = append(traces, r.Traces...)
		}
	}
	return recordings, traces
}

// withoutCut returns the traces without those that were cut when their host was killed, which only
// their journals use.
func (t *terminal) withoutCut(traces []corpus.Source, recordings []*sessions.Recording) []corpus.Source {
	return sessions.Whole(traces, recordings, t.limits)
}

// isCut reports whether a trace ends where its host was killed.
func (t *terminal) isCut(name string, recordings []*sessions.Recording) bool {
	return slices.ContainsFunc(recordings, func(r *sessions.Recording) bool { return r.IsCut(name, t.limits) })
}

// tracesBeside returns the traces in a journal's folder.
func tracesBeside(r *sessions.Recording) []corpus.Source {
	if all := journalsIn(filepath.FromSlash(r.Folder)); all != nil {
		return all.Traces
	}
	return nil
}

// verifyTraces verifies the traces. If there are only journals, it returns an empty report instead
// of an error.
func verifyTraces(ctx context.Context, sources []corpus.Source, recordings []*sessions.Recording, o corpus.Options) (*corpus.Report, error) {
	if len(sources) > 0 || len(recordings) == 0 {
		return corpus.Verify(ctx, sources, nil, o)
	}
	report := &corpus.Report{Format: corpus.Format, Traces: []*corpus.TraceReport{}, Causes: []*corpus.CauseReport{}}
	if o.Shard != (corpus.Shard{}) {
		report.Shard = &o.Shard
	}
	return report, nil
}

// verifySessions replays the journals of the shard, whose traces were verified before.
func verifySessions(ctx context.Context, t *terminal, report *corpus.Report, recordings []*sessions.Recording, o verifyOptions) {
	var sizes []corpus.Source
	for _, r := range recordings {
		sizes = append(sizes, corpus.Source{Name: r.Folder, Size: r.Size()})
	}
	part := o.shard.Of(sizes)
	done := map[string]*replay.Report{}
	for _, one := range report.Traces {
		if one.Error == "" {
			done[one.Trace] = &one.Report
		}
	}
	for i, at := range part {
		r := recordings[at]
		t.step(i, len(part), r.Folder)
		found, err := r.Verify(ctx, sessions.Options{Reading: t.limits, Replayed: func(trace string) *replay.Report { return done[trace] }})
		if err != nil {
			report.Error = fmt.Sprintf("interrupted: the sessions of %d of %s were verified", i, safetext.Counted(len(part), "folder"))
			return
		}
		report.Sessions = append(report.Sessions, found)
		if !o.reports.onlyStdout() {
			printSessionVerdict(t, found)
		}
	}
}

// printSessionVerdict prints the result for the sessions of a folder.
func printSessionVerdict(t *terminal, s *corpus.SessionsReport) {
	of := "sessions of " + safetext.Line(s.Folder)
	for _, fault := range s.Faults() {
		t.unreadable(fault)
	}
	for _, d := range s.Divergences {
		t.judged(red, "divergence", fmt.Sprintf("%s: %s", of, safetext.Line(d.Text)))
	}
	if len(s.Divergences)+len(s.Faults()) > 0 {
		return
	}
	t.good("same", fmt.Sprintf("%s: %s", of, s.Summary()))
	if t.quiet || t.dotted {
		return
	}
	for _, what := range s.NotCompared {
		t.printf("    not compared: %s", safetext.Line(what))
	}
}

// printSessions prints the counts for the sessions of all folders.
func printSessions(t *terminal, r *corpus.Report) {
	var all corpus.SessionsReport
	for _, s := range r.Sessions {
		all.Journals = append(all.Journals, s.Journals...)
		all.Sessions, all.Attempts, all.Commits = all.Sessions+s.Sessions, all.Attempts+s.Attempts, all.Commits+s.Commits
	}
	divergent, unreadable := r.OfSessions()
	if len(r.Sessions) == 0 {
		return
	}
	text := all.Summary() + ", " + safetext.Counted(divergent, "divergence")
	if unreadable > 0 {
		text += fmt.Sprintf(", %d unreadable", unreadable)
	}
	t.printf("%s", text)
}

// journalsIn returns the recording of the journals in a folder. It returns nil if the path is no
// folder, or has no journals.
func journalsIn(path string) *sessions.Recording {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil
	}
	var found []corpus.Source
	for _, f := range folderTraces(path) {
		found = append(found, f.source())
	}
	recordings, _ := sessions.Recordings(found)
	for _, r := range recordings {
		if r.Folder == filepath.ToSlash(filepath.Clean(path)) {
			return r
		}
	}
	return nil
}

// suchJournals names a folder with journals below the given one, or returns "" if there is none.
func suchJournals(ctx context.Context, path string) string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return ""
	}
	recordings, _ := findRecordings(ctx, []string{path})
	if len(recordings) == 0 {
		return ""
	}
	return "; or a folder of journals, such as " + safetext.Line(filepath.FromSlash(recordings[0].Folder))
}

// journalOf returns the recording of an open journal, with the traces next to it.
func journalOf(journal traceFile, content io.Reader) *sessions.Recording {
	opened := journal.source()
	opened.Open = func() (io.ReadCloser, error) { return io.NopCloser(content), nil }
	r := &sessions.Recording{Folder: filepath.ToSlash(filepath.Dir(journal.name)), Journals: []corpus.Source{opened}}
	if journal.name != stdin {
		r.Traces = tracesBeside(r)
	}
	return r
}

// showRecording prints the story of the sessions, or the steps as JSON.
func showRecording(t *terminal, r *sessions.Recording, o showOptions) error {
	if o.hasAt || o.phases || o.isRange() {
		return &exitError{exitUsage, fmt.Errorf("%s: this is a journal of sessions, with which --json and --grep go: the other flags are for traces", safetext.Line(o.path))}
	}
	turns := r.Turns(t.limits)
	read, reports := r.Read(t.limits)
	err := showSteps(t, read, o, func(turn string) string { return turns[turn].Name })
	for _, one := range reports {
		if one.Error != "" {
			err = unreadable(errors.New(one.Error))
		} else if note := one.Note(); note != "" {
			t.warn(note)
		}
	}
	return err
}

// showSteps prints the steps that were read.
func showSteps(t *terminal, read *sessions.Journal, o showOptions, traceOf func(string) string) error {
	t.clear()
	if !o.json && o.matching == nil {
		return sessions.WriteStory(t.page, read, traceOf)
	}
	found := 0
	for step := range read.Story(traceOf) {
		if o.matching != nil && !o.matching.MatchString(step.Text) {
			continue
		}
		found++
		if o.json {
			if err := safetext.WriteJSON(t.out, step, ""); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(t.page, "%6d  %s  %s\n", step.Line, safetext.PlainName(step.Session), t.highlight(step.Text, o.matching))
	}
	if o.matching != nil && found == 0 {
		return &exitError{exitFound, fmt.Errorf("%s: nothing in %s matches %s", safetext.Line(o.path), safetext.Counted(len(read.Steps), "step"), o.matching)}
	}
	return nil
}
