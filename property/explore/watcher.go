package explore

import (
	"context"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// This file watches the runs that are under way. Where no crossing comes of one, it
// asks the runtime what the run's goroutines do: the strand that has the turn and is
// blocked outside the engine loses it, a run of which nothing can ever go on is given
// up, and so is one that neither goes on nor comes to its end.

// overtimeGrace is how long a run may go on when the exploration is over, before it is
// refused what it asks for; after as long again it is left behind.
const overtimeGrace = watchdog.Grace

// mostStalls is how many runs are given up before the exploration ends: what they
// hold is held for ever, and every look at the runs that follow sees it.
const mostStalls = 6

// nowhere is a time that is over on every clock.
var nowhere = time.Unix(1, 0)

// watcher watches the runs of an exploration.
type watcher struct {
	workers  []*worker
	dogs     []watchdog.Dog // by worker
	last     []*attempt     // whose run each of them has seen
	silences []silence      // by worker
	ctx      context.Context
	deadline time.Time // of the exploration; zero is none
	blocked  bool      // runs of this subject block outside the engine
	stop     chan struct{}
	closing  sync.Once
	group    sync.WaitGroup
}

// watch begins to watch. The budget is by the system's clock.
func watch(ctx context.Context, workers []*worker, budget time.Duration) *watcher {
	w := &watcher{workers: workers, last: make([]*attempt, len(workers)), ctx: ctx, stop: make(chan struct{})}
	patience := watchdog.Usual
	if budget > 0 {
		w.deadline = time.Now().Add(budget)
		patience = min(patience, max(budget/4, 200*time.Millisecond))
	}
	known := map[string]watchdog.Action{}
	w.silences = make([]silence, len(workers))
	for i := range workers {
		w.dogs = append(w.dogs, watchdog.Dog{Patience: patience, Known: known, Beside: func() bool { return w.isBeside(i) }})
	}
	w.group.Go(w.serve)
	return w
}

// close ends the watching. It may be called twice.
func (w *watcher) close() {
	w.closing.Do(func() { close(w.stop) })
	w.group.Wait()
}

func (w *watcher) serve() {
	ticker := time.NewTicker(watchdog.Often)
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ticker.C:
			for i := range w.workers {
				a := w.workers[i].attempt.Load()
				if a != w.last[i] {
					w.last[i] = a
					w.dogs[i].Forget()
					w.silences[i].beside = nil
				}
				w.visit(i, a, time.Now())
			}
			if w.blocked && !w.dogs[0].Eager {
				for i := range w.dogs {
					w.dogs[i].Eager = true
				}
				ticker.Reset(watchdog.Eagerly)
			}
		}
	}
}

// silence is a time in which a run made no progress, and which runs were under way as it
// began, by worker.
type silence struct {
	progress int64
	beside   []underWay
}

// underWay is a run that was begun: another phase is another run.
type underWay struct {
	attempt *attempt
	phase   int64
}

// underWay appends what is under way to a list.
func (w *watcher) underWay(all []underWay) []underWay {
	for _, one := range w.workers {
		a := one.attempt.Load()
		all = append(all, underWay{a, a.phase.Load()})
	}
	return all
}

// mostOvertaking is by how much a phase has grown where one run has followed another.
const mostOvertaking = 2

// isBeside reports whether a run is at work that may have a lock that a worker's waits for:
// one that began before the silence, or that followed such a one. A lock that is given back
// wakes who waits for it, and the next run may still be there first; the time after that it
// is handed over.
func (w *watcher) isBeside(worker int) bool {
	now := w.underWay(nil)
	for i, was := range w.silences[worker].beside {
		if i == worker || was.attempt != now[i].attempt || w.dogs[i].IsBlocked() {
			continue
		}
		if phase := now[i].phase; phase%2 != 0 && phase != givenUp && phase-was.phase <= mostOvertaking {
			return true
		}
	}
	return false
}

// visit looks at the run of a worker, if it makes no progress.
func (w *watcher) visit(worker int, a *attempt, now time.Time) {
	dog := &w.dogs[worker]
	phase, told := a.phase.Load(), a.told.Load()
	if phase%2 == 0 || phase == givenUp {
		return
	}
	present := a // the run, or the one that follows
	if b := a.next.Load(); b != nil {
		present = b
		told += 1<<31 + b.told.Load()
	}
	run := present.present.Load()
	if run != nil && run.settling.Load() && !w.over(now) { // it looks itself, and goes on
		dog.Forget()
		return
	}
	if s := &w.silences[worker]; s.beside == nil || s.progress != phase<<32+told {
		*s = silence{phase<<32 + told, w.underWay(s.beside[:0])}
	}
	f := dog.Visit(phase<<32+told, now, a.label, a.built)
	if w.over(now) {
		w.end(a, phase, f, now)
		return
	}
	if a.phase.Load() != phase || present == a && a.told.Load() != told { // it went on meanwhile
		return
	}
	if told == 0 && f.Action < watchdog.Deadlock { // what makes the run is blocked, or at work
		return
	}
	switch f.Action {
	case watchdog.PassOn:
		w.blocked = true
		if f.Condition == watchdog.Blocked {
			run.timed.Store(true)
		}
		run.passOn(nowhere, a.label, present.isOnly())
	case watchdog.MoveTime:
		if began := run.began.Load(); began != nil {
			run.passOn(began.Add(patience/2), a.label, present.isOnly())
		}
	case watchdog.Cancel:
		stood := watchdog.Describe(f.Outside)
		run.stood.CompareAndSwap(nil, &stood)
		run.passOn(time.Time{}, a.label, false)
		run.giveUp()
	case watchdog.Deadlock:
		a.abandon(phase, stall{kind: deadlocked, goroutines: f.Goroutines, after: f.Silence})
	case watchdog.Hang:
		a.abandon(phase, stall{kind: silent, goroutines: f.Goroutines, after: f.Silence})
	}
}

// over reports whether runs have to come to their end: the exploration should be over
// since a while.
func (w *watcher) over(now time.Time) bool {
	if w.ctx.Err() != nil && (w.deadline.IsZero() || w.deadline.After(now)) {
		w.deadline = now
	}
	return !w.deadline.IsZero() && now.Sub(w.deadline) >= overtimeGrace
}

// end ends a run: what asks the engine for something is refused, and what does not is
// left behind.
func (w *watcher) end(a *attempt, phase int64, f watchdog.Finding, now time.Time) {
	a.cut.Store(true)
	a.halted.Store(true)
	switch {
	case now.Sub(w.deadline) < 2*overtimeGrace:
	case !f.AtWork || f.Silence < max(overtimeGrace, w.dogs[0].Patience/2):
		a.abandon(phase, stall{kind: overtime})
	default:
		all := watchdog.Of(a.label, a.built)
		a.abandon(phase, stall{kind: silent, goroutines: all, after: f.Silence})
	}
}
