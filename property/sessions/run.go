package sessions

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/watchdog"
)

// run is one run of a schedule. One goroutine directs it: it begins a call, and goes on when the
// call has ended, stands still at a point, or has died with its process. So only one call runs at a
// time, and the schedule says where it stops.
type run struct {
	subject  Subject
	schedule Schedule
	instance Instance
	clock    *fakes.Clock
	ledger   *ledger
	label    watchdog.Label

	hosts     map[string]*process
	mu        sync.Mutex
	processes []*process // all processes, including dead ones
	// current is the call that runs; the watching goroutine reads it.
	current  atomic.Pointer[task]
	progress atomic.Int64
	behind   atomic.Int64 // by how many seconds the hosts' clock was set back

	once     sync.Once
	over     chan struct{} // closed when the goroutines of dead processes may end
	isJudged bool
	isLeft   bool // it did not end
	group    sync.WaitGroup
	calls    []*task                  // by action; nil for an action that makes no call
	traces   map[string]*bytes.Buffer // by turn
	journal  []byte                   // without what differs between equal runs
}

// usualLease is the lease of a config that has none.
const usualLease = time.Minute

func newRun(s Subject, schedule Schedule) *run {
	return &run{subject: s, schedule: schedule, clock: fakes.NewClock(), ledger: newLedger(), label: watchdog.NewLabel(), hosts: map[string]*process{}, traces: map[string]*bytes.Buffer{}, over: make(chan struct{})}
}

// direct runs the whole schedule and judges the run, on a goroutine that may be left behind.
func (r *run) direct() {
	defer r.label.Begin()()
	r.instance = r.subject.Open()
	defer r.instance.close()
	defer r.thaw()
	store := r.host("a").config.Store
	before := r.recordsBefore()
	for _, a := range r.schedule {
		r.calls = append(r.calls, r.perform(a))
		r.ledger.audit(store)
	}
	for _, name := range []string{"a", "b"} {
		r.finish(r.hosts[name])
	}
	last := r.settleAll()
	r.ledger.audit(store)
	r.judge(last, before)
	r.isJudged = true
	r.thaw()
	r.group.Wait()
}

// thaw lets the goroutines of dead processes end.
func (r *run) thaw() { r.once.Do(func() { close(r.over) }) }

// violations returns what was found; for a run that was left behind, what was found until then.
func (r *run) violations() []Violation {
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	return slices.Clone(r.ledger.violations)
}

func (r *run) broken() bool { return len(r.violations()) > 0 }

// all returns the processes that exist by now.
func (r *run) all() []*process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.processes)
}

// perform does one action, and returns its call, if any.
func (r *run) perform(a Action) *task {
	switch a.Verb {
	case Wait:
		r.clock.Advance(time.Duration(a.Arg) * time.Second)
		return nil
	case Expire:
		r.clock.Advance(r.host("a").config.Lease + time.Second)
		return nil
	case Back:
		r.behind.Add(int64(a.Arg))
		return nil
	case Restart, ToRelease:
		p := r.host(a.Host)
		p.kill()
		release := p.release
		if a.Verb == ToRelease {
			release = a.Arg - 1
		}
		r.hosts[a.Host] = r.begin(a.Host, release)
		return nil
	case GoOn:
		p := r.host(a.Host)
		t := p.task
		if t == nil {
			return nil
		}
		t.faults = append(t.faults, unfired(a.Faults)...)
		p.goOn()
		return t
	}
	return r.call(a)
}

// call makes a host begin a call, and returns when the call has ended, stands still, or has died.
func (r *run) call(a Action) *task {
	p := r.host(a.Host)
	r.finish(p)
	p = r.host(a.Host) // the call may have ended the process
	var body func(context.Context) error
	var sent session.DeliveryID
	switch a.Verb {
	case Resume:
		body = func(ctx context.Context) error { _, err := p.host.Resume(ctx, 1000); return err }
	case Erase:
		id := r.subject.sent(a).SessionID()
		body = func(ctx context.Context) error {
			err := p.host.EraseSession(ctx, id.Tenant, id.Session)
			if err == nil {
				r.ledger.telling(p, func(l *ledger) { l.forgets(id) })
			}
			return err
		}
	default:
		d := r.subject.sent(a)
		sent = d.DeliveryID()
		body = func(ctx context.Context) error {
			o, err := p.host.Deliver(ctx, d)
			if err == nil {
				r.ledger.telling(p, func(l *ledger) { l.answered(d, o) })
			}
			return err
		}
	}
	return p.begin(sent, unfired(a.Faults), body)
}

// host returns the process with a name. If it has died, host begins another one of the same
// release.
func (r *run) host(name string) *process {
	p := r.hosts[name]
	switch {
	case p == nil:
		p = r.begin(name, len(r.instance.Releases)-1)
	case p.dead.Load():
		p = r.begin(name, p.release)
	}
	r.hosts[name] = p
	return p
}

// finish lets a call that stands still run to its end.
func (r *run) finish(p *process) {
	if p != nil && p.task != nil {
		p.task.standNoMore()
		p.goOn()
	}
}

// mostRounds is how often the last host resumes. Every attempt at a delivery takes a round, and so
// does each delivery that waits for another one.
const mostRounds = 40

// settleAll makes another host settle what is left, without faults.
func (r *run) settleAll() *process {
	p := r.begin("last", len(r.instance.Releases)-1)
	var failure error
	for range mostRounds {
		r.clock.Advance(max(time.Hour, p.config.Lease+time.Second))
		p.begin(session.DeliveryID{}, nil, func(ctx context.Context) error { _, failure = p.host.Resume(ctx, 1000); return nil })
		if p.dead.Load() || len(r.ledger.unsettled()) == 0 && len(r.ledger.untold()) == 0 && failure == nil {
			break
		}
	}
	because := ""
	if failure != nil {
		because = ": " + failure.Error()
	}
	unsettled, untold := r.ledger.unsettled(), r.ledger.untold()
	r.ledger.telling(nil, func(l *ledger) {
		for _, text := range unsettled {
			l.wrong(settles, "%s, however often a host resumes%s", text, because)
		}
		for _, text := range untold {
			l.wrong(told, "%s", text)
		}
	})
	return p
}

// plannedFault is a fault that is made at most once.
type plannedFault struct {
	Fault
	fired, counted bool
	off            bool // it must not be made any more
}

func unfired(faults []Fault) (all []*plannedFault) {
	for _, f := range faults {
		all = append(all, &plannedFault{Fault: f})
	}
	return all
}

// task is a call of a host under way.
type task struct {
	p      *process
	sent   session.DeliveryID // zero if nothing is delivered
	faults []*plannedFault
	cancel context.CancelCauseFunc
	events chan event
	wake   chan none

	mu        sync.Mutex
	calls     []string // the names of the calls that the host has made so far
	marks     []mark   // the crossings of its turns so far
	reported  bool     // it was reported that it has ended or died
	unbounded bool
}

// standNoMore makes a call run to its end without standing still.
func (t *task) standNoMore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.faults {
		f.off = f.off || f.Kind == Stand || f.Kind == StandInTurn
	}
}

// event is the reason why a call does not run any more.
type event uint8

const (
	ended event = iota + 1
	standing
	died
)

// begin begins a call, and returns it when it has ended, stands still, or has died.
func (p *process) begin(sent session.DeliveryID, faults []*plannedFault, body func(context.Context) error) *task {
	ctx, cancel := context.WithCancelCause(context.Background())
	t := &task{p: p, sent: sent, faults: faults, cancel: cancel, events: make(chan event, 2), wake: make(chan none, 1)}
	p.task = t
	p.latest.Store(t)
	p.run.current.Store(t)
	p.run.group.Go(func() {
		defer t.end()
		_ = body(ctx) // an error is fine: what the call leaves is judged
	})
	p.await()
	return t
}

// sends reports whether the call of a process sends a delivery.
func (p *process) sends(id session.DeliveryID) bool {
	t := p.latest.Load()
	return t != nil && t.sent == id
}

// end reports that the call has ended, even if it panicked or its goroutine was ended.
func (t *task) end() {
	if value := recover(); value != nil {
		t.p.run.ledger.telling(t.p, func(l *ledger) { l.wrong(fails, "panics: %v", value) })
	}
	t.report(ended)
}

// report wakes the goroutine that directs the run. After a call has ended or died it does nothing.
func (t *task) report(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reported {
		return
	}
	t.reported = e != standing
	t.events <- e
}

// await waits until the call of a process does not run any more.
func (p *process) await() {
	t := p.task
	if <-t.events != standing {
		p.task = nil
		t.cancel(errDead)
	}
	p.run.current.Store(nil)
}

// goOn lets the standing call of a process go on.
func (p *process) goOn() {
	t := p.task
	p.run.current.Store(t)
	t.goes()
	p.await()
}

// goes wakes a call that stands still. It does nothing if the call was woken already.
func (t *task) goes() {
	select {
	case t.wake <- none{}:
	default:
	}
}

// kill ends a process wherever it is.
func (p *process) kill() {
	p.dead.Store(true)
	if p.task != nil {
		p.goOn() // it freezes at once
	}
}

// stand stops a call until it is woken. The caller must hold no lock.
func (t *task) stand() {
	t.report(standing)
	<-t.wake
}

// freeze stops a goroutine of a process that has ended: none of its lines runs any more, not even a
// deferred one, until the run was judged. Then the goroutine ends.
func (p *process) freeze(t *task) {
	p.frozen(t)
	runtime.Goexit()
}

// frozen is freeze for the goroutine of a turn. The engine cannot end at any place, so the
// goroutine goes on to its next operation after the run was judged.
func (p *process) frozen(t *task) {
	t.report(died)
	<-p.run.over
}

// isOver reports whether the run was judged.
func (r *run) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// mostCalls is how many calls of a host, and mostCrossings how many crossings, an action may have
// before its process is ended.
const mostCalls, mostCrossings = 5000, 100_000

// point is a call that a process has reached.
type point struct {
	task   *task
	number int
	name   string
}

// arrive is called before a call. If it returns an error, the call fails with it.
func (p *process) arrive(name string) (point, error) {
	t := p.latest.Load()
	if p.run.isOver() || t == nil {
		return point{}, errDead
	}
	if name != "Renew" { // renewals happen by themselves, even while a turn stands still
		p.run.progress.Add(1)
	}
	if p.dead.Load() {
		p.freeze(t)
	}
	if name == "Renew" && p.standing.Load() {
		p.held.Add(1)
		select {
		case <-p.goneOn(): // a process that stands still renews nothing
		case <-p.run.over:
		}
	}
	t.mu.Lock()
	t.calls = append(t.calls, name)
	at := point{t, len(t.calls), name}
	t.unbounded = at.number > mostCalls
	t.mu.Unlock()
	if t.unbounded {
		p.run.ledger.telling(p, func(l *ledger) { l.wrong(hangs, "one action makes more than %d calls", mostCalls) })
		p.dead.Store(true)
		p.freeze(t)
	}
	switch {
	case at.fires(Crash):
		p.dead.Store(true)
		p.freeze(t)
	case name != "Renew" && at.fires(Stand):
		p.stands(t)
	}
	if p.dead.Load() {
		p.freeze(t)
	}
	if at.fires(Fail) {
		return at, fmt.Errorf("call %d, %s: %w", at.number, name, errBroken)
	}
	return at, nil
}

// depart is called after a call.
func (p *process) depart(at point) error {
	if p.dead.Load() { // it died during the call
		p.freeze(at.task)
	}
	if at.fires(CrashAfter) {
		p.dead.Store(true)
		p.freeze(at.task)
	}
	if at.fires(FailAfter) {
		return fmt.Errorf("call %d, %s, was made: %w", at.number, at.name, errBroken)
	}
	return nil
}

// fires reports whether a fault must be made at the point, and marks it as made.
func (at point) fires(k FaultKind) bool { return at.task.fires(k, at.number) }

func (t *task) fires(k FaultKind, number int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.faults {
		if f.Kind == k && f.At == number && !f.fired && !f.off {
			f.fired = true
			return true
		}
	}
	return false
}

// process is a host of the run, from its begin to its end.
type process struct {
	run     *run
	of      string // a, b or last
	name    string
	release int
	config  session.Config // as the subject made it, with defaults
	host    *session.Host
	sched   *fakes.Scheduler
	task    *task                // the call that runs or stands still, for the directing goroutine
	latest  atomic.Pointer[task] // the same, kept until another call begins
	dead    atomic.Bool

	turning  atomic.Bool // a turn is under way
	standing atomic.Bool
	held     atomic.Int32 // renewals that wait until it goes on
	mu       sync.Mutex
	gone     chan none // closed when it goes on

	steps []session.Step
	trace *bytes.Buffer     // of the turn under way, or of the last one
	began session.SessionID // the session of that turn
	kept  map[string]bool   // what that turn has written, by collection and key
	tries *entry            // the delivery that the turn is for

	attempt int // the number of the attempt at it
}

// stands makes a process stand still. When it goes on, its renewals come first.
func (p *process) stands(t *task) {
	if p.dead.Load() {
		return
	}
	p.mu.Lock()
	p.gone = make(chan none)
	p.mu.Unlock()
	p.standing.Store(true)
	t.stand()
	p.standing.Store(false)
	p.mu.Lock()
	close(p.gone)
	p.mu.Unlock()
	if p.held.Swap(0) > 0 {
		watchdog.Settle(settling, p.run.label)
	}
}

func (p *process) goneOn() chan none {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}
