package stub

import (
	"reflect"
	"runtime"
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/listening"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// ListenerFaults is where listeners of the new run have to panic, or to end their
// goroutine, because recorded ones did: a contained panic is a crossing like any
// other, and a goroutine that ended leaves others out; both have to be made again.
// The zero value is quiet.
//
// Listeners cost something at every event, so a turn is given the first when it
// comes to such an event, and as many in all as were loud at one event. A dispatch
// called alone has one of each kind, which it is given at once.
type ListenerFaults struct {
	runner *adk.Runner // of the new run; nil for a standalone dispatch
	// Opened hears of a gate before it gets loud: the recorded listener may have
	// settled it first.
	Opened func(adk.TurnGateOpen)
	// Leaving holds back what a listener does unasked, the end of a goroutine above
	// all, until it is in order.
	Leaving func(strand int)

	mu        sync.Mutex
	listeners int // that the run has been given
	events    []*faultyEvent
}

// faultyEvent is an event of the new run at which listeners shall be loud.
type faultyEvent struct {
	payload any
	strand  int
	ListenerFault
}

// ListenerFault is what listeners did at a recorded event: some panicked, and the one
// behind them may have ended the goroutine.
type ListenerFault struct {
	panics []listenerPanic // in order
	exits  bool
}

// listenerPanic is the panic of a listener.
type listenerPanic struct {
	text string
	// late says that it offered to settle a gate before, and was too late: the
	// engine settled it then.
	late bool
}

// Listeners is how many it takes.
func (o ListenerFault) Listeners() int {
	if o.exits {
		return len(o.panics) + 1
	}
	return len(o.panics)
}

// Expect asks for a fault of a listener at an event, which may be none.
func (l *ListenerFaults) Expect(event *adk.Crossing, o ListenerFault) {
	if o.Listeners() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, &faultyEvent{event.Payload, event.Strand, o})
	for ; l.runner != nil && l.listeners < o.Listeners(); l.listeners++ {
		functional, observability := l.heard()
		l.runner.On(functional)
		l.runner.Observe(observability)
	}
}

// take takes what a listener has to do at an event of a strand: to panic, which is
// nil with none left, or to end the goroutine.
func (l *ListenerFaults) take(payload any) (panics *listenerPanic, exits bool, strand int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.events, func(e *faultyEvent) bool { return sameEvent(e.payload, payload) })
	if at < 0 {
		return nil, false, 0
	}
	e := l.events[at]
	if len(e.panics) > 0 {
		panics, e.panics = &e.panics[0], e.panics[1:]
	} else {
		exits, e.exits = true, false
	}
	if e.Listeners() == 0 {
		l.events = slices.Delete(l.events, at, at+1)
	}
	return panics, exits, e.strand
}

// sameEvent reports whether two payloads are of one event. A gate is the one that it
// is: what is in it changes meanwhile.
func sameEvent(a, b any) bool {
	if gate, ok := a.(adk.TurnGateOpen); ok {
		return b == any(gate)
	}
	if log, ok := a.(adk.LogEvent); ok { // what was logged may equal itself as plain data alone: NaN
		other, ok := b.(adk.LogEvent)
		same := ok && plain.Equal(log.Payload, other.Payload)
		log.Payload, other.Payload = nil, nil
		return same && reflect.DeepEqual(log, other)
	}
	return reflect.DeepEqual(a, b)
}

// heard are listeners that are loud, one for each event.
func (l *ListenerFaults) heard() (adk.Functional, adk.Observability) {
	functional, observability := listening.Every(func(_ adk.Kind, event any) { l.hear(event) })
	observability.TurnGateOpen = func(e adk.TurnGateOpen) { l.Opened(e); l.hear(e) }
	return functional, observability
}

// hear panics where a listener panicked in the recording, and ends the goroutine
// where one did that. Nothing tells a listener in which strand it is called; the
// event does.
func (l *ListenerFaults) hear(payload any) {
	panics, exits, strand := l.take(payload)
	switch {
	case exits:
		l.Leaving(strand)
		runtime.Goexit()
	case panics != nil:
		if gate, ok := payload.(adk.TurnGateOpen); ok && panics.late {
			l.Leaving(strand)
			gate.Gate.Reject(wire.ByReplay, ErrUnanswered)
		}
		panic(panics.text)
	}
}
