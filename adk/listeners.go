package adk

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Functional is a set of listeners on the functional bus (EVT-1): the events
// that a product is made of. Nil fields do not listen. Listeners run
// synchronously on the goroutine that emits (EVT-2).
type Functional struct {
	Message  func(MessageEvent)
	Thought  func(ThoughtEvent)
	ToolCall func(ToolCallEvent)
}

// Observability is a set of listeners on the observability bus (EVT-1): what
// happened around the product. Nil fields do not listen. Nothing that these
// listeners do is read back by the engine (EVT-4).
type Observability struct {
	TurnStart          func(TurnStart)
	TurnEnd            func(TurnEnd)
	DispatchStart      func(DispatchStart)
	DispatchEnd        func(DispatchEnd)
	IterationStart     func(IterationStart)
	IterationEnd       func(IterationEnd)
	TurnGateOpen       func(TurnGateOpen)
	TurnGateClosed     func(TurnGateClosed)
	ToolExecutionStart func(ToolExecutionStart)
	ToolExecutionEnd   func(ToolExecutionEnd)
	Log                func(LogEvent)
	Error              func(ErrorEvent)
}

// bus is one of the two lists of listeners. Emitting reads a snapshot, so a
// listener may register and unsubscribe while it runs.
type bus[L any] struct {
	mu      sync.Mutex
	entries atomic.Pointer[[]*entry[L]]
}

// entry is one registration. A once entry serves each of its events once:
// spent has a bit for each kind that it has heard.
type entry[L any] struct {
	listeners L
	once      bool
	spent     atomic.Uint64
}

// takes reports whether the entry still hears events of the kind, and for a once
// entry uses that up.
func (e *entry[L]) takes(kind Kind) bool {
	if !e.once {
		return true
	}
	bit := uint64(1) << kind
	return e.spent.Or(bit)&bit == 0
}

// add registers listeners and returns what removes them again.
func (b *bus[L]) add(listeners L, once bool) (off func()) {
	added := &entry[L]{listeners: listeners, once: once}
	b.replace(func(old []*entry[L]) []*entry[L] { return append(old, added) })
	return func() {
		b.replace(func(old []*entry[L]) []*entry[L] {
			kept := old[:0]
			for _, e := range old {
				if e != added {
					kept = append(kept, e)
				}
			}
			return kept
		})
	}
}

// replace puts an edited copy in the place of the list.
func (b *bus[L]) replace(edit func([]*entry[L]) []*entry[L]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var fresh []*entry[L]
	if old := b.entries.Load(); old != nil {
		fresh = append(fresh, *old...)
	}
	fresh = edit(fresh)
	b.entries.Store(&fresh)
}

// all is the present list; it must not be changed.
func (b *bus[L]) all() []*entry[L] {
	if list := b.entries.Load(); list != nil {
		return *list
	}
	return nil
}

// buses are the two buses of a runner.
type buses struct {
	functional    bus[Functional]
	observability bus[Observability]
}

// heard are the listeners of one run, which never change: they need no bus.
type heard struct {
	functional    entry[Functional]
	observability entry[Observability]
}

// publish tells the probe of an event and then lets every listener hear it:
// those of the runner in the order of their registration, then those of the
// run. pick chooses the listener for the event from a registration. The event is
// large and goes by reference; each listener gets a copy.
func publishFunctional[E any](c *call, kind Kind, event *E, pick func(*Functional) func(E)) {
	for _, e := range c.run.shared.functional.all() {
		if listener := pick(&e.listeners); listener != nil {
			hear(c, kind, e, listener, event)
		}
	}
	own := &c.run.own.functional
	if listener := pick(&own.listeners); listener != nil {
		hear(c, kind, own, listener, event)
	}
}

// publishObservability is publishFunctional for the other bus.
func publishObservability[E any](c *call, kind Kind, event *E, pick func(*Observability) func(E)) {
	for _, e := range c.run.shared.observability.all() {
		if listener := pick(&e.listeners); listener != nil {
			hear(c, kind, e, listener, event)
		}
	}
	own := &c.run.own.observability
	if listener := pick(&own.listeners); listener != nil {
		hear(c, kind, own, listener, event)
	}
}

// unheard tells that nobody is there for functional events, neither a listener
// nor an observer.
func (r *run) unheard() bool {
	own := &r.own.functional.listeners
	return !r.observed() && len(r.shared.functional.all()) == 0 &&
		own.Message == nil && own.Thought == nil && own.ToolCall == nil
}

// hear calls one listener and contains its panic (EVT-3).
func hear[L, E any](c *call, kind Kind, e *entry[L], listener func(E), event *E) {
	if !e.takes(kind) {
		return
	}
	returned := false
	defer func() {
		if returned {
			return // most do, and recover takes longer to say so
		}
		if r := recover(); r != nil {
			c.run.before(c, KindContained, Whole)
			c.run.contain(c, fmt.Sprintf("listener of %s", kind), PanicText(r))
		}
	}()
	listener(*event)
	returned = true
}
