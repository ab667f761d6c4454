package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/cmd/adkreplay/internal/distil"
)

// production is a folder of turns, some of which show nothing new.
func production(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for file, name := range map[string]string{"a.jsonl": "hello", "b.jsonl": "hello", "deep/c.jsonl": "tool-failure", "deep/d.jsonl": "tool-round-trip"} {
		path := filepath.Join(folder, filepath.FromSlash(file))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, fixture(t, name), 0o600))
	}
	return folder
}

func TestDistil(t *testing.T) {
	folder, out := production(t), filepath.Join(t.TempDir(), "turns")
	got := adkreplay("distil", folder, "-o", out)
	assert.Equal(t, exitSame, got.code, got.err)
	assert.Contains(t, got.out, "copied "+filepath.Join(folder, "deep", "c.jsonl")+": adds ")
	assert.Contains(t, got.out, "missing no dispatch ends with nack\n")
	copied, err := os.ReadFile(filepath.Join(out, "deep", "c.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, fixture(t, "tool-failure"), copied)
	assert.NoFileExists(t, filepath.Join(out, "b.jsonl"), "a shows the same")
	assert.Equal(t, exitSame, adkreplay("verify", out).code)

	var document distilled
	require.NoError(t, json.Unmarshal([]byte(adkreplay("distil", "--json", "--keep", "1", folder).out), &document))
	require.Len(t, document.Chosen, 1)
	assert.Equal(t, document.Behaviours, document.Covered+len(document.Left))
	assert.NotEmpty(t, document.Left)
	assert.Contains(t, adkreplay("distil", "--keep", "1", folder).out, "\nleft ")
}

// No existing file is overwritten, and no partial result is left behind.
func TestDistilOverwritesNothing(t *testing.T) {
	folder, out := production(t), t.TempDir()
	mine := filepath.Join(out, "deep", "d.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(mine), 0o755))
	require.NoError(t, os.WriteFile(mine, []byte("mine"), 0o600))
	got := adkreplay("distil", folder, "-o", out)
	assert.Equal(t, exitInternal, got.code)
	assert.Contains(t, got.err, "is there, and has other content")
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing is copied")
	require.NoError(t, os.Remove(mine))
	assert.Equal(t, exitSame, adkreplay("distil", folder, "-o", out).code)
	assert.Equal(t, exitSame, adkreplay("distil", folder, "-o", out).code, "what is the same may be there")

	file := filepath.Join(folder, "a.jsonl")
	got = adkreplay("distil", folder, "-o", file)
	assert.Equal(t, exitInternal, got.code)
	assert.Contains(t, got.err, "--output needs a folder, and "+file+" is a file")

	other := production(t)
	require.NoError(t, os.WriteFile(filepath.Join(other, "deep", "c.jsonl"), fixture(t, "executor-panic"), 0o600))
	got = adkreplay("distil", folder, other, "-o", t.TempDir())
	assert.Equal(t, exitInternal, got.code)
	assert.Contains(t, got.err, "would both be")
}

// If one trace cannot be copied, none is, and earlier copies are removed.
func TestDistilCopiesAllOrNone(t *testing.T) {
	folder, out := t.TempDir(), t.TempDir()
	long := strings.Repeat("n", 245) + ".jsonl" // the name of its temporary file would be too long
	for name, of := range map[string]string{"a.jsonl": "sub-agents", "b.jsonl": "gate-timeout", long: "executor-panic"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), fixture(t, of), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(out, "b.jsonl"), fixture(t, "gate-timeout"), 0o600))
	chosen := adkreplay("distil", folder)
	require.Less(t, strings.Index(chosen.out, "a.jsonl"), strings.Index(chosen.out, long), "the other is copied first")
	require.Contains(t, chosen.out, "b.jsonl")
	got := adkreplay("distil", folder, "-o", out)
	assert.Equal(t, exitInternal, got.code)
	assert.Contains(t, got.err, "a trace cannot be copied, and nothing is: "+filepath.Join(out, long)+": ")
	assert.Equal(t, []string{"b.jsonl"}, filesIn(t, out), "which was there")
}

func TestDistilIsRefused(t *testing.T) {
	for says, args := range map[string][]string{
		"got none": nil, "no standard input": {"-"}, "--keep is 0": {"x", "--keep", "0"}, "--output is empty: want --output folder": {"x", "-o", ""}, "argument 2 is empty": {"x", ""},
	} {
		got := adkreplay(append([]string{"distil"}, args...)...)
		assert.Equal(t, exitUsage, got.code, args)
		assert.Contains(t, got.err, says)
	}
	got := adkreplay("distil", truncated(t), good(t))
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.out, "1 of 2 traces show ")
	var document distilled
	require.NoError(t, json.Unmarshal([]byte(adkreplay("distil", "--json").out), &document))
	assert.Equal(t, distilled{&distil.Selection{Chosen: []distil.Chosen{}, Left: []string{}, Missing: []string{}}, exitUsage, document.Error}, document)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, err strings.Builder
	assert.Equal(t, exitInternal, executeContext(ctx, []string{"distil", good(t)}, &out, &err))
	assert.Equal(t, "adkreplay: interrupted: 0 of 1 trace were read, and none is chosen\n", err.String())
}
