package wire

import (
	"errors"
	"net"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// This file holds predicates over crossings that concern the course of a run: its strands, gates,
// tools and dispatches, the asks of the world, and its end. An operation that was refused changed
// none of these.

// IsNext reports whether x is a middleware's call of next. The rest of the pipeline runs within
// that operation, and the engine, not user code, calls it.
func IsNext(x *adk.Crossing) bool { return x.Kind == adk.KindNext }

// Forks reports whether x begins a strand, whose number is x.ID.
func Forks(x *adk.Crossing) bool { return x.Kind == adk.KindFork && x.Err == nil }

// Awaits reports whether x waits for the strand whose number is x.ID.
func Awaits(x *adk.Crossing) bool { return x.Kind == adk.KindWait }

// IsCancel reports whether x records that the run's context is done. The next crossing of any
// strand finds that out, so the line may be in whatever strand crosses next.
func IsCancel(x *adk.Crossing) bool { return x.Kind == adk.KindCancel }

// CancelledBy returns who cancelled the run, for example OutsideCancel. It returns "" if x is not a
// cancellation.
func CancelledBy(x *adk.Crossing) string {
	if x.Kind != adk.KindCancel {
		return ""
	}
	return x.Key
}

// NewOutsideCancel returns the crossing by which the caller of Run cancels it, after the crossing
// with the number behind.
func NewOutsideCancel(behind int, at time.Time) *adk.Crossing {
	return &adk.Crossing{Seq: behind, At: at, Kind: adk.KindCancel, Key: OutsideCancel}
}

// Aborts reports whether user code aborts the run with x.
func Aborts(x *adk.Crossing) bool { return x.Kind == adk.KindAbort && x.Err == nil }

// IsSettlement reports whether x settles a gate or tries to.
func IsSettlement(x *adk.Crossing) bool { return x.Kind == adk.KindSettle }

// Settles reports whether x settles a gate. The gate's id can be used again from then on.
func Settles(x *adk.Crossing) bool { return x.Kind == adk.KindSettle && x.Status != adk.GateRefused }

// AsksForGate reports whether user code begins to wait for a gate with x. A second wait for an id
// that is already open is refused (GAT-5).
func AsksForGate(x *adk.Crossing) bool { return x.Kind == adk.KindWaitFor && x.Phase == adk.Begin }

// OpensGate reports whether x is the event that announces an open gate. Whoever observes it may
// settle the gate.
func OpensGate(x *adk.Crossing) bool { return x.Kind == adk.KindTurnGateOpen }

// ClosesGate reports whether x is the event that announces a settled gate. Its Status says how it
// was settled.
func ClosesGate(x *adk.Crossing) bool { return x.Kind == adk.KindTurnGateClosed }

// OpensMedia reports whether x belongs to an operation that opens a media. A replay gives the
// recorded bytes back.
func OpensMedia(x *adk.Crossing) bool { return x.Kind == adk.KindOpenMedia }

// IsAsk reports whether x begins or ends a question to the world.
func IsAsk(x *adk.Crossing) bool { return x.Kind == adk.KindAsk }

// Asks reports whether user code begins to ask the world with x.
func Asks(x *adk.Crossing) bool { return IsAsk(x) && x.Phase == adk.Begin }

// EndsAsk reports whether x ends an ask: with the answer, with an error, or after the last piece of
// an answer in pieces.
func EndsAsk(x *adk.Crossing) bool { return IsAsk(x) && x.Phase == adk.Done }

// IsPiece reports whether x hands user code one piece of an answer.
func IsPiece(x *adk.Crossing) bool { return x.Kind == adk.KindPiece }

// IsDelta reports whether x is one piece of a streamed text.
func IsDelta(x *adk.Crossing) bool {
	streamed, text := false, false
	for _, use := range x.Kind.Fields(x.Phase) {
		streamed = streamed || use.Names == adk.StreamID
		text = text || use.Field == adk.FieldText
	}
	return streamed && text
}

// SaysNothing reports whether x, for which IsDelta is true, has no text and does not end the
// stream.
func SaysNothing(x *adk.Crossing) bool { return x.Text == "" && !x.Flag }

// TellsTime reports whether x gives user code the time.
func TellsTime(x *adk.Crossing) bool { return x.Kind == adk.KindNow }

// EngineMakesID reports whether x is an event with an id that the engine made.
func EngineMakesID(x *adk.Crossing) bool { return x.Kind.Class() == adk.ClassEvent && MadeID(x) != "" }

// OnlyMakes reports whether x does nothing but make an id or a time, which something else uses.
func OnlyMakes(x *adk.Crossing) bool { return x.Kind.Makes() != "" }

// IsLog reports whether x writes a line of a log. Nothing depends on such a line.
func IsLog(x *adk.Crossing) bool { return x.Kind == adk.KindReportLog || x.Kind == adk.KindLogEvent }

// IsPause reports whether x does nothing but wait for time to pass.
func IsPause(x *adk.Crossing) bool { return x.Kind == adk.KindSleep }

// MakesID reports whether user code is about to ask for a new id.
func MakesID(s adk.Step) bool { return s.Kind == adk.KindNewID }

// ReadsClock reports whether user code is about to ask for the time.
func ReadsClock(s adk.Step) bool { return s.Kind == adk.KindNow }

// Reading returns a step of the given call and strand for which ReadsClock is true.
func Reading(call, strand int) adk.Step {
	return adk.Step{Kind: adk.KindNow, Call: call, Strand: strand}
}

// IsTimer reports whether x is a timer that fired: the operation with the number x.N may end.
func IsTimer(x *adk.Crossing) bool { return x.Kind == adk.KindTimer }

// Sleeps reports whether user code begins to sleep with x.
func Sleeps(x *adk.Crossing) bool { return x.Kind == adk.KindSleep && x.Phase == adk.Begin }

// WakesEarly reports whether x ends a sleep of user code before its time, because its context
// ended.
func WakesEarly(x *adk.Crossing) bool {
	return x.Kind == adk.KindSleep && x.Phase == adk.Done && x.Err != nil
}

// IsPerformed reports whether user code makes x, by an operation on a handle.
func IsPerformed(x *adk.Crossing) bool {
	return x.Kind.Class() == adk.ClassOperation && x.Phase != adk.Done || IsPiece(x) || IsAsk(x)
}

// IsDispatched reports whether x is the call of a dispatch that user code made. The turn's own
// dispatch, and a dispatch that is itself the run, are not called by user code.
func IsDispatched(x *adk.Crossing) bool { return x.Kind == adk.KindCall && x.Seams != nil }

// RegistersTool reports whether user code adds a tool to its context with x.
func RegistersTool(x *adk.Crossing) bool { return x.Kind == adk.KindRegister && x.Err == nil }

// RunsTool reports whether user code begins to execute a tool with x. The tool's handler may still
// refuse.
func RunsTool(x *adk.Crossing) bool { return x.Kind == adk.KindExecute && x.Phase == adk.Begin }

// ToolBegins reports whether x is the event that a tool begins.
func ToolBegins(x *adk.Crossing) bool { return x.Kind == adk.KindToolExecutionStart }

// ToolEnds reports whether x is the event that a tool has ended.
func ToolEnds(x *adk.Crossing) bool { return x.Kind == adk.KindToolExecutionEnd }

// ToolRan reports whether x hands user code the outcome of executing a tool.
func ToolRan(x *adk.Crossing) bool { return x.Kind == adk.KindExecute && x.Phase == adk.Done }

// BeginsDispatch reports whether x is the event that a dispatch began, whose id is x.Name.
func BeginsDispatch(x *adk.Crossing) bool { return x.Kind == adk.KindDispatchStart }

// EndsDispatch reports whether x is the event that a dispatch ended. Its Status says how.
func EndsDispatch(x *adk.Crossing) bool { return x.Kind == adk.KindDispatchEnd }

// BeginsIteration reports whether x is the event that begins an iteration of an executor.
func BeginsIteration(x *adk.Crossing) bool { return x.Kind == adk.KindIterationStart }

// EndsIteration reports whether x is the event that ends an iteration of an executor.
func EndsIteration(x *adk.Crossing) bool { return x.Kind == adk.KindIterationEnd }

// TellsError reports whether x is the event of an error.
func TellsError(x *adk.Crossing) bool { return x.Kind == adk.KindErrorEvent }

// setsStash reports whether user code sets or removes a value of its stash with x.
func setsStash(x *adk.Crossing) bool { return x.Kind == adk.KindStash && x.Err == nil }

// ReportsText reports whether user code reports a piece of a message or of a thought with x.
func ReportsText(x *adk.Crossing) bool {
	return x.Kind.Reports() && x.Kind.Names(adk.StreamID) && x.Kind.Uses(adk.FieldText)
}

// ReportsToolCall reports whether user code reports a piece of a model's tool call with x.
func ReportsToolCall(x *adk.Crossing) bool {
	return x.Kind.Reports() && x.Kind.Names(adk.StreamID) && x.Kind.Uses(adk.FieldArgs)
}

// TellsMessage reports whether x is the event of a piece of a message.
func TellsMessage(x *adk.Crossing) bool { return x.Kind == adk.KindMessageEvent }

// TellsToolCall reports whether x is the event of a piece of a model's tool call.
func TellsToolCall(x *adk.Crossing) bool { return x.Kind == adk.KindToolCallEvent }

// BeginsTurn reports whether x is the event that the turn begins, whose id is x.Name.
func BeginsTurn(x *adk.Crossing) bool { return x.Kind == adk.KindTurnStart }

// EndsTurn reports whether x is the event that the turn is over.
func EndsTurn(x *adk.Crossing) bool { return x.Kind == adk.KindTurnEnd }

// TellsState reports whether x is the digest of the visible state.
func TellsState(x *adk.Crossing) bool { return x.Kind == adk.KindState }

// IsContained reports whether x records a failure that was kept from the turn.
func IsContained(x *adk.Crossing) bool { return x.Kind == adk.KindContained }

// PassesBy reports whether x records a request that bypassed the engine. Nothing else is recorded
// of that request.
func PassesBy(x *adk.Crossing) bool { return IsContained(x) && x.Name == adk.PassedBy }

// IsMisuse reports whether x is a contained failure that is a misuse of a handle or of next by user
// code, and not a panic.
func IsMisuse(x *adk.Crossing) bool {
	return PassesBy(x) || IsContained(x) && (x.Name == adk.SecondNext || strings.HasPrefix(x.Name, adk.LatePrefix))
}

// Panicked reports whether x is the contained panic of a listener of the event.
func Panicked(x *adk.Crossing, event adk.Kind) bool {
	return IsContained(x) && x.Name == adk.ListenerPrefix+event.String()
}

// Dialed returns the address that a call failed to dial, where missing is an ask that the new run
// did not make and end is the return of that call. It returns "" if the call ended otherwise.
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

// GaveUp reports whether a call ends with the error of the ask before it, although the recorded
// call does not fail, and a trace holds only part of that error. The code may then have found
// something with errors.As or errors.Is in the recorded run that a replay cannot give back.
func GaveUp(agreed []*adk.Crossing, recorded, end *adk.Crossing) bool {
	if len(agreed) == 0 || end == nil || end.Kind != adk.KindReturn || end.Err == nil || recorded != nil && recorded.Err != nil {
		return false
	}
	ask := agreed[len(agreed)-1]
	return IsAsk(ask) && ask.Phase == adk.Done && isBare(ask.Err) && strings.Contains(textOf(end.Err), textOf(ask.Err))
}

// IsGrave reports whether x asks a person, or asks somebody to write. A user who accepts a change
// of such a crossing must be shown it first.
func IsGrave(x *adk.Crossing) bool {
	return AsksForGate(x) || Asks(x) && x.Status == string(adk.EffectWrites)
}

// IsRefused reports whether next, the crossings of one strand, begins with an operation that ends
// at once with an error, as every operation does in an aborted turn.
func IsRefused(next []*adk.Crossing) bool {
	return len(next) > 1 && next[0].Kind.Class() == adk.ClassOperation && next[0].Phase == adk.Begin &&
		next[1].Op == next[0].Op && next[1].Phase == adk.Done && next[1].Err != nil
}
