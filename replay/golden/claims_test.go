package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// testTB is a test that records its failures.
type testTB struct {
	TB
	failed []string
}

func (f *testTB) Errorf(text string, _ ...any) { f.failed = append(f.failed, text) }

// setFlag sets a flag of the test binary for one test.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	require.NoError(t, flag.Set(name, value))
	t.Cleanup(func() { require.NoError(t, flag.Set(name, before)) })
}

// allTests makes the test binary look as if it ran all of its tests.
func allTests(t *testing.T) {
	t.Helper()
	for name, usual := range map[string]string{"run": "", "skip": "", "short": "false", "fuzz": ""} {
		setFlag(t, "test."+name, usual)
	}
}

// The claims of a run are in one file per package, which replaces the file of an earlier run.
func TestClaim(t *testing.T) {
	allTests(t)
	folder, work := filepath.Join(t.TempDir(), "claims"), corpus.WholePath(t.TempDir())
	for _, name := range []string{"a.golden", "b.jsonl", "c.golden"} {
		require.NoError(t, os.WriteFile(filepath.Join(work, name), nil, 0o600))
	}
	one, other := &claimsFile{home: filepath.Join(work, "x", "agent")}, &claimsFile{home: filepath.Join(work, "y", "agent")}
	require.NoError(t, one.add(folder, []string{filepath.Join(work, "c.golden")}))
	one = &claimsFile{home: one.home} // another run
	require.NoError(t, one.add(folder, []string{filepath.Join(work, "a.golden")}))
	t.Chdir(work)
	require.NoError(t, other.add(folder, []string{"b.jsonl"}))
	require.NoError(t, one.add(folder, []string{"a.golden", "none.golden"}))

	claims, err := corpus.ReadReferences(folder)
	require.NoError(t, err)
	files, packages := claims.Count()
	assert.Equal(t, []int{3, 2}, []int{files, packages})
	found, err := claims.Unreferenced(work)
	require.NoError(t, err)
	assert.Equal(t, []corpus.Unreferenced{{File: filepath.Join(work, "c.golden")}}, found)
}

// A run that leaves tests out says so: it proves no file stale.
func TestClaimOfAPartialRun(t *testing.T) {
	for name, value := range map[string]string{"run": "^TestA$", "skip": "Slow", "short": "true", "fuzz": "FuzzA"} {
		allTests(t)
		setFlag(t, "test."+name, value)
		folder, work := t.TempDir(), t.TempDir()
		unused := filepath.Join(work, "a.golden")
		require.NoError(t, os.WriteFile(unused, nil, 0o600))
		require.NoError(t, (&claimsFile{home: corpus.WholePath(work)}).add(folder, []string{"b.golden"}))
		claims, err := corpus.ReadReferences(folder)
		require.NoError(t, err)
		found, err := claims.Unreferenced(work)
		require.NoError(t, err)
		require.Len(t, found, 1)
		assert.Contains(t, found[0].Doubt, "ran with -"+name+" "+value+", and others may claim it")
	}
}

// The checks claim the files that they use, whether they pass or fail. Without the variable they
// write nothing; if the claims cannot be written, they fail.
func TestChecksClaim(t *testing.T) {
	folder := t.TempDir()
	setFlag(t, "update", "false")
	tb := &testTB{TB: t}
	check := func() {
		Transcript(tb, "none", func(adk.Probe) error { return nil }, Options{Dir: "testdata/nowhere"})
		Replay(tb, "../../fixtures", nil)
	}
	t.Setenv(claimsVariable, "")
	check()
	assert.Empty(t, claimsIn(t, folder))
	t.Setenv(claimsVariable, folder)
	check()
	written := claimsIn(t, folder)
	require.Len(t, written, 1)
	for _, file := range []string{"testdata/nowhere/none.golden", "../../fixtures/hello.jsonl"} {
		assert.Contains(t, written[0], strconv.Quote(corpus.WholePath(file)))
	}
	for _, wrong := range []string{"claims", filepath.Join(corpus.WholePath("claims_test.go"), "below a file")} {
		t.Setenv(claimsVariable, wrong)
		tb.failed = nil
		Claim(tb, "a.golden")
		assert.Equal(t, []string{"golden: what the test uses cannot be claimed: %v"}, tb.failed)
	}
}

// claimsIn returns the contents of the files of claims in a folder.
func claimsIn(t *testing.T, folder string) (contents []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "golden-*"+corpus.ClaimsEnding))
	require.NoError(t, err)
	for _, name := range names {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		contents = append(contents, string(content))
	}
	return contents
}
