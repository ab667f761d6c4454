package atrest_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/replay/internal/atrest"
)

// run is a test run whose goroutines wait for answers that a Queue holds back.
type run struct {
	mu    sync.Mutex
	queue *atrest.Queue
	label watchdog.Label
	ended sync.WaitGroup
	heard []int
}

func newRun() *run {
	r := &run{label: watchdog.NewLabel()}
	r.queue = atrest.New(&r.mu, r.label)
	return r
}

// hears starts goroutines of the run that wait for the answers with these numbers.
func (r *run) hears(seqs ...int) {
	r.label.Set() // a goroutine that has not begun yet belongs to the run too
	for _, seq := range seqs {
		r.ended.Go(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.queue.Hold(&adk.Crossing{Seq: seq}, seq)
			r.heard = append(r.heard, seq)
		})
	}
}

// serve makes turns until all answers were heard.
func (r *run) serve(all int) {
	over := make(chan struct{})
	var serving sync.WaitGroup
	serving.Go(func() {
		r.queue.Serve(over, func() int64 { return 0 }, func() bool { return len(r.heard) < all }, func() bool {
			if next, _ := r.queue.Next(); next != nil {
				r.queue.Give()
			}
			return true
		})
	})
	r.ended.Wait()
	close(over)
	serving.Wait()
}

// The answer that was recorded first is heard first, whichever goroutine arrives first.
func TestAnswersComeInTheRecordedOrder(t *testing.T) {
	r := newRun()
	r.hears(5, 3, 9, 1, 7)
	r.serve(5)
	assert.Equal(t, []int{1, 3, 5, 7, 9}, r.heard)
	next, _ := r.queue.Next()
	assert.Nil(t, next)
}

// A goroutine that sleeps forever does not delay every answer.
func TestWhoSleepsForGoodHoldsNobodyUp(t *testing.T) {
	r := newRun()
	r.label.Set()
	go time.Sleep(time.Hour)
	seqs := make([]int, 3*atrest.MostRestless)
	for i := range seqs {
		seqs[i] = i + 1
	}
	r.hears(seqs...)
	r.serve(len(seqs))
	assert.Equal(t, seqs, r.heard)
	assert.Positive(t, r.queue.Vain())
	assert.LessOrEqual(t, r.queue.Vain(), atrest.MostRestless)
}

// If a goroutine never comes to rest, the queue stops waiting for it after a while.
func TestWhoWorksForGoodHoldsNobodyUp(t *testing.T) {
	thorough.Long(t)
	r := newRun()
	r.label.Set()
	var over atomic.Bool
	var working sync.WaitGroup
	working.Go(func() {
		for !over.Load() {
		}
	})
	seqs := make([]int, 2*atrest.MostBusy)
	for i := range seqs {
		seqs[i] = i + 1
	}
	r.hears(seqs...)
	r.serve(len(seqs))
	over.Store(true)
	working.Wait()
	assert.ElementsMatch(t, seqs, r.heard)
	assert.Equal(t, atrest.MostBusy, r.queue.Vain())
}

// No answer is held back forever, neither when the run is over, nor if it has so many goroutines
// that looking at them costs too much.
func TestAnswersAreNotHeldForEver(t *testing.T) {
	for name, release := range map[string]func(r *run){
		"stopped": func(r *run) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.queue.Stop()
		},
		"spent": func(r *run) {
			assert.True(t, r.queue.Pay(atrest.MostLooked-1))
			assert.False(t, r.queue.Pay(1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun()
			r.hears(1, 2)
			release(r)
			r.hears(3)
			r.ended.Wait()
			assert.ElementsMatch(t, []int{1, 2, 3}, r.heard)
		})
	}
}
