package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/tracetest"
)

// watchman is a running command that watches files, until a test ends it.
type watchman struct {
	t *testing.T
	// a look is requested, and is over with everything that it led to
	wanted, over chan bool
	cancel       context.CancelFunc
	ended        chan error
	mu           sync.Mutex
	said         bytes.Buffer
}

// Write collects the output of the command.
func (w *watchman) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.Write(text)
}

func watching(t *testing.T, run func(ctx context.Context, term *terminal, between pause) error) *watchman {
	ctx, cancel := context.WithCancel(t.Context())
	w := &watchman{t: t, wanted: make(chan bool), over: make(chan bool), cancel: cancel, ended: make(chan error, 1)}
	go func() {
		<-w.wanted
		w.ended <- run(ctx, newTerminal(w, w), w.pause)
	}()
	t.Cleanup(cancel)
	return w
}

// pause reports that a look is over, and waits until the next one is requested.
func (w *watchman) pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case w.over <- true:
	}
	select {
	case <-ctx.Done():
		return false
	case <-w.wanted:
		return true
	}
}

// look makes the command look at the files, and returns its output. The command does not look
// again before the next call, so that all changes in between appear at once.
func (w *watchman) look() string {
	w.t.Helper()
	w.wanted <- true
	select {
	case <-w.over:
	case err := <-w.ended:
		require.Fail(w.t, "it ended", "%v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.said.Reset()
	return w.said.String()
}

// interrupt ends the command, and returns its exit code.
func (w *watchman) interrupt() int {
	w.cancel()
	return classified(<-w.ended).code
}

// written writes a trace with its own modification time, since clocks of file systems may be coarse.
func written(t *testing.T, path string, content []byte, at int) {
	require.NoError(t, os.WriteFile(path, content, 0o644))
	when := time.Date(2025, 1, 1, 0, 0, at, 0, time.UTC)
	require.NoError(t, os.Chtimes(path, when, when))
}

// If a folder is watched, only changed files are verified again. The exit code is that of the
// folder's last state.
func TestVerifyWatches(t *testing.T) {
	folder := t.TempDir()
	hello := tracetest.FixtureNamed(t, "hello").Bytes
	broken := bytes.Replace(hello, []byte(`"iterations":1`), []byte(`"iterations":7`), 1)
	require.NotEqual(t, hello, broken)
	path := func(name string) string { return filepath.Join(folder, name+".jsonl") }
	written(t, path("a"), hello, 0)
	written(t, path("b"), hello, 0)
	w := watching(t, func(ctx context.Context, term *terminal, between pause) error {
		return watchVerify(ctx, term, verifyOptions{paths: []string{folder}, parallel: 1, watch: true}, between)
	})
	said := w.look()
	assert.Contains(t, said, "2 traces")
	assert.Contains(t, said, "watching 2 traces; an interrupt ends it")
	assert.NotContains(t, said, "\x1b", "there is no terminal")
	assert.Empty(t, w.look(), "nothing has changed")

	written(t, path("b"), broken, 1)
	said = w.look()
	assert.Contains(t, said, "changed: "+path("b"))
	assert.NotContains(t, said, path("a")+":")
	assert.Contains(t, said, "of all: 1 same, 0 divergences, 1 unreadable")

	written(t, path("c"), hello, 2)
	require.NoError(t, os.Remove(path("a")))
	said = w.look()
	assert.Contains(t, said, "changed: "+path("c")+"; 1 trace gone")
	assert.Contains(t, said, "of all: 1 same, 0 divergences, 1 unreadable")

	require.NoError(t, os.Remove(path("b")))
	said = w.look()
	assert.Contains(t, said, "1 trace gone")
	assert.Contains(t, said, "of all: 1 same, 0 divergences, 0 unreadable")
	assert.Zero(t, w.interrupt())
}

// The exit code is that of the last look.
func TestWatchEndsWithTheLastCode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "turn.jsonl")
	hello := tracetest.FixtureNamed(t, "hello").Bytes
	written(t, path, hello, 0)
	w := watching(t, func(ctx context.Context, term *terminal, between pause) error {
		return watchVerify(ctx, term, verifyOptions{paths: []string{path}, parallel: 1, watch: true}, between)
	})
	w.look()
	written(t, path, hello[:len(hello)/2], 1)
	assert.Contains(t, w.look(), "unreadable")
	assert.Equal(t, exitUnreadable, w.interrupt())
}

// An interruption before the first look has ended has no exit code of its own.
func TestWatchIsInterruptedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "turn.jsonl")
	written(t, path, tracetest.FixtureNamed(t, "hello").Bytes, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := watchVerify(ctx, newTerminal(io.Discard, io.Discard), verifyOptions{paths: []string{path}, parallel: 1, watch: true}, nil)
	assert.Equal(t, exitInternal, classified(err).code)
}

// A page is written again when its traces change. It makes browsers reload it until the watch
// ends, and not afterwards.
func TestViewWatches(t *testing.T) {
	folder := t.TempDir()
	file, html := filepath.Join(folder, "turn.jsonl"), filepath.Join(folder, "page.html")
	written(t, file, tracetest.FixtureNamed(t, "hello").Bytes, 0)
	contents := func() string { return heldIn(t, html, "contents") }
	w := watching(t, func(ctx context.Context, term *terminal, between pause) error {
		return watchView(ctx, term, viewOptions{paths: []string{file}, file: html, watch: true}, between)
	})
	assert.Contains(t, w.look(), "page.html: 1 trace")
	assert.Contains(t, contents(), `"watched":true`)
	first := contents()
	written(t, file, tracetest.FixtureNamed(t, "tool-round-trip").Bytes, 1)
	assert.Contains(t, w.look(), "changed: "+file)
	assert.NotEqual(t, first, contents())
	assert.Zero(t, w.interrupt())
	assert.NotContains(t, contents(), `"watched":true`)
}

func TestWatchRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "view.html")
	refuses(t, "verify", file, []misuse{
		{[]string{"--watch"}, exitUsage, "--watch needs files or folders"},
		{[]string{"--watch", "-"}, exitUsage, "cannot read the standard input again"},
		{[]string{"--watch", "--junit", "r.xml", "x"}, exitUsage, "are of one run"},
		{[]string{"--watch", "--shard", "1/2", "x"}, exitUsage, "are of one run"},
	})
	refuses(t, "view", file, []misuse{
		{[]string{"--watch"}, exitUsage, "--watch needs files or folders"},
		{[]string{"--watch", "x", "-o", "-"}, exitUsage, "--watch needs a file that it can write again"},
	})
}

// A journal that changes is verified again, together with the unchanged traces of its turns.
func TestVerifyWatchesSessions(t *testing.T) {
	folder := recordedSession(t, "notes-grow")
	journal := filepath.Join(folder, "host.journal.jsonl")
	whole, err := os.ReadFile(journal)
	require.NoError(t, err)
	changed := bytes.Replace(whole, []byte(`"revision":1`), []byte(`"revision":4`), 1)
	require.NotEqual(t, whole, changed)
	w := watching(t, func(ctx context.Context, term *terminal, between pause) error {
		return watchVerify(ctx, term, verifyOptions{paths: []string{folder}, parallel: 1, watch: true}, between)
	})
	assert.Contains(t, w.look(), "1 journal, 1 session, 3 attempts, 3 commits, 0 divergences")
	assert.Empty(t, w.look(), "nothing has changed")
	written(t, journal, changed, 1)
	said := w.look()
	assert.Contains(t, said, "changed: "+journal)
	assert.Contains(t, said, "1 divergence")
	written(t, journal, whole, 2)
	assert.Contains(t, w.look(), "3 commits, 0 divergences")
	written(t, journal, changed, 3)
	w.look()
	assert.Equal(t, exitUnreadable, w.interrupt(), "its footer is of another text")
}
