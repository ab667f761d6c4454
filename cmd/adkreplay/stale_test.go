package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/replay/corpus"
)

// claimed writes a file with the claims of the tests in the folder agent, and returns the folder
// of that file.
func claimed(t *testing.T, partial string, files ...string) string {
	t.Helper()
	folder := t.TempDir()
	f, err := os.Create(filepath.Join(folder, "agent"+corpus.ClaimsEnding))
	require.NoError(t, err)
	for _, file := range files {
		require.NoError(t, json.NewEncoder(f).Encode(corpus.Reference{Package: corpus.WholePath("agent"), File: corpus.WholePath(file), Partial: partial}))
	}
	require.NoError(t, f.Close())
	return folder
}

func TestStale(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{"go.mod", "agent/a_test.go", "agent/testdata/a.golden", "turns/b.jsonl", "other/o_test.go"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	all := claimed(t, "", "agent/testdata/a.golden", "turns/b.jsonl")
	assert.Equal(t, outcome{exitSame, "2 files used by tests of 1 package: 0 stale, 0 in doubt\n", ""}, adkreplay("stale", "--claims", all))

	some := claimed(t, "", "turns/b.jsonl")
	assert.Equal(t, outcome{exitFound, "stale agent/testdata/a.golden\n1 file used by tests of 1 package: 1 stale, 0 in doubt\n", ""}, adkreplay("stale", "--claims", some))
	assert.Equal(t, exitSame, adkreplay("stale", "--claims", some, "turns").code)
	assert.Equal(t, exitFound, adkreplay("stale", "--claims", some, "turns", "agent").code)

	filtered := claimed(t, "-run ^TestB$", "turns/b.jsonl")
	got := adkreplay("stale", "--claims", filtered)
	assert.Equal(t, exitInternal, got.code)
	assert.Contains(t, got.out, "in doubt agent/testdata/a.golden: the tests in "+corpus.WholePath("agent")+" ran with -run ^TestB$, and others may claim it\n")

	require.NoError(t, os.WriteFile("other/x.golden", nil, 0o600))
	got = adkreplay("stale", "--claims", some)
	assert.Equal(t, exitInternal, got.code)
	assert.Contains(t, got.out, "stale agent/testdata/a.golden\nin doubt other/x.golden: no test in "+corpus.WholePath("other")+" claims anything: ")
	assert.Equal(t, []string{"1 file used by tests of 1 package: 1 stale, 1 in doubt"}, last(1, got.out))
}

func TestStaleIsRefused(t *testing.T) {
	folder := t.TempDir()
	assert.Equal(t, outcome{exitUsage, "", "adkreplay: --claims is missing: give the folder that ADKREPLAY_CLAIMS named; see adkreplay stale --help\n"}, adkreplay("stale"))
	assert.Equal(t, exitUsage, adkreplay("stale", "--claims", folder, "").code)
	got := adkreplay("stale", "--claims", folder)
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.err, "there are no claims in this folder")
	got = adkreplay("stale", "--claims", claimed(t, "", "a.golden"), filepath.Join(folder, "none"))
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.err, "no such file or directory")
}

// Reasons that were merged, and have the markers of git in them, are told, also of a file in use.
func TestStaleTellsConflicts(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.golden", nil, 0o600))
	require.NoError(t, os.WriteFile("a.golden.reason", []byte("2026-01-02 First.\n    a =======\n"), 0o600))
	claims := claimed(t, "", "a.golden")
	assert.Equal(t, outcome{exitSame, "1 file used by tests of 1 package: 0 stale, 0 in doubt\n", ""}, adkreplay("stale", "--claims", claims))
	require.NoError(t, os.WriteFile("a.golden.reason", []byte("2026-01-02 First.\n<<<<<<< HEAD\n=======\n>>>>>>> a\n"), 0o600))
	got := adkreplay("stale", "--claims", claims)
	assert.Equal(t, exitFound, got.code)
	assert.Contains(t, got.out, "conflict a.golden.reason:2: these are git's conflict markers: keep the reasons of both sides")
	assert.Equal(t, []string{"1 file used by tests of 1 package: 0 stale, 0 in doubt, 1 in conflict"}, last(1, got.out))
}
