package patience_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/patience"
)

// Until waits for what comes late, and gives up what never comes.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		begun := time.Now()
		assert.True(t, patience.Until(func() bool { return time.Since(begun) > patience.Long/2 }))
		assert.False(t, patience.Until(func() bool { return false }))
	})
}

// A goroutine that takes long to end does not count as left behind.
func TestStragglers(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		before := runtime.NumGoroutine()
		go time.Sleep(time.Minute)
		assert.Zero(t, patience.Stragglers(before))
		for range 10 { // goroutines of earlier tests may end meanwhile
			go time.Sleep(2 * patience.Long)
		}
		assert.Positive(t, patience.Stragglers(before))
		time.Sleep(2 * patience.Long) // until it has ended
	})
}
