package explore

import (
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/property/internal/wanted"
	"github.com/adkreplay/adkreplay/property/turn"
)

// This file says which faults can be tried at a crossing of a run, and why the others cannot. The
// table of an exploration is made of these answers.

// The reasons for which a fault is not tried.
const (
	sameStep     = "it comes inside the step of the crossing before it, where the fault is tried"
	hasEnded     = "the run's context has ended by then, and ends once"
	noCodeBehind = "the engine goes on to the next crossing, before which a cancel is tried"
	notUserCode  = "no user code runs that could fail there"
	answers      = "an operation answers with what the storage or the tool behind it does, where that fault is tried"
	within       = "the operation is under way: what can fail in it is a call of its own"
	handedOver   = "the code was handed over inside the turn, so that nothing of the explorer stands around it"
	isCut        = "what fails there is a stream, and that fault is cut"
	isStorage    = "what fails there is a storage, and that fault is storage-before or storage-after"
	writesNot    = "it writes nothing"
	failedBefore = "it has failed already"
	onlyReports  = "only what the executor reports is a stream"
	onlyStorage  = "only obligations are storage faults' matter"
	onlyTools    = "only a tool's call can be deaf to its context"
	onlyOpening  = "only a gate that opens can be settled early"
	onlyWaking   = "only a gate whose waiter wakes can be settled again"
	onlyTimed    = "only a gate that opens, and has a timeout, can be left unanswered"
	inTime       = "the gate was settled in time"
	onlyDown     = "only a storage or a tool can be down"
	ofNoOne      = "it is called for no record, and with no arguments"
	onlyFollowed = "the subject makes no turn that follows"
	notInTime    = "nobody had settled the gate"
	asksNobody   = "a fault point asks nobody"
	failsOnly    = "a fault point fails with an error, or the program crashes at it"
)

// faultPoint is a crossing of a run as faults see it. It is filled in when the run is over.
type faultPoint struct {
	at      int
	x       *adk.Crossing
	seam    adk.Seam // the seam of the call that begins or returns at x
	step    adk.Step // the step that began here; zero if none did
	ended   bool     // the run's context had ended before
	guarded bool     // the explorer wraps the call that begins or returns
	own     bool     // the explorer wraps the call to which the step belongs
	handler bool     // an on-ack handler runs on the strand, whichever handle it uses
	waking  wakeup
	follows bool // the subject makes a turn that follows
	world   *asked
	errors  func(string, turn.FaultKind) error
	calls   *callsOf // the calls of all providers that can be down
	timed   bool     // the gate that opens has a timeout
	loose   bool     // goroutines of user code ask, so the order of crossings is the system's
}

// wakeup says in which state a waiter that woke before this crossing found its gate.
type wakeup uint8

const (
	noWake wakeup = iota
	wokeSettled
	wokeUnsettled
)

// faultTable holds, for each kind of fault, a function that says why it cannot be tried at a
// crossing; an empty reason means that it can. Faults of the world have a table of their own
// (worldFaults).
var faultTable = [turn.FaultKindEnd]func(s *faultPoint) (why string){
	turn.Cancel:         (*faultPoint).refusesEnd,
	turn.Deadline:       (*faultPoint).refusesEnd,
	turn.CancelAfter:    (*faultPoint).refusesEndBehind,
	turn.Fail:           (*faultPoint).refusesFailure,
	turn.Panic:          (*faultPoint).refusesPanic,
	turn.Cut:            (*faultPoint).refusesCut,
	turn.StorageBefore:  (*faultPoint).refusesStorageBefore,
	turn.StorageAfter:   (*faultPoint).refusesStorageAfter,
	turn.LateTool:       (*faultPoint).refusesLateTool,
	turn.GateEarly:      (*faultPoint).refusesEarly,
	turn.GateLate:       func(s *faultPoint) string { return s.refusesWaking(wokeUnsettled, inTime) },
	turn.Down:           (*faultPoint).refusesDown,
	turn.Flaky:          (*faultPoint).refusesDown,
	turn.DownOne:        (*faultPoint).refusesDownOne,
	turn.Crash:          (*faultPoint).refusesCrash,
	turn.GateTwice:      func(s *faultPoint) string { return s.refusesWaking(wokeSettled, notInTime) },
	turn.GateUnanswered: (*faultPoint).refusesNoAnswer,
	turn.MediaFails:     (*faultPoint).refusesMedia,
	turn.MediaShort:     (*faultPoint).refusesUnmarked,
	turn.MediaOther:     (*faultPoint).refusesUnmarked,
	turn.ResultEmpty:    (*faultPoint).refusesText,
	turn.ResultCut:      (*faultPoint).refusesResult,
	turn.ResultLong:     (*faultPoint).refusesMore,
	turn.ResultOdd:      (*faultPoint).refusesText,
}

// refuses says why a fault cannot be tried at the spot; an empty reason means that it can.
func (s *faultPoint) refuses(k turn.FaultKind) (why string) {
	if k.OfWorld() {
		_, why = s.broken(k)
		return why
	}
	return faultTable[k](s)
}

// began reports whether a step began at the spot, so that something can happen before it.
func (s *faultPoint) began() bool { return s.step.Kind != 0 }

func (s *faultPoint) refusesEnd() string {
	switch {
	case !s.began():
		return sameStep
	case s.ended:
		return hasEnded
	}
	return ""
}

// refusesEndBehind allows the end of the context behind a crossing from which user code goes on:
// the call of a seam, an operation that is done, and one that begins to wait.
func (s *faultPoint) refusesEndBehind() string {
	switch {
	case s.ended:
		return hasEnded
	case s.x.Kind == adk.KindCall && s.entersUserCode(),
		s.x.Kind.Class() == adk.ClassOperation && s.x.Phase != adk.Begin && !s.x.Kind.Reports(),
		s.x.Phase == adk.Begin && s.x.Kind.Uses(adk.FieldDuration):
		return ""
	}
	return noCodeBehind
}

func (s *faultPoint) entersUserCode() bool { return isUserCode(s.seam) }

func isUserCode(s adk.Seam) bool { return s.Label != adk.LabelRun && s.Label != adk.LabelDispatch }

func (s *faultPoint) isReport(k adk.Kind) bool {
	return k.Touches() == adk.TouchStream
}

func (s *faultPoint) isStorage() bool { return s.seam.Label == adk.LabelStorage }

func (s *faultPoint) refusesFailure() string {
	switch {
	case s.began() && s.isReport(s.step.Kind):
		return isCut
	case s.isSeam() && s.isStorage():
		return isStorage
	case s.world.isPoint():
		return s.refusesPoint()
	case !s.isSeam() && s.began() && s.step.Kind.Class() == adk.ClassOperation:
		return answers
	}
	return s.refusesPanic()
}

// refusesPoint allows a fault point to fail, unless the run is aborted: then the point does
// nothing.
func (s *faultPoint) refusesPoint() string {
	switch {
	case s.x.Phase != adk.Begin:
		return within
	case s.ended:
		return aborted
	}
	return ""
}

// isSeam reports whether the crossing is the call or the return of a seam.
func (s *faultPoint) isSeam() bool { return s.x.Kind.Class() == adk.ClassCall }

func (s *faultPoint) refusesPanic() string {
	switch {
	case s.isSeam() && !s.entersUserCode():
		return notUserCode
	case s.isSeam() && !s.guarded:
		return handedOver
	case s.x.Kind == adk.KindReturn && s.x.Outcome != adk.OutcomeOK:
		return failedBefore
	case s.isSeam():
		return ""
	case s.world.isPoint():
		return failsOnly
	}
	return s.refusesBreak()
}

// refusesBreak allows code to be broken off where it asks for an operation.
func (s *faultPoint) refusesBreak() string {
	switch {
	case !s.began():
		return sameStep
	case s.step.Kind.Class() != adk.ClassOperation:
		return notUserCode
	case s.step.Phase == adk.Done:
		return within
	case !s.own || s.handler:
		return handedOver
	}
	return ""
}

func (s *faultPoint) refusesCut() string {
	if s.began() && s.isReport(s.step.Kind) {
		return s.refusesBreak()
	}
	return onlyReports
}

func (s *faultPoint) refusesStorageBefore() string {
	if s.x.Kind == adk.KindCall && s.isStorage() && s.guarded {
		return ""
	}
	return onlyStorage
}

func (s *faultPoint) refusesStorageAfter() string {
	switch {
	case s.x.Kind != adk.KindReturn || !s.isStorage() || !s.guarded:
		return onlyStorage
	case readsOnly(s.seam.Name):
		return writesNot
	case s.x.Outcome != adk.OutcomeOK:
		return failedBefore
	}
	return ""
}

func (s *faultPoint) refusesDown() string {
	if s.x.Kind == adk.KindCall && s.guarded && (s.isStorage() || s.seam.Label == adk.LabelTool) {
		return ""
	}
	return onlyDown
}

// refusesDownOne allows a provider to be down for one record, or for one set of arguments, if the
// call has any.
func (s *faultPoint) refusesDownOne() string {
	if why := s.refusesDown(); why != "" {
		return why
	}
	if wanted.At(s.x).Part("") == "" {
		return ofNoOne
	}
	return ""
}

func (s *faultPoint) refusesCrash() string {
	switch {
	case !s.follows:
		return onlyFollowed
	case !s.began():
		return sameStep
	}
	return ""
}

func (s *faultPoint) refusesLateTool() string {
	switch {
	case s.x.Kind != adk.KindCall || s.seam.Label != adk.LabelTool:
		return onlyTools
	case s.ended:
		return hasEnded
	case !s.guarded:
		return handedOver
	}
	return ""
}

func (s *faultPoint) refusesEarly() string {
	if !wire.OpensGate(s.x) {
		return onlyOpening
	}
	return ""
}

func (s *faultPoint) refusesNoAnswer() string {
	if !wire.OpensGate(s.x) || !s.timed {
		return onlyTimed
	}
	return ""
}

func (s *faultPoint) refusesWaking(wanted wakeup, otherwise string) string {
	switch s.waking {
	case noWake:
		return onlyWaking
	case wanted:
		return ""
	}
	return otherwise
}

// readsOnly reports whether a seam's name is that of a storage obligation that only reads.
func readsOnly(name string) bool {
	return adk.Seam{Label: adk.LabelStorage, Name: name}.Effect() == adk.EffectReads
}

// provider returns the name of what fails together: a collection, or a tool.
func provider(s adk.Seam) string {
	if s.Label == adk.LabelStorage {
		return storageOf(s.Name)
	}
	return s.Label + "/" + s.Name
}

// storageOf returns the collection that an obligation's name begins with.
func storageOf(name string) string {
	of, _, _ := strings.Cut(name, ".")
	return of
}

// place identifies a row of the exploration's table: a kind of crossing and, for the call and the
// return of a seam, the label of the seam.
type place struct {
	kind  adk.Kind
	done  bool
	label string
}

// place returns the row of the spot: that of the step that began there, or else that of the
// crossing.
func (s *faultPoint) place() place {
	if s.began() && !s.isSeam() && s.step.Kind.Class() != adk.ClassCall {
		return place{kind: s.step.Kind, done: s.step.Phase == adk.Done}
	}
	p := place{kind: s.x.Kind, done: s.x.Phase == adk.Done}
	if s.isSeam() {
		p.label = s.seam.Label
	}
	return p
}

// String returns the name of the row in the table.
func (p place) String() string {
	text := p.kind.String()
	if p.label != "" {
		text += " " + p.label
	}
	if p.done {
		text += " done"
	}
	return text
}
