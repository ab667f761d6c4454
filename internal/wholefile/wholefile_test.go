package wholefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// put writes a file into a new folder.
func put(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

func filesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestWrite(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "trace")
	require.NoError(t, Write(path, []byte("first")))
	for _, mode := range []fs.FileMode{0o600, 0o666} { // whatever the umask takes away from a new file
		require.NoError(t, os.Chmod(path, mode))
		require.NoError(t, Write(path, []byte("2nd")))
		assert.Equal(t, "2nd", readFile(t, path))
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode(), "a file that people keep to themselves, or do not, stays so")
	}
	assert.Equal(t, []string{"trace"}, filesIn(t, folder))
}

// A symbolic link stays a link, and its target is written.
func TestWriteBehindALink(t *testing.T) {
	path := put(t, "target", []byte("before"))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, Write(link, []byte("after")))
	assert.Equal(t, "after", readFile(t, path))
	target, err := os.Readlink(link)
	require.NoError(t, err)
	assert.Equal(t, path, target)
}

// A device is written to, and not replaced by a file.
func TestWriteToADevice(t *testing.T) {
	require.NoError(t, Write(os.DevNull, []byte("gone")))
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	assert.False(t, info.Mode().IsRegular())
}

// If a write fails half way, no part of it remains, and the old file stays.
func TestWriteFails(t *testing.T) {
	folder := t.TempDir()
	assert.ErrorIs(t, Write(filepath.Join(folder, "no", "trace"), []byte("x")), fs.ErrNotExist)
	assert.Error(t, Write(folder, []byte("x")), "a folder is no file")
	path := put(t, strings.Repeat("n", 250), []byte("before")) // makes the name of the temporary file too long
	assert.Error(t, Write(path, []byte("after")))
	assert.Equal(t, "before", readFile(t, path))
	assert.Len(t, filesIn(t, filepath.Dir(path)), 1)
}

// The temporary file of a process that was killed while it wrote does not block another process, even if that
// has the same process id.
func TestWriteBesideAPartThatWasLeft(t *testing.T) {
	path := put(t, "trace", []byte("before"))
	for n := range 2 {
		require.NoError(t, os.WriteFile(partOf(path, n), []byte("half"), 0o600))
	}
	require.NoError(t, Write(path, []byte("after")))
	assert.Equal(t, "after", readFile(t, path))
	assert.Len(t, filesIn(t, filepath.Dir(path)), 3, "the parts may be of one that still writes")
}
