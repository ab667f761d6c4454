package adk

import (
	"cmp"
	"context"
	"slices"

	"github.com/adkreplay/adkreplay/adk/internal/fan"
)

// Probe makes one observer for every run of a runner (DET-4). A Probe must be
// safe for concurrent use; runs may begin at the same time.
type Probe interface {
	// Observe is called when a run begins, before its first crossing. It may
	// return nil to leave the run unobserved.
	Observe(RunInfo) Observer
}

// Observer is told everything that crosses in one run (DET-4 to DET-8). An
// observer that panics is dropped; the run goes on without it.
type Observer interface {
	// Begin is called before each step that will be told, above all when an
	// operation begins, on the goroutine that takes it, outside every lock of
	// the engine. It may block: this is where a scheduler decides who goes on
	// (DET-6). Facts (a cancel, a settlement, a timer, misuse) come without it.
	Begin(Step)
	// Park is called before a strand blocks inside the engine: in a sleep, at a
	// gate, or waiting for strands. ready tells, at any time and from any
	// goroutine, whether what it waits for has come. It is nil when the strand
	// has ended. Park must not block.
	Park(strand int, ready func() bool)
	// Resume is called when a parked strand was woken, before it goes on. It
	// may block. What made it wake was true when ready said so: nothing in the
	// engine depends on how soon a goroutine wakes.
	Resume(strand int)
	// Tell is told a crossing, inside the step that made its effect. It must
	// neither block nor call back into the engine, and must not keep the
	// Crossing, which is used again, nor the maps and slices in it, which are
	// user code's. Records, errors and texts may be kept.
	Tell(*Crossing)
}

// ToolServer is an Observer that says, besides, whose handler does a tool's work:
// where a replay runs code that brings its own tools, the recording answers for
// those that are not asked for; and who breaks tools stands around them, whichever way
// they came into the run.
type ToolServer interface {
	Observer
	// Handler is asked before each run of a tool's handler, on its goroutine, outside
	// every lock of the engine, and gives what runs in its place; nil leaves the
	// tool's own. It must not call back into the engine. What it gives is called as
	// the tool's own would be: with the validated arguments, below the same seam call.
	// own is the tool's, which it may call.
	Handler(tool *Tool, own ToolHandler) ToolHandler
}

// ContextObserver is an Observer that is told the contexts of a run and adds values to them,
// so that what it tells belongs to what the run's caller tells, and what user code tells to its
// seam call.
type ContextObserver interface {
	Observer
	// Context is called with the context that the run was given, as call 0, before the first
	// crossing, and after that before the code of each seam call runs, with the one that the
	// code would be given, behind the telling of the call. It is called on the goroutine that
	// goes on with the context, outside every lock of the engine, and gives beneath, or one
	// that differs from it in values alone; nil is beneath. No trace holds these values, and
	// no replay has them.
	Context(call int, beneath context.Context) context.Context
}

// SleepObserver is an Observer that is told, besides, what ends a sleep, so that it need not
// ask of every strand that sleeps, again and again, whether it can go on.
type SleepObserver interface {
	Observer
	// Sleep is called in the place of Park where a strand waits for time to pass. ready is
	// true from when the strand is woken, or one of the two contexts ends, on.
	Sleep(strand int, ready func() bool, own, run context.Context)
	// Wake is called when the time of a timer has passed that a strand may wait for, also if
	// it does not yet or does no longer, on the goroutine that moves the clock: who moves it
	// beside the run may come to that when the run is over. It must neither block nor call
	// back into the engine.
	Wake(strand int)
}

// Step is something that is about to happen and to be told.
type Step struct {
	Kind  Kind
	Phase Phase
	// Call and Strand are those of the crossing to come.
	Call, Strand int
}

// MultiProbe is a probe that passes everything on to each of probes, in their
// order. Put a scheduler first: what is behind it is then told one strand at a
// time. Nil probes are left out, and without any other it is nil. One that
// panics is dropped alone: a scheduler must not go with the recorder behind it,
// or the strands it holds back would never go on.
func MultiProbe(probes ...Probe) Probe {
	if kept := slices.DeleteFunc(slices.Clone(probes), func(p Probe) bool { return p == nil }); len(kept) > 0 {
		return multiProbe(kept)
	}
	return nil
}

type multiProbe []Probe

func (m multiProbe) Observe(info RunInfo) Observer {
	var kept multiObserver
	for _, p := range m {
		if o := askProbe(p, info); o != nil {
			kept.Add(o)
		}
	}
	if len(kept.All) == 0 {
		return nil
	}
	return kept
}

// multiObserver is several; one that panics is dropped alone (DET-4).
type multiObserver struct{ fan.All[Observer] }

func (m multiObserver) Begin(s Step) { m.Each(func(o Observer) { o.Begin(s) }) }

func (m multiObserver) Park(n int, ready func() bool) { m.Each(func(o Observer) { o.Park(n, ready) }) }

func (m multiObserver) Sleep(n int, ready func() bool, own, run context.Context) {
	m.Each(func(o Observer) { tellSleep(o, n, ready, own, run) })
}

func (m multiObserver) Wake(strand int) { m.Each(func(o Observer) { tellWake(o, strand) }) }

func (m multiObserver) Resume(strand int) { m.Each(func(o Observer) { o.Resume(strand) }) }

func (m multiObserver) Tell(c *Crossing) { m.Each(func(o Observer) { o.Tell(c) }) }

// Handler is that of the first who gives one.
func (m multiObserver) Handler(tool *Tool, own ToolHandler) (h ToolHandler) {
	for _, o := range m.All {
		if server, serves := o.Observer.(ToolServer); serves && h == nil {
			o.Tell(func(Observer) { h = server.Handler(tool, own) })
		}
	}
	return h
}

// Context has each observer add its values.
func (m multiObserver) Context(call int, beneath context.Context) context.Context {
	for _, o := range m.All {
		if adding, adds := o.Observer.(ContextObserver); adds {
			o.Tell(func(Observer) { beneath = cmp.Or(adding.Context(call, beneath), beneath) })
		}
	}
	return beneath
}

// tellSleep tells an observer of a sleep, and one that does not know of sleeps as of any wait.
func tellSleep(o Observer, n int, ready func() bool, own, run context.Context) {
	if s, ok := o.(SleepObserver); ok {
		s.Sleep(n, ready, own, run)
	} else {
		o.Park(n, ready)
	}
}

// tellWake tells an observer that knows of sleeps that one may be over.
func tellWake(o Observer, n int) {
	if s, ok := o.(SleepObserver); ok {
		s.Wake(n)
	}
}
