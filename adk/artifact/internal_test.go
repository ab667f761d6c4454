package artifact

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// SPL-2: where a disk fails behind the new entry, the write fails, and the key has a body.
func TestDirectoryThatDoesNotSettle(t *testing.T) {
	spool, err := NewDirSpool(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, spool.Close()) })
	_, err = spool.Write(t.Context(), "key", strings.NewReader("old"))
	require.NoError(t, err)
	broken := errors.New("the disk is full")
	spool.settle = func() error { return broken }
	_, err = spool.Write(t.Context(), "key", strings.NewReader("new"))
	assert.ErrorIs(t, err, broken)
	reader, found, err := spool.Read(t.Context(), "key")
	require.NoError(t, err)
	require.True(t, found)
	stream, err := reader.Open(t.Context())
	require.NoError(t, err)
	body, err := io.ReadAll(stream)
	require.NoError(t, errors.Join(err, stream.Close()))
	assert.Contains(t, []string{"old", "new"}, string(body))
}
