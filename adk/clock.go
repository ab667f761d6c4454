package adk

import (
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/machine"
)

// Clock is the source of time for the engine, and for user code through its contexts (DET-1). It is
// called while the engine holds a lock: it must not call back into the engine, nor end its
// goroutine. If it panics, time stands still, a wait is over at once, and the panic is reported to
// the probe.
type Clock interface {
	// Now returns the present time.
	Now() time.Time
	// AfterFunc calls fire once when d has passed, from any goroutine, unless stop is called first.
	// fire does not block. stop reports whether it prevented the call.
	AfterFunc(d time.Duration, fire func()) (stop func() bool)
}

// IDSource makes the ids of turns and dispatches, and those that user code asks its context for
// (DET-1). It must be safe for concurrent use. It must not call back into the engine, which holds a
// lock. If it panics, a turn or a dispatch has no id, and the panic is reported to the probe; in
// Handle.NewID the panic reaches the caller.
type IDSource interface {
	NewID() string
}

// SystemClock returns the machine's clock, the default of a Config.
func SystemClock() Clock { return machine.Clock{} }

// UUIDs returns a source that makes a UUID version 7 (RFC 9562) for each id, the default of a
// Config (RUN-7). No two ids of one process are equal, however many goroutines make them. Sorted as
// text, they are in the order in which they were made, even if the machine's clock stands still or
// steps back.
func UUIDs() IDSource { return machine.UUIDs{} }
