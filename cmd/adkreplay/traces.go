package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/eachtrace"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/scenarios"
)

// traceFile is one trace to be read: a file, or an embedded one.
type traceFile struct {
	name string
	size int64 // zero where it is not known
	open func() (io.ReadCloser, error)
}

// source is the trace as a part of a corpus.
func (f traceFile) source() corpus.Source {
	return corpus.Source{Name: f.name, Size: f.size, Open: f.open}
}

// stdin is the file name of the standard input.
const stdin = "-"

// findTraces are the traces that arguments name, for a command that reads no journals: those
// besideJournals that no end of a host has cut. It says that there are others.
func (t *terminal) findTraces(ctx context.Context, args []string) []corpus.Source {
	traces := t.besideJournals(ctx, args)
	recordings, _ := findRecordings(ctx, args)
	whole := t.withoutCut(traces, recordings)
	if left := len(traces) - len(whole); left > 0 {
		t.warn(fmt.Sprintf("%s left out, cut where a host was killed: adkreplay show, check and lint read as far as it goes", safetext.Counted(left, "trace")))
	}
	return whole
}

// besideJournals are the traces that arguments name without the journals in a folder, of which
// it says that there are some. One that is given by its name, or with no trace beside it, stands
// among the traces, and says what it is when it is opened.
func (t *terminal) besideJournals(ctx context.Context, args []string) []corpus.Source {
	sources := findSources(ctx, args)
	recordings, traces := sessions.Recordings(sources)
	if len(recordings) == 0 || len(traces) == 0 {
		return sources
	}
	left := 0
	traces = slices.DeleteFunc(sources, func(s corpus.Source) bool {
		out := !slices.Contains(args, s.Name) && slices.ContainsFunc(recordings, func(r *sessions.Recording) bool { return r.Has(s.Name) })
		if out {
			left++
		}
		return out
	})
	if left > 0 && len(args) > 0 && !t.quiet {
		t.warn(fmt.Sprintf("%s of sessions in %s left out: adkreplay show, verify and view read journals", safetext.Counted(left, "journal"), safetext.Line(strings.Join(args, ", "))))
	}
	return traces
}

// findSources turns the arguments into traces and journals: files as they are, - as the
// standard input, folders as all that are below them, in the order of their paths, and nothing
// as the embedded ones. What cannot be found is a trace that cannot be opened: it is
// said when its turn comes, beside what the others gave.
func findSources(ctx context.Context, args []string) []corpus.Source {
	if len(args) == 0 {
		return embedded()
	}
	var found []traceFile
	seen := map[string]bool{} // a folder and a file in it are not two of it
	for _, arg := range args {
		some := []traceFile{file(ctx, arg)}
		if info, err := os.Stat(arg); err == nil && info.IsDir() {
			some = folderTraces(arg)
		}
		for _, f := range some {
			if path := filepath.Clean(f.name); !seen[path] {
				seen[path] = true
				found = append(found, f)
			}
		}
	}
	return safetext.Each(found, traceFile.source)
}

// folderTraces are the traces below a folder, which may be a link to one.
func folderTraces(root string) (found []traceFile) {
	sources, err := corpus.Sources(os.DirFS(root))
	if err != nil {
		return []traceFile{unopened(root, fmt.Errorf("%s: %w", safetext.Line(root), safetext.WithoutPackage(withoutPath(err))))}
	}
	for _, s := range sources {
		path := filepath.ToSlash(filepath.Join(root, filepath.FromSlash(s.Name))) // a report names it alike on every system
		found = append(found, traceFile{path, s.Size, func() (io.ReadCloser, error) {
			in, err := s.Open()
			if err != nil {
				return nil, fileError(path, err)
			}
			return in, nil
		}})
	}
	return found
}

// embedded are the recorded turns and sessions that are part of this program.
func embedded() (found []corpus.Source) {
	for _, files := range []fs.FS{fixtures.Traces, fixtures.Sessions} {
		some, err := corpus.Sources(files)
		if err != nil {
			panic(err) // they are part of this program
		}
		found = append(found, some...)
	}
	for i := range found {
		found[i].Name = strings.TrimSuffix(found[i].Name, corpus.Ending)
	}
	return found
}

// file is what a path names. Where somebody else decides when it has something to read, and
// may never do so, the wait for it ends with ctx.
func file(ctx context.Context, path string) traceFile {
	if path == stdin {
		in := standardInput{bufio.NewReaderSize(&waiting{ctx: ctx, ReadCloser: os.Stdin}, 64<<10)}
		return traceFile{name: path, open: func() (io.ReadCloser, error) { return in, nil }}
	}
	f := traceFile{name: path, open: func() (io.ReadCloser, error) { return openWaiting(ctx, path) }}
	if info, err := os.Stat(path); err == nil {
		f.size = info.Size()
	}
	return f
}

// standardInput can be opened again as long as nothing was taken from it.
type standardInput struct{ *bufio.Reader }

// Close leaves it open.
func (standardInput) Close() error { return nil }

func unopened(path string, err error) traceFile {
	return traceFile{name: path, open: func() (io.ReadCloser, error) { return nil, err }}
}

// openFile opens a file that should be a trace, or says what is in its place.
func openFile(path string) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s: this is a folder: give the file of one trace in it%s", safetext.Line(path), such(path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	return f, nil
}

// noFolder refuses a folder where a command wants a file that is no trace.
func noFolder(path, want string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s: this is a folder: give the file of %s", safetext.Line(path), want)
	}
	return nil
}

// such names a trace of a folder; empty where there is none.
func such(folder string) string {
	found := folderTraces(folder)
	if found[0].name == folder { // why there is none
		return ""
	}
	return ", such as " + safetext.Line(found[0].name)
}

// openWaiting opens a file that should be a trace. A named pipe is opened only when
// somebody writes to it.
func openWaiting(ctx context.Context, path string) (io.ReadCloser, error) {
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() || info.IsDir() {
		return openFile(path)
	}
	in, err := within(ctx, func() (io.ReadCloser, error) { return openFile(path) })
	if err != nil {
		return nil, err
	}
	return &waiting{ctx: ctx, ReadCloser: in}, nil
}

// waiting is an input that keeps its reader waiting until ctx ends.
type waiting struct {
	ctx context.Context
	io.ReadCloser
	buffer []byte // read into where the caller may have gone
}

// Read reads unless the context ends first.
func (w *waiting) Read(p []byte) (int, error) {
	if len(w.buffer) < len(p) {
		w.buffer = make([]byte, len(p))
	}
	n, err := within(w.ctx, func() (int, error) { return w.ReadCloser.Read(w.buffer[:len(p)]) })
	return copy(p, w.buffer[:n]), err
}

// within does what may take for ever. It gives what that gives, or the error of a context that
// has ended before: what it waits for is left alone then.
func within[T any](ctx context.Context, do func() (T, error)) (got T, err error) {
	if err := ctx.Err(); err != nil {
		return got, err
	}
	type result struct {
		got T
		err error
	}
	done := make(chan result, 1)
	go func() {
		got, err := do()
		done <- result{got, err}
	}()
	select {
	case r := <-done:
		return r.got, r.err
	case <-ctx.Done():
		return got, ctx.Err()
	}
}

// fileError says why a file cannot be used, and what may have been meant.
func fileError(path string, err error) error {
	err = withoutPath(err)
	if _, ok := scenarios.Named(path); ok && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w; adkreplay run %s shows the scenario of this name", path, err, path)
	}
	return fmt.Errorf("%s: %w", safetext.Line(path), err)
}

// withoutPath is the cause of an error alone, to be said of the path that the
// person gave.
func withoutPath(err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		return cause.Err
	}
	return err
}

// readingOf reads traces within the terminal's limits: it counts those that are done, shows
// how far that is, and warns of those that cannot be read.
func (t *terminal) readingOf(all int, done *int) eachtrace.Options {
	return eachtrace.Options{Reading: t.limits, Each: func(name string, err error) {
		if *done++; err != nil {
			t.warn(safetext.OfFile(name, err))
		}
		t.step(*done, all, name)
	}}
}
