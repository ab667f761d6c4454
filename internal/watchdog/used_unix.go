//go:build unix

package watchdog

import (
	"syscall"
	"time"
)

// processorTime is the processor time of this process, on all processors.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // cannot fail for the own process
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
