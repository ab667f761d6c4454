package watchdog

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A goroutine is within a call, and so is one that it starts and waits for; one that goes on without it is not.
func TestWithin(t *testing.T) {
	const call = "github.com/adkreplay/adkreplay/internal/watchdog.calling"
	assert.False(t, Within(call))
	calling(func() { assert.True(t, Within(call)) })
	calling(func() {
		var all sync.WaitGroup
		all.Go(func() { assert.True(t, Within(call), "one that is waited for") })
		all.Wait()
	})
	calling(func() {
		done := make(chan bool)
		go func() {
			go func() { done <- Within(call) }()
			assert.True(t, <-done, "one of one's own")
			done <- true
		}()
		<-done
	})
	calling(func() {
		done := make(chan bool)
		begins(func() { done <- Within(call) })
		assert.False(t, <-done, "one that a service has begun, and gone on")
	})
	ended, left := make(chan bool), make(chan bool)
	calling(func() {
		go func() { <-ended; left <- Within(call) }()
	})
	ended <- true
	assert.False(t, <-left, "one that the call has left")
}

//go:noinline
func calling(run func()) { run() }

// service refreshes its data on its own behalf.
type service struct{ refresh func() }

func (s service) serve() { s.refresh() }

//go:noinline
func begins(refresh func()) { go service{refresh}.serve() }
