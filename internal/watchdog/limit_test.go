package watchdog_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/patience"
	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// A function that hangs is left behind when the limit's time is over, or its context. A function that ends is
// waited for, even after the limit.
func TestLimit(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	hangs := func() { <-never }
	none := watchdog.NewLimit(t.Context(), 0, patience.Long)
	defer none.Close()
	assert.True(t, none.Wait(func() {}))

	short := watchdog.NewLimit(t.Context(), time.Millisecond, time.Millisecond)
	assert.False(t, short.Wait(hangs))
	assert.False(t, short.Wait(hangs))
	short.Close()
	short.Close()

	ctx, cancel := context.WithCancel(t.Context())
	stopped := watchdog.NewLimit(ctx, 0, 10*time.Millisecond)
	defer stopped.Close()
	assert.False(t, stopped.Wait(func() { cancel(); hangs() }))

	late := watchdog.NewLimit(t.Context(), patience.Long, patience.Long)
	late.Close() // the limit is reached
	assert.True(t, late.Wait(func() {}))
}

// A check that panics returns an error with the line that panicked; any other error is returned as it is.
func TestRecovered(t *testing.T) {
	assert.NoError(t, watchdog.Recovered(func() error { return nil }))
	assert.Equal(t, context.Canceled, watchdog.Recovered(func() error { return context.Canceled }))
	err := watchdog.Recovered(func() error { panic("the database is closed") })
	assert.ErrorContains(t, err, "it panicked: the database is closed, in watchdog_test.TestRecovered.func3 at internal/watchdog/limit_test.go:")
}
