package patience_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/patience"
)

// What comes late is waited for, and what never comes is given up.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		begun := time.Now()
		assert.True(t, patience.Until(func() bool { return time.Since(begun) > patience.Long/2 }))
		assert.False(t, patience.Until(func() bool { return false }))
	})
}

// A goroutine that takes long to end is none that was left behind.
func TestStragglers(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		before := runtime.NumGoroutine()
		go time.Sleep(time.Minute)
		assert.Zero(t, patience.Stragglers(before))
		for range 10 { // of those before, such as of another test, some may end meanwhile
			go time.Sleep(2 * patience.Long)
		}
		assert.Positive(t, patience.Stragglers(before))
		time.Sleep(2 * patience.Long) // until it has ended
	})
}
