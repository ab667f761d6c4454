package mutant_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/mutant"
)

// stubGo replaces the go command: a build adds an entry to its cache, and logs what the cache
// held before.
const stubGo = `#!/bin/sh
echo "$GOCACHE: $(ls "$GOCACHE" | tr '\n' ' ')" >> "$STUB_LOG"
touch "$GOCACHE/entry$(wc -l < "$STUB_LOG" | tr -d ' ')"
`

// Mutants are built in copies of a separate cache, in which the package was built once without a
// mistake. Each copy is removed after use, and the cache of the go command is not
// touched.
func TestBuilderHasACacheOfItsOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for the go command is a shell script")
	}
	bin, usual, scratch, log := t.TempDir(), t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(stubGo), 0o700))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("GOCACHE", usual)
	t.Setenv("STUB_LOG", log)
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "p"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "p", "p.go"), []byte("package p\n"), 0o600))
	builder := &mutant.Builder{Root: root, Scratch: scratch}
	var copies []string
	for _, name := range []string{"one", "two"} {
		dir := t.TempDir()
		copies = append(copies, filepath.Join(dir, "cache"))
		_, err := builder.Build(t.Context(), mutant.Mutant{Name: name, File: "p/p.go", Old: "package p", New: "package q"}, "p", dir)
		require.NoError(t, err)
		assert.NoDirExists(t, copies[len(copies)-1], "the cache of a mutant is taken away")
	}
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, []string{
		filepath.Join(scratch, "cache") + ": ",
		copies[0] + ": entry1 ",
		copies[1] + ": entry1 ",
	}, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"))
	untouched, err := os.ReadDir(usual)
	require.NoError(t, err)
	assert.Empty(t, untouched, "the cache of the go command")
}

// limitedTest is a test that times out at a given moment.
type limitedTest struct {
	*testing.T
	over time.Time
}

func (l limitedTest) Deadline() (time.Time, bool) { return l.over, !l.over.IsZero() }

// A build that takes too long is stopped before go test kills the tests.
func TestInTime(t *testing.T) {
	over := time.Now().Add(time.Hour)
	ctx, cancel := mutant.InTime(limitedTest{t, over})
	at, limited := ctx.Deadline()
	assert.True(t, limited)
	assert.True(t, at.Before(over))
	cancel()
	assert.ErrorIs(t, ctx.Err(), context.Canceled)
	ctx, cancel = mutant.InTime(limitedTest{T: t})
	defer cancel()
	_, limited = ctx.Deadline()
	assert.False(t, limited)
}
