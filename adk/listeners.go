package adk

import (
	"github.com/adkreplay/adkreplay/adk/internal/bus"
)

// buses are the two buses of a runner.
type buses struct {
	functional    bus.Bus[Functional]
	observability bus.Bus[Observability]
}

// heard are the listeners of one run. They never change, so they need no bus.
type heard struct {
	functional    bus.Entry[Functional]
	observability bus.Entry[Observability]
}

// publishFunctional calls the listeners with an event that was reported to the observer: first
// those of the runner in the order of their registration, then those of the run. pick selects the
// listener for the event from a registration. The event is large and passed by reference; each
// listener gets a copy.
func publishFunctional[E any](c *call, kind Kind, event *E, pick func(*Functional) func(E)) {
	publish(c, kind, event, pick, &c.run.shared.functional, &c.run.own.functional)
}

// publishObservability is publishFunctional for the other bus.
func publishObservability[E any](c *call, kind Kind, event *E, pick func(*Observability) func(E)) {
	publish(c, kind, event, pick, &c.run.shared.observability, &c.run.own.observability)
}

func publish[L, E any](c *call, kind Kind, event *E, pick func(*L) func(E), shared *bus.Bus[L], own *bus.Entry[L]) {
	for _, e := range shared.All() {
		if listener := pick(&e.Listeners); listener != nil {
			hear(c, kind, e, listener, event)
		}
	}
	if listener := pick(&own.Listeners); listener != nil {
		hear(c, kind, own, listener, event)
	}
}

// unheard reports whether nobody gets functional events, neither a listener nor an observer.
func (r *run) unheard() bool {
	own := &r.own.functional.Listeners
	return !r.observed() && len(r.shared.functional.All()) == 0 &&
		own.Message == nil && own.Thought == nil && own.ToolCall == nil
}

// hear calls one listener and contains its panic (EVT-3).
func hear[L, E any](c *call, kind Kind, e *bus.Entry[L], listener func(E), event *E) {
	if !e.Takes(uint8(kind)) {
		return
	}
	returned := false
	defer func() {
		if returned {
			return // the usual case; calling recover is slower
		}
		if r := recover(); r != nil {
			c.run.before(c, KindContained, Whole)
			c.run.contain(c, ListenerPrefix+kind.String(), PanicText(r))
		}
	}()
	listener(*event)
	returned = true
}
