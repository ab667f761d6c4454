//go:build !unix

package watchdog

import "time"

var begun = time.Now()

// processorTime is the time since the program began, on systems where the processor time of the
// process is not available.
func processorTime() time.Duration { return time.Since(begun) }
