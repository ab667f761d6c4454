package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// watchHelp is the help of commands with --watch.
const watchHelp = `
With --watch it goes on until it is interrupted, and looks every second whether a
trace has changed, come or gone. It ends with the code of what is there then.
`

// lookEvery is how often files are checked. Polling works everywhere: change notifications of
// operating systems do not cover folders below a folder, nor network drives.
const lookEvery = time.Second

// watch calls do immediately, and again whenever a trace has changed, until ctx ends. It passes the
// traces that changed and all traces. It returns the code that do returned last.
func watch(ctx context.Context, t *terminal, paths []string, pause pause, do func(changed, all []corpus.Source) (code int, err error)) error {
	files, code := watchedFiles{paths: paths}, exitSame
	for first := true; ; first = false {
		changed, all, gone := files.look(ctx)
		if first || len(changed) > 0 || gone > 0 {
			if !first {
				t.again(changeWords(changed, gone))
			}
			last, err := do(changed, all)
			switch {
			case ctx.Err() != nil && first:
				return internal(errors.New("interrupted before anything was done"))
			case ctx.Err() != nil: // do was interrupted: the earlier result counts
				return ended(code)
			}
			if err != nil {
				return err
			}
			code = last
			t.printf("watching %s; an interrupt ends it", safetext.Counted(len(all), "trace"))
		}
		if !pause(ctx) {
			return ended(code)
		}
	}
}

// pause waits between two checks of a watch. It returns false if ctx has ended.
type pause func(ctx context.Context) bool

// forASecond is the pause for people.
func forASecond(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(lookEvery):
		return true
	}
}

// checkWatch refuses paths that cannot be read again.
func checkWatch(paths []string) error {
	switch {
	case len(paths) == 0:
		return errors.New("--watch needs files or folders: the traces that are part of this command do not change")
	case slices.Contains(paths, stdin):
		return errors.New("--watch cannot read the standard input again: give files or folders")
	}
	return nil
}

// again begins the next result: on a cleared screen if there is one, and otherwise after a line.
func (t *terminal) again(why string) {
	t.clear()
	if isTerminal(t.out.w) && os.Getenv("TERM") != "dumb" {
		fmt.Fprint(t.out, "\x1b[H\x1b[2J\x1b[3J")
	}
	t.printf("%s", why)
}

// changeWords says what changed.
func changeWords(changed []corpus.Source, gone int) string {
	var words string
	switch len(changed) {
	case 0:
	case 1:
		words = "changed: " + safetext.Line(changed[0].Name)
	default:
		words = fmt.Sprintf("changed: %s and %d more", safetext.Line(changed[0].Name), len(changed)-1)
	}
	if gone > 0 {
		if words != "" {
			words += "; "
		}
		words += safetext.Counted(gone, "trace") + " gone"
	}
	return words
}

// watchedFiles holds the state of the files of some paths at the last check.
type watchedFiles struct {
	paths []string
	seen  map[string]stamp
}

// stamp shows whether a file has changed. It is zero for a missing file.
type stamp struct {
	size int64
	at   time.Time
}

// look returns the sources that differ from the last check, all sources, and how many are gone.
func (w *watchedFiles) look(ctx context.Context) (changed, all []corpus.Source, gone int) {
	all, seen := findSources(ctx, w.paths), map[string]stamp{}
	for _, source := range all {
		var now stamp
		if info, err := os.Stat(source.Name); err == nil {
			now = stamp{info.Size(), info.ModTime()}
		}
		seen[source.Name] = now
		if was, met := w.seen[source.Name]; !met || was.size != now.size || !was.at.Equal(now.at) {
			changed = append(changed, source)
		}
	}
	for name := range w.seen {
		if _, ok := seen[name]; !ok {
			gone++
		}
	}
	w.seen = seen
	return changed, all, gone
}

// watchVerify verifies traces, and verifies again those that change.
func watchVerify(ctx context.Context, t *terminal, o verifyOptions, between pause) error {
	codes := map[string]int{} // by trace
	return watch(ctx, t, o.paths, between, func(changed, all []corpus.Source) (code int, err error) {
		recordings, again := findRecordings(ctx, o.paths)
		again = t.withoutCut(again, recordings)
		everything := len(recordings) > 0 || o.reports.html != "" // a session has several turns, and a page shows everything
		if !everything {
			again = changed
		}
		if everything || len(again) > 0 {
			report, err := verifySources(ctx, t, o, recordings, again)
			if err != nil || ctx.Err() != nil {
				return 0, err
			}
			if exit := classified(conclude(ctx, t, report, again, recordings, o.reports)); exit.err != nil {
				return 0, exit
			}
			for _, one := range report.Traces {
				codes[one.Trace] = codeOfTrace(one)
			}
			if everything {
				return codeOf(report), nil
			}
		}
		there := map[string]bool{}
		for _, source := range all {
			there[source.Name] = true
			code = max(code, codes[source.Name])
		}
		for name := range codes {
			if !there[name] {
				delete(codes, name)
			}
		}
		if len(again) < len(all) {
			sayOthers(t, codes)
		}
		return code, nil
	})
}

// sayOthers prints counts for all traces.
func sayOthers(t *terminal, codes map[string]int) {
	counts := map[int]int{}
	for _, code := range codes {
		counts[code]++
	}
	t.printf("of all: %d same, %s, %d unreadable", counts[exitSame], safetext.Counted(counts[exitDivergence], "divergence"), counts[exitUnreadable])
}

// codeOfTrace returns the exit code of one trace.
func codeOfTrace(r *corpus.TraceReport) int {
	switch {
	case r.Error != "":
		return exitUnreadable
	case r.Divergence != nil:
		return exitDivergence
	}
	return exitSame
}

// watchView writes a page, and writes it again whenever a trace changes. At the end, it writes a
// page that does not reload itself.
func watchView(ctx context.Context, t *terminal, o viewOptions, between pause) error {
	err := watch(ctx, t, o.paths, between, func(_, _ []corpus.Source) (int, error) {
		exit := classified(viewOnce(ctx, t, o, true))
		return exit.code, exit.err
	})
	quiet := &terminal{out: &output{w: io.Discard}, err: io.Discard, limits: t.limits}
	return cmp.Or(err, viewOnce(context.WithoutCancel(ctx), quiet, o, false))
}
