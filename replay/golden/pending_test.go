package golden_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/golden"
)

// pendingIn are what a folder keeps.
func pendingIn(t *testing.T, folder string) []corpus.Pending {
	t.Helper()
	all, err := corpus.ReadPending(folder)
	require.NoError(t, err)
	return all
}

// accepted accepts what is pending.
func accepted(t *testing.T, all []corpus.Pending) {
	t.Helper()
	a, err := corpus.NewAcceptance("The agent is kinder.", time.Now(), func(string) string { return "" })
	require.NoError(t, err)
	for _, p := range all {
		require.NoError(t, a.ReplacePending(p))
	}
}

// A turn that is not the one of its golden file is kept until somebody reviews it, and
// forgotten where it is the one again. Without the variable nothing is kept.
func TestTurnIsPending(t *testing.T) {
	dir, folder := written(t, greeting("Hello!")), filepath.Join(t.TempDir(), "pending")
	require.Len(t, checked(t, dir, "false", greeting("Goodbye!")).failed, 1)
	assert.NoDirExists(t, folder)
	t.Setenv("ADKREPLAY_PENDING", folder)
	require.Empty(t, checked(t, dir, "false", greeting("Hello!")).failed)
	require.Len(t, checked(t, dir, "false", greeting("Goodbye!")).failed, 1)
	all := pendingIn(t, folder)
	require.Len(t, all, 1)
	assert.Equal(t, corpus.WholePath(filepath.Join(dir, "greeting.golden")), all[0].File)
	assert.Contains(t, all[0].Causes[0], "Goodbye!")
	assert.Contains(t, all[0].Shown, "Goodbye!")
	require.Empty(t, checked(t, dir, "false", greeting("Hello!")).failed)
	assert.Empty(t, pendingIn(t, folder), "it is the one again")

	require.Len(t, checked(t, dir, "false", greeting("Goodbye!")).failed, 1)
	accepted(t, pendingIn(t, folder))
	assert.Empty(t, checked(t, dir, "false", greeting("Goodbye!")).failed, "what was accepted is expected")

	require.Len(t, checked(t, dir, "false", greeting("Hello!")).failed, 1)
	t.Setenv("ADKREPLAY_REASON", "Hello again.")
	require.Empty(t, checked(t, dir, "true", greeting("Hello!")).failed)
	assert.Empty(t, pendingIn(t, folder), "-update has accepted it")
}

// Of a folder each trace that diverged is kept as today's code makes it, live code and all;
// those that are the same again are forgotten.
func TestReplayIsPending(t *testing.T) {
	dir, folder := recordings(t, "a.jsonl", "deep/b.jsonl"), t.TempDir()
	t.Setenv("CI", "")
	t.Setenv("ADKREPLAY_PENDING", folder)
	require.NotEmpty(t, updated(t, dir, "false", saying("Be kind.")).failed)
	all := pendingIn(t, folder)
	require.Len(t, all, 2)
	assert.Equal(t, all[0].Causes, all[1].Causes, "they are one change")
	assert.Contains(t, string(all[0].Content), "Be kind.")
	require.Empty(t, updated(t, dir, "false", saying("Be brief.")).failed)
	assert.Empty(t, pendingIn(t, folder))

	require.NotEmpty(t, updated(t, dir, "false", saying("Be kind.")).failed)
	accepted(t, pendingIn(t, folder))
	assert.Empty(t, updated(t, dir, "false", saying("Be kind.")).failed)
	content, err := os.ReadFile(filepath.Join(dir, "a.jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(content), "Be kind.")
}

// A folder that is not named by its whole path would be another one for each package.
func TestPendingFolderIsWhole(t *testing.T) {
	dir := written(t, greeting("Hello!"))
	t.Setenv("ADKREPLAY_PENDING", "pending")
	tb := &fakeTB{name: "TestGreeting"}
	setUpdate(t, "false")
	golden.Turn(tb, "greeting", greeting("Goodbye!"), golden.Options{Dir: dir})
	require.Len(t, tb.failed, 2)
	assert.Contains(t, tb.failed[1], `ADKREPLAY_PENDING is "pending": give the whole path`)
}
