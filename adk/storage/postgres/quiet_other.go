//go:build !unix

package postgres

import "net"

func isQuiet(net.Conn) bool { return false }
