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

// Observer gets everything that crosses in one run (DET-4 to DET-8). An observer that panics is
// dropped; the run goes on without it.
type Observer interface {
	// Begin is called before each step that will be reported, above all when an operation begins.
	// It is called on the goroutine that takes the step, outside every lock of the engine. It may
	// block: this is where a scheduler decides which strand goes on (DET-6). Facts (a cancel, a
	// settlement, a timer, misuse) come without a Begin.
	Begin(Step)
	// Park is called before a strand blocks inside the engine: in a sleep, at a gate, or waiting
	// for strands. ready reports whether what the strand waits for has come; it may be called at
	// any time and from any goroutine. ready is nil when the strand has ended. Park must not block.
	Park(strand int, ready func() bool)
	// Resume is called when a parked strand was woken, before it goes on. It may block. What woke
	// the strand was true when ready said so: nothing in the engine depends on how soon a goroutine
	// wakes.
	Resume(strand int)
	// Tell is called with a crossing, inside the step that made its effect. It must neither block
	// nor call back into the engine. It must not keep the Crossing, which is reused, nor the maps
	// and slices in it, which belong to user code. It may keep records, errors and texts.
	Tell(*Crossing)
}

// ToolServer is an Observer that can also replace the handlers of tools, whichever way the tools
// came into the run. A replay that runs code with its own tools uses it to let the recording answer
// for tools that are not to be run. Code that injects faults into tools uses it to wrap their
// handlers.
type ToolServer interface {
	Observer
	// Handler is called before each run of a tool's handler, on its goroutine, outside every lock
	// of the engine. It returns the handler to run instead; nil means the tool's own. It must not
	// call back into the engine. The returned handler is called as the tool's own would be: with
	// the validated arguments, below the same seam call. own is the tool's handler, which the
	// returned handler may call.
	Handler(tool *Tool, own ToolHandler) ToolHandler
}

// ContextObserver is an Observer that gets the contexts of a run and may add values to them. For
// example, a tracer can so connect its span of the run to the caller's span, and the spans of user
// code to that of their seam call.
type ContextObserver interface {
	Observer
	// Context is called with the context given to the run, as call 0, before the first crossing.
	// After that it is called for each seam call, after the call was reported and before its code
	// runs, with the context that the code would get. It is called on the goroutine that goes on
	// with the context, outside every lock of the engine. It returns beneath, or a context that
	// differs from beneath only in its values; nil means beneath. No trace holds these values, and
	// no replay has them.
	Context(call int, beneath context.Context) context.Context
}

// SleepObserver is an Observer that learns what ends a sleep. So it need not poll every sleeping
// strand for whether it can go on.
type SleepObserver interface {
	Observer
	// Sleep is called instead of Park when a strand waits for time to pass. ready is true as soon
	// as the strand is woken or one of the two contexts ends, and stays true.
	Sleep(strand int, ready func() bool, own, run context.Context)
	// Wake is called when the time of a timer has passed for which a strand may wait, also if the
	// strand does not wait yet or no longer waits. It is called on the goroutine that moves the
	// clock; if that goroutine is not the run's own, Wake may be called after the run is over. It
	// must neither block nor call back into the engine.
	Wake(strand int)
}

// Step is something that is about to happen and to be reported.
type Step struct {
	Kind  Kind
	Phase Phase
	// Call and Strand are those of the crossing that will follow.
	Call, Strand int
}

// MultiProbe returns a probe that passes everything on to each of probes, in order. Put a scheduler
// first: the probes after it then get the steps of one strand at a time. Nil probes are left out;
// if there are no others, the result is nil. A probe whose observer panics is dropped alone: if a
// scheduler were dropped together with a failing recorder, the strands that it holds back would
// never go on.
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

// multiObserver is several observers. One that panics is dropped alone (DET-4).
type multiObserver struct{ fan.All[Observer] }

func (m multiObserver) Begin(s Step) { m.Each(func(o Observer) { o.Begin(s) }) }

func (m multiObserver) Park(n int, ready func() bool) { m.Each(func(o Observer) { o.Park(n, ready) }) }

func (m multiObserver) Sleep(n int, ready func() bool, own, run context.Context) {
	m.Each(func(o Observer) { tellSleep(o, n, ready, own, run) })
}

func (m multiObserver) Wake(strand int) { m.Each(func(o Observer) { tellWake(o, strand) }) }

func (m multiObserver) Resume(strand int) { m.Each(func(o Observer) { o.Resume(strand) }) }

func (m multiObserver) Tell(c *Crossing) { m.Each(func(o Observer) { o.Tell(c) }) }

// Handler returns the handler of the first observer that gives one.
func (m multiObserver) Handler(tool *Tool, own ToolHandler) (h ToolHandler) {
	for _, o := range m.All {
		if server, serves := o.Observer.(ToolServer); serves && h == nil {
			o.Tell(func(Observer) { h = server.Handler(tool, own) })
		}
	}
	return h
}

// Context lets each observer add its values.
func (m multiObserver) Context(call int, beneath context.Context) context.Context {
	for _, o := range m.All {
		if adding, adds := o.Observer.(ContextObserver); adds {
			o.Tell(func(Observer) { beneath = cmp.Or(adding.Context(call, beneath), beneath) })
		}
	}
	return beneath
}

// tellSleep calls Sleep of a SleepObserver, and Park of any other observer.
func tellSleep(o Observer, n int, ready func() bool, own, run context.Context) {
	if s, ok := o.(SleepObserver); ok {
		s.Sleep(n, ready, own, run)
	} else {
		o.Park(n, ready)
	}
}

// tellWake calls Wake of a SleepObserver.
func tellWake(o Observer, n int) {
	if s, ok := o.(SleepObserver); ok {
		s.Wake(n)
	}
}
