// Package patience says how long tests wait for something that happens at once on an idle machine.
// On a busy machine it happens late, and a test that gave up would fail because of the time, and
// not because of what it tests.
package patience

import (
	"runtime"
	"time"
)

// Long is far longer than anything takes on a busy machine, and shorter than the time limit of go
// test for all tests of a package.
const Long = 5 * time.Minute

// pause is the time between two looks.
const pause = 10 * time.Millisecond

// looksAtOnce is how many looks precede the first pause.
const looksAtOnce = 1000

// Until calls is until it returns true, and reports whether it did within Long.
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

// Stragglers gives goroutines that are about to end the time to do so, and returns how many more
// goroutines there are then than before.
func Stragglers(before int) (left int) {
	Until(func() bool { left = max(0, runtime.NumGoroutine()-before); return left == 0 })
	return left
}
