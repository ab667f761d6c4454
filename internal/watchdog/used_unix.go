//go:build unix

package watchdog

import (
	"syscall"
	"time"
)

// processorTime is what this process has had of all processors.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // which fails for nobody who asks of itself
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
