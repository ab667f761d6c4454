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

// run is what one run of a turn, or of a standalone dispatch, shares among
// all its contexts: the lock, the telling of crossings, the clock, the
// listeners, the cancelling. Everything below it that can change is guarded by
// mu; user code is never called while mu is held, but for the clock and the
// observer's Tell.
type run struct {
	config *Config
	shared *buses // the runner's listeners
	own    heard  // those of this run alone (RUN-4)
	turnID string // empty in a standalone dispatch

	ctx    context.Context
	cancel context.CancelCauseFunc

	observer Observer    // nil when unobserved
	dropped  atomic.Bool // the observer panicked: nothing is told any more
	over     atomic.Bool // the run has returned: nothing is told any more

	mu      sync.Mutex
	scratch Crossing         // the one Crossing that observers are told with
	times   strandtime.Times // the readings of the clock
	seq     int
	calls   int
	room    []call // for the calls to come
	ops     int

	gatesRefused bool // a standalone dispatch without support for gates
	cancelTold   bool
	cancelBy     string // who cancelled; empty while nobody inside has
	gates        gateList
}

// The sources of a cancel, as the fact of it says.
const (
	cancelOutside = "outside" // the context given to Run
	cancelAbort   = "abort"   // the abort operation
	cancelStage   = "stage"   // a stage returned an abort error (ABT-3)
	cancelGoexit  = "goexit"  // user code ended its goroutine (PIP-11)
)

// newRun prepares a run. The observer is asked for here, so that it sees the
// first crossing.
func newRun(ctx context.Context, config *Config, shared *buses, info RunInfo) *run {
	r := &run{config: config, shared: shared}
	if config.Probe != nil {
		r.observer = askProbe(config.Probe, info)
	}
	r.ctx, r.cancel = context.WithCancelCause(r.contextOf(0, ctx))
	return r
}

// askProbe asks for an observer; a probe that panics observes nothing (DET-4).
func askProbe(p Probe, info RunInfo) (o Observer) {
	_ = guarded(func() error { o = p.Observe(info); return nil })
	return o
}

// now reads the clock, the one time for a crossing (DET-1); UTC leaves out the
// monotonic reading. Time never goes back within a strand, from a fork to its
// strand, and from a strand to who waited for it, so that no duration is negative
// (EVT-6). Between strands that run side by side a clock may say what it wants: a
// replay gives each the times that it had, whichever is faster. mu is held.
func (r *run) now(strand int) time.Time { return r.times.Read(strand, r.clock()) }

// now is run.now for the strand of the call.
func (c *call) now() time.Time { return c.run.now(c.strand) }

// clock is what the clock says. Where it panics, time stands still: the lock is
// held here, and half of the steps that ask are the engine's own. mu is held.
func (r *run) clock() (at time.Time) {
	said := false
	defer func() {
		if said {
			return // it does, and recover takes longer to say so
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

// newID is an id for the engine's own use; a source that panics has none to
// give. mu is held.
func (r *run) newID() (id string) {
	defer func() {
		if value := recover(); value != nil {
			r.containConfig("id source", value)
		}
	}()
	return r.config.IDs.NewID()
}

// crossing prepares the crossing to be told, stamped with the call, its strand
// and the time; nil when nobody observes. The caller fills it in and calls
// tell. mu is held from here to tell.
func (r *run) crossing(c *call, kind Kind, phase Phase, at time.Time) *Crossing {
	r.latchCancel(at)
	return r.line(c, kind, phase, at)
}

// line is crossing where the cancel was looked for in this step already.
func (r *run) line(c *call, kind Kind, phase Phase, at time.Time) *Crossing {
	if !r.observed() {
		return nil
	}
	x := &r.scratch
	*x = Crossing{} // clearing in place is half the work of copying a new one
	x.At, x.Kind, x.Phase, x.Call, x.Strand = at, kind, phase, c.id, c.strand
	return x
}

// tell numbers the crossing and tells the observer. mu is held.
func (r *run) tell(x *Crossing) {
	r.seq++
	x.Seq = r.seq
	defer r.dropIfPanicked()
	r.observer.Tell(x)
}

// observed reports whether anybody is told anything.
func (r *run) observed() bool { return r.observer != nil && !r.dropped.Load() && !r.over.Load() }

// dropIfPanicked ends the observation when the observer panicked (DET-4). One that is
// staged is made in the place of user code, and goes on as that.
func (r *run) dropIfPanicked() {
	value := recover()
	if callers.IsStaged(value) {
		panic(value)
	}
	if value != nil {
		r.dropped.Store(true)
	}
}

// latchCancel looks whether the run's context is done, and tells it once, before
// the first crossing that finds it so. Between two crossings nothing looks: what
// the engine decides there it decides by what has been told, so that a replay
// that ends the context at that line decides alike. It makes no difference
// whether anybody observes. mu is held.
func (r *run) latchCancel(at time.Time) {
	if !r.cancelTold && r.ctx.Err() != nil {
		r.tellCancel(at)
	}
}

// tellCancel tells that the run's context is done. mu is held.
func (r *run) tellCancel(at time.Time) {
	r.cancelTold = true
	if !r.observed() {
		return
	}
	r.scratch = Crossing{At: at, Kind: KindCancel, Call: min(r.calls, 1), Key: cmp.Or(r.cancelBy, cancelOutside), Cause: context.Cause(r.ctx), Err: r.ctx.Err()}
	r.tell(&r.scratch)
}

// aborted reports whether the run is aborted, as far as that has been told.
func (r *run) aborted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cancelTold
}

// refusal is what an aborted run answers who would begin something: the abort's
// cause, nil while there is none. It goes by what was told, as aborted does. mu is
// held.
func (r *run) refusal() error {
	if !r.cancelTold {
		return nil
	}
	return context.Cause(r.ctx)
}

// abort cancels the run's context on the engine's own decision, and tells it at
// once. The first reason stays (ABT-5).
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

// before lets the observer hold a step back (DET-6). It takes no lock.
func (r *run) before(c *call, kind Kind, phase Phase) {
	r.observing(func(o Observer) { o.Begin(Step{Kind: kind, Phase: phase, Call: c.id, Strand: c.strand}) })
}

// park and resume bracket every wait inside the engine, for schedulers. A nil
// ready says that the strand has ended.
func (r *run) park(n int, ready func() bool) { r.observing(func(o Observer) { o.Park(n, ready) }) }

// wake tells whom it concerns that the time of a timer has passed that a strand may wait for.
func (r *run) wake(strand int) { r.observing(func(o Observer) { tellWake(o, strand) }) }

func (r *run) resume(strand int) { r.observing(func(o Observer) { o.Resume(strand) }) }

// observing lets the observer do something, if anybody is told anything. It takes no lock.
func (r *run) observing(do func(Observer)) {
	if r.observed() {
		defer r.dropIfPanicked()
		do(r.observer)
	}
}

// handlerOf is what does a tool's work: the tool's own handler, but where the
// observer names another.
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

// contextOf is the context beneath a call, with what the observer adds to it.
func (r *run) contextOf(call int, beneath context.Context) context.Context {
	if adding, adds := r.observer.(ContextObserver); adds {
		r.observing(func(Observer) { beneath = cmp.Or(adding.Context(call, beneath), beneath) })
	}
	return beneath
}

// contain tells the observer of a failure that is kept from the run.
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

// containConfig tells of a panic of the clock or the id source. They are asked
// while a crossing is being made, and so this takes one of its own. mu is held.
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
