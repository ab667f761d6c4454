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

// watchHelp is what commands say that watch.
const watchHelp = `
With --watch it goes on until it is interrupted, and looks every second whether a
trace has changed, come or gone. It ends with the code of what is there then.
`

// lookEvery is how often files are looked at. Looking is all that works everywhere: systems that
// tell of changes do not tell of those below a folder, nor on drives of other machines.
const lookEvery = time.Second

// watch has do done at once, and whenever a trace has changed since, until ctx ends: with the
// traces that have changed, all that there are, and how many have gone. It ends as do did last.
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
			case ctx.Err() != nil: // it was broken off: what was before counts
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

// pause waits, when a watch has looked and done all that follows, until it is to look again, and
// reports whether it is: not when ctx has ended.
type pause func(ctx context.Context) bool

// forASecond is the pause of a watch that people look at.
func forASecond(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(lookEvery):
		return true
	}
}

// checkWatch refuses what cannot be looked at again.
func checkWatch(paths []string) error {
	switch {
	case len(paths) == 0:
		return errors.New("--watch needs files or folders: the traces that are part of this command do not change")
	case slices.Contains(paths, stdin):
		return errors.New("--watch cannot read the standard input again: give files or folders")
	}
	return nil
}

// again begins what is done again: on a clean screen where there is one, and else behind a line.
func (t *terminal) again(why string) {
	t.clear()
	if isTerminal(t.out.w) && os.Getenv("TERM") != "dumb" {
		fmt.Fprint(t.out, "\x1b[H\x1b[2J\x1b[3J")
	}
	t.printf("%s", why)
}

// changeWords say what has changed.
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

// watchedFiles are the traces that paths lead to, as they were when they were looked at last.
type watchedFiles struct {
	paths []string
	seen  map[string]stamp
}

// stamp is what shows that a file has changed; zero where there is none.
type stamp struct {
	size int64
	at   time.Time
}

// look gives the traces that are others than before, all that there are, and how many have gone.
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

// watchVerify verifies traces, and again those that have changed.
func watchVerify(ctx context.Context, t *terminal, o verifyOptions, between pause) error {
	codes := map[string]int{} // by trace
	return watch(ctx, t, o.paths, between, func(changed, all []corpus.Source) (code int, err error) {
		recordings, again := findRecordings(ctx, o.paths)
		again = t.withoutCut(again, recordings)
		everything := len(recordings) > 0 || o.reports.html != "" // a session is of several turns, and a page shows all
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

// sayOthers says of all traces how they are.
func sayOthers(t *terminal, codes map[string]int) {
	counts := map[int]int{}
	for _, code := range codes {
		counts[code]++
	}
	t.printf("of all: %d same, %s, %d unreadable", counts[exitSame], safetext.Counted(counts[exitDivergence], "divergence"), counts[exitUnreadable])
}

// codeOfTrace is the exit code of one trace.
func codeOfTrace(r *corpus.TraceReport) int {
	switch {
	case r.Error != "":
		return exitUnreadable
	case r.Divergence != nil:
		return exitDivergence
	}
	return exitSame
}

// watchView writes a page, and again whenever a trace has changed. In the end it writes one that
// nobody loads again.
func watchView(ctx context.Context, t *terminal, o viewOptions, between pause) error {
	err := watch(ctx, t, o.paths, between, func(_, _ []corpus.Source) (int, error) {
		exit := classified(viewOnce(ctx, t, o, true))
		return exit.code, exit.err
	})
	quiet := &terminal{out: &output{w: io.Discard}, err: io.Discard, limits: t.limits}
	return cmp.Or(err, viewOnce(context.WithoutCancel(ctx), quiet, o, false))
}
