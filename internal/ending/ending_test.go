package ending_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/ending"
)

var errBroken = errors.New("broken")

func begun() *ending.Context {
	c := &ending.Context{}
	c.Begin()
	return c
}

// When End returns, derived contexts have ended too, with the given error and cause.
func TestWhatIsDerivedEndsInTheStep(t *testing.T) {
	c := begun()
	derived, cancel := context.WithCancel(c)
	defer cancel()
	assert.NoError(t, c.Err())
	assert.NoError(t, context.Cause(derived))
	c.End(context.DeadlineExceeded, ending.By(errBroken))
	assert.Equal(t, context.DeadlineExceeded, c.Err())
	assert.Equal(t, context.DeadlineExceeded, derived.Err())
	assert.Equal(t, errBroken, context.Cause(c))
	assert.Equal(t, errBroken, context.Cause(derived))
	<-c.Done()
	c.End(context.Canceled, ending.By(nil)) // the first end stays
	assert.Equal(t, context.DeadlineExceeded, c.Err())
}

func TestWithoutACause(t *testing.T) {
	c := begun()
	c.End(context.Canceled, ending.By(nil))
	assert.Equal(t, context.Canceled, context.Cause(c))
}

// Functions of AfterFunc run in order. A function that was stopped does not run, and one that is added after the
// end runs at once.
func TestFollowers(t *testing.T) {
	c := begun()
	var order []int
	c.AfterFunc(func() { order = append(order, 1) })
	stop := c.AfterFunc(func() { order = append(order, 2) })
	c.AfterFunc(func() { order = append(order, 3) })
	assert.True(t, stop())
	assert.False(t, stop())
	c.End(context.Canceled, ending.By(nil))
	assert.Equal(t, []int{1, 3}, order)
	assert.False(t, stop())
	late := make(chan struct{})
	assert.False(t, c.AfterFunc(func() { close(late) })())
	<-late
}
