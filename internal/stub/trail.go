package stub

import (
	"errors"
	"math"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Trail tracks, for each strand of a recorded run, the previous crossing as far as it helps to find
// what listeners did.
type Trail map[int]footprint

// footprint is the trail of one strand.
type footprint struct {
	last  adk.Kind // of the previous crossing
	exits bool     // the goroutine is ending: only the engine's last crossings follow
}

// Pass takes in a crossing that is not an event.
func (t Trail) Pass(x *adk.Crossing) {
	at := t[x.Strand]
	at.last = x.Kind
	switch {
	case x.Kind == adk.KindReturn:
		at.exits = x.Outcome == adk.OutcomeGoexit
	case x.Kind == adk.KindCall || x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done:
		at.exits = false
	}
	t[x.Strand] = at
}

// Event takes in an event, and returns what listeners did at it. Panics are recorded; that a
// listener ended the goroutine follows from the next crossings of the strand. ahead returns the
// i-th crossing after the event, from 1 on, or nil if no more are known. live says that the code
// around the event is not scripted, so it does not end the goroutine by itself as the recorded code
// may have.
func (t Trail) Event(event *adk.Crossing, live bool, ahead func(i int) *adk.Crossing) ListenerFault {
	before := t[event.Strand]
	o, exits := listenerFaultAt(event, ahead)
	o.exits = exits && !before.exits && (live || before.endsWith(event))
	t[event.Strand] = footprint{event.Kind, before.exits || o.exits}
	return o
}

// endsWith reports whether a goroutine that ends at an event was ended by a listener. After a
// single step of user code, such as a report or a log, user code may have ended the goroutine
// itself; its script then does the same.
func (f footprint) endsWith(event *adk.Crossing) bool {
	return !reported[event.Kind] || f.last.Emits()
}

// reported are the kinds of events that reports cause, if nothing emits them.
var reported = reportedEvents()

func reportedEvents() (events [math.MaxUint8 + 1]bool) {
	for _, kind := range adk.Kinds() {
		if kind.Reports() {
			events[kind.Event()] = true
		}
	}
	return events
}

// listenerFaultAt reads the crossings after an event for the panics of its listeners, and for
// whether the goroutine ended there. If it did, only the engine's last crossings come before the
// call returns.
func listenerFaultAt(event *adk.Crossing, ahead func(i int) *adk.Crossing) (o ListenerFault, exits bool) {
	listening, waited, late := true, false, false
	for i := 1; ; i++ {
		x := ahead(i)
		switch {
		case x == nil:
			return o, false
		case wire.IsCancel(x) || x.Strand != event.Strand:
		case listening && wire.Panicked(x, event.Kind):
			o.panics, late = append(o.panics, listenerPanic{x.Text, late}), false
		case wire.Settles(x) && wire.OpensGate(event):
			waited, late = waited || !settledByExit(x), !IsOutside(x)
		case x.Kind.Class() == adk.ClassFact:
		case x.Kind.IsLastWord():
			listening = false
		default:
			return o, !waited && x.Kind == adk.KindReturn && x.Outcome == adk.OutcomeGoexit
		}
	}
}

// settledByExit reports whether a gate was aborted because the goroutine that opened it ended.
func settledByExit(settle *adk.Crossing) bool {
	cause := errors.Unwrap(settle.Err)
	return settle.Status == adk.GateAborted && cause != nil && cause.Error() == wire.EndedByExit
}
