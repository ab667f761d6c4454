package adk

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/strandtime"
	"github.com/adkreplay/adkreplay/internal/callers"
)

// run is the state of one run of a turn, or of a standalone dispatch, that all its contexts share:
// the lock, the reporting of crossings, the clock, the listeners and the cancellation. mu guards
// everything in the run that can change. User code is never called while mu is held, except for the
// clock, the id source and the observer's Tell.
type run struct {
	config *Config
	shared *buses // the runner's listeners
	own    heard  // the listeners of this run alone (RUN-4)
	turnID string // empty in a standalone dispatch

	ctx    context.Context
	cancel context.CancelCauseFunc

	observer Observer    // nil when unobserved
	dropped  atomic.Bool // the observer panicked: nothing is reported any more
	over     atomic.Bool // the run has returned: nothing is reported any more

	mu      sync.Mutex
	scratch Crossing         // the one Crossing that is passed to the observer each time
	times   strandtime.Times // the clock readings of each strand
	seq     int
	calls   int
	room    []call // preallocated calls
	ops     int

	gatesRefused bool // a standalone dispatch without support for gates
	cancelTold   bool
	cancelBy     string // one of the constants below; empty unless the engine itself cancelled
	gates        gateList
}

// The sources of a cancel, as KindCancel has them in Key.
const (
	cancelOutside = "outside" // the context given to Run
	cancelAbort   = "abort"   // the abort operation
	cancelStage   = "stage"   // a stage returned an abort error (ABT-3)
	cancelGoexit  = "goexit"  // user code ended its goroutine (PIP-11)
)

// newRun prepares a run. It asks the probe for an observer here, so that the observer sees the
// first crossing.
func newRun(ctx context.Context, config *Config, shared *buses, info RunInfo) *run {
	r := &run{config: config, shared: shared}
	if config.Probe != nil {
		r.observer = askProbe(config.Probe, info)
	}
	r.ctx, r.cancel = context.WithCancelCause(r.contextOf(0, ctx))
	return r
}

// askProbe asks a probe for an observer. If the probe panics, nobody observes the run (DET-4).
func askProbe(p Probe, info RunInfo) (o Observer) {
	_ = guarded(func() error { o = p.Observe(info); return nil })
	return o
}

// now reads the clock once for a crossing (DET-1), in UTC and so without the monotonic reading.
// Time never goes back within a strand, from a fork to its strand, or from an ended strand to the
// strand that waited for it, so that no duration is negative (EVT-6). Between concurrent strands a
// clock may say what it wants: a replay gives each strand the times that it had in the recorded
// run, whichever strand is faster now. mu is held.
func (r *run) now(strand int) time.Time { return r.times.Read(strand, r.clock()) }

// now is run.now for the strand of the call.
func (c *call) now() time.Time { return c.run.now(c.strand) }

// clock calls the config's clock. If the clock panics, the time stays at the latest reading and the
// panic is reported as contained: it must not reach the caller, because the lock is held and half
// of the steps that read the clock are the engine's own. mu is held.
func (r *run) clock() (at time.Time) {
	said := false
	defer func() {
		if said {
			return // the usual case; calling recover is slower
		}
		if value := recover(); value != nil {
			at = r.times.Latest()
			r.containConfig("clock", value)
		}
	}()
	at = r.config.Clock.Now().UTC()
	said = true
	return at
}

// newID makes an id for the engine's own use. If the id source panics, the id is empty. mu is held.
func (r *run) newID() (id string) {
	defer func() {
		if value := recover(); value != nil {
			r.containConfig("id source", value)
		}
	}()
	return r.config.IDs.NewID()
}

// crossing prepares a crossing, stamped with the call, its strand and the time. It returns nil if
// nobody observes. The caller fills the crossing in and calls tell; mu is held from here to tell.
func (r *run) crossing(c *call, kind Kind, phase Phase, at time.Time) *Crossing {
	r.latchCancel(at)
	return r.line(c, kind, phase, at)
}

// line is crossing for a step that has already called latchCancel.
func (r *run) line(c *call, kind Kind, phase Phase, at time.Time) *Crossing {
	if !r.observed() {
		return nil
	}
	x := &r.scratch
	*x = Crossing{} // clearing in place is half the work of copying a new one
	x.At, x.Kind, x.Phase, x.Call, x.Strand = at, kind, phase, c.id, c.strand
	return x
}

// tell numbers the crossing and passes it to the observer. mu is held.
func (r *run) tell(x *Crossing) {
	r.seq++
	x.Seq = r.seq
	defer r.dropIfPanicked()
	r.observer.Tell(x)
}

// observed reports whether there is an observer that still gets crossings.
func (r *run) observed() bool { return r.observer != nil && !r.dropped.Load() && !r.over.Load() }

// dropIfPanicked drops the observer for the rest of the run if it panicked (DET-4). A staged panic
// (callers.Staged) is raised in place of one of user code, and is passed on as such.
func (r *run) dropIfPanicked() {
	value := recover()
	if callers.IsStaged(value) {
		panic(value)
	}
	if value != nil {
		r.dropped.Store(true)
	}
}

// latchCancel checks whether the run's context is done and, if so, reports that once, before the
// first crossing that finds it done. Between two crossings the engine does not look at the context.
// It decides by what was reported, so that a replay that ends the context at the same crossing
// decides the same. It does so whether or not anybody observes. mu is held.
func (r *run) latchCancel(at time.Time) {
	if !r.cancelTold && r.ctx.Err() != nil {
		r.tellCancel(at)
	}
}

// tellCancel records that the run's context is done, and reports it. mu is held.
func (r *run) tellCancel(at time.Time) {
	r.cancelTold = true
	if !r.observed() {
		return
	}
	r.scratch = Crossing{At: at, Kind: KindCancel, Call: min(r.calls, 1), Key: cmp.Or(r.cancelBy, cancelOutside), Cause: context.Cause(r.ctx), Err: r.ctx.Err()}
	r.tell(&r.scratch)
}

// aborted reports whether the run is aborted, as far as latchCancel has seen it.
func (r *run) aborted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cancelTold
}

// refusal is the error for an operation that would begin something in an aborted run: the abort's
// cause. It is nil while the run is not aborted, as far as latchCancel has seen it. mu is held.
func (r *run) refusal() error {
	if !r.cancelTold {
		return nil
	}
	return context.Cause(r.ctx)
}

// abort cancels the run's context by the engine's own decision, and reports it at once. The first
// reason stays (ABT-5).
func (r *run) abort(by string, reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abortLocked(by, reason)
	r.latchCancel(r.now(0))
}

func (r *run) abortLocked(by string, reason error) {
	if r.ctx.Err() != nil {
		return
	}
	r.cancelBy = by
	r.cancel(reason)
}

// before calls the observer's Begin, which may block to hold the step back (DET-6). It takes no
// lock.
func (r *run) before(c *call, kind Kind, phase Phase) {
	r.observing(func(o Observer) { o.Begin(Step{Kind: kind, Phase: phase, Call: c.id, Strand: c.strand}) })
}

// park and resume surround every wait inside the engine, for schedulers. A nil ready means that the
// strand has ended.
func (r *run) park(n int, ready func() bool) { r.observing(func(o Observer) { o.Park(n, ready) }) }

// wake tells a SleepObserver that the time of a timer has passed for which a strand may wait.
func (r *run) wake(strand int) { r.observing(func(o Observer) { tellWake(o, strand) }) }

func (r *run) resume(strand int) { r.observing(func(o Observer) { o.Resume(strand) }) }

// observing calls do with the observer if there is one that still gets crossings. It takes no lock.
func (r *run) observing(do func(Observer)) {
	if r.observed() {
		defer r.dropIfPanicked()
		do(r.observer)
	}
}

// handlerOf returns the handler to run for a tool: the tool's own, unless the observer (a
// ToolServer) gives another.
func (r *run) handlerOf(tool *Tool) (h ToolHandler) {
	h = tool.handler
	if server, serves := r.observer.(ToolServer); serves {
		r.observing(func(Observer) {
			if given := server.Handler(tool, h); given != nil {
				h = given
			}
		})
	}
	return h
}

// contextOf returns the context beneath a call, with the values that the observer (a
// ContextObserver) adds to it.
func (r *run) contextOf(call int, beneath context.Context) context.Context {
	if adding, adds := r.observer.(ContextObserver); adds {
		r.observing(func(Observer) { beneath = cmp.Or(adding.Context(call, beneath), beneath) })
	}
	return beneath
}

// contain reports to the observer a failure that is kept from the run.
func (r *run) contain(c *call, what, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.containLocked(c, what, text)
}

func (r *run) containLocked(c *call, what, text string) {
	if x := r.crossing(c, KindContained, Whole, r.now(c.strand)); x != nil {
		x.Name, x.Text = what, text
		r.tell(x)
	}
}

// containConfig reports a panic of the clock or the id source. They may be called while the shared
// crossing is being filled in, so this one uses a Crossing of its own. mu is held.
func (r *run) containConfig(what string, value any) {
	if r.observed() {
		r.tell(&Crossing{At: r.times.Latest(), Kind: KindContained, Call: min(r.calls, 1), Name: what, Text: PanicText(value)})
	}
}

// nextOp numbers a spanning operation. mu is held.
func (r *run) nextOp() int {
	r.ops++
	return r.ops
}
