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

// ListenerFaults makes listeners of the new run panic, or end their goroutine, where recorded ones
// did. A contained panic is a crossing like any other, and the end of a goroutine skips other
// crossings, so a replay must repeat both. The zero value expects no faults.
//
// Listeners cost time at every event. A turn therefore gets its first listener only when it reaches
// such an event, and in all as many as failed at a single event. A standalone dispatch gets one of
// each kind at its start.
type ListenerFaults struct {
	runner *adk.Runner // of the new run; nil for a standalone dispatch
	// Opened is called with a gate before a listener fails at its event, because the recorded
	// listener may have settled the gate first.
	Opened func(adk.TurnGateOpen)
	// Leaving blocks until the turn of a strand comes. It is called before something that a
	// listener does without being asked, above all before it ends its goroutine.
	Leaving func(strand int)

	mu        sync.Mutex
	listeners int // how many the run has been given
	events    []*faultyEvent
}

// faultyEvent is an event of the new run at which listeners shall fail.
type faultyEvent struct {
	payload any
	strand  int
	ListenerFault
}

// ListenerFault is what listeners did at a recorded event: some panicked, and the last one may have
// ended the goroutine.
type ListenerFault struct {
	panics []listenerPanic // in order
	exits  bool
}

// listenerPanic is the panic of a listener.
type listenerPanic struct {
	text string
	// late says that the listener first tried to settle a gate, but too late: the engine had
	// settled it.
	late bool
}

// Listeners returns the number of listeners that must fail.
func (o ListenerFault) Listeners() int {
	if o.exits {
		return len(o.panics) + 1
	}
	return len(o.panics)
}

// Expect requests a fault at an event. The fault may be empty.
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

// take removes and returns what a listener must do at an event: panic, or, if panics is nil, end
// the goroutine if exits is true. strand is the strand of the event.
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

// sameEvent reports whether two payloads belong to the same event. Gates are compared by identity,
// because their content changes meanwhile.
func sameEvent(a, b any) bool {
	if gate, ok := a.(adk.TurnGateOpen); ok {
		return b == any(gate)
	}
	if log, ok := a.(adk.LogEvent); ok { // a payload that contains NaN equals itself only as plain data
		other, ok := b.(adk.LogEvent)
		same := ok && plain.Equal(log.Payload, other.Payload)
		log.Payload, other.Payload = nil, nil
		return same && reflect.DeepEqual(log, other)
	}
	return reflect.DeepEqual(a, b)
}

// heard returns listeners for all events, which fail where they are expected to.
func (l *ListenerFaults) heard() (adk.Functional, adk.Observability) {
	functional, observability := listening.Every(func(_ adk.Kind, event any) { l.hear(event) })
	observability.TurnGateOpen = func(e adk.TurnGateOpen) { l.Opened(e); l.hear(e) }
	return functional, observability
}

// hear panics where a recorded listener panicked, and ends the goroutine where a recorded listener
// did. A listener is not told its strand, so the strand comes from the expected event.
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
