package stub

import (
	"errors"
	"math"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// Trail is what went before in each strand of a recorded run, as far as it tells
// what its listeners did.
type Trail map[int]footprint

// footprint is the trail of one strand.
type footprint struct {
	last  adk.Kind // of the crossing before
	exits bool     // the goroutine is ending: what comes are the engine's last words
}

// Pass notes a crossing.
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

// Event notes an event, and gives what listeners did at it: panics are told, and
// that one ended the goroutine is told by what comes next in the strand. ahead are
// the crossings behind the event, from 1 on; nil where no more are known. live is
// that the code around the event is not scripted, and ends nothing because a recorded
// goroutine ended.
func (t Trail) Event(event *adk.Crossing, live bool, ahead func(i int) *adk.Crossing) ListenerFault {
	before := t[event.Strand]
	o, exits := listenerFaultAt(event, ahead)
	o.exits = exits && !before.exits && (live || before.endsWith(event))
	t[event.Strand] = footprint{event.Kind, before.exits || o.exits}
	return o
}

// endsWith reports whether a goroutine that ends at an event was ended by a
// listener. Behind what user code does in one step, a report or a log, that may have
// been its own doing, and its script does the same.
func (f footprint) endsWith(event *adk.Crossing) bool {
	return !reported[event.Kind] || f.last.Emits()
}

// reported are the kinds of the events that reports say, where nothing emits them.
var reported = reportedEvents()

func reportedEvents() (events [math.MaxUint8 + 1]bool) {
	for _, kind := range adk.Kinds() {
		if kind.Reports() {
			events[kind.Event()] = true
		}
	}
	return events
}

// listenerFaultAt reads on behind an event for the panics of its listeners, and for
// whether the goroutine ended there: then only the engine's last words come before
// the call returns.
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

// settledByExit reports whether a gate was aborted as the goroutine that opened it
// ended.
func settledByExit(settle *adk.Crossing) bool {
	cause := errors.Unwrap(settle.Err)
	return settle.Status == adk.GateAborted && cause != nil && cause.Error() == wire.EndedByExit
}
