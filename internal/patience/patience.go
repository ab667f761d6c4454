// Package patience says how long tests wait for what comes at once on a machine that has
// nothing else to do. On one that is busy it comes late: a test that gives it up has failed
// by time, and not by what it tests.
package patience

import (
	"runtime"
	"time"
)

// Long is far more than anything takes on a machine that is busy with other things, and less
// than go test has with all tests of a package.
const Long = 5 * time.Minute

// pause is between two looks.
const pause = 10 * time.Millisecond

// looksAtOnce are made before the first pause.
const looksAtOnce = 1000

// Until looks until something is so, and reports whether it came to that.
func Until(is func() bool) bool {
	begun := time.Now()
	for look := 0; !is(); look++ {
		if time.Since(begun) > Long {
			return false
		}
		if runtime.Gosched(); look >= looksAtOnce {
			time.Sleep(pause)
		}
	}
	return true
}

// Stragglers gives goroutines that are about to end the time to do so, and says how many more
// than before there are then.
func Stragglers(before int) (left int) {
	Until(func() bool { left = max(0, runtime.NumGoroutine()-before); return left == 0 })
	return left
}
