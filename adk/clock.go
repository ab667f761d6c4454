package adk

import (
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/machine"
)

// Clock is where the engine, and user code through its contexts, take time
// from (DET-1). It is called while the engine holds a lock: it must not call
// back into the engine, nor end its goroutine. Where it panics time stands still
// and a wait is over at once; the probe is told.
type Clock interface {
	// Now is the present.
	Now() time.Time
	// AfterFunc calls fire once when d has passed, from any goroutine, unless
	// stop is called first. fire does not block. stop reports whether it came in
	// time.
	AfterFunc(d time.Duration, fire func()) (stop func() bool)
}

// IDSource makes the ids of turns and dispatches, and those that user code
// asks its context for (DET-1). It must be safe for concurrent use, and not call
// back into the engine, which holds a lock. Where it panics a turn or a dispatch
// has no id, and the probe is told; in Handle.NewID the panic is the caller's.
type IDSource interface {
	NewID() string
}

// SystemClock is the machine's clock, the default of a Config.
func SystemClock() Clock { return machine.Clock{} }

// UUIDs makes a UUID version 7 (RFC 9562) for each id, the default of a Config
// (RUN-7). Of one process no two are alike, however many goroutines make them,
// and in the order of their text they are in the order in which they were made,
// also where the machine's clock stands still or steps back.
func UUIDs() IDSource { return machine.UUIDs{} }
