// Package machine is the default source of time and ids.
package machine

import (
	"crypto/rand"
	"time"

	"github.com/google/uuid"
)

// Clock is the machine's clock.
type Clock struct{}

// Now returns the present time.
func (Clock) Now() time.Time { return time.Now() }

// AfterFunc is time.AfterFunc.
func (Clock) AfterFunc(d time.Duration, fire func()) (stop func() bool) {
	return time.AfterFunc(d, fire).Stop
}

// UUIDs makes ids.
type UUIDs struct{}

// NewID makes a UUID version 7. The library provides time and sequence; it holds a lock, so that no
// two UUIDs have the same pair. The random bits are read from crypto/rand directly, because the
// host program could replace the library's source of them.
func (UUIDs) NewID() string { return uuid.Must(uuid.NewV7FromReader(rand.Reader)).String() }
