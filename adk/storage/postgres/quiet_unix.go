//go:build unix

package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/stdlib"
)

// isDubious reports whether a connection may have been closed while it was idle; then it is pinged
// before use, and replaced if necessary. Other connections are not pinged, since that would cost
// the first statement after each turn a round trip.
func isDubious(_ context.Context, p stdlib.ShouldPingParams) bool {
	return !isQuiet(p.Conn.PgConn().Conn())
}

// isQuiet reports whether a connection is open and has nothing to read, as an idle one should,
// without waiting. pgx's own check would make the server cancel a request that does not exist.
func isQuiet(connection net.Conn) bool {
	if wrapped, ok := connection.(*tls.Conn); ok {
		connection = wrapped.NetConn()
	}
	socket, ok := connection.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Control(func(fd uintptr) { // Control does not wait for a concurrent read by pgx
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = errors.Is(err, syscall.EAGAIN)
	})
	return err == nil && quiet
}
