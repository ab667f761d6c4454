package wire

import (
	"errors"
	"net"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// This file says what a line says of the course of a run: of its strands, gates, tools and
// dispatches, what it asks of the world, and its end. What was refused changed nothing of it.

// IsNext reports whether a crossing is a middleware's next: what follows it in its
// pipeline begins within it, and is called by nobody.
func IsNext(x *adk.Crossing) bool { return x.Kind == adk.KindNext }

// Forks reports whether a crossing begins a strand, whose number is its ID.
func Forks(x *adk.Crossing) bool { return x.Kind == adk.KindFork && x.Err == nil }

// Awaits reports whether a crossing waits for a strand, whose number is its ID.
func Awaits(x *adk.Crossing) bool { return x.Kind == adk.KindWait }

// IsCancel reports whether a crossing says that the run's context is done. Whoever
// crosses next tells it, in whatever strand.
func IsCancel(x *adk.Crossing) bool { return x.Kind == adk.KindCancel }

// CancelledBy is who cancelled a run, as OutsideCancel; empty of other crossings.
func CancelledBy(x *adk.Crossing) string {
	if x.Kind != adk.KindCancel {
		return ""
	}
	return x.Key
}

// NewOutsideCancel is the crossing by which who called the run ends it, behind the one of
// a number.
func NewOutsideCancel(behind int, at time.Time) *adk.Crossing {
	return &adk.Crossing{Seq: behind, At: at, Kind: adk.KindCancel, Key: OutsideCancel}
}

// Aborts reports whether user code aborts the run.
func Aborts(x *adk.Crossing) bool { return x.Kind == adk.KindAbort && x.Err == nil }

// IsSettlement reports whether somebody settles a gate, or offers to.
func IsSettlement(x *adk.Crossing) bool { return x.Kind == adk.KindSettle }

// Settles reports whether a crossing settles a gate, whose id is free then.
func Settles(x *adk.Crossing) bool { return x.Kind == adk.KindSettle && x.Status != adk.GateRefused }

// AsksForGate reports whether a crossing begins to wait for a gate. A second one of an id
// that is open does not get it (GAT-5).
func AsksForGate(x *adk.Crossing) bool { return x.Kind == adk.KindWaitFor && x.Phase == adk.Begin }

// OpensGate reports whether listeners are told of a gate that is open: who hears of it may
// settle it.
func OpensGate(x *adk.Crossing) bool { return x.Kind == adk.KindTurnGateOpen }

// ClosesGate reports whether listeners are told that a gate is settled: its Status says how.
func ClosesGate(x *adk.Crossing) bool { return x.Kind == adk.KindTurnGateClosed }

// OpensMedia reports whether a crossing is of an opening of a media, whose bytes others
// give again.
func OpensMedia(x *adk.Crossing) bool { return x.Kind == adk.KindOpenMedia }

// IsAsk reports whether a crossing is of a question to the world: as it is asked, or done.
func IsAsk(x *adk.Crossing) bool { return x.Kind == adk.KindAsk }

// Asks reports whether user code asks the world with a crossing.
func Asks(x *adk.Crossing) bool { return IsAsk(x) && x.Phase == adk.Begin }

// EndsAsk reports whether an ask is over with a crossing: answered, unless by pieces, or
// failed.
func EndsAsk(x *adk.Crossing) bool { return IsAsk(x) && x.Phase == adk.Done }

// IsPiece reports whether a crossing hands user code a piece of an answer.
func IsPiece(x *adk.Crossing) bool { return x.Kind == adk.KindPiece }

// IsDelta reports whether a crossing is a piece of a streamed text.
func IsDelta(x *adk.Crossing) bool {
	streamed, text := false, false
	for _, use := range x.Kind.Fields(x.Phase) {
		streamed = streamed || use.Names == adk.StreamID
		text = text || use.Field == adk.FieldText
	}
	return streamed && text
}

// SaysNothing reports whether such a piece neither says anything nor ends its text.
func SaysNothing(x *adk.Crossing) bool { return x.Text == "" && !x.Flag }

// TellsTime reports whether user code was told the time.
func TellsTime(x *adk.Crossing) bool { return x.Kind == adk.KindNow }

// EngineMakesID reports whether an event brings an id that the engine has made.
func EngineMakesID(x *adk.Crossing) bool { return x.Kind.Class() == adk.ClassEvent && MadeID(x) != "" }

// OnlyMakes reports whether a crossing makes an id or a time, for something else to use.
func OnlyMakes(x *adk.Crossing) bool { return x.Kind.Makes() != "" }

// IsLog reports whether a crossing writes a line of a log, on which nothing depends.
func IsLog(x *adk.Crossing) bool { return x.Kind == adk.KindReportLog || x.Kind == adk.KindLogEvent }

// IsPause reports whether a crossing waits for time to pass, and for nothing else.
func IsPause(x *adk.Crossing) bool { return x.Kind == adk.KindSleep }

// MakesID reports whether user code is about to have an id made.
func MakesID(s adk.Step) bool { return s.Kind == adk.KindNewID }

// ReadsClock reports whether user code is about to be told the time.
func ReadsClock(s adk.Step) bool { return s.Kind == adk.KindNow }

// Reading is the step of a call in a strand that ReadsClock.
func Reading(call, strand int) adk.Step {
	return adk.Step{Kind: adk.KindNow, Call: call, Strand: strand}
}

// IsTimer reports whether a timer fired: the operation that its N numbers is over.
func IsTimer(x *adk.Crossing) bool { return x.Kind == adk.KindTimer }

// Sleeps reports whether user code begins to sleep.
func Sleeps(x *adk.Crossing) bool { return x.Kind == adk.KindSleep && x.Phase == adk.Begin }

// WakesEarly reports whether a sleep of user code is over before its time, as its context
// ended.
func WakesEarly(x *adk.Crossing) bool {
	return x.Kind == adk.KindSleep && x.Phase == adk.Done && x.Err != nil
}

// IsPerformed reports whether user code makes a crossing, by what it does through a handle.
func IsPerformed(x *adk.Crossing) bool {
	return x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done || IsPiece(x) || IsAsk(x)
}

// IsDispatched reports whether user code calls a dispatch: the turn's own, and one that is a
// run, are called by nobody's code.
func IsDispatched(x *adk.Crossing) bool { return x.Kind == adk.KindCall && x.Seams != nil }

// RegistersTool reports whether user code adds a tool to those of its context.
func RegistersTool(x *adk.Crossing) bool { return x.Kind == adk.KindRegister && x.Err == nil }

// RunsTool reports whether user code has a tool run, which its handler may yet refuse.
func RunsTool(x *adk.Crossing) bool { return x.Kind == adk.KindExecute && x.Phase == adk.Begin }

// ToolBegins reports whether listeners are told that a tool begins.
func ToolBegins(x *adk.Crossing) bool { return x.Kind == adk.KindToolExecutionStart }

// ToolEnds reports whether listeners are told that a tool has ended.
func ToolEnds(x *adk.Crossing) bool { return x.Kind == adk.KindToolExecutionEnd }

// ToolRan reports whether user code has what a tool answered.
func ToolRan(x *adk.Crossing) bool { return x.Kind == adk.KindExecute && x.Phase == adk.Done }

// BeginsDispatch reports whether listeners are told that a dispatch began, whose id is the
// Name.
func BeginsDispatch(x *adk.Crossing) bool { return x.Kind == adk.KindDispatchStart }

// EndsDispatch reports whether listeners are told that a dispatch is over: its Status says
// how.
func EndsDispatch(x *adk.Crossing) bool { return x.Kind == adk.KindDispatchEnd }

// BeginsIteration reports whether listeners are told that an executor is entered once more.
func BeginsIteration(x *adk.Crossing) bool { return x.Kind == adk.KindIterationStart }

// EndsIteration reports whether listeners are told that an executor is done with one.
func EndsIteration(x *adk.Crossing) bool { return x.Kind == adk.KindIterationEnd }

// TellsError reports whether listeners are told of an error.
func TellsError(x *adk.Crossing) bool { return x.Kind == adk.KindErrorEvent }

// setsStash reports whether user code sets a value of its stash, or removes one.
func setsStash(x *adk.Crossing) bool { return x.Kind == adk.KindStash && x.Err == nil }

// ReportsText reports whether user code says a piece of a message or of a thought.
func ReportsText(x *adk.Crossing) bool {
	return x.Kind.Reports() && x.Kind.Names(adk.StreamID) && x.Kind.Uses(adk.FieldText)
}

// ReportsToolCall reports whether user code says a piece of a tool call that a model made.
func ReportsToolCall(x *adk.Crossing) bool {
	return x.Kind.Reports() && x.Kind.Names(adk.StreamID) && x.Kind.Uses(adk.FieldArgs)
}

// TellsMessage reports whether listeners are told a piece of a message.
func TellsMessage(x *adk.Crossing) bool { return x.Kind == adk.KindMessageEvent }

// TellsToolCall reports whether listeners are told a piece of a tool call that a model made.
func TellsToolCall(x *adk.Crossing) bool { return x.Kind == adk.KindToolCallEvent }

// BeginsTurn reports whether listeners are told that the turn begins, whose id is the Name.
func BeginsTurn(x *adk.Crossing) bool { return x.Kind == adk.KindTurnStart }

// EndsTurn reports whether listeners are told that the turn is over.
func EndsTurn(x *adk.Crossing) bool { return x.Kind == adk.KindTurnEnd }

// TellsState reports whether a crossing is the digest of what is visible.
func TellsState(x *adk.Crossing) bool { return x.Kind == adk.KindState }

// IsContained reports whether a crossing tells a failure that was kept from the turn.
func IsContained(x *adk.Crossing) bool { return x.Kind == adk.KindContained }

// PassesBy reports whether a contained failure is a request of which nothing else is told.
func PassesBy(x *adk.Crossing) bool { return IsContained(x) && x.Name == adk.PassedBy }

// IsMisuse reports whether a contained failure is something that user code did with
// a handle or with next, and not a panic.
func IsMisuse(x *adk.Crossing) bool {
	return PassesBy(x) || IsContained(x) && (x.Name == adk.SecondNext || strings.HasPrefix(x.Name, adk.LatePrefix))
}

// Panicked reports whether a contained failure is the panic of a listener of an event.
func Panicked(x *adk.Crossing, event adk.Kind) bool {
	return IsContained(x) && x.Name == adk.ListenerPrefix+event.String()
}

// Dialed is the address that a call failed to dial where an ask is missing; empty where it ended
// otherwise.
func Dialed(missing, end *adk.Crossing) string {
	if missing == nil || end == nil || !Asks(missing) || end.Err == nil {
		return ""
	}
	failed, ok := errors.AsType[*net.OpError](end.Err)
	if !ok || failed.Op != "dial" || failed.Addr == nil {
		return ""
	}
	return failed.Addr.String()
}

// GaveUp reports whether a call ends with the error of the ask before, which the recorded call
// does not, and whether that is an error of which a trace has not all: errors.As and errors.Is
// may have found in it what they no longer find.
func GaveUp(agreed []*adk.Crossing, recorded, end *adk.Crossing) bool {
	if len(agreed) == 0 || end == nil || end.Kind != adk.KindReturn || end.Err == nil || recorded != nil && recorded.Err != nil {
		return false
	}
	ask := agreed[len(agreed)-1]
	return IsAsk(ask) && ask.Phase == adk.Done && isBare(ask.Err) && strings.Contains(textOf(end.Err), textOf(ask.Err))
}

// IsGrave reports whether a crossing asks a person, or somebody to write: whoever accepts that it is
// gone, or another one, has to have been told.
func IsGrave(x *adk.Crossing) bool {
	return AsksForGate(x) || Asks(x) && x.Status == string(adk.EffectWrites)
}

// IsRefused reports whether what a strand does begins with an operation of which nothing came but
// an error, as of one in an aborted turn.
func IsRefused(next []*adk.Crossing) bool {
	return len(next) > 1 && next[0].Kind.Class() == adk.ClassOperation && next[0].Phase == adk.Begin &&
		next[1].Op == next[0].Op && next[1].Phase == adk.Done && next[1].Err != nil
}
