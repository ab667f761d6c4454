package corpus

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Only a person with a reason changes what is expected: NewAcceptance refuses in CI, whatever the
// reason, and refuses an empty reason.
func TestNewAcceptanceRefuses(t *testing.T) {
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct{ ci, reason, says string }{
		{"", "Politeness.", ""},
		{"false", "Politeness.", ""},
		{"0", "Politeness.", ""},
		{"true", "Politeness.", "nothing is accepted where the environment variable CI is set"},
		{"woodpecker", "Politeness.", "nothing is accepted where the environment variable CI is set"},
		{"true", "", "nothing is accepted where the environment variable CI is set"},
		{"", "", "needs a reason"},
		{"", " \n\t", "needs a reason"},
	} {
		a, err := NewAcceptance(c.reason, day, func(name string) string { return map[string]string{"CI": c.ci}[name] })
		if c.says == "" {
			assert.NoError(t, err, "%+v", c)
			assert.NotNil(t, a)
			continue
		}
		assert.ErrorContains(t, err, c.says, "%+v", c)
		assert.Nil(t, a)
	}
}

// The file with the reasons quotes the trace, so it gets the same permissions, even if it had wider ones before.
func TestTheReasonIsAsPrivateAsTheTrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "turn.jsonl")
	a, err := NewAcceptance("Politeness.", time.Now(), func(string) string { return "" })
	require.NoError(t, err)
	for _, mode := range []fs.FileMode{0o600, 0o640, 0o600} {
		require.NoError(t, os.WriteFile(file, []byte("one"), mode))
		require.NoError(t, os.Chmod(file, mode))
		require.NoError(t, a.Replace(file, []byte("two"), "a secret"))
		for _, path := range []string{file, file + ReasonEnding} {
			info, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, mode, info.Mode().Perm(), path)
		}
		require.NoError(t, os.Chmod(file+ReasonEnding, 0o644))
	}
}

// Nothing is replaced whose reasons were merged and have conflict markers at the beginning of a line.
func TestReasonsInConflictAreLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "turn.jsonl")
	a, err := NewAcceptance("Politeness.", time.Now(), func(string) string { return "" })
	require.NoError(t, err)
	for _, marker := range []string{"<<<<<<< HEAD", "||||||| base", "=======", ">>>>>>> a"} {
		merged := "2026-01-02 First.\n" + marker + "\n"
		require.NoError(t, os.WriteFile(file, []byte("one"), 0o600))
		require.NoError(t, os.WriteFile(file+ReasonEnding, []byte(merged), 0o600))
		err := a.Replace(file, []byte("two"), "changed")
		require.ErrorIs(t, err, ErrConflict)
		assert.ErrorContains(t, err, file+ReasonEnding+":2: these are git's conflict markers")
		for path, want := range map[string]string{file: "one", file + ReasonEnding: merged} {
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, want, string(got))
		}
		require.NoError(t, os.WriteFile(file+ReasonEnding, []byte("2026-01-02 First.\n    "+marker+"\n"), 0o600))
		assert.NoError(t, a.Replace(file, []byte("two"), "changed"), "it is quoted")
	}
}
