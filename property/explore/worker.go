package explore

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/property/turn"
)

// worker runs attempts, one after the other.
type worker struct {
	subject turn.Subject
	usual   extent                  // of the undisturbed run; zero before that has ended
	holding []int                   // of the undisturbed run; see attempt
	apart   *atomic.Bool            // goroutines of user code ask
	attempt atomic.Pointer[attempt] // atomic, since the watcher reads it too
	lane    *lane
}

// lane is a goroutine that runs turns and judges them. It is not the worker's own goroutine, since
// a turn that hangs never returns it, and a turn may end its goroutine.
type lane struct {
	lists   chan list
	done    chan bool  // receives true when a list is done, false when the lane has ended
	stalled chan stall // receives when the turn that is under way was given up
}

// list is what a lane runs. next prepares the attempt for the next run, or returns false if there
// is none. ran receives the result, with a stall if the run did not end.
type list struct {
	attempt *attempt
	next    func(*attempt) bool
	ran     func(a *attempt, s *stall)
}

func newWorker(subject turn.Subject, apart *atomic.Bool) *worker {
	w := &worker{subject: subject, apart: apart}
	w.attempt.Store(newAttempt())
	return w
}

// each runs attempts on the lane. Runs that end share one goroutine. If a run ends or keeps its
// lane, each reports it to ran itself, and starts another lane.
func (w *worker) each(next func(*attempt) bool, ran func(a *attempt, s *stall)) {
	for {
		if w.lane == nil {
			w.lane = &lane{make(chan list), make(chan bool), make(chan stall, 1)}
			go w.lane.serve(w.subject, w.attempt.Load().label)
		}
		a := w.attempt.Load()
		a.usual, a.holding, a.apart, a.stalled = w.usual, w.holding, w.apart, w.lane.stalled
		w.lane.lists <- list{a, next, ran}
		select {
		case goesOn := <-w.lane.done:
			if goesOn {
				return
			}
			w.lane = nil
			ran(a, nil)
			a.instance.Close()
		case s := <-w.lane.stalled: // the run keeps waiting, so nothing of it is closed
			w.lane = nil
			w.attempt.Store(newAttempt())
			a.toldAll()
			s.look(a)
			if s.kind == crashed {
				w.follow(a)
			}
			ran(a, &s)
			if s.kind == crashed {
				close(a.thaw)
				a.present.Load().end(context.Canceled, errBroken)
				a.instance.Close()
			}
		}
	}
}

// followed is the run that followed another.
type followed struct {
	run   turn.Run
	stall *stall
	*attempt
}

// follow runs the turn that follows one that has crashed.
func (w *worker) follow(a *attempt) {
	var b *attempt
	a.after = &followed{}
	w.each(func(one *attempt) bool {
		if b != nil {
			return false
		}
		b = one
		b.reset(candidate{}, nil, false, false)
		b.following, b.history, b.name = a.instance.Next, a.history, a.name
		return true
	}, func(_ *attempt, s *stall) { a.after.stall = s })
	a.after.keep(b)
}

// keep stores the run.
func (f *followed) keep(b *attempt) {
	f.attempt = b
	f.run = turn.Run{Config: b.instance.Config, Info: b.info, Crossings: b.all()}
}

// run runs one attempt and returns a stall if the run was given up. The instance is closed by then:
// a caller that still needs it, for example to run a check, uses runAnd.
func (w *worker) run(n candidate, collect, record bool) (a *attempt, s *stall) {
	return w.runAnd(n, collect, record, func(*attempt, *stall) {})
}

// runAnd is like run, but calls look with the attempt before the instance is closed.
func (w *worker) runAnd(n candidate, collect, record bool, look func(*attempt, *stall)) (a *attempt, s *stall) {
	w.each(func(one *attempt) bool {
		if a != nil {
			return false
		}
		a = one
		a.reset(n, nil, collect, record)
		return true
	}, func(a *attempt, came *stall) {
		s = came
		look(a, s)
	})
	return a, s
}

// close ends the worker's goroutine.
func (w *worker) close() {
	if w.lane != nil {
		close(w.lane.lists)
		w.lane = nil
	}
}

// runNext runs the turn that follows one that has ended. It does so on the same goroutine and as
// part of the same run, so that the watcher sees both.
func (a *attempt) runNext(subject turn.Subject) {
	if a.instance.Next == nil || a.phase.Load() == givenUp || a.answer != nil || a.panicked != nil {
		return
	}
	b := newAttempt()
	b.label, b.built = a.label, a.built
	b.stalled = make(chan stall, 1)
	b.reset(candidate{}, nil, false, false)
	b.following, b.history = a.instance.Next, a.history
	a.next.Store(b)
	defer a.next.Store(nil)
	b.run(subject)
	b.finish()
	a.after = &followed{}
	a.after.keep(b)
}

func (l *lane) serve(subject turn.Subject, label watchdog.Label) {
	defer label.Begin()()
	for work := range l.lists {
		if !l.work(subject, work) {
			return
		}
	}
}

// runsAtOnce is after how many runs the lane yields the processor. On few processors the garbage
// collector gets its share only when goroutines are switched, and runs need not switch. Until it
// has had its share it goes on marking, and while it marks, each write of a pointer costs more.
const runsAtOnce = 16

// work runs a list and reports on l.done when it ends, even if a run ends the goroutine. It does
// not report if the run was given up, since the worker does not wait for it any more.
func (l *lane) work(subject turn.Subject, work list) (goesOn bool) {
	defer func() {
		if goesOn || work.attempt.finish() {
			l.done <- goesOn
		}
	}()
	for runs := 1; work.next(work.attempt); runs++ {
		work.attempt.run(subject)
		work.attempt.runNext(subject)
		if !work.attempt.finish() {
			return false
		}
		work.ran(work.attempt, nil)
		work.attempt.instance.Close()
		if runs%runsAtOnce == 0 {
			runtime.Gosched()
		}
	}
	return true
}
