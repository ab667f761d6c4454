package explore

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/cues"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/reread"
	"github.com/adkreplay/adkreplay/internal/watchdog"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property"
	"github.com/adkreplay/adkreplay/property/internal/oracle"
	"github.com/adkreplay/adkreplay/property/internal/strays"
	"github.com/adkreplay/adkreplay/property/turn"
)

// patience is how long the caller of an explored run waits, in virtual time, when nothing moves any
// more. Then the caller cancels. If nothing moves for as long again after that, the run is given up
// as a deadlock.
const patience = 100 * 365 * 24 * time.Hour

// explorer is the settler's name in the settlements of gates that the explorer makes.
const explorer = "explorer"

// attempt is one run of a subject by a schedule. It is the observer of the run and owns its
// scheduler. It is reused for the next run (reset).
type attempt struct {
	faults []planned
	// name is the schedule, for the labels of the run's goroutines. It is set only if goroutines of
	// user code ask: a panic in one of them ends the program, and its stack trace then names the
	// schedule.
	name    string
	unfired atomic.Int64 // how many of the faults have not happened yet; atomic because pick must not wait for mu
	order   order
	free    bool // strands run freely, without a scheduler
	collect bool // collect what lookFurther needs to find further faults
	plain   bool // changed texts are replaced by harmless ones (see doubtChecks)
	forever bool // the fault is a world that always gives the same answer (turn.AskAgain)
	script  *playing
	endings bool   // check whether transactions and rows have ended, which takes a look at all goroutines
	earlier []int  // the numbers of the goroutines of earlier runs that were still there when this run began
	usual   extent // extent of the undisturbed run; zero while it is not known
	holding []int  // the asks of the undisturbed run while package sql has something open, by their crossings
	looked  int    // how often holding was looked for in this run

	scheduler *fakes.Scheduler
	ordered   fakes.Order // calls pick
	inner     adk.SleepObserver
	present   atomic.Pointer[presentRun]
	reading   atomic.Pointer[planned]            // the fault to make in the next reader that is opened
	breaker   reread.Breaker                     // makes the fault in reading
	prompter  cues.Prompter                      // says which iterations of scripts are played
	following func() (adk.Config, adk.RawTurn)   // makes the run, if it follows another run
	after     *followed                          // the run that followed this one
	instance  turn.Instance                      // what the subject made for the run
	errors    func(string, turn.FaultKind) error // errors of clients outside HTTP; nil means those of package net
	label     watchdog.Label                     // label of all goroutines that are started in the run
	built     watchdog.Label                     // label of the goroutines that are started while the subject builds the run

	next    atomic.Pointer[attempt] // the run that follows, while it is under way
	phase   atomic.Int64            // which run is under way, and whether it is (see begin, finish and abandon)
	told    atomic.Int64            // the number of crossings observed so far
	tooMany atomic.Int64            // the value of told when the caller gave up because the run was too long; 0 before
	ended   atomic.Bool             // turnEnd was observed
	thaw    chan struct{}           // closed when the goroutines of a crashed run may end
	crashed atomic.Bool             // the run was broken off by a turn.Crash fault
	halted  atomic.Bool             // the run must not go on: it crashed, was given up or cut, or is too long
	cut     atomic.Bool             // the exploration is over, and operations are refused
	clients atomic.Int64            // how many clients of net/http were broken off in runs with the label
	stalled chan<- stall            // receives once, when the run is given up

	mu      sync.Mutex
	info    adk.RunInfo
	history *history   // what the storage gives of the conversation
	steps   []adk.Step // the step that began before each crossing, by the crossing's number; if collect
	wakes   []wakeup   // by the number of the crossing; if collect
	guarded []bool     // whether the explorer wraps a call, by call; if collect
	gates   map[int]*adk.TurnGate
	strands int    // strands that were forked and have not ended
	deaf    bool   // user code went on for long after the caller had cancelled
	endless string // where user code was when the run had too many crossings; empty if it had not
	found   []property.Violation

	// Written under the run's own lock and under telling. Whoever judges a run that was given up
	// takes telling alone.
	telling   sync.Mutex
	crossings []adk.Crossing
	extent    extent

	answer   error
	panicked any

	// The goroutines that ask in each call, by call; nil unless candidate.askers. If several
	// goroutines ask in one call (loose), the order of what they ask is the system's.
	askers  map[int]map[int]bool
	loose   bool
	looseAt string       // where in user code loose was seen
	ownAsks bool         // a goroutine that user code started asks
	apart   *atomic.Bool // whether the exploration has seen loose asks; nil means never
	played  []answer     // iterations of scripts that were played; only with askers

	lines  []int          // the crossings whose place in user code is wanted
	places map[int]string // the places in user code of these crossings
	ofSQL  *openings      // what package sql has opened; nil unless candidate.opened

	another otherResult // the changed tool result that was made last

	oracles oracle.Reader

	unran   []int // the calls whose code a lasting fault kept from running
	unasked []int // the asks that reached nobody, by operation
	misled  []int // the asks that a fault answered, by operation
	downed  []int // those of misled that were answered by a lasting fault after its first time

	// Reused from run to run by the judging code.
	checker property.Checker
	more    []planned
	refused map[place]*[turn.FaultKindEnd]bool // faults that were already reported as refused at a place
}

func newAttempt() *attempt {
	return &attempt{label: watchdog.NewLabel(), built: watchdog.NewLabel(), thaw: make(chan struct{})}
}

// reset prepares the attempt for a run of n. collect asks for what else could go wrong in the run,
// record for the decisions of its scheduler.
func (a *attempt) reset(n candidate, asleep []sleeper, collect, record bool) {
	a.faults = append(a.faults[:0], n.faults...)
	a.unfired.Store(int64(len(n.faults)))
	if a.name = ""; a.isApart() {
		a.name = n.schedule().String()
	}
	a.order.reset(n.picks, asleep, record)
	a.script = n.script.playing()
	a.endings = n.input.IsZero() && len(n.picks) == 0 && n.random == 0 && !n.free && (len(n.faults) == 0 || len(n.faults) == 1 && (n.faults[0].within || a.asksHolding(&n.faults[0])))
	a.looked = 0
	present := newPresentRun(n)
	a.history, a.plain, a.forever = &present.history, n.plain, n.saysTheSame()
	a.collect, a.free = collect, n.free
	if a.breaker == nil {
		a.breaker = a.breakReading
	}
	if a.prompter == nil {
		a.prompter = a.plays
	}
	present.breaker, present.prompter = a.breaker, a.prompter
	a.present.Store(present)
	a.reading.Store(nil)
	a.told.Store(0)
	a.tooMany.Store(0)
	a.extent = extent{}
	a.ended.Store(false)
	a.halted.Store(false)
	a.deaf, a.endless = false, ""
	a.following, a.after = nil, nil
	a.steps, a.wakes, a.guarded = a.steps[:0], a.wakes[:0], a.guarded[:0]
	clear(a.gates)
	a.strands, a.found = 0, nil
	a.crossings = a.crossings[:0]
	a.answer, a.panicked = nil, nil
	a.lines, a.places, a.ofSQL = n.lines, nil, nil
	if n.opened {
		a.ofSQL = &openings{at: map[int]string{}}
	}
	a.askers, a.loose, a.looseAt, a.ownAsks, a.played = nil, false, "", false, nil
	if n.askers {
		a.askers = map[int]map[int]bool{}
	}
	a.unran, a.unasked, a.misled, a.downed = a.unran[:0], a.unasked[:0], a.misled[:0], a.downed[:0]
}

// run runs the turn, on the caller's goroutine.
func (a *attempt) run(subject turn.Subject) {
	a.begin()
	a.built.Set() // goroutines that are started while building may outlive the run
	a.make(subject)
	if a.phase.Load() == givenUp { // the judging goroutine reads what a run would write
		runtime.Goexit()
	}
	a.label.SetFor(a.name)
	if a.earlier = nil; a.endings {
		a.earlier = strays.Numbers(a.label)
	}
	config := a.instance.Config
	clock, ok := config.Clock.(*fakes.Clock)
	if !ok {
		clock = fakes.NewClock()
	}
	if a.ordered == nil {
		a.ordered = fakes.Pick(a.pick)
	}
	a.scheduler = fakes.NewSchedulerOn(clock, a.ordered)
	a.present.Load().clock.Store(clock)
	a.present.Load().scheduler.Store(a.scheduler)
	config = a.around(config)
	config.Outside, config.FaultPoints = a.aroundWorld(config.Outside), true
	config.Probe, config.Clock, config.IDs = a, clock, fakes.NewIDs()
	if a.free {
		var moving sync.WaitGroup
		defer moving.Wait()
		config.Clock = freeClock{clock, &moving}
	}
	runner, err := adk.NewRunner(config)
	if err != nil {
		a.answer = err
		return
	}
	if slices.ContainsFunc(a.faults, func(f planned) bool { return f.Kind == turn.GateEarly }) {
		runner.Observe(adk.Observability{TurnGateOpen: a.settleEarly})
	}
	raw := a.instance.Raw
	if slices.ContainsFunc(a.faults, func(f planned) bool { return f.Kind == turn.GateUnanswered }) {
		raw.Observability.TurnGateOpen = a.unanswering(raw.Observability.TurnGateOpen)
	}
	present := a.present.Load()
	present.start = clock.Now()
	present.began.Store(&present.start)
	clock.AfterFunc(patience, func() {
		a.present.Load().giveUp()
		clock.AfterFunc(patience, a.standsStill)
	})
	defer present.seal()
	defer func() { a.panicked = recover() }()
	a.answer = runner.Run(&a.present.Load().outside, raw)
}

// make builds what the run needs: from the subject, or from the run that it follows.
func (a *attempt) make(subject turn.Subject) {
	if a.following == nil {
		outside := &a.present.Load().outside
		a.errors = subject.Errors
		a.instance = subject.Begin(func(cause error) { outside.end(context.Canceled, cause) })
	} else {
		a.instance = turn.Instance{Close: func() {}}
		a.instance.Config, a.instance.Raw = a.following()
	}
	a.instance.Raw.SystemPrompt = a.history.prompted(a.instance.Raw.SystemPrompt)
}

// presentRun is the part of an attempt's run that the watcher acts on. Each run has its own, so the
// watcher always acts on the run that it has looked at, and never on the next one.
type presentRun struct {
	outside
	history   history // also attempt.history
	clock     atomic.Pointer[fakes.Clock]
	scheduler atomic.Pointer[fakes.Scheduler] // set after clock
	start     time.Time
	began     atomic.Pointer[time.Time] // start, by the run's clock; nil before it is known
	waited    atomic.Bool               // nothing moved until the caller gave up
	stood     atomic.Pointer[string]    // what goroutines of user code did at that time, as the watcher saw them
	passed    atomic.Bool               // a blocked strand lost its turn, and something else went on
	timed     atomic.Bool               // what the strand waited for may have been a timer of the machine
	settling  atomic.Bool               // the strand that has the turn is waiting for those that it has woken

	beginning sync.RWMutex
	sealed    bool // the turn is over
}

// unlessOver calls take unless the turn is over. A goroutine of user code for which the turn does
// not wait may reach this point only after the turn has ended. Whoever judges the run reads what
// take writes, so take must not run then.
func (p *presentRun) unlessOver(take func()) {
	p.beginning.RLock()
	defer p.beginning.RUnlock()
	if !p.sealed {
		take()
	}
}

// seal marks the turn as over.
func (p *presentRun) seal() {
	p.beginning.Lock()
	defer p.beginning.Unlock()
	p.sealed = true
}

func newPresentRun(n candidate) *presentRun {
	run := &presentRun{history: history{input: n.input, plain: n.plain}}
	run.Begin()
	return run
}

// passed reports whether a strand of the run lost its turn where it was blocked.
func (a *attempt) passed() bool {
	run := a.present.Load()
	return run != nil && run.passed.Load()
}

// timed reports whether other strands went on while a strand was blocked which then went on by
// itself: as far as can be seen, it waited for a timer of the machine.
func (a *attempt) timed() bool {
	run := a.present.Load()
	return run != nil && run.passed.Load() && run.timed.Load() && !run.waited.Load()
}

func (a *attempt) waited() bool {
	run := a.present.Load()
	return run != nil && run.waited.Load()
}

// stood describes what goroutines of user code waited for when the caller of the run gave up. It is
// empty if the watcher did not see them.
func (a *attempt) stood() string {
	if run := a.present.Load(); run != nil {
		if stood := run.stood.Load(); stood != nil {
			return *stood
		}
	}
	return ""
}

// giveUp cancels the run as its caller does when nothing moves any more, or when the run is too
// long.
func (p *presentRun) giveUp() {
	p.waited.Store(true)
	p.end(context.Canceled, errWaited)
}

// standsStill is called when nothing moves although the caller has cancelled. It gives the run up
// as deadlocked. If a strand is blocked outside the engine, that decision is left to the watcher.
func (a *attempt) standsStill() {
	if !a.passed() {
		a.abandon(a.phase.Load(), stall{kind: deadlocked})
	}
}

// passOn takes the turn from a strand that is blocked outside the engine. If nothing else moves,
// time moves, but not beyond limit. label is that of the run's goroutines. If the strand is the
// only one and time does not move, nothing can have happened in the meantime; then passed stays as
// it was, so a run that only waits by the machine's clock is judged as usual.
func (p *presentRun) passOn(limit time.Time, label watchdog.Label, isOnly bool) {
	before := p.passed.Swap(true) // set before, since what goes on may reach the end of the run
	scheduler := p.scheduler.Load()
	if scheduler == nil {
		return
	}
	clock := p.clock.Load()
	at := clock.Now()
	if got := scheduler.PassOn(limit, func() { p.settle(label) }); !got && isOnly && clock.Now().Equal(at) {
		p.passed.Store(before)
	}
}

// isOnly reports whether no forked strand of the run is alive.
func (a *attempt) isOnly() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.strands == 0
}

// settle waits until the strands that the strand with the turn has woken have come to rest.
func (p *presentRun) settle(label watchdog.Label) {
	p.settling.Store(true)
	defer p.settling.Store(false)
	watchdog.Settle(settling, label)
}

var errWaited = fmt.Errorf("the caller waited for %s in vain", patience)

// pick is called by the scheduler to choose the strand that goes on.
func (a *attempt) pick(c fakes.Choice) int {
	return a.order.pick(c, int(a.told.Load())+1, a.unfired.Load() == 0)
}

// Observe makes the attempt the observer of its run.
func (a *attempt) Observe(info adk.RunInfo) adk.Observer {
	a.info = info
	if a.inner = (freeOrder{}); !a.free {
		a.inner = a.scheduler.Observe(info).(adk.SleepObserver) // every observer of a Scheduler is one
	}
	return a
}

// Begin makes the faults that come before the crossing to which step leads.
func (a *attempt) Begin(step adk.Step) {
	if a.halted.Load() {
		a.halt(step)
	}
	run := a.present.Load()
	a.inner.Begin(step)
	if a.halted.Load() {
		a.halt(step)
	}
	at := int(a.told.Load()) + 1
	var due []*planned
	run.unlessOver(func() { due = a.take(at, step) })
	for _, f := range due {
		a.before(f, step)
	}
}

// take records that a step begins before the crossing with number at, and returns the faults due
// there.
func (a *attempt) take(at int, step adk.Step) (due []*planned) {
	if a.collect {
		a.hasBegun(at, step)
	}
	if a.lines != nil {
		a.locate(at)
	}
	if a.askers != nil {
		a.knowAsker(step)
	}
	for i := range a.faults {
		if f := &a.faults[i]; f.At == at {
			due = append(due, f)
		}
	}
	return due
}

// halt stops a goroutine of a run that must not go on. A goroutine that asks for an operation ends
// here. If the run has crashed, any goroutine waits here first (frozen).
func (a *attempt) halt(step adk.Step) {
	a.frozen()
	if step.Kind.Class() != adk.ClassOperation || step.Phase == adk.Done {
		return
	}
	if cancelled := int(a.tooMany.Load()); cancelled > 0 && int(a.told.Load()) >= deafAt(cancelled) {
		a.mu.Lock()
		a.deaf = true
		a.mu.Unlock()
	}
	runtime.Goexit()
}

// hasBegun records the first step that begins before each crossing.
func (a *attempt) hasBegun(at int, step adk.Step) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steps = reach(a.steps, at)
	if a.steps[at].Kind == 0 {
		a.steps[at] = step
	}
}

// reach extends a slice so that index is valid.
func reach[T any](s []T, index int) []T {
	for len(s) <= index {
		var none T
		s = append(s, none)
	}
	return s
}

// crash freezes the run: each goroutine that calls the engine waits until the checks are done, and
// then ends.
func (a *attempt) crash() {
	a.crashed.Store(true)
	a.halted.Store(true)
	a.abandon(a.phase.Load(), stall{kind: crashed})
	a.frozen()
}

// frozen blocks the goroutines of a run that has crashed until thaw is closed, and then ends them.
func (a *attempt) frozen() {
	if a.crashed.Load() && a.phase.Load() == givenUp {
		<-a.thaw
		runtime.Goexit()
	}
}

// before makes a fault that comes before a step.
func (a *attempt) before(f *planned, step adk.Step) {
	switch {
	case f.Kind.OfMedia():
		a.reading.Store(f)
	case f.Kind == turn.Cancel && a.fires(f):
		a.present.Load().end(context.Canceled, errBroken)
	case f.Kind == turn.Deadline && a.fires(f):
		a.present.Load().end(context.DeadlineExceeded, nil)
	case f.Kind == turn.Crash && a.fires(f):
		a.crash()
	case f.moment == amidBody && f.call == step.Call && step.Kind.Class() == adk.ClassOperation && step.Phase != adk.Done && a.fires(f):
		// if goroutines run in parallel, it may be another step than in the earlier run
		a.breakHere(f, step)
	}
}

// fires marks a fault as having happened, and reports whether this is its first time. Goroutines of
// user code may begin their steps concurrently.
func (a *attempt) fires(f *planned) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	came := f.fired
	a.hasFired(f)
	return !came
}

// hasFired marks a fault as having happened. mu is held.
func (a *attempt) hasFired(f *planned) {
	if !f.fired {
		f.fired = true
		a.unfired.Add(-1)
	}
}

// fire marks a fault as having happened, and adds hits to the number of calls that it kept from
// running.
func (a *attempt) fire(f *planned, hits int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hasFired(f)
	f.hits += hits
}

// Park counts ended strands (those without ready), and passes the call on to the scheduler.
func (a *attempt) Park(strand int, ready func() bool) {
	if ready == nil {
		a.mu.Lock()
		a.strands--
		a.mu.Unlock()
	}
	a.inner.Park(strand, ready)
}

// Sleep and Wake pass the call on to the scheduler.
func (a *attempt) Sleep(n int, ready func() bool, own, run context.Context) {
	a.inner.Sleep(n, ready, own, run)
}
func (a *attempt) Wake(n int) { a.inner.Wake(n) }

// Resume passes the call on to the scheduler. If the strand had opened a gate, it is taken to have
// waited at that gate the first time that it resumes.
func (a *attempt) Resume(strand int) {
	a.inner.Resume(strand)
	if a.halted.Load() {
		a.frozen()
	}
	a.mu.Lock()
	gate := a.gates[strand]
	delete(a.gates, strand)
	a.mu.Unlock()
	if gate != nil {
		a.woke(gate)
	}
}

// woke settles the gate of a waiter that has woken once more, if a fault requires it. The gate must
// refuse the settlement.
func (a *attempt) woke(gate *adk.TurnGate) {
	at := int(a.told.Load()) + 1
	settled := gate.IsSettled()
	if a.collect {
		a.mu.Lock()
		a.wakes = reach(a.wakes, at)
		a.wakes[at] = wokeUnsettled
		if settled {
			a.wakes[at] = wokeSettled
		}
		a.mu.Unlock()
	}
	for i := range a.faults {
		f := &a.faults[i]
		if f.At != at || f.Kind != turn.GateLate && f.Kind != turn.GateTwice || !a.fires(f) {
			continue
		}
		if gate.Reject(explorer, errBroken) {
			a.find(property.Violation{Invariant: "a gate settles once", Rule: "GAT-2", Crossing: at,
				Text: fmt.Sprintf("gate %q took a settlement (%s) when its waiter had woken", gate.ID(), f.Kind)})
		}
	}
}

// unanswered returns the names of the gates that nobody settled before their timeout, or before the
// caller gave up.
func (a *attempt) unanswered() (gates []string) {
	for x := range a.all() {
		if wire.ClosesGate(x) && (x.Status == adk.GateTimeout || x.Status == adk.GateAborted && a.waited()) {
			gates = append(gates, strconv.Quote(x.Name))
		}
	}
	slices.Sort(gates)
	return slices.Compact(gates)
}

// settleEarly is the first listener of gates. It settles a gate as soon as it opens, if a fault
// requires it.
func (a *attempt) settleEarly(e adk.TurnGateOpen) {
	for i := range a.faults {
		if f := &a.faults[i]; f.Kind == turn.GateEarly && f.At == int(a.told.Load()) && a.fires(f) {
			e.Gate.Reject(explorer, errBroken)
		}
	}
}

// unanswering wraps a listener such that it does not learn of gates that a fault leaves unanswered.
func (a *attempt) unanswering(listen func(adk.TurnGateOpen)) func(adk.TurnGateOpen) {
	return func(e adk.TurnGateOpen) {
		for i := range a.faults {
			if f := &a.faults[i]; f.Kind == turn.GateUnanswered && f.At == int(a.told.Load()) && a.fires(f) {
				return
			}
		}
		if listen != nil {
			listen(e)
		}
	}
}

// Tell keeps the crossing, and makes the faults that come right behind it. That is safe here
// because ending a context calls nobody back.
func (a *attempt) Tell(x *adk.Crossing) {
	a.inner.Tell(x)
	if a.endings && a.ofSQL != nil {
		a.noteOpened(x)
	}
	if a.endings && wire.EndsTurn(x) && a.phase.Load() != givenUp { // while the turn's context is still alive
		if open := strays.Unended(a.label, a.earlier); open != "" {
			a.find(property.Violation{Invariant: leftBehind, Text: open})
		}
	}
	a.telling.Lock()
	defer a.telling.Unlock()
	if a.phase.Load() == givenUp { // the judging goroutine reads what follows
		return
	}
	a.keep(x)
	if a.endings && a.usual.crossings == 0 && a.following == nil && wire.Asks(x) {
		a.noteHolding(x)
	}
	if a.lines != nil {
		if wire.IsContained(x) { // the place may be that of another goroutine that came before the late one
			a.mu.Lock()
			delete(a.places, x.Seq)
			a.mu.Unlock()
		}
		a.locate(x.Seq)
	}
	a.told.Store(int64(x.Seq))
	switch {
	case x.Kind.LeadsTo() == adk.LabelStrand && x.Err == nil:
		a.mu.Lock()
		a.strands++
		a.mu.Unlock()
	case wire.EndsTurn(x):
		a.ended.Store(true)
	case wire.OpensGate(x):
		a.opened(x)
	}
	a.order.saw(x)
	for i := range a.faults {
		if f := &a.faults[i]; f.Kind == turn.CancelAfter && f.At == x.Seq && a.fires(f) {
			a.present.Load().end(context.Canceled, errBroken)
		}
	}
	a.extent.add(x)
	switch cancelled := int(a.tooMany.Load()); {
	case cancelled > 0 && x.Seq >= deafAt(cancelled):
		a.halted.Store(true)
	case cancelled == 0 && a.extent.isTooLong(a.allowed()):
		a.tooMany.Store(int64(x.Seq))
		a.tooLong()
	}
}

// toldAll waits for a Tell that is under way in a run that was given up. No crossing is kept after
// it.
func (a *attempt) toldAll() {
	a.telling.Lock()
	defer a.telling.Unlock()
}

// tooLong records where user code is in a run that goes on and on, and has the caller cancel.
func (a *attempt) tooLong() {
	a.mu.Lock()
	a.endless = watchdog.Here().Where()
	if a.endless == "" {
		a.endless = a.lastSeam()
	}
	a.mu.Unlock()
	a.present.Load().giveUp()
}

// lastSeam returns the last seam, other than storage, at which user code was called.
func (a *attempt) lastSeam() string {
	for i := range a.crossings {
		if x := &a.crossings[len(a.crossings)-1-i]; x.Kind == adk.KindCall && isUserCode(x.Seam) && x.Seam.Label != adk.LabelStorage {
			return x.Seam.String()
		}
	}
	return adk.LabelRun
}

// seamOf returns the seam of a call.
func (a *attempt) seamOf(call int) string {
	for i := range a.crossings {
		if c := &a.crossings[i]; c.Kind == adk.KindCall && c.ID == call {
			return c.Seam.String()
		}
	}
	return adk.LabelRun
}

// says describes what a fault does, and where.
func (a *attempt) says(f planned) string {
	what, in := f.place.String(), a.metIn(f)
	if x := &a.crossings[min(f.At, len(a.crossings))-1]; wire.IsAsk(x) && x.Name != "" && f.place.kind == x.Kind && (f.moment == elsewhere || f.moment == amidBody) {
		what = "ask " + x.Name
	}
	if f.world != nil {
		what = "ask " + f.world.of
	}
	if strings.HasPrefix(what, "ask "+adk.FaultPoints) {
		what = strings.TrimPrefix(what, "ask ")
	}
	return fmt.Sprintf("%s: %s %q%s, in %s", f.Fault, faultWords[f.Kind], what, f.howOften(), a.seamOf(in))
}

// locate records where in user code a crossing comes from, if its number is in a.lines.
func (a *attempt) locate(at int) {
	if !slices.Contains(a.lines, at) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.places == nil {
		a.places = map[int]string{}
	}
	if a.places[at] == "" { // looking at the stack is expensive
		a.places[at] = watchdog.Here().Where()
	}
}

// showsIn is the prefix of the line that says where a violation shows.
const showsIn = "shows in "

// codeOf returns the lines of user code where faults were met, and where a violation shows.
func (a *attempt) codeOf(n candidate, shows int) (all []string) {
	said := map[string]bool{"": true}
	for _, f := range n.faults {
		if where := a.places[f.At]; !said[where] {
			said[where] = true
			all = append(all, "met by "+where)
		}
	}
	if where := a.places[shows]; !said[where] {
		all = append(all, showsIn+where)
	}
	return all
}

// keep copies a crossing, including the maps and slices in it that belong to user code.
func (a *attempt) keep(x *adk.Crossing) {
	a.crossings = append(a.crossings, *x)
	kept := &a.crossings[len(a.crossings)-1]
	if x.Value != nil {
		kept.Value = plain.Copy(x.Value)
	}
	if x.Args != nil {
		kept.Args = plain.Copy(x.Args)
	}
}

func (a *attempt) opened(x *adk.Crossing) {
	open, ok := x.Payload.(adk.TurnGateOpen)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gates == nil {
		a.gates = map[int]*adk.TurnGate{}
	}
	a.gates[x.Strand] = open.Gate
}

// entered is called when user code of the config is called.
func (a *attempt) entered(call int) {
	if a.ended.Load() {
		a.find(property.Violation{Invariant: "turnEnd is last", Rule: "RUN-6", Crossing: int(a.told.Load()) + 1, Text: "user code was called behind turnEnd"})
	}
	if !a.collect {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.guarded = reach(a.guarded, call)
	a.guarded[call] = true
}

func (a *attempt) find(v property.Violation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.found = append(a.found, v)
}

// all returns the crossings of the run in order.
func (a *attempt) all() iter.Seq[*adk.Crossing] { return inTurn(a.crossings) }

func inTurn(crossings []adk.Crossing) iter.Seq[*adk.Crossing] {
	return func(yield func(*adk.Crossing) bool) {
		for i := range crossings {
			if !yield(&crossings[i]) {
				return
			}
		}
	}
}

// isGuarded reports whether the explorer wraps a call.
func (a *attempt) isGuarded(call int) bool { return call < len(a.guarded) && a.guarded[call] }

// spots returns the crossings from number from on, as faults see them. The faultPoint is reused
// from one iteration to the next.
func (a *attempt) spots(from int) iter.Seq[*faultPoint] {
	return func(yield func(*faultPoint) bool) {
		var s faultPoint
		var asks map[int]*asked
		seams := make([]adk.Seam, 0, 64)
		calls := &callsOf{crossings: a.crossings}
		loose, timed, handlers := a.isApart(), map[string]bool{}, map[int]bool{} // handlers: strands that run an on-ack handler
		for i := range a.crossings {
			x := &a.crossings[i]
			if x.Kind == adk.KindCall {
				seams = reach(seams, x.ID)
				seams[x.ID] = x.Seam
			}
			if x.Kind.Class() == adk.ClassCall && seams[x.ID].Label == adk.LabelOnAck {
				handlers[x.Strand] = x.Kind == adk.KindCall
			}
			if wire.AsksForGate(x) {
				timed[x.Name] = x.Duration > 0
			}
			over := s.ended || wire.IsCancel(x)
			s = faultPoint{at: i + 1, x: x, ended: over, calls: calls, loose: loose, timed: timed[x.Name], handler: handlers[x.Strand]}
			a.describe(&s, seams)
			if x.Kind.Uses(adk.FieldJSON) {
				if asks == nil {
					asks = askedIn(a.crossings)
					for _, op := range a.downed {
						asks[op].held = true
					}
				}
				s.world, s.errors = asks[x.Op], a.errors
			}
			if i+1 >= from && !yield(&s) {
				return
			}
		}
	}
}

func (a *attempt) describe(s *faultPoint, seams []adk.Seam) {
	if s.at < len(a.steps) {
		s.step = a.steps[s.at]
		s.own = a.isGuarded(s.step.Call)
	}
	s.follows = a.instance.Next != nil
	if s.at < len(a.wakes) {
		s.waking = a.wakes[s.at]
	}
	if s.isSeam() && s.x.ID < len(seams) {
		s.seam = seams[s.x.ID]
		s.guarded = a.isGuarded(s.x.ID)
	}
}

// plan returns the fault f at the spot, ready to be made. f says how often and for whom it happens.
func (s *faultPoint) plan(f turn.Fault) planned {
	f.At = s.at
	p := planned{Fault: f, place: s.place(), in: s.x.Call, within: s.world.isPoint()}
	if s.world != nil {
		p.op, p.turn.nth = s.world.op, s.world.nth()
	}
	if f.Kind.OfWorld() {
		answer, _ := s.broken(f.Kind)
		p.world, p.answer = s.world, answer.given
		p.lasts(s)
		return p
	}
	if f.Kind == turn.Fail && s.world.isPoint() {
		p.world, p.answer = s.world, (&brokenAnswer{err: errBroken}).given
		return p
	}
	if s.isSeam() {
		p.in, p.turn = s.x.ID, s.turnOf()
	}
	switch f.Kind {
	case turn.ResultEmpty, turn.ResultCut, turn.ResultLong, turn.ResultOdd:
		p.moment, p.call = changed, s.x.ID
	case turn.Fail, turn.Panic, turn.Cut, turn.StorageBefore, turn.StorageAfter, turn.LateTool, turn.Down, turn.Flaky, turn.DownOne:
		p.moment, p.call = s.momentOf(f.Kind)
		p.lasts(s)
	}
	return p
}

func (s *faultPoint) momentOf(k turn.FaultKind) (moment, int) {
	switch {
	case k == turn.LateTool:
		return deaf, s.x.ID
	case s.x.Kind == adk.KindCall:
		return beforeBody, s.x.ID
	case s.x.Kind == adk.KindReturn:
		return afterBody, s.x.ID
	}
	return amidBody, s.step.Call
}
