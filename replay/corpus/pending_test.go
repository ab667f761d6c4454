package corpus_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

func nobodysEnv(string) string { return "" }

// The pending change of a trace is what Accept would write, and accepting it has the same result.
// A trace that is the same has no pending change.
func TestPendingIsWhatWouldBeAccepted(t *testing.T) {
	home, folder := t.TempDir(), t.TempDir()
	content, err := fixtures.Traces.ReadFile("hello.jsonl")
	require.NoError(t, err)
	file := filepath.Join(home, "hello.jsonl")
	other := strings.Replace(string(content), `"iterations":1`, `"iterations":2`, 1)
	require.NotEqual(t, string(content), other)
	other = string(tracetest.Reseal(t, []byte(other)))
	require.NoError(t, os.WriteFile(file, []byte(other), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(home, "same.jsonl"), content, 0o600))

	sources, err := corpus.Sources(os.DirFS(home))
	require.NoError(t, err)
	for i := range sources {
		sources[i].Name = filepath.Join(home, sources[i].Name)
	}
	report, err := corpus.Verify(context.Background(), sources, nil)
	require.NoError(t, err)
	all := report.Pending(context.Background(), nil)
	require.Len(t, all, 1)
	assert.Equal(t, string(content), string(all[0].Content))
	assert.Equal(t, []string{report.Causes[0].Text}, all[0].Causes)

	require.NoError(t, all[0].Keep(folder))
	require.NoError(t, all[0].Keep(folder), "one takes the place of the one before")
	kept, err := corpus.ReadPending(folder)
	require.NoError(t, err)
	require.Len(t, kept, 1)
	assert.Equal(t, corpus.WholePath(file), kept[0].File)
	info, err := os.Stat(filepath.Join(folder, mustOne(t, folder)))
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode().Perm(), "as private as the trace")

	a, err := corpus.NewAcceptance("Counted again.", time.Now(), nobodysEnv)
	require.NoError(t, err)
	require.NoError(t, a.ReplacePending(kept[0]))
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(content), string(now))
	reason, err := os.ReadFile(file + corpus.ReasonEnding)
	require.NoError(t, err)
	assert.Contains(t, string(reason), "Counted again.\n    "+report.Causes[0].Text)
	kept, err = corpus.ReadPending(folder)
	require.NoError(t, err)
	assert.Empty(t, kept)
}

func mustOne(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	return entries[0].Name()
}

// A file that changed after the check is not replaced by the pending change of its earlier content.
func TestPendingIsOfOneContent(t *testing.T) {
	folder, file := t.TempDir(), filepath.Join(t.TempDir(), "a.golden")
	require.NoError(t, os.WriteFile(file, []byte("one"), 0o600))
	require.NoError(t, corpus.Pending{File: file, Causes: []string{"x"}, Content: []byte("two")}.Keep(folder))
	require.NoError(t, os.WriteFile(file, []byte("three"), 0o600))
	kept, err := corpus.ReadPending(folder)
	require.NoError(t, err)
	a, err := corpus.NewAcceptance("Meant.", time.Now(), nobodysEnv)
	require.NoError(t, err)
	assert.ErrorContains(t, a.ReplacePending(kept[0]), "changed since the check")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "three", string(content))
	require.NoError(t, corpus.DropPending(folder, file))
	require.NoError(t, corpus.DropPending(folder, file), "there may be none")
	kept, err = corpus.ReadPending(folder)
	require.NoError(t, err)
	assert.Empty(t, kept)
}
