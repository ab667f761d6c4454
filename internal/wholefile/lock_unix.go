//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package wholefile

import (
	"errors"
	"os"
	"syscall"
)

// Lock waits until nobody else replaces a file. It keeps out those who lock it too, and ends with
// the process. Who waited has a file of before, and reads by its name what took its place.
// A file system without locks keeps nobody out.
func Lock(path string) (unlock func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return func() { _ = f.Close() }, nil
		}
	}
}
