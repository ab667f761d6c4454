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

// lane is a goroutine that runs turns. It is another one than the worker's, since
// a turn that hangs keeps it for ever, and one that ends its goroutine ends it.
type lane struct {
	attempts chan *attempt
	done     chan bool // whether the lane goes on
}

func newWorker(subject Subject, labels context.Context) *worker {
	return &worker{subject: subject, labels: labels, longest: longestTurn, attempt: &attempt{}}
}

// run runs one attempt and tells whether it came to an end.
func (w *worker) run(n node, asleep []sleeper, collect, record bool) (a *attempt, ended bool) {
	if w.lane == nil {
		w.lane = &lane{make(chan *attempt), make(chan bool)}
		go w.lane.serve(w.subject, w.labels)
	}
	a = w.attempt
	a.reset(n, asleep, collect, record)
	a.longest = w.longest
	w.lane.attempts <- a
	select {
	case goesOn := <-w.lane.done:
		if !goesOn {
			w.lane = nil
		}
		return a, true
	case <-a.stuck: // it is left to what it waits for
		w.lane, w.attempt = nil, &attempt{}
		return a, false
	}
}

// close ends the worker's goroutine.
func (w *worker) close() {
	if w.lane != nil {
		close(w.lane.attempts)
		w.lane = nil
	}
}

func (l *lane) serve(subject Subject, labels context.Context) {
	pprof.SetGoroutineLabels(labels)
	for a := range l.attempts {
		if !l.serveOne(subject, a) {
			return
		}
	}
}

// serveOne runs an attempt and says so, also when that ends the goroutine.
func (l *lane) serveOne(subject Subject, a *attempt) (goesOn bool) {
	defer func() { l.done <- goesOn }()
	a.run(subject)
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
