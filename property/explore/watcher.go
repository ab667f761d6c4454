package explore

import (
	"context"
	"sync"
	"time"

	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// This file watches the runs that are under way. If a run makes no progress, the watcher asks the
// runtime what its goroutines do. A strand that has the turn and is blocked outside the engine
// loses the turn. A run in which nothing can ever go on is given up, and so is one that neither
// goes on nor ends.

// overtimeGrace is how long a run may go on after the exploration is over before the engine refuses
// its operations. After as long again it is left behind.
const overtimeGrace = watchdog.Grace

// mostStalls is how many runs are given up before the exploration ends: they never release what
// they hold, and their goroutines show up in every look at later runs.
const mostStalls = 6

// nowhere is a time that is in the past on every clock.
var nowhere = time.Unix(1, 0)

// watcher watches the runs of an exploration.
type watcher struct {
	workers  []*worker
	dogs     []watchdog.Dog // by worker
	last     []*attempt     // the attempt that each dog saw last
	silences []silence      // by worker
	ctx      context.Context
	deadline time.Time // end of the exploration; zero means none
	blocked  bool      // runs of this subject block outside the engine
	stop     chan struct{}
	closing  sync.Once
	group    sync.WaitGroup
}

// watch starts to watch. The budget is measured by the system's clock.
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

// close stops the watching. It may be called twice.
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

// silence is a time in which a run made no progress. beside holds the runs that were under way when
// it began, by worker.
type silence struct {
	progress int64
	beside   []underWay
}

// underWay identifies a run: another phase of the same attempt is another run.
type underWay struct {
	attempt *attempt
	phase   int64
}

// underWay appends the runs that are under way to a list.
func (w *watcher) underWay(all []underWay) []underWay {
	for _, one := range w.workers {
		a := one.attempt.Load()
		all = append(all, underWay{a, a.phase.Load()})
	}
	return all
}

// mostOvertaking is how much a phase has grown when the next run of the attempt is under way.
const mostOvertaking = 2

// isBeside reports whether a run is at work that may hold a lock for which a worker's run waits: a
// run that began before the silence, or the run right after it. Unlocking a mutex wakes its waiter,
// but the next run may lock it first; after that the mutex is handed over to the waiter.
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

// visit looks at the run of a worker, and acts if the run makes no progress.
func (w *watcher) visit(worker int, a *attempt, now time.Time) {
	dog := &w.dogs[worker]
	phase, told := a.phase.Load(), a.told.Load()
	if phase%2 == 0 || phase == givenUp {
		return
	}
	present := a // the run, or the run that follows it
	if b := a.next.Load(); b != nil {
		present = b
		told += 1<<31 + b.told.Load()
	}
	run := present.present.Load()
	if run != nil && run.settling.Load() && !w.over(now) { // the run itself looks at its goroutines, and goes on
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
	if a.phase.Load() != phase || present == a && a.told.Load() != told { // the run went on in the meantime
		return
	}
	if told == 0 && f.Action < watchdog.Deadlock { // what builds the run is blocked, or at work
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

// over reports whether runs must end because the exploration has been over for a while.
func (w *watcher) over(now time.Time) bool {
	if w.ctx.Err() != nil && (w.deadline.IsZero() || w.deadline.After(now)) {
		w.deadline = now
	}
	return !w.deadline.IsZero() && now.Sub(w.deadline) >= overtimeGrace
}

// end ends a run. From now on the engine refuses its operations; a run that calls no operation is
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
