//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package wholefile

// Lock keeps nobody out here.
func Lock(string) (unlock func(), err error) { return func() {}, nil }
