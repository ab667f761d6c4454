//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A pipe among the traces of a folder keeps nobody waiting for who writes to it.
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
