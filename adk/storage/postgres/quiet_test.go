//go:build unix

package postgres

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/storagetest"
)

// SES-42: an idle connection is quiet, also while another goroutine reads from it. A connection with
// unread data, or a closed one, is not.
func TestQuietConnections(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(storagetest.TempDir(t), "s"))
	require.NoError(t, err)
	pair := func() (client, server net.Conn) {
		client, err := net.Dial("unix", listener.Addr().String())
		require.NoError(t, err)
		server, err = listener.Accept()
		require.NoError(t, err)
		return client, server
	}
	client, server := pair()
	assert.True(t, isQuiet(client))
	read, reading := make(chan error), make(chan struct{})
	go func() {
		close(reading)
		_, err := client.Read(make([]byte, 1))
		read <- err
	}()
	<-reading
	for range 1000 { // whether the goroutine has begun to read or not
		require.True(t, isQuiet(client))
	}
	_, err = server.Write([]byte("a"))
	require.NoError(t, err)
	require.NoError(t, <-read)
	_, err = server.Write([]byte("b"))
	require.NoError(t, err)
	assert.False(t, isQuiet(client))
	require.NoError(t, client.Close())
	assert.False(t, isQuiet(client))
	client, server = pair()
	require.NoError(t, server.Close())
	assert.False(t, isQuiet(client))
	piped, _ := net.Pipe()
	assert.False(t, isQuiet(piped), "nobody knows")
	assert.NoError(t, listener.Close())
}
