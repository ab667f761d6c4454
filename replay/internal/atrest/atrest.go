// Package atrest holds answers back in runs in which live code has started goroutines of its own.
//
// No crossing shows which of these goroutines are running. What a goroutine does with an answer is
// not visible, either; it may end the context of the others, for example. So what they wait for
// comes in the recorded order, one at a time, each when all of them are at rest.
package atrest

import (
	"cmp"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// mostLooked is how many goroutines a run's looks may inspect in total; after that, answers come as
// they are asked for. A look stops the program for some microseconds per goroutine.
const mostLooked = 1 << 18

// mostRestless is how often a look waits in vain for goroutines that sleep or wait for the system,
// and mostBusy how often for goroutines that work, before nothing waits any more: a goroutine that
// does so for ever would be waited for each time.
const (
	mostRestless = 8
	mostBusy     = 2 * mostRestless
)

// Queue holds what waits until the goroutines of a run are at rest. Except for Serve, its methods
// must be called with the lock held that was given to New.
type Queue struct {
	mu      *sync.Mutex
	label   watchdog.Label
	wanted  chan struct{} // holds one request for turns
	soon    chan struct{} // holds one request for a turn that may not be needed in a moment
	answers []*answer
	looked  int // how many goroutines were inspected
	vain    int // how many looks have seen no rest
	stopped bool
}

// answer is an answer that waits for its turn.
type answer struct {
	x     *adk.Crossing // the crossing with which it was recorded
	place int           // in the order of the answers
	turn  bool          // its turn has come
	moved *sync.Cond
}

// New makes a queue for a run whose goroutines have a label. mu guards the queue and what its turns
// change.
func New(mu *sync.Mutex, label watchdog.Label) *Queue {
	return &Queue{mu: mu, label: label, wanted: make(chan struct{}, 1), soon: make(chan struct{}, 1)}
}

// Label is the label of the run's goroutines.
func (q *Queue) Label() watchdog.Label { return q.label }

// Over reports whether nothing is held back any more.
func (q *Queue) Over() bool { return q.stopped || q.looked >= mostLooked || q.vain >= mostBusy }

// Hold blocks until an answer, which was recorded with the crossing x, has its turn. Answers of
// lower places come first. The lock is released meanwhile.
func (q *Queue) Hold(x *adk.Crossing, place int) {
	if q.Over() {
		return
	}
	held := &answer{x: x, place: place, moved: sync.NewCond(q.mu)}
	q.answers = append(q.answers, held)
	q.Want()
	for !held.turn && !q.Over() {
		held.moved.Wait()
	}
	q.answers = state.Without(q.answers, held)
}

// Next returns the crossing and the place of the answer that comes next; nil where none waits.
func (q *Queue) Next() (x *adk.Crossing, place int) {
	if held := q.next(); held != nil {
		return held.x, held.place
	}
	return nil, 0
}

func (q *Queue) next() (first *answer) {
	for _, held := range q.answers {
		if !held.turn && (first == nil || cmp.Or(cmp.Compare(held.place, first.place), cmp.Compare(held.x.Seq, first.x.Seq)) < 0) {
			first = held
		}
	}
	return first
}

// Give lets the next answer go.
func (q *Queue) Give() {
	held := q.next()
	held.turn = true
	held.moved.Signal()
}

// Want asks for turns, each once all goroutines are at rest.
func (q *Queue) Want() {
	select {
	case q.wanted <- struct{}{}:
	default: // it is wanted already
	}
}

// Soon asks for one turn, but only if nothing goes on for a moment. In most cases the goroutine
// that is waited for is about to do something, and no look is needed.
func (q *Queue) Soon() {
	select {
	case q.soon <- struct{}{}:
	default:
	}
}

// Serve makes turns until over is closed, each when it is wanted and all goroutines of the run are
// at rest. isDue reports whether anything is left to make. turn makes it and reports whether it
// made something. Both are called with the lock held. progress must change with everything that the
// run does.
func (q *Queue) Serve(over <-chan struct{}, progress func() int64, isDue, turn func() bool) {
	for {
		soon, goesOn := false, func() bool { return false }
		select {
		case <-over:
			return
		case <-q.wanted:
		case <-q.soon:
			was := progress()
			watchdog.Moment()
			soon, goesOn = true, func() bool { return progress() != was } // if so, the run asks again
		}
		for !isClosed(over) && !goesOn() && q.locked(isDue) {
			looked, rest := watchdog.AtRestUnless(q.label, q.vain < mostRestless, goesOn)
			if !q.locked(func() bool { return q.pay(looked, rest || goesOn()) && !goesOn() && turn() }) || soon {
				break
			}
		}
	}
}

func isClosed(over <-chan struct{}) bool {
	select {
	case <-over:
		return true
	default:
		return false
	}
}

func (q *Queue) locked(what func() bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.Over() && what()
}

// pay adds up the cost of a look, and reports whether more looks are allowed.
func (q *Queue) pay(looked int, rest bool) bool {
	q.looked += looked
	if !rest {
		q.vain++
	}
	if q.Over() {
		q.release()
	}
	return !q.Over()
}

// Stop lets everything go that waits for an answer.
func (q *Queue) Stop() {
	q.stopped = true
	q.release()
}

func (q *Queue) release() {
	for _, held := range q.answers {
		held.moved.Signal()
	}
}
