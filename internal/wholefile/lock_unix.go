//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package wholefile

import (
	"errors"
	"os"
	"syscall"
)

// Lock waits until nobody else replaces a file. It keeps out those who lock it too, and ends with
// the process. A file system without locks keeps nobody out.
func Lock(path string) (unlock func(), err error) {
	for {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), syscall.EINTR) { // it goes on
		}
		if isStill(f, path) {
			return func() { _ = f.Close() }, nil
		}
		_ = f.Close() // while it was waited for, another took its place, and that has a lock of its own
	}
}

// isStill reports whether a file is what its name stands for, or nobody can tell.
func isStill(f *os.File, path string) bool {
	was, err := f.Stat()
	is, failed := os.Stat(path)
	return err != nil || failed != nil || os.SameFile(was, is)
}
