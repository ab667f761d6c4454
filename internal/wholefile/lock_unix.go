//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package wholefile

import (
	"errors"
	"os"
	"syscall"
)

// Lock waits until no other process replaces a file. It only keeps out processes that call Lock
// too, and ends with the process. On a file system without locks it keeps nobody out.
func Lock(path string) (unlock func(), err error) {
	for {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), syscall.EINTR) { // interrupted: try again
		}
		if isStill(f, path) {
			return func() { _ = f.Close() }, nil
		}
		_ = f.Close() // the file was replaced while waiting, and the new one has another lock
	}
}

// isStill reports whether an open file still is the one with that name, or whether that cannot be
// determined.
func isStill(f *os.File, path string) bool {
	was, err := f.Stat()
	is, failed := os.Stat(path)
	return err != nil || failed != nil || os.SameFile(was, is)
}
