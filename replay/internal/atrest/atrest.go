// Package atrest holds answers back in runs in which live code has begun goroutines of its own.
//
// No crossing tells which of them are on their way, and what one does with an answer, as to end
// the context of the others, shows nowhere. So what they wait for comes in the recorded order,
// one at a time, each when all of them have come to rest.
package atrest

import (
	"cmp"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// mostLooked is how many goroutines are looked at in a run, each time anew, before answers come
// as they are asked for: a look stops the program, for some microseconds each.
const mostLooked = 1 << 18

// mostRestless is how often goroutines that sleep, or wait for the system, are waited for in vain,
// and mostBusy how often those that work, before nobody waits any more: one that does so for good
// would be waited for each time.
const (
	mostRestless = 8
	mostBusy     = 2 * mostRestless
)

// Queue is what waits until the goroutines of a run are at rest. Its methods are called with the
// lock held that it was made with, but for Serve.
type Queue struct {
	mu      *sync.Mutex
	label   watchdog.Label
	wanted  chan struct{} // holds one
	soon    chan struct{} // and one of those that may be over in a moment
	answers []*answer
	looked  int // goroutines
	vain    int // looks that have seen no rest
	stopped bool
}

// answer is one that waits for its turn.
type answer struct {
	x     *adk.Crossing // that it was recorded with
	place int           // in the order of the answers
	turn  bool          // it has come
	moved *sync.Cond
}

// New is a queue of a run whose goroutines have a label. mu guards it and what its turns change.
func New(mu *sync.Mutex, label watchdog.Label) *Queue {
	return &Queue{mu: mu, label: label, wanted: make(chan struct{}, 1), soon: make(chan struct{}, 1)}
}

// Label is that of the run's goroutines.
func (q *Queue) Label() watchdog.Label { return q.label }

// Over reports whether nothing is held back any more.
func (q *Queue) Over() bool { return q.stopped || q.looked >= mostLooked || q.vain >= mostBusy }

// Hold holds an answer back that was recorded with a crossing, until it has its turn: those of
// lower places come before it. The lock is given up meanwhile.
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

// Next is what the answer that comes next was recorded with, and its place; nil where nobody
// waits for one.
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

// Give gives the next answer to who waits for it.
func (q *Queue) Give() {
	held := q.next()
	held.turn = true
	held.moved.Signal()
}

// Want has a turn made once all goroutines are at rest.
func (q *Queue) Want() {
	select {
	case q.wanted <- struct{}{}:
	default: // it is wanted already
	}
}

// Soon is Want of one turn, and that only where nothing goes on for a moment: who is waited for is
// about to do something in most cases, and then nobody looks.
func (q *Queue) Soon() {
	select {
	case q.soon <- struct{}{}:
	default:
	}
}

// Serve makes turns, each when all goroutines of the run are at rest and somebody wants it, until
// over is closed. isDue reports whether anything is left to make, and turn makes it, with the
// lock held, and reports whether something was. progress changes with all that the run does.
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
			soon, goesOn = true, func() bool { return progress() != was } // and then somebody asks again
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

// pay counts what a look has cost, and reports whether that was not the last.
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

// Stop lets all go on who wait for an answer.
func (q *Queue) Stop() {
	q.stopped = true
	q.release()
}

func (q *Queue) release() {
	for _, held := range q.answers {
		held.moved.Signal()
	}
}
