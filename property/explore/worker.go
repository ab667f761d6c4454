package explore

import (
	"context"

	"github.com/adkreplay/adkreplay/property/turn"
)

// worker runs attempts, one after the other.
type worker struct {
	subject turn.Subject
	labels  context.Context
	longest int // how many crossings a run may have
	attempt *attempt
	lane    *lane
}

// lane is a goroutine that runs turns and looks at them. It is another one than
// the worker's, since a turn that hangs keeps it for ever, and one that ends its
// goroutine ends it.
type lane struct {
	lists chan list
	done  chan bool     // a list is done, or else the lane has ended
	stuck chan struct{} // the turn that is under way hangs
}

// list is what a lane runs: next sets the attempt up for the next run, or tells
// that there is none, and ran takes what came of it.
type list struct {
	attempt *attempt
	next    func(*attempt) bool
	ran     func(a *attempt, ended bool)
}

func newWorker(subject turn.Subject, labels context.Context) *worker {
	return &worker{subject: subject, labels: labels, longest: longestTurn, attempt: &attempt{labels: labels}}
}

// each runs attempts on the lane, so that no goroutine is changed from run to run
// as long as turns come to an end. A run that took its lane with it is told of
// here, and another lane goes on.
func (w *worker) each(next func(*attempt) bool, ran func(a *attempt, ended bool)) {
	for {
		if w.lane == nil {
			w.lane = &lane{make(chan list), make(chan bool), make(chan struct{}, 1)}
			go w.lane.serve(w.subject)
		}
		a := w.attempt
		a.longest, a.stuck = w.longest, w.lane.stuck
		w.lane.lists <- list{a, next, ran}
		select {
		case goesOn := <-w.lane.done:
			if goesOn {
				return
			}
			w.lane = nil
			ran(a, true)
			a.close()
		case <-w.lane.stuck: // it is left to what it waits for, and nothing of it is closed
			w.lane, w.attempt = nil, &attempt{labels: w.labels}
			ran(a, false)
		}
	}
}

// run runs one attempt and reports whether it came to an end.
func (w *worker) run(n candidate, asleep []sleeper, collect, record bool) (a *attempt, ended bool) {
	w.each(func(one *attempt) bool {
		if a != nil {
			return false
		}
		a = one
		a.reset(n, asleep, collect, record)
		return true
	}, func(_ *attempt, came bool) { ended = came })
	return a, ended
}

// close ends the worker's goroutine.
func (w *worker) close() {
	if w.lane != nil {
		close(w.lane.lists)
		w.lane = nil
	}
}

func (l *lane) serve(subject turn.Subject) {
	for work := range l.lists {
		if !l.work(subject, work) {
			return
		}
	}
}

// work goes through a list and says so, also when a run ends the goroutine.
func (l *lane) work(subject turn.Subject, work list) (goesOn bool) {
	defer func() { l.done <- goesOn }()
	for work.next(work.attempt) {
		work.attempt.run(subject)
		work.ran(work.attempt, true)
		work.attempt.close()
	}
	return true
}
