package corpus_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// tree makes empty files.
func tree(t *testing.T, paths ...string) (root string) {
	t.Helper()
	root = corpus.WholePath(t.TempDir())
	for _, path := range paths {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	return root
}

// claiming returns the claims of the tests in a folder below root.
func claiming(t *testing.T, root, tests string, files ...string) *corpus.References {
	t.Helper()
	folder, content := t.TempDir(), ""
	for _, file := range files {
		content += string(tracetest.Must(json.Marshal(corpus.Reference{Package: filepath.Join(root, tests), File: filepath.Join(root, file)}))) + "\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.claims"), []byte(content), 0o600))
	return tracetest.Must(corpus.ReadReferences(folder))
}

func unclaimed(t *testing.T, c *corpus.References, root string) (stale, doubtful []string) {
	t.Helper()
	for _, u := range tracetest.Must(c.Unreferenced(root)) {
		path := tracetest.Must(filepath.Rel(root, u.File))
		if u.Doubt != "" {
			doubtful = append(doubtful, path)
		} else {
			stale = append(stale, path)
		}
	}
	return stale, doubtful
}

// Golden files and traces that no test claims are stale; each is listed with its reason.
func TestUnclaimed(t *testing.T) {
	root := tree(t, "go.mod", "agent/a_test.go",
		"agent/testdata/used.golden", "agent/testdata/used.golden.reason", "agent/testdata/old.golden", "agent/testdata/old.golden.reason",
		"agent/testdata/gone.golden.reason", "agent/testdata/notes.txt", "agent/notes.reason",
		"turns/used.jsonl", "turns/old.jsonl", "turns/packed.jsonl.zst", ".git/x.golden")
	c := claiming(t, root, "agent", "agent/testdata/used.golden", "turns/used.jsonl")
	stale, doubtful := unclaimed(t, c, root)
	assert.Equal(t, []string{"agent/testdata/gone.golden.reason", "agent/testdata/old.golden", "agent/testdata/old.golden.reason",
		"turns/old.jsonl", "turns/packed.jsonl.zst"}, stale)
	assert.Empty(t, doubtful)

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(filepath.Join(root, "agent", "testdata"), link))
	t.Chdir(link)
	stale, _ = unclaimed(t, c, ".")
	assert.Equal(t, []string{"gone.golden.reason", "old.golden", "old.golden.reason"}, stale, "a link is what it leads to")
}

// If tests that may use a file have claimed nothing, it is unknown whether the file is stale.
func TestUnclaimedNextToTestsThatDidNotRun(t *testing.T) {
	root := tree(t, "go.mod", "a/a_test.go", "a/testdata/x.golden", "b/b_test.go", "b/testdata/deep/y.golden", "z.jsonl")
	stale, doubtful := unclaimed(t, claiming(t, root, "a", "a/testdata/w.golden"), root)
	assert.Equal(t, []string{"a/testdata/x.golden", "z.jsonl"}, stale)
	assert.Equal(t, []string{"b/testdata/deep/y.golden"}, doubtful)
}

func TestClaimsThatCannotBeRead(t *testing.T) {
	empty := t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for folder, why := range map[string]string{
		empty: "there are no claims in this folder", filepath.Join(empty, "none"): "there is no such folder, and so no claims", file: "this is no folder of claims",
	} {
		_, err := corpus.ReadReferences(folder)
		assert.ErrorContains(t, err, folder+": "+why+": tests write them where ADKREPLAY_CLAIMS names it")
	}
	for _, line := range []string{"{", `{"package":"/a","file":"b"}`, `{"package":"","file":"/b"}`, "\n", `{"package":"/a","file":"/b"}{}`} {
		folder := t.TempDir()
		path := filepath.Join(folder, "a.claims")
		require.NoError(t, os.WriteFile(path, []byte(`{"package":"/a","file":"/a/b"}`+"\n"+line), 0o600))
		_, err := corpus.ReadReferences(folder)
		assert.ErrorContains(t, err, path+":2: this is no claim: ", line)
	}
	c := claiming(t, empty, "a", "b.golden")
	_, err := c.Unreferenced(filepath.Join(empty, "none"))
	assert.Error(t, err, "a folder that is not there has no stale files")
}
