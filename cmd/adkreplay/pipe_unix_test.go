//go:build unix

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	tests "github.com/adkreplay/adkreplay/internal/patience"
)

// A pipe among the traces of a folder does not make a command wait for its writer.
func TestAPipeInAFolder(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "turn.jsonl"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "tests.claims"), 0o600))
	for _, args := range [][]string{{"verify", folder}, {"check", folder}, {"lint", folder}, {"accept", folder}, {"stale", "--claims", folder}} {
		got := adkreplay(args...)
		assert.Equal(t, exitUnreadable, got.code, args[0])
		assert.Contains(t, got.out+got.err, "this is no file but a pipe, which is not opened", args[0])
	}
}

// A command that waits for a pipe can be interrupted at once: both before somebody opens the pipe
// for writing, and while it waits for more data.
func TestInterruptedAtAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "turn.jsonl")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	stdinWas := os.Stdin
	defer func() { os.Stdin = stdinWas }()
	for _, args := range [][]string{
		{"show", pipe}, {"check", pipe}, {"verify", pipe}, {"stats", pipe}, {"diff", pipe, pipe}, {"shrink", pipe}, {"merge", pipe},
		{"import", pipe, "-o", filepath.Join(t.TempDir(), "x")}, {"show", stdin}, {"check", stdin}, {"verify", stdin},
	} {
		for _, opened := range []bool{false, true} {
			silent, writer, err := os.Pipe()
			require.NoError(t, err)
			os.Stdin = silent
			ctx, interrupt := context.WithCancel(t.Context())
			code := make(chan int, 1)
			go func() { code <- executeContext(ctx, args, io.Discard, io.Discard) }()
			if opened && args[1] == pipe {
				ours, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
				require.NoError(t, err)
				defer ours.Close()
			}
			interrupt()
			select {
			case got := <-code:
				assert.Equal(t, exitInternal, got, "%q", args)
			case <-time.After(tests.Long):
				require.Fail(t, "it waits for the pipe", "%q", args)
			}
			if !opened && args[1] == pipe { // releases a command that still waits at the pipe
				ours, err := os.OpenFile(pipe, os.O_RDWR, 0)
				require.NoError(t, err)
				require.NoError(t, ours.Close())
			}
			require.NoError(t, writer.Close())
			require.NoError(t, silent.Close())
		}
	}
}
