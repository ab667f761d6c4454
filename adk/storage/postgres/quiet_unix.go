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

// isDubious reports whether a connection may have been closed while it rested: a ping finds
// that out, and another one is taken. All others are not pinged: it would cost each statement
// after a turn a round trip.
func isDubious(_ context.Context, p stdlib.ShouldPingParams) bool {
	return !isQuiet(p.Conn.PgConn().Conn())
}

// isQuiet reports whether a connection is open and has nothing to read, as one has that
// rests, and does not wait for it. pgx's own look would have the server cancel what nobody
// has asked for.
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
	err = raw.Control(func(fd uintptr) { // pgx may be reading, for whom nothing is to be waited
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = errors.Is(err, syscall.EAGAIN)
	})
	return err == nil && quiet
}
