package property

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
)

// Invariant is a statement that holds for every turn, whatever its user code does: also for a turn
// that fails, panics, is aborted, or misuses its handles.
type Invariant struct {
	// Name is the name that violations use.
	Name string
	// Rule is the rule of the contract from which the invariant follows.
	Rule string
	// Breaks says what goes wrong for users if the invariant does not hold.
	Breaks string

	// watch makes the checker for one turn. The checker is made at the first crossing of one of the
	// kinds, and then sees every crossing of these kinds.
	watch maker
	kinds []adk.Kind
}

// checker looks for violations of one invariant in one turn. see is called for a crossing before
// the history applies what the crossing changes: the history knows only the calls and operations
// that begin with it.
type checker interface {
	see(s *history, x *adk.Crossing)
}

// ender is a checker that also wants to know when the turn is over. end is not called for a turn of
// which only a part is known.
type ender interface{ end(s *history) }

// The groups of kinds that checkers ask for.
var (
	everyKind      = adk.Kinds()
	eventKinds     = kindsWhere(func(k adk.Kind) bool { return k.Class() == adk.ClassEvent })
	operationKinds = kindsWhere(func(k adk.Kind) bool { return k.Class() == adk.ClassOperation })
	spanningKinds  = kindsWhere(adk.Kind.Spanning)
	callKinds      = []adk.Kind{adk.KindCall, adk.KindReturn}
	writeKinds     = []adk.Kind{adk.KindStore, adk.KindMutate, adk.KindDelete}
	storageKinds   = append([]adk.Kind{adk.KindFetch, adk.KindRefresh}, writeKinds...)
	loopKinds      = []adk.Kind{adk.KindDispatchStart, adk.KindIterationStart, adk.KindIterationEnd, adk.KindDispatchEnd}
)

func kindsWhere(is func(adk.Kind) bool) []adk.Kind {
	return slices.DeleteFunc(adk.Kinds(), func(k adk.Kind) bool { return !is(k) })
}

func kinds(groups ...[]adk.Kind) []adk.Kind { return slices.Concat(groups...) }

func only(list ...adk.Kind) []adk.Kind { return list }

// maker makes a checker. If it is given a used checker of an earlier turn, it reuses its memory.
type maker func(used checker) checker

// made makes a checker that starts as its zero value.
func made[W any, P interface {
	*W
	checker
}](used checker) checker {
	w, ok := used.(P)
	if !ok {
		return P(new(W))
	}
	var none W
	*w = none
	return w
}

// remaking is a checker that has state to remember in almost every turn: remake clears the state
// and keeps its memory.
type remaking interface{ remake() }

// invariants lists all invariants, grouped by subject.
var invariants = []Invariant{
	// The frame: what every trace is made of.
	{"turn-bounds", "RUN-6", "A listener that opens and closes something per turn leaks it, or works on a turn that it does not know.",
		made[turnBounds], kinds(only(adk.KindCall), eventKinds)},
	{"calls-nest", "DET-4", "Nobody can say any more which user code did what, and a replay cannot give it back.",
		made[callsNest], everyKind},
	{"strands-joined", "DET-7", "Work goes on behind the back of the seam that began it, and what it finds is lost.",
		made[strandsJoined], kinds(callKinds, only(adk.KindFork))},
	{"operations-pair", "DET-6", "An operation seems to hang for ever, or answers a question that nobody asked.",
		made[operationsPair], kinds(spanningKinds, only(adk.KindReturn, adk.KindTimer))},
	{"handles-end", "DET-5", "User code that has returned still changes the turn.",
		made[handlesEnd], operationKinds},
	{"nothing-after-end", "RUN-9", "User code runs when its caller believes the turn to be over.",
		made[nothingAfterEnd], kinds(only(adk.KindCall, adk.KindTurnEnd, adk.KindDispatchEnd), operationKinds)},
	{"ids-unique", "RUN-7", "Two turns or dispatches cannot be told apart in a log, and one record overwrites another.",
		made[idsUnique], only(adk.KindTurnStart, adk.KindDispatchStart, adk.KindNewID)},
	{"times-monotonic", "EVT-6", "A duration becomes negative.",
		made[timesMonotonic], everyKind},

	// The order of a turn.
	{"stages-in-order", "RUN-10", "A turn output runs on an answer that there is not, or an input failure reaches the model.",
		made[stagesInOrder], only(adk.KindCall, adk.KindReturn, adk.KindErrorEvent, adk.KindDispatchEnd)},
	{"pipelines-in-order", "PIP-1", "A policy that stands before another runs after it, or not at all.",
		made[pipelinesInOrder], only(adk.KindCall, adk.KindNext)},
	{"loop-in-order", "DSP-2", "The model is asked without what its input pipeline prepares, or its answer is not looked at.",
		made[loopInOrder], kinds(callKinds, loopKinds, only(adk.KindState))},
	{"iterations-counted", "DSP-5", "A cap on iterations, or a bill by iteration, counts wrong.",
		made[iterationsCounted], kinds(loopKinds, only(adk.KindCall))},
	{"one-error", "EVT-8", "An alert fires twice, not at all, or for a user who just left.",
		made[oneError], only(adk.KindCall, adk.KindErrorEvent, adk.KindDispatchEnd, adk.KindState, adk.KindTurnEnd)},
	{"one-status", "SIG-5", "Whoever called the turn takes a failure for an answer, or an answer for a failure.",
		made[oneStatus], only(adk.KindDispatchEnd, adk.KindReturn)},
	{"states-told", "DET-8", "What a stage saw cannot be checked, neither by a replay nor by a person.",
		made[statesTold], only(adk.KindCall, adk.KindState, adk.KindDispatchEnd, adk.KindTurnEnd)},

	// Signals and aborts.
	{"first-signal-wins", "SIG-1", "An answer that was refused is delivered all the same, or the other way round.",
		made[firstSignalWins], only(adk.KindAck, adk.KindNack)},
	{"nacks-kept", "DSP-11", "The reason for which an answer was refused is lost behind what failed after it.",
		made[nacksKept], only(adk.KindNack, adk.KindDispatchEnd)},
	{"signal-ends-loop", "DSP-3", "The model is paid to answer once more when the answer was there.",
		made[signalEndsLoop], only(adk.KindCall, adk.KindState, adk.KindIterationStart, adk.KindIterationEnd)},
	{"abort-starts-nothing", "PIP-9", "Work is begun for a user who has left, and its effects stay.",
		made[abortStartsNothing], only(adk.KindCall, adk.KindState, adk.KindIterationStart, adk.KindFork, adk.KindExecute,
			adk.KindToolExecutionStart, adk.KindOpenMedia)},
	{"abort-asks-nothing", "WLD-5", "A model is paid to answer a user who has left.",
		made[abortAsksNothing], only(adk.KindAsk, adk.KindPiece)},
	{"abort-told-once", "ABT-5", "An abort has no effect, or its reason is another one for each who asks.",
		made[abortToldOnce], everyKind},
	{"on-ack-once", "SIG-3", "Something is committed twice, not at all, or although the dispatch failed.",
		made[onAckOnce], only(adk.KindCall, adk.KindOnAck, adk.KindOffAck, adk.KindAck)},
	{"ephemeral-pruned", "TOL-8", "A tool that was made for one dispatch is offered to the model again.",
		made[ephemeralPruned], only(adk.KindOnAck, adk.KindOffAck, adk.KindAck, adk.KindPrune, adk.KindReturn)},

	// Streams, tools and gates.
	{"streams-sealed", "HLP-2", "A reader sees text appear behind the end of a message, or a text that nobody wrote.",
		made[streamsSealed], only(adk.KindReportMessage, adk.KindReportThought, adk.KindReportToolCall, adk.KindMessageEvent, adk.KindThoughtEvent)},
	{"reports-told", "HLP-1", "A reader misses a part of a message, or gets one twice.",
		made[reportsTold], only(adk.KindReportMessage, adk.KindReportThought, adk.KindReportToolCall, adk.KindReportLog,
			adk.KindEmitMessage, adk.KindEmitThought, adk.KindEmitToolCall,
			adk.KindMessageEvent, adk.KindThoughtEvent, adk.KindToolCallEvent, adk.KindLogEvent)},
	{"emits-as-given", "EVT-10", "A reader is told something else than what the middleware wrote.",
		made[emitsAsGiven], only(adk.KindReportMessage, adk.KindReportThought, adk.KindReportToolCall,
			adk.KindEmitMessage, adk.KindEmitThought, adk.KindEmitToolCall,
			adk.KindMessageEvent, adk.KindThoughtEvent, adk.KindToolCallEvent)},
	{"tools-settled", "TOL-3", "A model waits for a result that never comes, or takes that of another call for it.",
		made[toolsSettled], only(adk.KindCall, adk.KindExecute, adk.KindToolExecutionStart, adk.KindToolExecutionEnd)},
	{"pieces-within-asks", "WLD-4", "A part of an answer is read that nobody asked for, or behind the answer's end.",
		made[piecesWithinAsks], only(adk.KindPiece)},
	{"asks-end-with-calls", "WLD-5", "What an answer costs is nobody's, and a trace holds half of it.",
		made[asksEndWithCalls], only(adk.KindReturn)},
	{"call-ids", "TOL-4", "Equal calls are not known to be equal, and a detector of repetitions is blind.",
		made[callIDs], only(adk.KindExecute, adk.KindToolExecutionStart, adk.KindToolCallEvent)},
	{"bodies-as-marked", "ART-23", "A model is answered from another body than the one that its tool left behind.",
		made[bodiesAsMarked], only(adk.KindOpenMedia)},
	{"questions-change-nothing", "ART-26", "To look at a result changes the conversation, or what is stored of it.",
		made[questionsChangeNothing], kinds(only(adk.KindExecute, adk.KindAdd, adk.KindRemove), writeKinds)},
	{"gates-settle-once", "GAT-2", "An approval is given and revoked at once, or nobody is told that it was given.",
		made[gatesSettleOnce], only(adk.KindWaitFor, adk.KindTurnGateOpen, adk.KindTurnGateClosed, adk.KindSettle, adk.KindTimer)},

	// Storage, and what is visible.
	{"storage-receipt", "DEL-1", "A record is believed to be stored and is not.",
		made[storageReceipt], kinds(only(adk.KindCall), storageKinds)},
	{"flush-in-order", "DEL-6", "Write-behind storage holds part of a failed iteration, or not all of a good one.",
		made[flushInOrder], kinds(only(adk.KindCall), writeKinds, loopKinds)},
	{"sets-keyed", "RUN-12", "Two records of one id stand in one conversation.",
		made[setsKeyed], only(adk.KindAdd, adk.KindRemove, adk.KindRegister, adk.KindUnregister, adk.KindPrune)},
	{"deltas-whole", "DEL-3", "The turn holds a part of an iteration that failed: a tool call without its result, half an answer.",
		made[wrongState], only(adk.KindState)},
	{"stored-mirrored", "DEL-2", "What was stored and acked is not in the conversation, and the next stage does not see it.",
		made[wrongState], only(adk.KindState)},
	{"stash-apart", "STA-6", "A secret or a draft of a dispatch is seen by whoever comes after it.",
		made[wrongState], only(adk.KindState)},
	{"states-fold", "DET-8", "The model sees something that no step of the turn explains, and no replay can show.",
		made[wrongState], only(adk.KindState)},
}

// Invariants returns all invariants, in the order in which they are checked.
func Invariants() []Invariant { return slices.Clone(invariants) }

// watching holds, for each kind, the indexes in invariants of those whose checkers want that kind.
var watching = func() (table [256][]uint8) {
	for i, invariant := range invariants {
		for _, kind := range invariant.kinds {
			if list := table[kind]; len(list) == 0 || list[len(list)-1] != uint8(i) {
				table[kind] = append(table[kind], uint8(i))
			}
		}
	}
	return table
}()
