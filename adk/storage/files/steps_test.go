package files

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/storage"
)

// keys returns the standing instructions of a place, in order.
func keys(t *testing.T, d *Dir, place storage.Place) (all []string) {
	rows, err := d.Fetch(t.Context(), place, 0)
	require.NoError(t, err)
	for _, row := range rows {
		var text string
		require.NoError(t, json.Unmarshal(row.Body, &text))
		all = append(all, text)
	}
	return all
}

func storing(t *testing.T, place storage.Place, text string) storage.Change {
	change, err := storage.Storing(place, adk.NewTokenizable(text))
	require.NoError(t, err)
	return change
}

// STO-6, STO-12: whenever a process ends while it makes several changes, the next process that opens
// the directory finds all of them, or none.
func TestCrashes(t *testing.T) {
	here := storage.Place{Collection: adk.Instructions}
	there := storage.Place{Partition: storage.Partition{Tenant: "other"}, Collection: adk.Instructions}
	changes := []storage.Change{storing(t, here, "c"), storage.Deletion(here, "a"), storing(t, here, "d"), storage.Deletion(here, "c"),
		storing(t, there, "x"), storing(t, here, "a"), storing(t, here, "b")}
	for done := -2; done <= len(changes); done++ {
		t.Run(fmt.Sprint(done), func(t *testing.T) {
			dir := t.TempDir()
			d, err := Open(dir, storage.Config{})
			require.NoError(t, err)
			require.NoError(t, d.Write(t.Context(), storing(t, here, "a"), storing(t, here, "b")))
			steps, err := d.plan(t.Context(), changes)
			require.NoError(t, err)
			require.Len(t, steps, len(changes))
			list, err := json.Marshal(steps)
			require.NoError(t, err)
			if done >= -1 { // the list of steps is written, and then renamed to its name
				name := filepath.Join(dir, temporaryName, "redo")
				if done >= 0 {
					name = filepath.Join(dir, redoName)
				}
				require.NoError(t, os.WriteFile(name, list, 0o600))
			}
			require.NoError(t, d.follow(steps[:max(0, done)]))
			require.NoError(t, d.Close())

			d, err = Open(dir, storage.Config{})
			require.NoError(t, err)
			if done < 0 {
				assert.Equal(t, []string{"a", "b"}, keys(t, d, here))
				assert.Empty(t, keys(t, d, there))
			} else {
				assert.Equal(t, []string{"b", "d", "a"}, keys(t, d, here))
				assert.Equal(t, []string{"x"}, keys(t, d, there))
			}
			assert.NoFileExists(t, filepath.Join(dir, redoName))
			left, err := os.ReadDir(filepath.Join(dir, temporaryName))
			require.NoError(t, err)
			assert.Empty(t, left)
			assert.NoError(t, d.Close())
		})
	}
}

// STO-6: changes that were decided but not finished are finished before anything else, or the
// directory says why they cannot be.
func TestUnfinishedChanges(t *testing.T) {
	here := storage.Place{Collection: adk.Instructions}
	dir := t.TempDir()
	d, err := Open(dir, storage.Config{})
	require.NoError(t, err)
	require.NoError(t, d.Write(t.Context(), storing(t, here, "a")))
	steps, err := d.plan(t.Context(), []storage.Change{storing(t, here, "b"), storing(t, here, "c")})
	require.NoError(t, err)
	blocked := filepath.Join(dir, filepath.FromSlash(steps[1].To)) // by a directory, which a rename of a file cannot replace
	require.NoError(t, os.MkdirAll(filepath.Join(blocked, "x"), 0o700))
	require.NoError(t, d.make(steps))
	_, err = d.Fetch(t.Context(), here, 0)
	assert.ErrorContains(t, err, "finishing changes that were begun")
	assert.ErrorContains(t, d.Write(t.Context(), storing(t, here, "d")), "finishing changes that were begun")
	require.NoError(t, os.RemoveAll(blocked))
	assert.Equal(t, []string{"a", "b", "c"}, keys(t, d, here))
	require.NoError(t, d.Write(t.Context(), storing(t, here, "d")))
	assert.Equal(t, []string{"a", "b", "c", "d"}, keys(t, d, here))
	assert.NoError(t, d.Close())
}

// STO-3: different names get different folders, also where the file system ignores case, and no
// folder is outside of the directory.
func TestEscaped(t *testing.T) {
	long := strings.Repeat("a", 199)
	seen := map[string]string{}
	for _, name := range []string{"", "-", "--", "%2d", "%", "a", "A", ".", "..", "../a", "a/b", `a\b`, ".tmp", ".lock", ".redo", "a.b", "é", "e\u0301", "a ", " a", "~", long, long + "aa", long + "ab",
		strings.Repeat("A", 70), strings.Repeat("🎉", 60), strings.Repeat("🎉", 61), "con:"} {
		folder := escaped(name)
		assert.Regexp(t, `^[-a-z0-9_%~]{1,200}$`, folder, name)
		assert.Empty(t, seen[folder], "%q has the folder of another", name)
		seen[folder] = name
	}
	assert.Equal(t, "%53hop-1_x", escaped("Shop-1_x"))
}
