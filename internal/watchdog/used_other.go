//go:build !unix

package watchdog

import "time"

var begun = time.Now()

// processorTime is, where nobody is asked for that of this process, the time that passes.
func processorTime() time.Duration { return time.Since(begun) }
