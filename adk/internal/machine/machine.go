// Package machine is where time and ids come from when nobody says otherwise.
package machine

import (
	"crypto/rand"
	"time"

	"github.com/google/uuid"
)

// Clock is the machine's clock.
type Clock struct{}

// Now is the present.
func (Clock) Now() time.Time { return time.Now() }

// AfterFunc is time.AfterFunc.
func (Clock) AfterFunc(d time.Duration, fire func()) (stop func() bool) {
	return time.AfterFunc(d, fire).Stop
}

// UUIDs makes ids.
type UUIDs struct{}

// NewID makes a UUID version 7. It takes time and sequence from the library, which under
// a lock never gives the same pair twice. The random bits come from here, as the library's
// source of them is the host program's to exchange.
func (UUIDs) NewID() string { return uuid.Must(uuid.NewV7FromReader(rand.Reader)).String() }
