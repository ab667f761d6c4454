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

// traceFile is one trace to read, a file or an embedded one.
type traceFile struct {
	name string
	size int64 // zero if unknown
	open func() (io.ReadCloser, error)
}

// source returns the trace as a part of a corpus.
func (f traceFile) source() corpus.Source {
	return corpus.Source{Name: f.name, Size: f.size, Open: f.open}
}

// stdin is the file name that denotes the standard input.
const stdin = "-"

// findTraces returns the traces that the arguments name, for a command that does not read journals.
// It leaves out journals as besideJournals does, and traces that were cut when their host was
// killed, and says so.
func (t *terminal) findTraces(ctx context.Context, args []string) []corpus.Source {
	traces := t.besideJournals(ctx, args)
	recordings, _ := findRecordings(ctx, args)
	whole := t.withoutCut(traces, recordings)
	if left := len(traces) - len(whole); left > 0 {
		t.warn(fmt.Sprintf("%s left out, cut where a host was killed: adkreplay show, check and lint read as far as it goes", safetext.Counted(left, "trace")))
	}
	return whole
}

// besideJournals returns the sources that the arguments name without the journals in folders, and
// says so. It keeps a journal that is named itself, or if there is no trace at all; opening it then
// reports what it is.
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

// findSources returns the traces and journals that the arguments name: files as they are, - as the
// standard input, folders as everything below them in the order of paths, and without arguments the
// embedded ones. For a path that does not exist it returns a source that fails when it is opened,
// so that the results of the others are still reported.
func findSources(ctx context.Context, args []string) []corpus.Source {
	if len(args) == 0 {
		return embedded()
	}
	var found []traceFile
	seen := map[string]bool{} // a file is not listed again if its folder is
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

// folderTraces returns the traces below a folder, which may be a link to a folder.
func folderTraces(root string) (found []traceFile) {
	sources, err := corpus.Sources(os.DirFS(root))
	if err != nil {
		return []traceFile{unopened(root, fmt.Errorf("%s: %w", safetext.Line(root), safetext.WithoutPackage(withoutPath(err))))}
	}
	for _, s := range sources {
		path := filepath.ToSlash(filepath.Join(root, filepath.FromSlash(s.Name))) // the same name in reports on every system
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

// embedded returns the recorded turns and sessions that are part of this program.
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

// file returns what a path names. If reading it may block forever, as for a pipe, the wait ends
// with ctx.
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

// standardInput can be opened again as long as nothing was read from it.
type standardInput struct{ *bufio.Reader }

// Close does nothing, so the input stays open.
func (standardInput) Close() error { return nil }

func unopened(path string, err error) traceFile {
	return traceFile{name: path, open: func() (io.ReadCloser, error) { return nil, err }}
}

// openFile opens the file of a trace. The error says what is there instead.
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

// noFolder refuses a folder if the command needs a file.
func noFolder(path, want string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s: this is a folder: give the file of %s", safetext.Line(path), want)
	}
	return nil
}

// such names a trace in a folder, or returns "" if there is none.
func such(folder string) string {
	found := folderTraces(folder)
	if found[0].name == folder { // the source that says why there is none
		return ""
	}
	return ", such as " + safetext.Line(found[0].name)
}

// openWaiting opens the file of a trace. Opening a named pipe blocks until there is a writer, so it
// ends with ctx.
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

// waiting is an input whose reads may block; they end with ctx.
type waiting struct {
	ctx context.Context
	io.ReadCloser
	buffer []byte // read into, since the caller may be gone
}

// Read reads unless the context ends first.
func (w *waiting) Read(p []byte) (int, error) {
	if len(w.buffer) < len(p) {
		w.buffer = make([]byte, len(p))
	}
	n, err := within(w.ctx, func() (int, error) { return w.ReadCloser.Read(w.buffer[:len(p)]) })
	return copy(p, w.buffer[:n]), err
}

// within calls do, which may block forever, and returns its results. If ctx ends first, it returns
// the error of ctx and abandons the call.
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

// fileError returns the error for a file that cannot be used, with a suggestion if there is one.
func fileError(path string, err error) error {
	err = withoutPath(err)
	if _, ok := scenarios.Named(path); ok && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w; adkreplay run %s shows the scenario of this name", path, err, path)
	}
	return fmt.Errorf("%s: %w", safetext.Line(path), err)
}

// withoutPath returns the cause of an error without its path, because messages name the path as the
// person gave it.
func withoutPath(err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		return cause.Err
	}
	return err
}

// readingOf returns options for reading all traces within the terminal's limits. Reading then
// counts the finished traces in done, shows the progress, and warns of traces that cannot be read.
func (t *terminal) readingOf(all int, done *int) eachtrace.Options {
	return eachtrace.Options{Reading: t.limits, Each: func(name string, err error) {
		if *done++; err != nil {
			t.warn(t.once(safetext.OfFile(name, err)))
		}
		t.step(*done, all, name)
	}}
}
