package property

import (
	"bytes"
	"context"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
)

// worker runs attempts, one after the other.
type worker struct {
	subject Subject
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

func newWorker(subject Subject, labels context.Context) *worker {
	return &worker{subject: subject, labels: labels, longest: longestTurn, attempt: &attempt{}}
}

// each runs attempts on the lane, so that no goroutine is changed from run to run
// as long as turns come to an end. A run that took its lane with it is told of
// here, and another lane goes on.
func (w *worker) each(next func(*attempt) bool, ran func(a *attempt, ended bool)) {
	for {
		if w.lane == nil {
			w.lane = &lane{make(chan list), make(chan bool), make(chan struct{}, 1)}
			go w.lane.serve(w.subject, w.labels)
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
		case <-w.lane.stuck: // it is left to what it waits for
			w.lane, w.attempt = nil, &attempt{}
			ran(a, false)
		}
	}
}

// run runs one attempt and tells whether it came to an end.
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

func (l *lane) serve(subject Subject, labels context.Context) {
	pprof.SetGoroutineLabels(labels)
	for work := range l.lists {
		if !l.work(subject, work) {
			return
		}
	}
}

// work goes through a list and says so, also when a run ends the goroutine.
func (l *lane) work(subject Subject, work list) (goesOn bool) {
	defer func() { l.done <- goesOn }()
	for work.next(work.attempt) {
		work.attempt.run(subject)
		work.ran(work.attempt, true)
	}
	return true
}

// explorations numbers explorations, for the labels of their goroutines.
var explorations atomic.Int64

// labelled is a context whose label every goroutine inherits that is started
// while turns are explored, and the label as the runtime's profile writes it.
func labelled() (context.Context, []byte) {
	const key = "adkreplay-exploration"
	number := strconv.FormatInt(explorations.Add(1), 10)
	labels := pprof.WithLabels(context.Background(), pprof.Labels(key, number))
	return labels, []byte(strconv.Quote(key) + ":" + strconv.Quote(number))
}

// leftBehind counts the goroutines that have a label, beyond those that are known.
// Those that are about to end are given the time to do so.
func leftBehind(label []byte, known int) (count int) {
	for range 100 {
		if count = labelledNow(label) - known; count <= 0 {
			return 0
		}
		for range 100 {
			runtime.Gosched()
		}
	}
	return count
}

func labelledNow(label []byte) (count int) {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return 0
	}
	for group := range bytes.SplitSeq(profile.Bytes(), []byte("\n\n")) {
		if !bytes.Contains(group, label) {
			continue
		}
		lines := bytes.Split(group, []byte("\n"))
		for _, line := range lines { // the first group stands below a heading
			if number, _, ok := bytes.Cut(line, []byte(" @ ")); ok {
				n, _ := strconv.Atoi(string(number))
				count += n
				break
			}
		}
	}
	return count
}
